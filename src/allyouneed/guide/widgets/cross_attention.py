"""The decoder writes a translation word by word, and at each step looks back at the source."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.examples import example
from allyouneed.guide.widgets.heads import Places
from allyouneed.guide.widgets.texts import covering, encoded, named, readable
from allyouneed.lens.attention import Attention
from allyouneed.models.interface import Steps
from allyouneed.parts.attention import attention_weights, naive_attend
from allyouneed.pipeline import Translator
from allyouneed.tasks.hypotheses import encode
from allyouneed.text.tokenizer import BOS, EOS, PAD, UNK
from allyouneed.text.vocabulary import Vocabulary

LONGEST_TEXT = 8000  # characters
LONGEST_ANSWER = 256  # tokens
SHOWN = 10
CLAIMS = (("school", "école"), ("house", "maison"), ("cat", "chat"), ("mouse", "souris"))


class CrossAttentionInputs(Inputs):
    """An empty `source` is the model's own example; `head` -1 is the mean of all heads; `step` counts from 1."""

    source: str = Field("", max_length=LONGEST_TEXT)
    step: int = Field(5, ge=1, le=LONGEST_ANSWER)
    choose: Literal["greedy", "sample"] = "greedy"
    seed: int = Field(1, ge=0, le=9999)
    layer: int = Field(1, ge=0, le=63)
    head: int = Field(-1, ge=-1, le=63)
    model: str = any_model("zoo:fr-en", "both")


@dataclass(frozen=True)
class Written:
    """What the decoder wrote, end mark included where it came to one, and the probabilities [V] before each choice."""

    tokens: list[int]
    probabilities: list[Tensor]


def write(model: Steps, memory: Any, longest: int, random: torch.Generator | None) -> Written:
    """Project to the vocabulary, softmax, choose, append, repeat; without `random` the likeliest token is chosen."""
    state, token = model.start(memory), BOS
    tokens: list[int] = []
    probabilities: list[Tensor] = []
    while token != EOS and len(tokens) < longest:
        logits, state = model.step(torch.tensor([token]), state)
        probability = logits[0].softmax(-1)
        probability[[PAD, BOS, UNK]] = 0.0  # these are never written
        token = int(probability.argmax() if random is None else probability.multinomial(1, generator=random))
        tokens.append(token)
        probabilities.append(probability)
    return Written(tokens, probabilities)


@lru_cache(maxsize=32)  # a step moves along one and the same translation
def translated(pipe: Translator, source: tuple[int, ...], seed: int | None) -> tuple[Written, Attention]:
    """A source's translation, drawn with a seed or by the likeliest token, and what the model looked at."""
    memory = encode(pipe.model, pipe.tokenizer, [source])
    longest = min(LONGEST_ANSWER, 2 * len(source) + 20, pipe.config.max_length)
    random = None if seed is None else torch.Generator().manual_seed(seed)
    written = write(pipe.model, memory, longest, random)
    return written, pipe.look(source, [token for token in written.tokens if token != EOS])


def claims(tokenizer: Vocabulary, source: list[int], tokens: list[int], weights: Tensor) -> list[dict[str, Any]]:
    """For each pair of words that stands in both sentences: the share of its look that the word gives to its source."""
    found: list[dict[str, Any]] = []
    for word, origin in [*CLAIMS, *((french, english) for english, french in CLAIMS)]:
        rows, columns = covering(tokenizer, tokens, word), covering(tokenizer, source, origin)
        if rows and columns:
            look = weights[rows[0]]
            share, held = look[columns].sum().item(), int(look.argmax()) in columns
            found.append({"word": word, "origin": origin, "value": share, "holds": held})
    return found


@torch.no_grad()
def compute(inputs: CrossAttentionInputs, models: Models) -> dict[str, Any]:
    """The whole translation, the next-token distribution at one step, and where each step looks."""
    with models.use(inputs.model, Translator) as pipe:
        tokenizer = pipe.tokenizer
        source = encoded(tokenizer, inputs.source or example(pipe).source, "source", pipe.config.max_length - 1)
        written, view = translated(pipe, tuple(source), inputs.seed if inputs.choose == "sample" else None)
    places = Places.within(inputs.layer, inputs.head, view.lookups["cross"])
    # Row t is the look at the choice of token t; an unfinished text has one row more.
    weights = view["cross", places.layer, "mean" if places.head < 0 else places.head][: len(written.tokens)]
    step = min(inputs.step, len(written.tokens))
    best = written.probabilities[step - 1].topk(SHOWN)
    cells, factor = pooled(weights)
    return {
        "source": named(tokenizer, [*source, EOS]),
        "source_text": tokenizer.decode(source),
        "target": named(tokenizer, written.tokens),
        "translation": readable(tokenizer, written.tokens),
        "finished": written.tokens[-1] == EOS,
        "look": weights[step - 1],
        "cells": cells,
        "factor": factor,
        "size": max(weights.shape),
        "next": [
            {**name, "p": p}
            for name, p in zip(named(tokenizer, best.indices.tolist()), best.values.tolist(), strict=True)
        ],
        "claims": claims(tokenizer, source, written.tokens, weights),
        "model": models.card(inputs.model),
        "used": {"step": step, "layer": places.layer, "head": places.head},
        "limits": {"step": len(written.tokens), "layer": places.layers - 1, "head": places.heads - 1},
    }


WIDGET = Widget(CrossAttentionInputs, compute, (write, attention_weights, naive_attend))
