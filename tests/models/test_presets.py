"""Presets: the counts are the published ones, and the shapes another implementation's."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers

from allyouneed.errors import UsageError
from allyouneed.models.presets import PRESETS, Preset, build, configure, count_parameters
from allyouneed.models.transformer import Transformer

EXACT = {name: preset for name, preset in PRESETS.items() if preset.exact}
ROUNDED = {name: preset for name, preset in PRESETS.items() if preset.published is not None and not preset.exact}


def test_the_counts_that_everyone_knows_are_held() -> None:
    known = {
        "gpt2": 124_439_808,
        "bert-base": 109_482_240,
        "t5-small": 60_506_624,
        "llama-2-7b": 6_738_415_616,
        "llama-2-70b": 68_976_648_192,
        "llama-3-8b": 8_030_261_248,
        "mistral-7b": 7_241_732_096,
        "mixtral-8x7b": 46_702_792_704,
        "smollm2-135m": 134_515_008,
    }
    assert {name: EXACT[name].published for name in known} == known


@pytest.mark.parametrize("name", EXACT)
def test_counts_that_are_published_exactly_are_met_exactly(name: str) -> None:
    assert count_parameters(configure(name)) == EXACT[name].published


@pytest.mark.parametrize("name", ROUNDED)
def test_counts_that_are_published_in_round_numbers_are_met_within_four_percent(name: str) -> None:
    assert count_parameters(configure(name)) == pytest.approx(ROUNDED[name].published, rel=0.04)


def test_the_largest_shapes_round_to_what_the_papers_say() -> None:
    counts = {name: count_parameters(configure(name)) for name in ("gpt3", "llama-33b", "llama-65b", "llama-3.1-405b")}
    assert round(counts["gpt3"] / 1e6) == 174_604  # 174,600 in table D.1
    assert round(counts["llama-33b"] / 1e8) == 325
    assert counts["llama-65b"] == pytest.approx(65.2e9, rel=0.002)
    assert counts["llama-3.1-405b"] == pytest.approx(405e9, rel=0.003)


@pytest.mark.parametrize(
    "name", ["transformer-tiny", "universal-base", "decoder-small", "encoder-small", "t5-1.1-small"]
)
def test_counting_one_layer_of_each_stack_is_counting_all(name: str) -> None:
    config = replace(configure(name), d_model=32, n_heads=4, n_kv_heads=None, d_head=8, vocab_size=100, d_ff=48)
    model = Transformer(config)
    assert count_parameters(config) == sum(parameter.numel() for parameter in model.parameters())


def test_counting_the_largest_allocates_next_to_nothing() -> None:
    tensors: list[torch.Size] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor) and out.device.type != "meta":
                tensors.append(out.shape)
            return out

    with Watch():
        count_parameters(configure("llama-3.1-405b"))
        count_parameters(configure("transformer-big"))
        count_parameters(configure("bloom-176b"))
    assert all(shape.numel() < 10_000 for shape in tensors)


def theirs(name: str) -> Any:
    """The other implementation's model of a preset's widths, two layers deep, and no weights."""
    c = configure(name)
    depth = {"num_hidden_layers": 2}
    rotary = {
        "vocab_size": c.vocab_size,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_kv_heads or c.n_heads,
        "tie_word_embeddings": c.tied_embeddings,
        **depth,
    }
    plain = {
        "vocab_size": c.vocab_size,
        "hidden_size": c.d_model,
        "intermediate_size": c.d_ff,
        "num_attention_heads": c.n_heads,
        **depth,
    }
    both = {
        "vocab_size": c.vocab_size,
        "d_model": c.d_model,
        "encoder_ffn_dim": c.d_ff,
        "decoder_ffn_dim": c.d_ff,
        "max_position_embeddings": c.max_length,
        "encoder_layers": 2,
        "decoder_layers": 2,
    }
    t5 = {
        "vocab_size": c.vocab_size,
        "d_model": c.d_model,
        "d_kv": c.head_width,
        "d_ff": c.d_ff,
        "num_heads": c.n_heads,
        "num_layers": 2,
        "feed_forward_proj": "gated-gelu" if c.gated else "relu",
        "tie_word_embeddings": c.tied_embeddings,
    }
    gpt2 = {"vocab_size": c.vocab_size, "n_embd": c.d_model, "n_head": c.n_heads, "n_layer": 2}
    bloom = {"vocab_size": c.vocab_size, "hidden_size": c.d_model, "n_head": c.n_heads, "n_layer": 2}
    roberta = {**plain, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}
    t = transformers
    makers: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "marian": (t.MarianMTModel, t.MarianConfig, {**both, "pad_token_id": 0}),
        "t5-small": (t.T5ForConditionalGeneration, t.T5Config, t5),
        "t5-3b": (t.T5ForConditionalGeneration, t.T5Config, t5),
        "t5-1.1-xl": (t.T5ForConditionalGeneration, t.T5Config, t5),
        "bart-base": (t.BartForConditionalGeneration, t.BartConfig, both),
        "bart-large": (t.BartForConditionalGeneration, t.BartConfig, both),
        "bert-base": (t.BertModel, t.BertConfig, plain),
        "bert-large": (t.BertModel, t.BertConfig, plain),
        "roberta-base": (t.RobertaForMaskedLM, t.RobertaConfig, roberta),
        "roberta-large": (t.RobertaForMaskedLM, t.RobertaConfig, roberta),
        "gpt2": (t.GPT2LMHeadModel, t.GPT2Config, gpt2),
        "gpt2-xl": (t.GPT2LMHeadModel, t.GPT2Config, gpt2),
        "gpt-neox-20b": (t.GPTNeoXForCausalLM, t.GPTNeoXConfig, plain),
        "bloom-560m": (t.BloomForCausalLM, t.BloomConfig, bloom),
        "bloom-176b": (t.BloomForCausalLM, t.BloomConfig, bloom),
        "llama-7b": (t.LlamaForCausalLM, t.LlamaConfig, rotary),
        "llama-2-70b": (t.LlamaForCausalLM, t.LlamaConfig, rotary),
        "llama-3.1-405b": (t.LlamaForCausalLM, t.LlamaConfig, rotary),
        "llama-3.2-1b": (t.LlamaForCausalLM, t.LlamaConfig, rotary),
        "smollm2-135m": (t.LlamaForCausalLM, t.LlamaConfig, rotary),
        "mistral-7b": (t.MistralForCausalLM, t.MistralConfig, rotary),
        "mixtral-8x7b": (t.MixtralForCausalLM, t.MixtralConfig, rotary),
        "qwen2-0.5b": (t.Qwen2ForCausalLM, t.Qwen2Config, rotary),
        "qwen2-7b": (t.Qwen2ForCausalLM, t.Qwen2Config, rotary),
        "qwen3-0.6b": (t.Qwen3ForCausalLM, t.Qwen3Config, {**rotary, "head_dim": 128}),
        "qwen3-8b": (t.Qwen3ForCausalLM, t.Qwen3Config, {**rotary, "head_dim": 128}),
    }
    model, config, values = makers[name]
    with torch.device("meta"):
        return model(config(**values))


@pytest.mark.parametrize(
    "name",
    [
        *("marian", "t5-small", "t5-3b", "t5-1.1-xl", "bart-base", "bart-large"),
        *("bert-base", "bert-large", "roberta-base", "roberta-large"),
        *("gpt2", "gpt2-xl", "gpt-neox-20b", "bloom-560m", "bloom-176b"),
        *("llama-7b", "llama-2-70b", "llama-3.1-405b", "llama-3.2-1b", "smollm2-135m"),
        *("mistral-7b", "mixtral-8x7b", "qwen2-0.5b", "qwen2-7b", "qwen3-0.6b", "qwen3-8b"),
    ],
)
def test_widths_are_the_other_implementations(name: str) -> None:
    config = configure(name)
    depths = {f"n_{stack}_layers": min(2, getattr(config, f"n_{stack}_layers")) for stack in ("encoder", "decoder")}
    ours = count_parameters(replace(config, **depths))
    expected = theirs(name).num_parameters()
    if name == "marian":  # its two tables of fixed positions are parameters there, its output's bias is not
        expected += config.vocab_size - 2 * config.max_length * config.d_model
    if name == "t5-1.1-xl":  # its output is tied there, whatever the released weights hold
        expected += config.vocab_size * config.d_model
    assert ours == expected


def test_every_preset_is_a_model_with_a_source() -> None:
    for name, preset in PRESETS.items():
        assert isinstance(preset, Preset)
        assert preset.source
        assert isinstance(configure(name), preset.config)
        assert not (preset.exact and preset.published is None)
    assert {configure(name).line for name in PRESETS} >= {"both", "decoder", "encoder"}


def test_a_banded_layer_follows_a_dense_one() -> None:
    config = configure("gpt3")
    assert config.window_layers is not None
    assert config.window_layers[:2] == (1, 3)
    assert len(config.window_layers) == config.n_decoder_layers // 2
    assert "does not give" in PRESETS["gpt3"].source


def test_small_presets_are_built() -> None:
    assert build("decoder-small").config.line == "decoder"
    assert build("encoder-small", vocab_size=50).config.vocab_size == 50


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'no preset "lama-2-7b".*Did you mean "llama-2-7b"'):
        configure("lama-2-7b")
    with pytest.raises(UsageError, match=r'no setting "rotary_bass"\. Did you mean "rotary_base"'):
        configure("llama-2-7b", rotary_bass=1e4)
    with pytest.raises(UsageError, match='Preset "gpt2": positions "rope" is none of sinusoidal, '):
        configure("gpt2", positions="rope")
