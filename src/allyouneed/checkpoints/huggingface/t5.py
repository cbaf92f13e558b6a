"""T5 (Raffel 2020) and T5 1.1: pre-norm without biases, relative positions told to unscaled scores.

Version 1.1 has a gate (Shazeer 2020) and an output of its own, and does not scale the states before it.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from allyouneed.checkpoints.huggingface.family import Entry, Family, same
from allyouneed.checkpoints.huggingface.settings import ACTIVATIONS, Settings, hold, their_activation
from allyouneed.models.config import TransformerConfig
from allyouneed.parts.feedforward import Activation

LONGEST = 16_384  # positions are distances, so what a file says of the training's length limits nothing
FREE = (
    *("vocab_size", "d_model", "n_heads", "d_head", "d_ff", "max_length", "norm_epsilon", "activation", "gated"),
    *("relative_buckets", "relative_distance", "tied_embeddings"),
)
ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    ask.only("is_encoder_decoder", True)
    width, depth = ask.get("d_model", 512), ask.get("num_layers", 6)
    decoder_depth = ask.get("num_decoder_layers", depth)
    if min(depth, decoder_depth) < 1:
        ask.reasons.append(f"it has {depth} encoder and {decoder_depth} decoder layers, and both stacks need one")
    activation, gated = feed_forward(ask)
    scaled = ask.get("scale_decoder_outputs", ask.get("tie_word_embeddings", True))
    return ask.build(
        vocab_size=ask.get("vocab_size", 32_128),
        d_model=width,
        n_heads=ask.get("num_heads", 8),
        d_head=ask.get("d_kv", 64),
        d_ff=ask.get("d_ff", 2048),
        n_encoder_layers=depth,
        n_decoder_layers=decoder_depth,
        max_length=LONGEST,
        norm_placement="pre",
        norm="rms",
        norm_epsilon=ask.get("layer_norm_epsilon", 1e-6),
        final_norm=True,
        activation=activation,
        gated=gated,
        bias=False,
        attention_scale=1.0,
        positions="t5",
        relative_buckets=ask.get("relative_attention_num_buckets", 32),
        relative_distance=ask.get("relative_attention_max_distance", 128),
        tied_embeddings=scaled,
        shared_embeddings=True,
        embedding_scale=False,
        output_scale=width**-0.5 if scaled else 1.0,
        dropout=ask.get("dropout_rate", 0.1),
        attention_dropout=ask.get("dropout_rate", 0.1),
    )


def feed_forward(ask: Settings) -> tuple[Activation, bool]:
    """The activation function, and whether there is a gate."""
    name = ask.get("feed_forward_proj", "relu")
    plain = name.removeprefix("gated-")
    if plain not in ACTIVATIONS:
        ask.reasons.append(
            f"feed_forward_proj is {name!r}, and here it can be {', '.join(ACTIVATIONS)}, each also gated-"
        )
    activation = "gelu-tanh" if name == "gated-gelu" else ACTIVATIONS.get(plain, "relu")
    return activation, name != plain


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours. `tie_word_embeddings` says there whether the states before the output are scaled."""
    hold(
        "T5",
        config,
        free=FREE,
        n_encoder_layers=config.n_encoder_layers or "1 or more",
        n_decoder_layers=config.n_decoder_layers or "1 or more",
        norm_placement="pre",
        norm="rms",
        final_norm=True,
        bias=False,
        qkv_bias=False,
        attention_output_bias=False,
        activation=("relu", "gelu-tanh", "silu") if config.gated else config.activation,
        attention_scale=1.0,
        positions="t5",
        shared_embeddings=True,
        embedding_scale=False,
        output_scale=(config.d_model**-0.5, 1.0) if config.tied_embeddings else 1.0,
    )
    name = their_activation(config.activation)
    return {
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "d_kv": config.head_width,
        "d_ff": config.d_ff,
        "num_heads": config.n_heads,
        "num_layers": config.n_encoder_layers,
        "num_decoder_layers": config.n_decoder_layers,
        "n_positions": config.max_length,
        "feed_forward_proj": f"gated-{name.removesuffix('_new')}" if config.gated else name,
        "layer_norm_epsilon": config.norm_epsilon,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_distance,
        "dropout_rate": config.dropout,
        "tie_word_embeddings": config.output_scale != 1,
    }


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class T5ForConditionalGeneration."""
    table = [same("embedding.weight", "shared.weight")]
    for side, depth, attentions in (
        ("encoder", config.n_encoder_layers, ("self_attention",)),
        ("decoder", config.n_decoder_layers, ("self_attention", "cross_attention")),
    ):
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        table.append(same(f"{side}_inputs.bias.table.weight", bias))
        table.append(same(f"{side}_norm.weight", f"{side}.final_layer_norm.weight"))
        for number in range(depth):
            table += one_layer(f"{side}.{number}", f"{side}.block.{number}.layer", attentions, gated=config.gated)
    return table if config.tied_embeddings else [*table, same("output.weight", "lm_head.weight")]


def one_layer(ours: str, theirs: str, attentions: tuple[str, ...], *, gated: bool) -> list[Entry]:
    """A layer's attentions, feed-forward network and norms."""
    kinds = {"self_attention": "SelfAttention", "cross_attention": "EncDecAttention"}
    pairs = {
        f"{attention}.{here}": f"{place}.{kinds[attention]}.{there}"
        for place, attention in enumerate(attentions)
        for here, there in ATTENTION.items()
    }
    last = len(attentions)
    inner = {"gate": "wi_0", "inner": "wi_1"} if gated else {"inner": "wi"}
    for here, there in {**inner, "outer": "wo"}.items():
        pairs[f"feed_forward.{here}"] = f"{last}.DenseReluDense.{there}"
    for place in range(last + 1):
        pairs[f"residuals.{place}.norm"] = f"{place}.layer_norm"
    return [same(f"{ours}.{here}.weight", f"{theirs}.{there}.weight") for here, there in pairs.items()]


def refine(config: TransformerConfig, names: Collection[str]) -> TransformerConfig:
    """Without a matrix of its own the output is the embedding, scaled or not."""
    return replace(config, tied_embeddings=config.tied_embeddings or "lm_head.weight" not in names)


def copies(config: TransformerConfig) -> dict[str, str]:
    """One table of embeddings stands in several places."""
    places = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]
    return dict.fromkeys([*places, "lm_head.weight"] if config.tied_embeddings else places, "shared.weight")


T5 = Family(
    name="T5",
    model_types=("t5",),
    architectures=("T5ForConditionalGeneration", "T5Model"),
    config=config,
    describe=describe,
    entries=entries,
    ignored=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.block", "decoder": "decoder.block"},
)
