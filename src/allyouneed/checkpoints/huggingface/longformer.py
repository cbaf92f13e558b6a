"""Longformer (Beltagy 2020): RoBERTa's encoder, whose tokens look around themselves, and its global ones at all.

Which tokens are global is said with each call, here as there; projections for them are in every layer.
"""

from typing import Any, cast

from allyouneed.checkpoints.huggingface import roberta
from allyouneed.checkpoints.huggingface.bert import body, read, write
from allyouneed.checkpoints.huggingface.family import Entry, Family, layer
from allyouneed.checkpoints.huggingface.settings import Settings
from allyouneed.models.config import TransformerConfig


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`. A window counts the tokens on both sides, the same in each layer."""
    ask = Settings(values)
    ask.only("hidden_act", "gelu")  # the head has this one whatever the layers have
    window = values.get("attention_window", 512)
    windows = set(cast(list[object], window)) if isinstance(window, list) else {window}
    width = windows.pop()
    if windows or not isinstance(width, int) or width < 2 or width % 2:
        ask.reasons.append(f"attention_window is {window!r}, and here it can only be one even number for all layers")
        width = 2
    return read(
        ask,
        offset=ask.get("pad_token_id", 1) + 1,
        reach="window",
        reach_window=width // 2,
        global_projections=True,
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    values = write(
        "Longformer",
        config,
        classes=("LongformerForMaskedLM", "LongformerModel"),
        position_offset=config.position_offset or "1 or more",
        activation="gelu",
        reach="window",
        reach_window=config.reach_window or "1 or more",
        global_projections=True,
    )
    windows = [2 * config.reach_window] * config.n_encoder_layers
    return {**values, "pad_token_id": config.position_offset - 1, "attention_window": windows}


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class LongformerForMaskedLM, and of LongformerModel where there is no head."""
    table = body(config, "longformer")
    for number in range(config.n_encoder_layers):
        for name in ("query", "key", "value"):
            ours = f"encoder.{number}.self_attention.global_projections.{name}"
            table += layer(ours, f"longformer.encoder.layer.{number}.attention.self.{name}_global")
    return table + roberta.head(config)


LONGFORMER = Family(
    name="Longformer",
    model_types=("longformer",),
    architectures=("LongformerForMaskedLM", "LongformerModel"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("longformer.",),
    ignored=(r"embeddings\.position_ids",),
    copies=roberta.copies,
    refine=roberta.refine,
    stacks={"encoder": "encoder.layer"},
)
