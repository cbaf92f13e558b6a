"""Where a recurrent decoder looks in the source before each word that it writes (Bahdanau 2015)."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.counts import unknown
from allyouneed.guide.widgets.cross_attention import write
from allyouneed.guide.widgets.recurrences import recurrent
from allyouneed.guide.widgets.self_attention import names_of
from allyouneed.guide.widgets.texts import encoded, named, readable, row, words_of
from allyouneed.lens.attention import recording
from allyouneed.models.recurrent import Recurrent
from allyouneed.models.recurrent.model import Decoder
from allyouneed.parts.additive import AdditiveAttention, masked_softmax, naive_additive_scores
from allyouneed.tasks.hypotheses import encode, hypotheses, start_of
from allyouneed.text.tokenizer import EOS
from allyouneed.text.vocabulary import Vocabulary

DEFAULT = "zoo:rnnsearch-en-fr"
EXAMPLE = "The agreement on the European Economic Area was signed in August 1992 ."
CLAIMS = (("zone", "Area"), ("économique", "Economic"), ("européenne", "European"))
LONGEST_ANSWER = 120  # tokens
SHOWN = 12  # numbers of the context that are shown
BEAM = 4
Attention = Literal["learned", "uniform", "hard"]
Search = Literal["greedy", "beam"]
HOLDS = 0.8  # of its own translation a model still predicts while its attention does what it should
SHARPNESS: dict[Attention, float] = {"learned": 1.0, "uniform": 0.0, "hard": 1e9}  # what the scores are multiplied by


class AlignmentInputs(Inputs):
    """An empty `source` is the example, and an empty `target` what the model writes itself, found by `search`; `step`
    counts from 1 what is written: words, whose pieces are joined, or tokens without `words`. `sharpness` multiplies the
    scores of learned attention; uniform and hard attention are its ends.
    """

    source: str = Field("", max_length=4000)
    target: str = Field("", max_length=1000)
    search: Search = "greedy"
    step: int = Field(6, ge=1, le=LONGEST_ANSWER)
    words: bool = True
    attention: Attention = "learned"
    sharpness: float = Field(1.0, ge=0, le=4)
    model: str = any_model(DEFAULT, "recurrent-both")


@contextmanager
def sharpened(attention: AdditiveAttention, factor: float) -> Generator[None]:
    """While it is open, all scores are multiplied by a factor: 0 makes the weights even."""
    direction = attention.direction.data
    attention.direction.data = direction * factor
    try:
        yield
    finally:
        attention.direction.data = direction


def accuracy(model: Recurrent, memory: Any, first: int, wanted: list[int], factor: float) -> float:
    """The share of a text's tokens that the model would write, each after the right ones, with its scores times so
    much.
    """
    assert model.decoder.cross_attention is not None
    with sharpened(model.decoder.cross_attention, factor):
        states = model.decode(row([first, *wanted[:-1]]), memory)
    return (model.logits(states)[0].argmax(-1) == torch.tensor(wanted)).float().mean().item()


def searched(model: Recurrent, tokenizer: Vocabulary, source: list[int], search: Search) -> list[int]:
    """What the model writes itself, with the mark of its end where it came to one."""
    if search == "beam":
        best = hypotheses(model, tokenizer, [source], beam=BEAM)[0][0]
        tokens = [*best.tokens, *([EOS] if best.finished else [])]
    else:
        tokens = write(model, encode(model, tokenizer, [source]), 2 * len(source) + 20, None).tokens
    return tokens[:LONGEST_ANSWER]


class Rendering(NamedTuple):
    """A translation's tokens, and how many of the right ones the model predicts: by each kind of attention, and now."""

    tokens: list[int]
    kept: dict[str, float]
    correct: float


@lru_cache(maxsize=32)  # a step moves along one and the same translation
def rendered(
    model: Recurrent,
    tokenizer: Vocabulary,
    source: tuple[int, ...],
    given: tuple[int, ...],
    search: Search,
    factor: float,
) -> Rendering:
    """The given translation, or the model's own with its scores times so much. The right tokens are those of the given
    one, or of the model's own with attention as learned.
    """
    assert model.decoder.cross_attention is not None
    memory, first = encode(model, tokenizer, [source]), start_of(tokenizer)
    right = list(given) or searched(model, tokenizer, list(source), search)
    kept = {kind: accuracy(model, memory, first, right, sharpness) for kind, sharpness in SHARPNESS.items()}
    with sharpened(model.decoder.cross_attention, factor):
        tokens = list(given) or searched(model, tokenizer, list(source), search)
    return Rendering(tokens, kept, accuracy(model, memory, first, right, factor))


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


def taken_away(accuracies: Mapping[str, float]) -> list[dict[str, Any]]:
    """Even weights lose the translation, and a look at one place alone keeps most of it."""
    even, hard = accuracies["uniform"], accuracies["hard"]
    return [
        {"key": "alignment.claim-uniform", "word": "uniform", "origin": "", "value": even, "holds": even < HOLDS},
        {"key": "alignment.claim-hard", "word": "hard", "origin": "", "value": hard, "holds": hard >= HOLDS},
    ]


def pull(weights: Tensor, states: Tensor, factor: float) -> Tensor:
    """How strongly the context answers to each score: ‖∂c/∂e‖, which for c = Σ α h and α = softmax(factor · e)
    is factor · α ‖h - c‖. Weights [S], states [S, D] -> [S]
    """
    return factor * weights * (states - weights @ states).norm(dim=-1)


class Aligned(NamedTuple):
    """A translation beside its source: the names of what is written and of what was read, the places of the tokens that
    each is made of, and the weights [W, V] between them.
    """

    written: list[dict[str, Any]]
    read: list[dict[str, Any]]
    rows: list[list[int]]
    columns: list[list[int]]
    weights: Tensor


def aligned(tokenizer: Vocabulary, tokens: list[int], ids: list[int], weights: Tensor, *, words: bool) -> Aligned:
    """The weights between tokens [T, S], or between words."""
    if not words:
        rows, columns = [[place] for place in range(len(tokens))], [[place] for place in range(len(ids))]
        return Aligned(named(tokenizer, tokens), named(tokenizer, ids), rows, columns, weights)
    rows, columns = words_of(tokenizer, tokens), words_of(tokenizer, ids)
    names = names_of(tokenizer, tokens, rows), names_of(tokenizer, ids, columns)
    return Aligned(*names, rows, columns, between_words(weights, rows, columns))


def given_target(tokenizer: Vocabulary, text: str) -> list[int]:
    """The tokens of a translation that the reader gives, with the mark of its end. Raises FigureError if too long."""
    tokens = tokenizer.encode(text.strip())
    if len(tokens) >= LONGEST_ANSWER:
        raise FigureError("error.answer", "target", tokens=len(tokens), longest=LONGEST_ANSWER - 1)
    return [*tokens, EOS] if tokens else []


def texts(names: list[dict[str, Any]]) -> list[str]:
    """The names alone."""
    return [name["text"] for name in names]


@torch.no_grad()
def compute(inputs: AlignmentInputs, models: Models) -> dict[str, Any]:
    """The translation, where each of its tokens looked, and how one row of weights came about."""
    with recurrent(models, inputs.model) as (pipe, model):
        tokenizer, attention = pipe.tokenizer, model.decoder.cross_attention
        if attention is None:
            raise FigureError("error.no-alignment")
        source = encoded(tokenizer, inputs.source or EXAMPLE, "source", pipe.config.max_length - pipe.n_marks)
        given = given_target(tokenizer, inputs.target)
        factor = inputs.sharpness if inputs.attention == "learned" else SHARPNESS[inputs.attention]
        written = rendered(model, tokenizer, tuple(source), tuple(given), inputs.search, factor)
        tokens, memory = written.tokens, encode(model, tokenizer, [source])
        with sharpened(attention, factor):
            with recording(model) as lookups:
                model.decode(row([start_of(tokenizer), *tokens[:-1]]), memory)
            seen = lookups["cross"][-1]
            between, ids = seen.weights(0), tokenizer.wrap(source)
            shown = aligned(tokenizer, tokens, ids, between, words=inputs.words)
            step = min(inputs.step, len(shown.rows))
            pieces = attention.scores(seen.x[:, shown.rows[step - 1][0], None], seen.keys)[0, 0]
        by_word = aligned(tokenizer, tokens, ids, between, words=True)
        pulls = pull(pieces.softmax(-1), memory.states[0], factor)
        context = pieces.softmax(-1) @ memory.states[0]
        translation, source_text = readable(tokenizer, tokens), tokenizer.decode(source)
    lost = [] if given else taken_away(written.kept)
    cells, grouped = pooled(shown.weights)
    return {
        "source": shown.read,
        "source_text": source_text,
        "unknown": unknown(source_text) if inputs.source and inputs.model == DEFAULT else [],
        "unknown_target": unknown(translation, "fr") if given and inputs.model == DEFAULT else [],
        "given": bool(given),
        "target": shown.written,
        "translation": translation,
        "cells": cells,
        "factor": grouped,
        "size": max(shown.weights.shape),
        "scores": [pieces[places].max().item() for places in shown.columns],
        "look": shown.weights[step - 1],
        "sum": shown.weights[step - 1].sum().item(),
        "context": context[:SHOWN],
        "pulls": {"size": pulls.norm().item(), "reached": int((pulls > 0).sum()), "all": len(pulls)},
        "widths": {"context": len(context), "hidden": model.config.d_hidden},
        "accuracy": written.correct,
        "claims": claims(texts(by_word.written), texts(by_word.read), by_word.weights) + lost,
        "model": models.card(inputs.model),
        "used": {"step": step},
        "limits": {"step": len(shown.rows)},
    }


WIDGET = Widget(
    AlignmentInputs,
    compute,
    (naive_additive_scores, masked_softmax, AdditiveAttention.forward, Decoder.forward, sharpened, searched, pull),
)
