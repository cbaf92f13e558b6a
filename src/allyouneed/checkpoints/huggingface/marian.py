"""Marian (Junczys-Dowmunt 2018): the translator of 2017 with all sines before all cosines, SiLU, and an output bias.

The model of 2017 itself, whose sines and cosines alternate, is written too: the order of the model's widths is nobody's
but its own, so all that is D wide is put into the order in which the sines come first.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from allyouneed.checkpoints.huggingface.bart import layers, read, refine, write
from allyouneed.checkpoints.huggingface.family import Entry, Family, same
from allyouneed.checkpoints.huggingface.settings import Settings
from allyouneed.errors import InputError
from allyouneed.models.config import TransformerConfig
from allyouneed.parts.positions import sinusoids_in_halves

POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    ask.only("normalize_embedding", False)
    ask.only("static_position_embeddings", True)
    ask.only("decoder_vocab_size", None, ask.get("vocab_size", 58_101))
    tied, shared = ask.get("tie_word_embeddings", True), ask.get("share_encoder_decoder_embeddings", True)
    return read(ask, positions="sinusoidal-halves", tied_embeddings=tied, shared_embeddings=tied and shared)


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    values = write(
        "Marian",
        config,
        positions=("sinusoidal-halves", "sinusoidal"),
        tied_embeddings=(True, False),
        shared_embeddings=(True, False) if config.tied_embeddings else False,
    )
    shared = config.reads_one_table
    return {**values, "static_position_embeddings": True, "share_encoder_decoder_embeddings": shared}


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class MarianMTModel."""
    if config.reads_one_table:
        table = [same("embedding.weight", "model.shared.weight")]
    else:
        table = [same("embedding.weight", "model.encoder.embed_tokens.weight")]
        table.append(same("target_embedding.weight", "model.decoder.embed_tokens.weight"))
    if not config.tied_embeddings:
        table.append(same("output.weight", "lm_head.weight"))
    return in_their_order(table + layers(config), config)


def with_positions(config: TransformerConfig) -> list[Entry]:
    """The names of older files, which hold the sines and cosines too."""
    return beside_positions(entries(config), config)


def beside_positions(table: list[Entry], config: TransformerConfig) -> list[Entry]:
    """A table with the sines and cosines, which must be the ones that are computed here."""
    waves = partial(sinusoids_in_halves, config.max_length, config.d_model)

    def checked(tensors: list[Tensor]) -> list[Tensor]:
        if not all(torch.allclose(tensor, waves(), atol=1e-3) for tensor in tensors):
            raise InputError(
                f"{POSITIONS[0]} and {POSITIONS[1]} hold another table of positions than the sines and cosines "
                "that this package computes."
            )
        return []

    return [*table, Entry((), POSITIONS, checked, lambda _: [waves(), waves()])]


def in_their_order(table: list[Entry], config: TransformerConfig) -> list[Entry]:
    """A table for a model whose sines and cosines may alternate: all that is D wide is then put in the other order."""
    return table if config.positions == "sinusoidal-halves" else [reordered(entry, config.d_model) for entry in table]


def reordered(entry: Entry, width: int) -> Entry:
    """An entry that puts every tensor's model width, D, into the order in which the sines come first."""
    order = torch.cat((torch.arange(0, width, 2), torch.arange(1, width, 2)))

    def join(tensors: list[Tensor]) -> list[Tensor]:
        pairs = zip(entry.ours, tensors, strict=True)
        return entry.join([in_order(name, tensor, order) for name, tensor in pairs])

    return replace(entry, join=join)


def in_order(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    """A tensor of ours with its model width, which is its rows, its columns or neither, in another order."""
    part, _, kind = name.rpartition(".")
    if part.endswith((".output", ".outer", "norm")):
        return tensor[order]
    return tensor[:, order] if kind == "weight" else tensor


def copies(config: TransformerConfig) -> dict[str, str]:
    """One table of embeddings stands in several places."""
    if not config.tied_embeddings:
        return {}
    if not config.reads_one_table:
        return {"lm_head.weight": "decoder.embed_tokens.weight"}
    places = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    return dict.fromkeys(places, "shared.weight")


MARIAN = Family(
    name="Marian",
    model_types=("marian",),
    architectures=("MarianMTModel", "MarianModel"),
    config=config,
    describe=describe,
    entries=entries,
    older=(with_positions,),
    prefixes=("model.",),
    copies=copies,
    refine=refine,
    stacks={"encoder": "encoder.layers", "decoder": "decoder.layers"},
)
