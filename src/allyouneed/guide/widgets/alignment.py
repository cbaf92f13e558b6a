"""Where a recurrent decoder looks in the source before each word that it writes (Bahdanau 2015)."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.cross_attention import write
from allyouneed.guide.widgets.recurrences import recurrent
from allyouneed.guide.widgets.self_attention import names_of
from allyouneed.guide.widgets.texts import encoded, named, readable, row, words_of
from allyouneed.lens.attention import recording
from allyouneed.models.recurrent import Recurrent
from allyouneed.models.recurrent.model import Decoder
from allyouneed.parts.additive import AdditiveAttention, masked_softmax, naive_additive_scores
from allyouneed.tasks.hypotheses import encode, start_of

EXAMPLE = "The agreement on the European Economic Area was signed in August 1992 ."
CLAIMS = (("zone", "Area"), ("économique", "Economic"), ("européenne", "European"))
LONGEST_ANSWER = 120  # tokens
SHOWN = 12  # numbers of the context that are shown
Attention = Literal["learned", "uniform", "hard"]
SHARPNESS: dict[Attention, float] = {"learned": 1.0, "uniform": 0.0, "hard": 1e6}  # what the scores are multiplied by


class AlignmentInputs(Inputs):
    """An empty `source` is the example; `step` counts from 1 what is written: words, whose pieces are joined, or tokens
    without `words`. `sharpness` multiplies the scores of learned attention; uniform and hard attention are its ends.
    """

    source: str = Field("", max_length=4000)
    step: int = Field(6, ge=1, le=LONGEST_ANSWER)
    words: bool = True
    attention: Attention = "learned"
    sharpness: float = Field(1.0, ge=0, le=4)
    model: str = any_model("zoo:rnnsearch-en-fr", "recurrent-both")


@contextmanager
def sharpened(attention: AdditiveAttention, factor: float) -> Generator[None]:
    """While it is open, all scores are multiplied by a factor: 0 makes the weights even."""
    direction = attention.direction.data
    attention.direction.data = direction * factor
    try:
        yield
    finally:
        attention.direction.data = direction


def accuracy(model: Recurrent, memory: Any, first: int, wanted: list[int]) -> float:
    """The share of a text's tokens that the model would write, each after the right ones."""
    states = model.decode(row([first, *wanted[:-1]]), memory)
    return (model.logits(states)[0].argmax(-1) == torch.tensor(wanted)).float().mean().item()


def between_words(weights: Tensor, rows: list[list[int]], columns: list[list[int]]) -> Tensor:
    """Weights between words [W, V] by those between tokens [T, S]: a word looks when its first piece is written, and
    what its pieces get is added.
    """
    seen = torch.zeros(len(columns), weights.shape[1])
    for number, places in enumerate(columns):
        seen[number, places] = 1.0
    return weights[[places[0] for places in rows]] @ seen.T


def claims(target: list[str], source: list[str], weights: Tensor) -> list[dict[str, Any]]:
    """For each pair of words that stands in both texts: the share of its look that the word gives to its origin.
    Weights [W, V].
    """
    found: list[dict[str, Any]] = []
    for word, origin in CLAIMS:
        if word in target and origin in source:
            look, column = weights[target.index(word)], source.index(origin)
            holds = int(look.argmax()) == column
            found.append({"word": word, "origin": origin, "value": look[column].item(), "holds": holds})
    return found


@torch.no_grad()
def compute(inputs: AlignmentInputs, models: Models) -> dict[str, Any]:
    """The translation, where each of its tokens looked, and how one row of weights came about."""
    with recurrent(models, inputs.model) as (pipe, model):
        tokenizer = pipe.tokenizer
        attention = model.decoder.cross_attention
        if attention is None:
            raise FigureError("error.no-alignment")
        source = encoded(tokenizer, inputs.source or EXAMPLE, "source", pipe.config.max_length - pipe.n_marks)
        factor = inputs.sharpness if inputs.attention == "learned" else SHARPNESS[inputs.attention]
        longest = min(LONGEST_ANSWER, 2 * len(source) + 20)
        own = write(model, encode(model, tokenizer, [source]), longest, None).tokens
        with sharpened(attention, factor):
            memory = encode(model, tokenizer, [source])
            tokens = write(model, memory, longest, None).tokens
            correct = accuracy(model, memory, start_of(tokenizer), own)
            with recording(model) as lookups:
                model.decode(row([start_of(tokenizer), *tokens[:-1]]), memory)
            seen = lookups["cross"][-1]
            weights, ids = seen.weights(0), tokenizer.wrap(source)
            rows, columns = words_of(tokenizer, tokens), words_of(tokenizer, ids)
            by_word = between_words(weights, rows, columns)
            names = [names_of(tokenizer, tokens, rows), names_of(tokenizer, ids, columns)]
            texts = [[name["text"] for name in side] for side in names]
            found = claims(texts[0], texts[1], by_word)
            if not inputs.words:
                rows, columns = [[place] for place in range(len(tokens))], [[place] for place in range(len(ids))]
                names = [named(tokenizer, tokens), named(tokenizer, ids)]
            weights = by_word if inputs.words else weights
            step = min(inputs.step, len(rows))
            query = seen.x[:, rows[step - 1][0], None]
            pieces = attention.scores(query, seen.keys)[0, 0]
            scores = torch.stack([pieces[places].max() for places in columns])
            context = attention(query, seen.keys, memory.states)[0, 0]
        written, read = names
        translation, source_text = readable(tokenizer, tokens), tokenizer.decode(source)
        width = model.config.d_hidden
    cells, grouped = pooled(weights)
    return {
        "source": read,
        "source_text": source_text,
        "target": written,
        "translation": translation,
        "cells": cells,
        "factor": grouped,
        "size": max(weights.shape),
        "scores": scores,
        "look": weights[step - 1],
        "sum": weights[step - 1].sum().item(),
        "context": context[:SHOWN],
        "widths": {"context": len(context), "hidden": width},
        "accuracy": correct,
        "claims": found,
        "model": models.card(inputs.model),
        "used": {"step": step},
        "limits": {"step": len(rows)},
    }


WIDGET = Widget(
    AlignmentInputs,
    compute,
    (naive_additive_scores, masked_softmax, AdditiveAttention.forward, Decoder.forward, sharpened),
)
