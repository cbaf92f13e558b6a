"""BART (Lewis 2019): encoder and decoder with post-norm, learned positions after two unused rows, normed embeddings."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same
from allyouneed.checkpoints.huggingface.settings import Settings, hold, their_activation
from allyouneed.models.config import TransformerConfig

OFFSET = 2  # rows of the table of positions before the first position
FREE = (
    *("vocab_size", "d_model", "n_heads", "d_ff", "max_length"),
    *("activation", "embedding_scale", "output_bias"),
)
ENCODER_PARTS = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "residuals.0.norm": "self_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "residuals.1.norm": "final_layer_norm",
}
DECODER_PARTS = {
    **ENCODER_PARTS,
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "residuals.1.norm": "encoder_attn_layer_norm",
    "residuals.2.norm": "final_layer_norm",
}


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    ask.only("normalize_embedding", True)
    ask.only("static_position_embeddings", False)
    ask.only("tie_word_embeddings", True)
    return read(ask, embedding_norm=True, positions="learned", position_offset=OFFSET)


def read(ask: Settings, *, pre: bool = False, **own: Any) -> TransformerConfig:
    """Ours of what BART and its kin have in common, and of a family's `own` fields. `pre`: of pre-norm."""
    ask.only("is_encoder_decoder", True)
    ask.only("normalize_before", pre)
    ask.only("add_final_layer_norm", pre)
    heads, width = ask.get("encoder_attention_heads", 16), ask.get("encoder_ffn_dim", 4096)
    ask.only("decoder_attention_heads", heads)
    ask.only("decoder_ffn_dim", width)
    depths = {f"n_{side}_layers": ask.get(f"{side}_layers", 12) for side in ("encoder", "decoder")}
    ask.reasons += [
        f"{name[2:]} is {depth}, and both stacks need a layer" for name, depth in depths.items() if depth < 1
    ]
    return ask.build(
        vocab_size=ask.get("vocab_size", 50_265),
        d_model=ask.get("d_model", 1024),
        n_heads=heads,
        d_ff=width,
        **depths,
        max_length=ask.get("max_position_embeddings", 1024),
        norm_placement="pre" if pre else "post",
        final_norm=pre,
        activation=ask.activation("activation_function", "gelu"),
        embedding_scale=ask.get("scale_embedding", False),
        output_bias=True,
        dropout=ask.get("dropout", 0.1),
        attention_dropout=ask.get("attention_dropout", 0.0),
        **own,
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    return write("BART", config, embedding_norm=True, positions="learned", position_offset=OFFSET)


def write(family: str, config: TransformerConfig, **fixed: Any) -> dict[str, Any]:
    """A `config.json` of ours; or `Refused`, with all that is neither free in BART and its kin nor as `fixed` says."""
    hold(
        family,
        config,
        free=FREE,
        n_encoder_layers=config.n_encoder_layers or "1 or more",
        n_decoder_layers=config.n_decoder_layers or "1 or more",
        d_head=config.d_model / config.n_heads,
        **{"tied_embeddings": True, "shared_embeddings": True, **fixed},
    )
    values: dict[str, Any] = {
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "max_position_embeddings": config.max_length,
        "activation_function": their_activation(config.activation),
        "scale_embedding": config.embedding_scale,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": 0.0,
        "tie_word_embeddings": config.tied_embeddings,
    }
    for side, depth in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        values[f"{side}_layers"] = depth
        values[f"{side}_attention_heads"] = config.n_heads
        values[f"{side}_ffn_dim"] = config.d_ff
    return values


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class BartForConditionalGeneration."""
    table = [same("embedding.weight", "model.shared.weight")]
    for side in ("encoder", "decoder"):
        table.append(same(f"{side}_inputs.learned.weight", f"model.{side}.embed_positions.weight"))
        table += layer(f"{side}_inputs.norm", f"model.{side}.layernorm_embedding")
    return table + layers(config)


def layers(config: TransformerConfig) -> list[Entry]:
    """The layers of both stacks, and the bias of the output."""
    table: list[Entry] = []
    sides = (("encoder", config.n_encoder_layers, ENCODER_PARTS), ("decoder", config.n_decoder_layers, DECODER_PARTS))
    for side, depth, parts in sides:
        for number in range(depth):
            for ours, theirs in parts.items():
                table += layer(f"{side}.{number}.{ours}", f"model.{side}.layers.{number}.{theirs}")
    return [*table, Entry(("output_bias",), ("final_logits_bias",), first, row)] if config.output_bias else table


def first(tensors: list[Tensor]) -> list[Tensor]:
    """The one row of each matrix."""
    return [tensor[0] for tensor in tensors]


def row(tensors: list[Tensor]) -> list[Tensor]:
    """Each vector as a matrix of one row."""
    return [tensor[None] for tensor in tensors]


def refine(config: TransformerConfig, names: Collection[str]) -> TransformerConfig:
    """The bias of the output may be missing where it is zero."""
    return replace(config, output_bias="final_logits_bias" in names)


def copies(config: TransformerConfig) -> dict[str, str]:
    """One table of embeddings stands in four places."""
    places = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    return dict.fromkeys(places, "shared.weight")


BART = Family(
    name="BART",
    model_types=("bart",),
    architectures=("BartForConditionalGeneration", "BartModel"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("model.",),
    ignored=(r"(encoder|decoder)\.version",),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.layers", "decoder": "decoder.layers"},
)
