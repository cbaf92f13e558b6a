"""BERT (Devlin 2019): an encoder with post-norm, learned positions, segments, and a head for masked words.

Of a file that also holds the head for next sentences, that head alone is left out. A file without the head for masked
words (the class BertModel) gives a model whose states and pooled vector are what it was published for.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import torch

from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same
from allyouneed.checkpoints.huggingface.settings import Settings, attention_biases, hold, their_activation
from allyouneed.models.config import TransformerConfig

FREE = (
    *("vocab_size", "d_model", "n_heads", "d_ff", "n_encoder_layers", "max_length"),
    *("norm_epsilon", "activation", "n_segments", "pooler", "output_transform"),
)
PARTS = {  # of a layer
    "self_attention.query": "attention.self.query",
    "self_attention.key": "attention.self.key",
    "self_attention.value": "attention.self.value",
    "self_attention.output": "attention.output.dense",
    "residuals.0.norm": "attention.output.LayerNorm",
    "feed_forward.inner": "intermediate.dense",
    "feed_forward.outer": "output.dense",
    "residuals.1.norm": "output.LayerNorm",
}


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    return read(Settings(values), offset=0)


def read(ask: Settings, *, offset: int, **others: Any) -> TransformerConfig:
    """Ours; the first `offset` rows of the table of positions stand for no position. `others` are fields of ours."""
    ask.only("is_decoder", False)
    ask.only("add_cross_attention", False)
    ask.only("position_embedding_type", "absolute")
    ask.only("tie_word_embeddings", True)
    return ask.build(
        vocab_size=ask.get("vocab_size", 30_522),
        d_model=ask.get("hidden_size", 768),
        n_heads=ask.get("num_attention_heads", 12),
        d_ff=ask.get("intermediate_size", 3072),
        n_encoder_layers=ask.get("num_hidden_layers", 12),
        n_decoder_layers=0,
        max_length=ask.get("max_position_embeddings", 512) - offset,
        norm_epsilon=ask.get("layer_norm_eps", 1e-12),
        embedding_norm=True,
        activation=ask.activation("hidden_act", "gelu"),
        positions="learned",
        position_offset=offset,
        n_segments=ask.get("type_vocab_size", 2),
        pooler=True,
        output_transform=True,
        output_bias=True,
        dropout=ask.get("hidden_dropout_prob", 0.1),
        attention_dropout=ask.get("attention_probs_dropout_prob", 0.1),
        **{"embedding_scale": False, **others},
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    return write("BERT", config, classes=("BertForMaskedLM", "BertModel"), position_offset=0)


def write(family: str, config: TransformerConfig, *, classes: tuple[str, str], **fixed: Any) -> dict[str, Any]:
    """A `config.json` of ours, for the first of two classes where there is a head; or `Refused`."""
    hold(
        family,
        config,
        free=[name for name in FREE if name not in fixed],
        n_decoder_layers=0,
        d_head=config.d_model / config.n_heads,
        embedding_norm=True,
        positions="learned",
        output_bias=config.output_transform,
        **{"embedding_scale": False, **fixed},
    )
    return {
        "architectures": [classes[0] if config.output_transform else classes[1]],
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_encoder_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": their_activation(config.activation),
        "max_position_embeddings": config.max_length + config.position_offset,
        "type_vocab_size": max(1, config.n_segments),
        "layer_norm_eps": config.norm_epsilon,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "tie_word_embeddings": True,
    }


def body(config: TransformerConfig, prefix: str, *, pooler: str = "pooler.dense") -> list[Entry]:
    """All but the head for masked words."""
    qkv_bias, _ = attention_biases(config)
    table = [
        same("embedding.weight", f"{prefix}.embeddings.word_embeddings.weight"),
        same("encoder_inputs.learned.weight", f"{prefix}.embeddings.position_embeddings.weight"),
        segments(config, f"{prefix}.embeddings.token_type_embeddings.weight"),
        *layer("encoder_inputs.norm", f"{prefix}.embeddings.LayerNorm"),
    ]
    for number in range(config.n_encoder_layers):
        for ours, theirs in PARTS.items():
            bias = qkv_bias or ".self." not in theirs
            table += layer(f"encoder.{number}.{ours}", f"{prefix}.encoder.layer.{number}.{theirs}", bias=bias)
    return [*table, *layer("pooler", f"{prefix}.{pooler}")] if config.pooler else table


def segments(config: TransformerConfig, theirs: str) -> Entry:
    """The table of segments. A model that tells none apart is written with a single one, which adds nothing."""
    if config.n_segments:
        return same("encoder_inputs.segments.weight", theirs)
    return Entry((), (theirs,), lambda _: [], lambda _: [torch.zeros(1, config.d_model)])


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class BertForMaskedLM, and of BertModel where there is no head."""
    return body(config, "bert") + head(config)


def head(config: TransformerConfig) -> list[Entry]:
    """The head for masked words, where there is one."""
    if not config.output_transform:
        return []
    theirs = "cls.predictions.transform"
    table = [*layer("readout.dense", f"{theirs}.dense"), *layer("readout.norm", f"{theirs}.LayerNorm")]
    return [*table, same("output_bias", "cls.predictions.bias")]


def first_names(config: TransformerConfig) -> list[Entry]:
    """The names of the first files, which call a norm's weight and bias gamma and beta."""

    def old(name: str) -> str:
        return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

    return [replace(entry, theirs=tuple(map(old, entry.theirs))) for entry in entries(config)]


def refine(config: TransformerConfig, names: Collection[str]) -> TransformerConfig:
    """A file without a pooler or a head is one of a model without it."""
    head = "cls.predictions.transform.dense.weight" in names
    return replace(config, pooler="pooler.dense.weight" in names, output_transform=head, output_bias=head)


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding."""
    return {
        "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }


BERT = Family(
    name="BERT",
    model_types=("bert",),
    architectures=("BertForMaskedLM", "BertModel", "BertForPreTraining"),
    config=config,
    describe=describe,
    entries=entries,
    older=(first_names,),
    prefixes=("bert.",),
    ignored=(r"embeddings\.position_ids", r"cls\.seq_relationship\.(weight|bias)"),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.layer"},
)
