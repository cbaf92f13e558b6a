"""Where each word of a sentence looks while a model reads it: any layer and head of any encoder or decoder."""

from functools import lru_cache
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model, pooled
from allyouneed.guide.widgets.heads import Places
from allyouneed.guide.widgets.order_blind import moved
from allyouneed.guide.widgets.texts import encoded, named, row, words_of
from allyouneed.lens.attention import Lookup, recording
from allyouneed.parts.attention import attention_scores, attention_weights
from allyouneed.pipeline import LanguageModel, Pipeline
from allyouneed.text.vocabulary import Vocabulary

LONGEST_TEXT = 8000  # characters
LONGEST_SENTENCE = 4096  # tokens
EXAMPLE = "The mouse ate the cheese ."
NEAREST = 5
FIRST_SHOWN = 3  # of the words: the verb of the example
# What a word should look at: a verb at its subject and object, an article at its noun.
CLAIMS = (
    ("ate", ("mouse", "cheese")),
    ("The", ("mouse",)),
    ("the", ("cheese",)),
    ("sat", ("cat", "mat")),
    ("The", ("cat",)),
    ("the", ("mat",)),
)


class SelfAttentionInputs(Inputs):
    """An empty `sentence` is the example. `token` counts from 1, marks included, and so many words where `words` joins
    the pieces of each; 0 is the third that was written, with however many marks a model begins. `head` -1 is the mean
    of all heads.
    """

    sentence: str = Field("", max_length=LONGEST_TEXT)
    token: int = Field(0, ge=0, le=LONGEST_SENTENCE)
    layer: int = Field(2, ge=0, le=127)
    head: int = Field(2, ge=-1, le=127)
    words: bool = True
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


def look(pipe: Pipeline, ids: list[int]) -> tuple[list[int], list[Lookup]]:
    """What the model reads for a text, its marks included, and the lookups of its encoder, or of its decoder alone."""
    with recording(pipe.model) as lookups:
        if isinstance(pipe, LanguageModel):
            ids = [*pipe.opening, *ids]
            pipe.model.decode(row(ids))
        else:
            ids = pipe.tokenizer.wrap(ids)
            pipe.model.encode(row(ids))
    seen = lookups.get("decoder" if isinstance(pipe, LanguageModel) else "encoder", [])
    if not seen:
        raise FigureError("error.attention")
    return ids, seen


def by_words(weights: Tensor, words: list[list[int]]) -> Tensor:
    """Weights between words [..., W, W] by those between tokens [..., T, T]: what the pieces of a word give is averaged
    and what they get is added, so that each row still adds to 1 (Clark 2019, section 4.1).
    """
    member = torch.zeros(len(words), weights.shape[-1])
    for number, places in enumerate(words):
        member[number, places] = 1.0
    return (member / member.sum(-1, keepdim=True)) @ weights @ member.T


def names_of(tokenizer: Vocabulary, ids: list[int], words: list[list[int]]) -> list[dict[str, str]]:
    """The name of each word; one of a single token is called as the token is."""
    names = named(tokenizer, ids)
    found: list[dict[str, str]] = []
    for places in words:
        text = tokenizer.decode([ids[place] for place in places]).strip()
        spelt = "".join(names[place]["text"] for place in places) if "\ufffd" in text else text
        found.append(names[places[0]] if len(places) == 1 else {"text": spelt, "kind": "piece"})
    return found


def marks_before(names: list[dict[str, str]]) -> int:
    """How many marks stand before the text."""
    return next((at for at, name in enumerate(names) if name["kind"] == "piece"), 0)


def claims(names: list[str], weights: Tensor, layer: int, head: int) -> list[dict[str, Any]]:
    """For each claim about words of the sentence: the share of its look that the word gives to the others, whether its
    strongest look is at one of them, and the layer and head where the share is largest. Nothing is claimed of words
    that a mask hides in every layer. Weights [L, H, W, W].
    """
    found: list[dict[str, Any]] = []
    for word, others in CLAIMS:
        if not {word, *others} <= set(names):
            continue
        rows, columns = weights[..., names.index(word), :], [names.index(other) for other in others]
        here = rows[layer].mean(0) if head < 0 else rows[layer, head]
        shares = rows[..., columns].sum(-1)
        if shares.max() == 0:
            continue
        best, of_heads = int(shares.argmax()), shares.shape[1]
        found.append(
            {
                "word": word,
                "origin": ", ".join(others),
                "value": here[columns].sum().item(),
                "holds": int(here.argmax()) in columns,
                "strongest": {"layer": best // of_heads, "head": best % of_heads, "value": shares.max().item()},
            }
        )
    return found


def nearest(pipe: Pipeline, ids: list[int], layer: int, place: int) -> list[dict[str, Any]]:
    """The tokens of the text, and of the vocabulary, whose embeddings lie nearest to what a layer made of one: by the
    cosine, from 1 (the same direction) to -1.
    """
    made: list[Tensor] = []
    stack = pipe.model.decoder if isinstance(pipe, LanguageModel) else pipe.model.encoder

    def note(module: nn.Module, given: tuple[Any, ...], out: Tensor) -> None:
        made.append(out[0])

    handle = stack[layer].register_forward_hook(note)
    try:
        look(pipe, ids)
    finally:
        handle.remove()
    table = pipe.model.embedding.weight
    cosines = nn.functional.cosine_similarity(table, made[min(layer, len(made) - 1)][place][None])
    best = cosines.topk(NEAREST)
    names = named(pipe.tokenizer, best.indices.tolist())
    return [{**name, "cosine": cosine} for name, cosine in zip(names, best.values.tolist(), strict=True)]


@lru_cache(maxsize=32)  # neither layer nor head changes it
def reordered(pipe: Pipeline, ids: tuple[int, ...]) -> dict[str, float] | None:
    """How far the outputs move when the text is turned round, token matched with token: with positions and without.
    None for a decoder, whose mask knows an order.
    """
    if isinstance(pipe, LanguageModel):
        return None
    there, back = pipe.tokenizer.wrap(list(ids)), pipe.tokenizer.wrap(list(ids[::-1]))
    return {
        "with": moved(pipe.model, there, back, positions=True).max().item(),
        "without": moved(pipe.model, there, back, positions=False).max().item(),
    }


@torch.no_grad()
def compute(inputs: SelfAttentionInputs, models: Models) -> dict[str, Any]:
    """The weights of one layer and head, the chosen token's row among them, and what the claims come to."""
    with models.use(inputs.model, Pipeline) as pipe:
        tokenizer = pipe.tokenizer
        places, room = (most - pipe.n_marks for most in (pipe.config.max_length, LONGEST_SENTENCE))
        written = encoded(tokenizer, inputs.sentence or EXAMPLE, "sentence", places, room)
        ids, lookups = look(pipe, written)
        every = torch.stack([lookup.weights() for lookup in lookups])
        words = words_of(tokenizer, ids)
        word_names = names_of(tokenizer, ids, words)
        sentence = tokenizer.decode(written)
        names = word_names if inputs.words else named(tokenizer, ids)
        places = Places.within(inputs.layer, inputs.head, lookups)
        token = min(inputs.token or marks_before(names) + FIRST_SHOWN, len(names))
        near = nearest(pipe, written, places.layer, words[token - 1][-1] if inputs.words else token - 1)
        turned = reordered(pipe, tuple(written))
    between = by_words(every, words)
    shown = (between if inputs.words else every)[places.layer]
    weights = shown.mean(0) if places.head < 0 else shown[places.head]
    cells, factor = pooled(weights)
    mask = lookups[places.layer].mask
    return {
        "tokens": names,
        "sentence": sentence,
        "look": weights[token - 1],
        "sum": weights[token - 1].sum().item(),
        "cells": cells,
        "factor": factor,
        "size": len(names),
        "mask": "none" if mask is None else mask.name,
        "nearest": near,
        "reordered": turned,
        "claims": claims([name["text"] for name in word_names], between, places.layer, places.head),
        "model": models.card(inputs.model),
        "used": {"token": token, "layer": places.layer, "head": places.head},
        "limits": {"token": len(names), "layer": places.layers - 1, "head": places.heads - 1},
    }


class MatrixInputs(SelfAttentionInputs):
    """The same on another sentence, which an empty one stands for."""

    sentence: str = Field("The cat sat on the mat", max_length=LONGEST_TEXT)


CODE = (attention_weights, attention_scores, by_words, look, nearest)
WIDGET = Widget(SelfAttentionInputs, compute, CODE)
MATRIX = Widget(MatrixInputs, compute, CODE)
