"""Configs both ways: what cannot be held is refused with every reason at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from parity import MODERN

from allyouneed.checkpoints.huggingface import describing, family_named, load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused, settled
from allyouneed.errors import UsageError
from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

LLAMA: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def config(family: str, **values: Any) -> TransformerConfig:
    return family_named(family).config({**LLAMA, **values})


def reasons(family: str, **values: Any) -> tuple[str, ...]:
    with pytest.raises(Refused, match="it asks for what this package cannot do") as caught:
        config(family, **values)
    return caught.value.reasons


@pytest.mark.parametrize("kind", ["dynamic", "longrope", "yran"])
@pytest.mark.parametrize("place", ["rope_parameters", "rope_scaling"])
def test_rope_types_that_cannot_be(kind: str, place: str) -> None:
    (reason,) = reasons("llama", **{place: {"rope_type": kind, "factor": 2.0}})
    assert reason.startswith(f'the rope type is "{kind}"')
    assert reason.endswith("here it can be default, linear, yarn, llama3")


def test_both_generations_of_rope_settings_mean_the_same() -> None:
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    older = config("llama", rope_theta=5e5, rope_scaling={"type": "llama3", **scaling})
    newer = config("llama", rope_parameters={"rope_theta": 5e5, "rope_type": "llama3", **scaling})
    assert older == newer
    assert (older.rotary_base, older.rotary_scaling, older.rotary_factor) == (5e5, "llama3", 8.0)
    assert (older.rotary_trained_length, older.rotary_low, older.rotary_high) == (32, 1.0, 4.0)


def test_rope_settings_that_differ_between_layers() -> None:
    nested = {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}}
    assert reasons("qwen3", rope_parameters=nested) == (
        "rope_parameters differ between kinds of layers (full_attention, sliding_attention)",
    )


def test_all_reasons_come_at_once() -> None:
    assert reasons(
        "llama",
        hidden_size=None,
        num_attention_heads="4",
        hidden_act="mish",
        partial_rotary_factor=0.5,
        attention_bias=1,
        quantization_config={"bits": 4},
    ) == (
        "attention_bias is 1, not of type bool",
        "partial_rotary_factor is not 1",
        "hidden_size is missing",
        "num_attention_heads is '4', not of type int",
        "hidden_act is 'mish', which is none of relu, gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, silu, swish",
        "quantization_config is {'bits': 4}, and here it can only be None",
    )


def test_a_shape_that_no_model_has() -> None:
    assert reasons("llama", num_attention_heads=5) == (
        "d_model 16 must be a multiple of n_heads 5, or d_head be given",
    )


@pytest.mark.parametrize(
    ("family", "values", "reason"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True, and here"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention is True"),
        (
            "bloom",
            {"apply_residual_connection_post_layernorm": True},
            "apply_residual_connection_post_layernorm is True",
        ),
        ("mistral", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types is "),
        (
            "qwen2",
            {"layer_types": ["full_attention", "chunked_attention"]},
            "layer_types has chunked_attention, and here",
        ),
        ("qwen2", {"layer_types": ["full_attention"]}, "layer_types has 1 layers, and num_hidden_layers is 2"),
        (
            "qwen3",
            {"layer_types": ["sliding_attention"] * 2},
            "layer_types has sliding_attention, but use_sliding_window",
        ),
        ("llama", {"rope_scaling": {"type": "yarn", "factor": 2.0, "truncate": False}}, "truncate is False"),
    ],
)
def test_what_a_family_may_ask_and_this_package_cannot(family: str, values: dict[str, Any], reason: str) -> None:
    names = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
    (only,) = reasons(family, **names, **values)
    assert only.startswith(reason)


def test_defaults_that_a_file_leaves_out() -> None:
    assert config("mistral").window == 4096
    assert config("mistral", sliding_window=None).window is None
    assert config("qwen2").window is None
    assert config("qwen2", use_sliding_window=True, sliding_window=8, max_window_layers=1).window_layers == (1,)
    assert config("qwen2", use_sliding_window=True, sliding_window=8).window is None  # from the 28th layer on
    assert config("qwen3").head_width == 128
    assert config("mixtral").rotary_base == 1e6
    assert config("gpt_neox", hidden_size=32).rotary_share == 0.25
    assert config("gpt_neox", rotary_pct=0.5, rotary_emb_base=500).rotary_base == 500


@pytest.mark.parametrize(
    ("changes", "family"),
    [
        ({}, "Llama"),
        (
            {"tied_embeddings": False, "rotary_layout": "pairs", "qkv_bias": True, "attention_output_bias": True},
            "Llama",
        ),
        ({"window": 8}, "Mistral"),
        ({"qkv_bias": True, "window": 8, "window_layers": (1,)}, "Qwen2"),
        ({"query_key_norm": True}, "Qwen3"),
        ({"n_experts": 4}, "Mixtral"),
        ({"norm": "layer", "bias": True, "gated": False, "rotary_share": 0.5}, "GPT-NeoX"),
        ({"norm": "layer", "bias": True, "gated": False, "positions": "learned"}, "GPT-2"),
    ],
)
def test_the_first_family_that_fits_is_taken(changes: dict[str, Any], family: str) -> None:
    wanted = replace(MODERN, **changes)
    found, values = describing(wanted, None)
    assert found.name == family
    assert settled(found.config(values)) == settled(replace(wanted, rotary_layout="halves"))


def test_older_readers_learn_which_layers_have_a_window() -> None:
    wanted = replace(MODERN, qkv_bias=True, window=8, window_layers=(1,))
    family, values = describing(wanted, None)
    del values["layer_types"]
    assert settled(family.config(values)) == settled(wanted)


def test_a_model_that_no_family_holds_is_refused_with_all_reasons(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = Transformer(replace(MODERN, embedding_scale=True, rotary_scaling="ntk", embedding_norm=True, bias=True))
    with pytest.raises(
        Refused, match="No family of the Hugging Face layout can hold this model; the nearest: "
    ) as caught:
        save_huggingface(tmp_path / "model", model, tokenizer)
    assert "embedding_scale is True, not False" in caught.value.reasons
    assert "embedding_norm is True, not False" in caught.value.reasons
    assert not (tmp_path / "model").exists()
    with pytest.raises(Refused, match="Llama cannot hold this model: rotary_scaling is ntk"):
        describing(replace(MODERN, rotary_scaling="ntk"), family_named("llama"))


def test_the_nearest_family_has_the_same_stacks() -> None:
    encoder = replace(MODERN, n_encoder_layers=MODERN.n_decoder_layers, n_decoder_layers=0)
    with pytest.raises(Refused, match=r"the nearest: BERT cannot hold this model: .*positions is rotary, not learned"):
        describing(encoder, None)


def test_a_family_that_is_asked_for_says_why_not() -> None:
    with pytest.raises(Refused) as caught:
        describing(MODERN, family_named("GPT-2"))
    assert caught.value.reasons == (
        "norm is rms, not layer",
        "gated is True, not False",
        "bias is False, not True",
        "positions is rotary, not learned",
    )
    with pytest.raises(UsageError, match=r'There is no family "lama" \(known: llama, .*Did you mean "llama"'):
        family_named("lama")


def test_training_settings_are_never_a_reason() -> None:
    describing(replace(MODERN, dropout=0.3, attention_dropout=0.2, ponder_weight=1.0), family_named("llama"))


@torch.no_grad()
def test_pairs_are_written_as_halves(tokenizer: Tokenizer, tmp_path: Path) -> None:
    torch.manual_seed(4)
    changes: dict[str, Any] = {"n_kv_heads": 2, "qkv_bias": True, "query_key_norm": True, "attention_output_bias": True}
    model = Transformer(replace(MODERN, d_model=32, rotary_layout="pairs", **changes)).eval()
    for parameter in model.parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    save_huggingface(tmp_path / "model", model, tokenizer)
    again = load_transformer(tmp_path / "model")
    assert again.config.rotary_layout == "halves"
    tokens = torch.randint(4, 320, (2, 20))
    torch.testing.assert_close(again(tokens), model(tokens), rtol=0, atol=1e-5)
