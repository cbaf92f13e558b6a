"""RoBERTa (Liu 2019): BERT's encoder, whose table of positions has rows that stand for none, and another head."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from allyouneed.checkpoints.huggingface.bert import body, read, write
from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same
from allyouneed.checkpoints.huggingface.settings import Settings
from allyouneed.models.config import TransformerConfig


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`. Positions are counted from the padding token's number, and begin after it."""
    ask = Settings(values)
    ask.only("hidden_act", "gelu")  # the head has this one whatever the layers have
    return read(ask, offset=ask.get("pad_token_id", 1) + 1)


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    offset = config.position_offset or "1 or more"
    classes = ("RobertaForMaskedLM", "RobertaModel")
    values = write("RoBERTa", config, classes=classes, position_offset=offset, activation="gelu")
    return {**values, "pad_token_id": config.position_offset - 1}


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class RobertaForMaskedLM, and of RobertaModel where there is no head."""
    return body(config, "roberta") + head(config)


def head(config: TransformerConfig) -> list[Entry]:
    """The head for masked words, where there is one."""
    if not config.output_transform:
        return []
    table = [*layer("readout.dense", "lm_head.dense"), *layer("readout.norm", "lm_head.layer_norm")]
    return [*table, same("output_bias", "lm_head.bias")]


def refine(config: TransformerConfig, names: Collection[str]) -> TransformerConfig:
    """A file without a pooler or a head is one of a model without it."""
    head = "lm_head.dense.weight" in names
    return replace(config, pooler="pooler.dense.weight" in names, output_transform=head, output_bias=head)


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding."""
    return {"lm_head.decoder.weight": "embeddings.word_embeddings.weight", "lm_head.decoder.bias": "lm_head.bias"}


ROBERTA = Family(
    name="RoBERTa",
    model_types=("roberta",),
    architectures=("RobertaForMaskedLM", "RobertaModel"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("roberta.",),
    ignored=(r"embeddings\.position_ids",),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.layer"},
)
