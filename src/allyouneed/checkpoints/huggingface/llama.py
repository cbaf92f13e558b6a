"""Llama 1 to 3, SmolLM2, Mistral, Qwen 2 and 3: RMS norms, gated networks, rotary positions and grouped heads.

They differ in few settings: which projections have a bias, norms on queries and keys, and which layers see a window.
"""

from dataclasses import replace
from typing import Any

from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Change, Entry, Family, layer, same
from allyouneed.checkpoints.huggingface.rope import FREE as ROTARY
from allyouneed.checkpoints.huggingface.rope import rope_settings, rotary_fields
from allyouneed.checkpoints.huggingface.settings import Refused, Settings, attention_biases, hold, their_activation
from allyouneed.models.config import TransformerConfig

FREE = (
    *("vocab_size", "d_model", "n_heads", "n_kv_heads", "d_head", "d_ff", "n_decoder_layers", "max_length"),
    *("norm_epsilon", "activation", "tied_embeddings", "rotary_layout", *ROTARY),
)
FIXED: dict[str, Any] = {
    "n_encoder_layers": 0,
    "norm_placement": "pre",
    "norm": "rms",
    "final_norm": True,
    "gated": True,
    "positions": "rotary",
    "embedding_scale": False,
}
IGNORED = (r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq",)
SLIDING, FULL = "sliding_attention", "full_attention"


# What all of them share


def shared_fields(ask: Settings, *, base: float = 10_000.0, epsilon: float = 1e-6) -> dict[str, Any]:
    """Our fields of the settings that all have; `base` of the rotary positions and `epsilon` where they are missing."""
    max_length = ask.need("max_position_embeddings")
    rotary = rotary_fields(ask, max_length=max_length, base=base)
    if rotary.get("rotary_share", 1.0) != 1:
        ask.reasons.append("partial_rotary_factor is not 1")
    return {
        **FIXED,
        **rotary,
        "vocab_size": ask.need("vocab_size"),
        "d_model": ask.need("hidden_size"),
        "n_heads": ask.need("num_attention_heads"),
        "n_kv_heads": ask.optional("num_key_value_heads", int),
        "d_head": ask.optional("head_dim", int),
        "d_ff": ask.need("intermediate_size"),
        "n_decoder_layers": ask.need("num_hidden_layers"),
        "max_length": max_length,
        "norm_epsilon": ask.get("rms_norm_eps", epsilon),
        "activation": ask.activation("hidden_act", "silu"),
        "bias": False,
        "tied_embeddings": ask.get("tie_word_embeddings", False),
        "dropout": 0.0,
        "attention_dropout": ask.get("attention_dropout", 0.0),
    }


def shared_settings(family: str, config: TransformerConfig) -> dict[str, Any]:
    """What all of them write."""
    if config.d_model % config.n_heads:
        raise Refused(f"{family} cannot hold this model", [f"d_model {config.d_model} is no multiple of the heads"])
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "num_hidden_layers": config.n_decoder_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads or config.n_heads,
        "head_dim": config.head_width,
        "hidden_act": their_activation(config.activation),
        "max_position_embeddings": config.max_length,
        "rms_norm_eps": config.norm_epsilon,
        "tie_word_embeddings": config.tied_embeddings,
        "attention_dropout": config.attention_dropout,
        **rope_settings(family, config),
    }


def in_halves(heads: int) -> tuple[Change, Change]:
    """Pairs (2i, 2i + 1) of each head's widths brought to (i, i + K/2), and back: the order that rotary positions here
    turn, for tensors [heads·K, ...].
    """

    def to_pairs(tensors: list[Tensor]) -> list[Tensor]:
        return [tensor.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2) for tensor in tensors]

    def to_halves(tensors: list[Tensor]) -> list[Tensor]:
        return [tensor.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2) for tensor in tensors]

    return to_pairs, to_halves


def attention_entries(config: TransformerConfig, ours: str, theirs: str) -> list[Entry]:
    """The table of one attention."""
    qkv_bias, output_bias = attention_biases(config)
    table = layer(f"{ours}.value", f"{theirs}.v_proj", bias=qkv_bias)
    table += layer(f"{ours}.output", f"{theirs}.o_proj", bias=output_bias)
    rotated: list[Entry] = []
    for part, heads in (("query", config.n_heads), ("key", config.n_kv_heads or config.n_heads)):
        entries = layer(f"{ours}.{part}", f"{theirs}.{part[0]}_proj", bias=qkv_bias)
        norms = [same(f"{ours}.{part}_norm.weight", f"{theirs}.{part[0]}_norm.weight")] if config.query_key_norm else []
        for entry, groups in [(entry, heads) for entry in entries] + [(entry, 1) for entry in norms]:
            changes = in_halves(groups) if config.rotary_layout == "pairs" else ()
            rotated.append(Entry(entry.ours, entry.theirs, *changes))
    return rotated + table


def frame_entries(config: TransformerConfig) -> list[Entry]:
    """The table of everything but attention and feed-forward networks."""
    table = [same("embedding.weight", "model.embed_tokens.weight"), same("decoder_norm.weight", "model.norm.weight")]
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}.residuals", f"model.layers.{number}"
        table.append(same(f"{ours}.0.norm.weight", f"{theirs}.input_layernorm.weight"))
        table.append(same(f"{ours}.1.norm.weight", f"{theirs}.post_attention_layernorm.weight"))
    return table if config.tied_embeddings else [*table, same("output.weight", "lm_head.weight")]


def entries(config: TransformerConfig) -> list[Entry]:
    """The whole table."""
    table = frame_entries(config)
    names = {"gate": "gate_proj", "inner": "up_proj", "outer": "down_proj"}
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"model.layers.{number}"
        table += attention_entries(config, f"{ours}.self_attention", f"{theirs}.self_attn")
        for one, other in names.items():
            table += layer(f"{ours}.feed_forward.{one}", f"{theirs}.mlp.{other}", bias=config.bias)
    return table


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding, where they are tied."""
    return {"lm_head.weight": "embed_tokens.weight"} if config.tied_embeddings else {}


def one_window(config: TransformerConfig) -> tuple[Any, ...]:
    """The values of `window_layers` in a family whose layers all have the window, or none."""
    return (tuple(range(config.n_decoder_layers)), None)


# Llama, SmolLM2


def llama_config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    bias, attention_bias = ask.get("mlp_bias", False), ask.get("attention_bias", False)
    biases = {"bias": bias, "qkv_bias": attention_bias, "attention_output_bias": attention_bias}
    return ask.build(**{**shared_fields(ask), **biases})


def llama_settings(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    qkv_bias, _ = attention_biases(config)
    hold("Llama", config, free=(*FREE, "bias", "qkv_bias"), **FIXED, attention_output_bias=qkv_bias)
    return {**shared_settings("Llama", config), "attention_bias": qkv_bias, "mlp_bias": config.bias}


# Mistral


def mistral_config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`; a window that is not mentioned is one of 4,096."""
    ask = Settings({"sliding_window": 4096, **values})
    window = ask.optional("sliding_window", int)
    ask.only("layer_types", None, [FULL if window is None else SLIDING] * ask.get("num_hidden_layers", 0))
    return ask.build(**shared_fields(ask), window=window)


def mistral_settings(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    hold("Mistral", config, free=(*FREE, "window"), **FIXED, bias=False, window_layers=one_window(config))
    return {**shared_settings("Mistral", config), "sliding_window": config.window}


# Qwen 2 and 3


def windows(ask: Settings) -> dict[str, Any]:
    """Our fields of a window that some layers have: those that are listed, or else those from the first one on."""
    depth = ask.need("num_hidden_layers")
    window = ask.optional("sliding_window", int) if ask.get("use_sliding_window", False) else None
    first = ask.get("max_window_layers", 28)
    kinds = ask.get("layer_types", [SLIDING if window and number >= first else FULL for number in range(depth)])
    unknown = sorted({str(kind) for kind in kinds} - {SLIDING, FULL})
    if unknown:
        ask.reasons.append(f"layer_types has {', '.join(unknown)}, and here a layer is {SLIDING} or {FULL}")
    if len(kinds) != depth:
        ask.reasons.append(f"layer_types has {len(kinds)} layers, and num_hidden_layers is {depth}")
    layers = tuple(number for number, kind in enumerate(kinds) if kind == SLIDING)
    if layers and window is None:
        ask.reasons.append(f"layer_types has {SLIDING}, but use_sliding_window is false")
    return {"window": window, "window_layers": layers} if layers else {}


def window_settings(config: TransformerConfig) -> dict[str, Any]:
    """The same, in the words of older readers and of newer ones."""
    depth = config.n_decoder_layers
    layers = config.window_layers
    if layers is None:
        layers = tuple(range(depth)) if config.window is not None else ()
    return {
        "use_sliding_window": config.window is not None,
        "sliding_window": config.window,
        "max_window_layers": min(layers, default=depth),
        "layer_types": [SLIDING if number in layers else FULL for number in range(depth)],
    }


def qwen2_config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings({"sliding_window": 4096, **values})
    return ask.build(**{**shared_fields(ask), **windows(ask), "qkv_bias": True})


def qwen2_settings(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    free = (*FREE, "window", "window_layers")
    hold("Qwen2", config, free=free, **FIXED, bias=False, qkv_bias=True, d_head=config.d_model / config.n_heads)
    return {**shared_settings("Qwen2", config), **window_settings(config)}


def qwen3_config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`; heads whose width is not mentioned are 128 wide."""
    ask = Settings({"head_dim": 128, "sliding_window": 4096, **values})
    bias = ask.get("attention_bias", False)
    biases = {"qkv_bias": bias, "attention_output_bias": bias}
    return ask.build(**shared_fields(ask), **windows(ask), **biases, query_key_norm=True)


def qwen3_settings(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    qkv_bias, _ = attention_biases(config)
    free = (*FREE, "qkv_bias", "window", "window_layers")
    hold("Qwen3", config, free=free, **FIXED, bias=False, attention_output_bias=qkv_bias, query_key_norm=True)
    return {**shared_settings("Qwen3", config), **window_settings(config), "attention_bias": qkv_bias}


LLAMA = Family(
    name="Llama",
    model_types=("llama",),
    architectures=("LlamaForCausalLM", "LlamaModel"),
    config=llama_config,
    describe=llama_settings,
    entries=entries,
    prefixes=("model.",),
    ignored=IGNORED,
    copies=copies,
    stacks={"decoder": "layers"},
)
MISTRAL = replace(
    LLAMA,
    name="Mistral",
    model_types=("mistral",),
    architectures=("MistralForCausalLM", "MistralModel"),
    config=mistral_config,
    describe=mistral_settings,
)
QWEN2 = replace(
    LLAMA,
    name="Qwen2",
    model_types=("qwen2",),
    architectures=("Qwen2ForCausalLM", "Qwen2Model"),
    config=qwen2_config,
    describe=qwen2_settings,
)
QWEN3 = replace(
    LLAMA,
    name="Qwen3",
    model_types=("qwen3",),
    architectures=("Qwen3ForCausalLM", "Qwen3Model"),
    config=qwen3_config,
    describe=qwen3_settings,
)
