"""PEGASUS (Zhang 2020): Marian with the norms before the sub-layers, as most translators are trained today."""

from typing import Any

from allyouneed.checkpoints.huggingface.bart import copies, layers, read, refine, write
from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same
from allyouneed.checkpoints.huggingface.marian import beside_positions, in_their_order
from allyouneed.checkpoints.huggingface.settings import Settings
from allyouneed.models.config import TransformerConfig


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    ask.only("normalize_embedding", False)
    ask.only("static_position_embeddings", True)
    ask.only("tie_word_embeddings", True)
    return read(ask, pre=True, positions="sinusoidal-halves")


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    positions = ("sinusoidal-halves", "sinusoidal")
    return write("PEGASUS", config, norm_placement="pre", final_norm=True, positions=positions)


def without_positions(config: TransformerConfig) -> list[Entry]:
    """The names of the class PegasusForConditionalGeneration, but for the sines and cosines, which a file may lack."""
    table = [same("embedding.weight", "model.shared.weight"), *layers(config)]
    for side in ("encoder", "decoder"):
        table += layer(f"{side}_norm", f"model.{side}.layer_norm")
    return in_their_order(table, config)


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class PegasusForConditionalGeneration."""
    return beside_positions(without_positions(config), config)


PEGASUS = Family(
    name="PEGASUS",
    model_types=("pegasus",),
    architectures=("PegasusForConditionalGeneration", "PegasusModel"),
    config=config,
    describe=describe,
    entries=entries,
    older=(without_positions,),
    prefixes=("model.",),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.layers", "decoder": "decoder.layers"},
)
