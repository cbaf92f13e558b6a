"""Who may look at whom in the decoder: the scores of a real layer and head under a mask of the reader's choice."""

import math
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.examples import example
from allyouneed.guide.widgets.heads import Places, one_head
from allyouneed.guide.widgets.texts import encoded, named, row
from allyouneed.lens.attention import Lookup, recording
from allyouneed.models.transformer import Memory, Transformer
from allyouneed.parts.attention import attention_scores, attention_weights
from allyouneed.parts.masks import Mask, causal, padding, prefix, sliding_window
from allyouneed.pipeline import Translator
from allyouneed.tasks.hypotheses import encode
from allyouneed.text.tokenizer import BOS, EOS, PAD

LONGEST_TEXT = 8000  # characters


class CausalMaskInputs(Inputs):
    """An empty `sentence` or `source` is the model's example. `window`, `pads` and `prefix` belong to their masks."""

    sentence: str = Field("", max_length=LONGEST_TEXT)
    source: str = Field("", max_length=LONGEST_TEXT)
    mask: Literal["none", "causal", "window", "padding", "prefix"] = "causal"
    window: int = Field(3, ge=1, le=12)
    pads: int = Field(2, ge=1, le=8)
    prefix: int = Field(3, ge=1, le=12)
    stage: Literal["scores", "masked", "weights"] = "weights"
    layer: int = Field(0, ge=0, le=63)
    head: int = Field(0, ge=0, le=63)
    model: str = any_model("zoo:fr-en", "both")


def chosen_mask(inputs: CausalMaskInputs, ids: list[int]) -> Mask:
    """The rule that the reader chose, as a value."""
    match inputs.mask:
        case "none":
            return causal() | ~causal()
        case "causal":
            return causal()
        case "window":
            return causal() & sliding_window(inputs.window)
        case "padding":
            return padding(row(ids) != PAD)
        case "prefix":
            return causal() | prefix(inputs.prefix)


class Run(NamedTuple):
    """One pass of the decoder: its lookups, layer by layer, and the logits [T, V]."""

    lookups: list[Lookup]
    logits: Tensor


def run(model: Transformer, ids: list[int], memory: Memory, mask: Mask) -> Run:
    """The whole decoder under `mask`."""
    with recording(model) as lookups:
        states = model.decode(row(ids), memory, mask)
    return Run(lookups["decoder"], model.logits(states)[0])


def leak(model: Transformer, ids: list[int], memory: Memory, mask: Mask, before: Tensor) -> tuple[int, float]:
    """Replaces the last real token and says by how much the logits of the places before it move, at most.

    -> the token put in its place, and the largest absolute change.
    """
    last = max(place for place, token in enumerate(ids) if token != PAD)
    new = next((token for token in ids[1:last] if token != ids[last]), EOS)
    changed = [*ids[:last], new, *ids[last + 1 :]]
    after = run(model, changed, memory, mask).logits
    return new, (after[:last] - before[:last]).abs().max().item()


def picture(scores: Tensor, allowed: Tensor, weights: Tensor, stage: str) -> tuple[Tensor, int]:
    """The cells [T, T] of the asked stage and the size of the blocks that they are pooled by; -∞ where masked."""
    if stage == "weights":
        return pooled(weights)
    open_share, factor = pooled((allowed | (stage == "scores")).float())
    sums, _ = pooled(torch.where(allowed | (stage == "scores"), scores, 0.0))
    return torch.where(open_share > 0, sums / open_share, -math.inf), factor


@torch.no_grad()
def compute(inputs: CausalMaskInputs, models: Models) -> dict[str, Any]:
    """Scores, mask and weights of one layer and head, and the leak test under the same mask."""
    with models.use(inputs.model, Translator) as pipe:
        model, tokenizer = pipe.model, pipe.tokenizer
        default = example(pipe)
        source = encoded(tokenizer, inputs.source or default.source, "source", model.config.max_length - 1)
        longest = model.config.max_length - 1 - inputs.pads
        written = encoded(tokenizer, inputs.sentence or default.target, "sentence", longest)
        ids = [BOS, *written, *[PAD] * (inputs.pads if inputs.mask == "padding" else 0)]
        mask = chosen_mask(inputs, ids)
        memory = encode(model, tokenizer, [source])
        seen = run(model, ids, memory, mask)
        new, moved = leak(model, ids, memory, mask, seen.logits)
        with recording(model) as own:
            model.decode(row(ids), memory)
    places = Places.within(inputs.layer, inputs.head, seen.lookups)
    query, key = one_head(seen.lookups[places.layer], places.head)
    scores = attention_scores(query, key)[0, 0]
    allowed = mask.dense(len(ids), len(ids)).expand(1, 1, -1, -1)[0, 0]
    weights = attention_weights(query, key, mask)[0, 0]
    cells, factor = picture(scores, allowed, weights, inputs.stage)
    own_mask = own["decoder"][0].mask
    return {
        "tokens": named(tokenizer, ids),
        "source": tokenizer.decode(source),
        "sentence": tokenizer.decode(written),
        "cells": cells,
        "factor": factor,
        "size": len(ids),
        "row_sums": weights.sum(-1) if factor == 1 and inputs.stage == "weights" else [],
        "masked": int((~allowed).sum()),
        "leak": {"from": named(tokenizer, [written[-1]])[0], "to": named(tokenizer, [new])[0], "moved": moved},
        "own_mask": "none" if own_mask is None else own_mask.name,
        "model": models.card(inputs.model),
        **places.limits(),
    }


WIDGET = Widget(
    CausalMaskInputs, compute, (attention_weights, attention_scores, causal, sliding_window, padding, prefix, leak)
)
