"""Who may look at whom in the decoder: the scores of a real layer and head under a mask of the reader's choice."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.examples import example
from allyouneed.guide.widgets.heads import Places, one_head
from allyouneed.guide.widgets.texts import encoded, named, row
from allyouneed.lens.attention import Lookup, recording
from allyouneed.models.transformer import Memory, Transformer
from allyouneed.parts.attention import attention_scores, attention_weights
from allyouneed.parts.masks import Mask, causal, padding, prefix, sliding_window
from allyouneed.pipeline import LanguageModel, Pipeline, Translator
from allyouneed.tasks.hypotheses import encode, start_of

LONGEST_TEXT = 8000  # characters
EXAMPLE = "The mouse ate the cheese."  # of a decoder alone
MOST_PADS = 8
LARGE = -1e9  # what is often written for minus infinity


class CausalMaskInputs(Inputs):
    """An empty `sentence` or `source` is the model's example; a decoder alone has no source. `window`, `pads` and
    `prefix` belong to their masks.
    """

    sentence: str = Field("", max_length=LONGEST_TEXT)
    source: str = Field("", max_length=LONGEST_TEXT)
    mask: Literal["none", "causal", "window", "padding", "prefix"] = "causal"
    window: int = Field(3, ge=1, le=12)
    pads: int = Field(2, ge=1, le=MOST_PADS)
    prefix: int = Field(3, ge=1, le=12)
    stage: Literal["scores", "masked", "weights"] = "weights"
    layer: int = Field(0, ge=0, le=63)
    head: int = Field(0, ge=0, le=63)
    model: str = any_model("zoo:fr-en", "decoder", "both")


def chosen_mask(inputs: CausalMaskInputs, ids: list[int], pad: int) -> Mask:
    """The rule that the reader chose, as a value."""
    match inputs.mask:
        case "none":
            return causal() | ~causal()
        case "causal":
            return causal()
        case "window":
            return causal() & sliding_window(inputs.window)
        case "padding":
            return padding(row(ids) != pad)
        case "prefix":
            return causal() | prefix(inputs.prefix)


class Run(NamedTuple):
    """One pass of the decoder: its lookups, layer by layer, and the logits [T, V]."""

    lookups: list[Lookup]
    logits: Tensor


def run(model: Transformer, ids: list[int], memory: Memory | None, mask: Mask) -> Run:
    """The whole decoder under `mask`."""
    with recording(model) as lookups:
        states = model.decode(row(ids), memory, mask)
    return Run(lookups["decoder"], model.logits(states)[0])


def leak(text: "Text", mask: Mask, before: Tensor) -> tuple[int, float]:
    """Replaces the last real token and says by how much the logits of the places before it move, at most.

    -> the token put in its place, and the largest absolute change.
    """
    ids, last = text.ids, text.length - 1
    new = next(token for token in (*ids[1:last], ids[0], 0, 1) if token != ids[last])
    changed = [*ids[:last], new, *ids[last + 1 :]]
    after = run(text.model, changed, text.memory, mask).logits
    return new, (after[:last] - before[:last]).abs().max().item()


def scores_and_weights(seen: Lookup, head: int, mask: Mask) -> tuple[Tensor, Tensor]:
    """Of one head [T, T] each, a bias of ALiBi or T5 included. Raises FigureError for scores that embed distances."""
    attention, bias = seen.attention, seen.place.bias
    if attention.relative is not None:
        raise FigureError("error.other-scores")
    query, key = one_head(seen, head)
    bias = torch.zeros(()) if bias is None else bias[:, head : head + 1]
    scores = attention_scores(query, key, scale=attention.scale) + bias
    return scores[0, 0], attention_weights(query, key, mask, scale=attention.scale, bias=bias)[0, 0]


@dataclass(frozen=True, eq=False)  # one text is what one reading made
class Text:
    """What the decoder reads: marks, written tokens and padding; of a translator also what it translates."""

    model: Transformer
    ids: list[int]
    length: int  # without padding
    sentence: str
    source: str
    memory: Memory | None

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, pipe: Pipeline, sentence: str, original: str, pads: int) -> "Text":
        """The reader's text and its source, or the model's example, with padding. Raises FigureError for what does not
        fit the model.
        """
        model, tokenizer = pipe.model, pipe.tokenizer
        source, memory = "", None
        if isinstance(pipe, Translator):
            default = example(pipe)
            opening, target = [start_of(tokenizer)], default.target
            read = encoded(tokenizer, original or default.source, "source", model.config.max_length - 1)
            source, memory = tokenizer.decode(read), encode(model, tokenizer, [read])
        else:
            assert isinstance(pipe, LanguageModel)
            opening, target = [*pipe.opening], EXAMPLE
        longest = model.config.max_length - len(opening) - MOST_PADS
        written = encoded(tokenizer, sentence or target, "sentence", longest)
        ids = [*opening, *written]
        if len(ids) < 2:
            raise FigureError("error.short-sentence", "sentence")
        padded = [*ids, *[tokenizer.pad] * pads]
        return cls(model, padded, len(ids), tokenizer.decode(written), source, memory)


def empty_row(size: int) -> dict[str, Any]:
    """A row that may look nowhere, three ways: after -∞ a softmax divides 0 by 0, after a large negative number it
    looks evenly at all that is hidden, and this package gives zeros.
    """
    query, nowhere = torch.zeros(1, 1, 1, 1), ~(causal() | ~causal())
    undefined = torch.full((size,), -math.inf).softmax(-1).isnan()
    ours = attention_weights(query, torch.zeros(1, 1, size, 1), nowhere)
    return {
        "size": size,
        "undefined": int(undefined.sum()),
        "even": torch.full((size,), LARGE).softmax(-1).max().item(),
        "ours": ours.max().item(),
    }


def picture(scores: Tensor, allowed: Tensor, weights: Tensor, stage: str) -> tuple[Tensor, int]:
    """The cells [T, T] of the asked stage and the size of the blocks that they are pooled by; -∞ where masked."""
    if stage == "weights":
        return pooled(weights)
    open_share, factor = pooled((allowed | (stage == "scores")).float())
    sums, _ = pooled(torch.where(allowed | (stage == "scores"), scores, 0.0))
    return torch.where(open_share > 0, sums / open_share, -math.inf), factor


@lru_cache(maxsize=16)
def claims(text: Text) -> list[dict[str, Any]]:
    """Under the causal mask nothing of the future reaches the past; without one it does."""
    found: list[dict[str, Any]] = []
    for key, rule, leaks in (("sealed", causal(), False), ("open", causal() | ~causal(), True)):
        before = run(text.model, text.ids, text.memory, rule)
        moved = leak(text, rule, before.logits)[1]
        found.append(
            {
                "key": f"causal-mask.claim-{key}",
                "word": key,
                "origin": "",
                "value": moved,
                "holds": (moved > 0) == leaks,
            }
        )
    return found


@torch.no_grad()
def compute(inputs: CausalMaskInputs, models: Models) -> dict[str, Any]:
    """Scores, mask and weights of one layer and head, and the leak test under the same mask."""
    with models.use(inputs.model, Pipeline) as pipe:
        if not pipe.config.n_decoder_layers:
            raise FigureError("error.no-decoder")
        pads = inputs.pads if inputs.mask == "padding" else 0
        text, tokenizer = Text.of(pipe, inputs.sentence, inputs.source, pads), pipe.tokenizer
        mask = chosen_mask(inputs, text.ids, tokenizer.pad)
        seen = run(text.model, text.ids, text.memory, mask)
        new, moved = leak(text, mask, seen.logits)
        claimed = claims(text)
        with recording(text.model) as own:
            text.model.decode(row(text.ids), text.memory)
    places = Places.within(inputs.layer, inputs.head, seen.lookups)
    size = len(text.ids)
    allowed = mask.dense(size, size).expand(1, 1, -1, -1)[0, 0]
    scores, weights = scores_and_weights(seen.lookups[places.layer], places.head, mask)
    cells, factor = picture(scores, allowed, weights, inputs.stage)
    own_mask = own["decoder"][places.layer].mask
    return {
        "tokens": named(tokenizer, text.ids),
        "source": text.source,
        "sentence": text.sentence,
        "cells": cells,
        "factor": factor,
        "size": size,
        "row_sums": weights.sum(-1) if factor == 1 and inputs.stage == "weights" else [],
        "masked": int((~allowed).sum()),
        "leak": {
            "from": named(tokenizer, [text.ids[text.length - 1]])[0],
            "to": named(tokenizer, [new])[0],
            "moved": moved,
        },
        "empty": empty_row(size),
        "own_mask": "none" if own_mask is None else own_mask.name,
        "claims": claimed,
        "model": models.card(inputs.model),
        **places.limits(),
    }


WIDGET = Widget(
    CausalMaskInputs, compute, (attention_weights, attention_scores, causal, sliding_window, padding, prefix, leak)
)
