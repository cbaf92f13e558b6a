"""Every family of decoders against the independent library, both ways."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from parity import check_back, check_decoder, check_greedy, loaded, randomised

from allyouneed.checkpoints.huggingface import family_named
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

HF: Any = transformers  # its constructors take more than a type checker knows
VOCABULARY = 320
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "eos_token_id": 2,
    "bos_token_id": 1,
    "pad_token_id": 0,
}


def gpt2(**changes: Any) -> Any:
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "eos_token_id": 2, "bos_token_id": 1}
    return HF.GPT2LMHeadModel(HF.GPT2Config(vocab_size=VOCABULARY, **{**sizes, **changes}))


def gpt_neox(**changes: Any) -> Any:
    sizes = {name: value for name, value in SIZES.items() if name != "num_key_value_heads"}
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    return HF.GPTNeoXForCausalLM(HF.GPTNeoXConfig(**{**sizes, "rope_parameters": rope, **changes}))


def bloom(**changes: Any) -> Any:
    sizes = {"hidden_size": 32, "n_layer": 2, "n_head": 4, "pad_token_id": 0}
    return HF.BloomForCausalLM(HF.BloomConfig(vocab_size=VOCABULARY, **{**sizes, **changes}))


def llama(**changes: Any) -> Any:
    return HF.LlamaForCausalLM(HF.LlamaConfig(**{**SIZES, **changes}))


def qwen2(**changes: Any) -> Any:
    return HF.Qwen2ForCausalLM(HF.Qwen2Config(**{**SIZES, **changes}))


def qwen3(**changes: Any) -> Any:
    return HF.Qwen3ForCausalLM(HF.Qwen3Config(**{**SIZES, "head_dim": 16, **changes}))


def mistral(**changes: Any) -> Any:
    return HF.MistralForCausalLM(HF.MistralConfig(**{**SIZES, **changes}))


def mixtral(**changes: Any) -> Any:
    sizes = {**SIZES, "num_local_experts": 4, "num_experts_per_tok": 2}
    return HF.MixtralForCausalLM(HF.MixtralConfig(**{**sizes, **changes}))


def rope(kind: str, **values: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 5_000.0, **values}}


BANDS = {"factor": 4.0, "original_max_position_embeddings": 16}
MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": gpt2,
    "gpt2, untied, unscaled, relu": lambda: gpt2(
        tie_word_embeddings=False, scale_attn_weights=False, activation_function="relu", n_inner=40
    ),
    "gpt_neox": gpt_neox,
    "gpt_neox, sequential": lambda: gpt_neox(use_parallel_residual=False),
    "gpt_neox, no bias, tied, linear": lambda: gpt_neox(
        attention_bias=False, tie_word_embeddings=True, **rope("linear", factor=2.0, partial_rotary_factor=0.25)
    ),
    "bloom": bloom,
    "bloom, 6 heads": lambda: bloom(n_head=6, hidden_size=48),
    "llama": llama,
    "llama, tied": lambda: llama(tie_word_embeddings=True),
    "llama, biases, one group, gelu": lambda: llama(
        attention_bias=True, mlp_bias=True, num_key_value_heads=1, hidden_act="gelu"
    ),
    "llama, attention bias, wide heads": lambda: llama(attention_bias=True, head_dim=16),
    "llama, linear": lambda: llama(**rope("linear", factor=2.0)),
    "llama, llama3": lambda: llama(**rope("llama3", **BANDS, low_freq_factor=1.0, high_freq_factor=4.0)),
    "llama, yarn": lambda: llama(**rope("yarn", **BANDS)),
    "llama, yarn, all": lambda: llama(
        **rope("yarn", **BANDS, beta_fast=0.8, beta_slow=0.1, attention_factor=1.5), head_dim=16
    ),
    "llama, yarn, no factor": lambda: llama(**rope("yarn", original_max_position_embeddings=16, factor=None)),
    "llama, yarn, mscale": lambda: llama(**rope("yarn", **BANDS, mscale=1.2, mscale_all_dim=0.5)),
    "qwen2": qwen2,
    "qwen2, upper window": lambda: qwen2(use_sliding_window=True, sliding_window=4, max_window_layers=1),
    "qwen3": qwen3,
    "qwen3, some windows, bias": lambda: qwen3(
        attention_bias=True,
        use_sliding_window=True,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "mistral": lambda: mistral(sliding_window=4),
    "mistral, no window": lambda: mistral(sliding_window=None, head_dim=16),
    "mixtral": mixtral,
    "mixtral, window, tied, 3 experts": lambda: mixtral(
        sliding_window=5, tie_word_embeddings=True, num_experts_per_tok=3
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_family_agrees_both_ways(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = randomised(MODELS[name]())
    ours = loaded(theirs, tmp_path / "theirs")
    check_decoder(theirs, ours)
    check_greedy(theirs, ours, tokenizer)
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named(name.split(",")[0]))


@pytest.mark.parametrize("name", ["mistral", "qwen2, upper window", "mixtral, window, tied, 3 experts"])
def test_a_window_in_a_long_text(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = randomised(MODELS[name]())
    ours = loaded(theirs, tmp_path / "theirs")
    assert ours.config.window
    check_decoder(theirs, ours, (30, 17, 3))
    check_greedy(theirs, ours, tokenizer, 20, (30, 17, 3))
    without = Transformer(replace(ours.config, window=None))
    without.load_state_dict(ours.state_dict())
    text = torch.tensor([list(range(4, 34))])
    with torch.no_grad():
        assert (ours(text) - without.eval()(text)).abs().max() > 0.01


@pytest.mark.parametrize("scaling", ["llama, llama3", "llama, yarn, all", "llama, linear"])
def test_rope_scalings_in_a_long_text(scaling: str, tmp_path: Path) -> None:
    theirs = randomised(MODELS[scaling]())
    check_decoder(theirs, loaded(theirs, tmp_path), (60, 31))


def test_mixtral_as_it_stands_in_memory(tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = randomised(mixtral())
    ours = loaded(theirs, tmp_path / "theirs", save_original_format=False)
    check_decoder(theirs, ours)


def test_gpt_neox_as_it_stands_in_memory(tmp_path: Path) -> None:
    theirs = randomised(gpt_neox())
    check_decoder(theirs, loaded(theirs, tmp_path, save_original_format=False))


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_a_file_of_the_class_without_output(name: str, tmp_path: Path) -> None:
    theirs = randomised(MODELS[name]())
    ours = loaded(theirs.transformer, tmp_path)
    check_decoder(theirs, ours)
