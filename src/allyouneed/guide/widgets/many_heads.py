"""Several heads side by side: what each of them looks at, what it is good for, and what it costs to cut it out."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.experiments import how, means
from allyouneed.guide.widgets.heads import Places
from allyouneed.guide.widgets.self_attention import CLAIMS, EXAMPLE, by_words, look, names_of
from allyouneed.guide.widgets.texts import encoded, row, words_of
from allyouneed.lens.attention import Lookup
from allyouneed.parts.attention import MultiHeadAttention, attention_weights, repeat_heads
from allyouneed.pipeline import MaskedModel, Pipeline, Translator
from allyouneed.tasks.hypotheses import encode, start_of

LONGEST_TEXT = 4000  # characters
LONGEST_SENTENCE = 48  # tokens: a small picture for each head must stay readable
PAPER_WIDTH = 512  # d_model of the base model (Vaswani 2017, table 3)
PAPER_BLEU = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}  # by heads (Vaswani 2017, table 3, base and rows A)
LITTLE = 0.1  # bits a token that are hardly missed
Count = Literal[1, 2, 4, 8, 16]


class HeadsInputs(Inputs):
    """`h` heads of a model as wide as the paper's. With `recut` the pictures show the loaded layer's own projections
    cut into as many heads, though it was trained with another number. `out` is a head to cut out, -1 for none; `joined`
    says how many heads have been put together again.
    """

    h: Count = 8
    recut: bool = False
    sentence: str = Field("", max_length=LONGEST_TEXT)
    layer: int = Field(2, ge=0, le=127)
    head: int = Field(0, ge=0, le=127)
    out: int = Field(-1, ge=-1, le=127)
    joined: int = Field(128, ge=0, le=128)
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


def recut_weights(seen: Lookup, heads: int) -> Tensor:
    """The layer's queries and keys, all heads together, cut anew into `heads`: their weights [heads, T, S]."""
    queries = seen.attention.queries(seen.x, seen.place)
    keys = repeat_heads(seen.keys, queries.shape[1])

    def cut(x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2).unflatten(-1, (heads, -1)).transpose(1, 2)

    return attention_weights(cut(queries), cut(keys), seen.mask)[0]


def previous_mass(weights: Tensor) -> Tensor:
    """How much each word but the first gives to the one before it, on average. [..., W, W] -> [...]"""
    return weights.diagonal(-1, -2, -1).mean(-1)


def roles(names: list[str], weights: Tensor) -> dict[str, Tensor]:
    """How well each head plays each part on this sentence, as a share of its look: [L, H, W, W] -> [L, H] a part."""
    found = {
        "previous": previous_mass(weights),
        "next": weights.diagonal(1, -2, -1).mean(-1),
        "itself": weights.diagonal(0, -2, -1).mean(-1),
        "first": weights[..., 1:, 0].mean(-1),
        "last": weights[..., :-1, -1].mean(-1),
    }
    for role, article in (("noun", True), ("arguments", False)):
        shares = [
            weights[..., names.index(word), [names.index(other) for other in others]].sum(-1)
            for word, others in CLAIMS
            if {word, *others} <= set(names) and (word.lower() == "the") == article
        ]
        if shares:
            found[role] = torch.stack(shares).mean(0)
    return found


@contextmanager
def without_head(attention: MultiHeadAttention, head: int) -> Generator[None]:
    """While it is open, what this head has mixed never reaches the output projection."""
    part = slice(head * attention.d_head, (head + 1) * attention.d_head)

    def silence(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        mixed = given[0].clone()
        mixed[..., part] = 0.0
        return (mixed, *given[1:])

    handle = attention.output.register_forward_pre_hook(silence)
    try:
        yield
    finally:
        handle.remove()


def contributions(seen: Lookup) -> Tensor:
    """What each head brings into the layer's output. To join the heads and multiply by W^O is to multiply each by its
    own rows of W^O, and to add: [H, T, D]. The bias of the output belongs to no head.
    """
    attention = seen.attention
    values = repeat_heads(attention.keys_values(seen.x)[1], attention.n_heads)
    mixed = seen.weights() @ values[0]
    rows = attention.output.weight.T.unflatten(0, (attention.n_heads, attention.d_head))
    return mixed @ rows


def joining(parts: Tensor, joined: int) -> dict[str, Any]:
    """The mean size of each head's part, and how much of the whole is missing once the first `joined` are added, in
    percent of its size. [H, T, D]
    """
    whole = parts.sum(0)
    missing = parts[joined:].sum(0).norm() / whole.norm()
    return {"sizes": parts.norm(dim=-1).mean(-1), "missing": 100 * missing}


@dataclass(frozen=True)
class Trial:
    """What a model is asked to predict of the sentence: a source and its translation, or the sentence itself."""

    pipe: Pipeline
    ids: list[int]
    target: list[int]

    @classmethod
    def of(cls, pipe: Pipeline, written: list[int], ids: list[int]) -> "Trial":
        """A translator is asked for its own translation, as it gives it with all its heads."""
        if not isinstance(pipe, Translator):
            return cls(pipe, ids, ids)
        text = translated(pipe, tuple(written))
        return cls(pipe, written, [start_of(pipe.tokenizer), *pipe.tokenizer.encode(text), *pipe.tokenizer.ends])

    def loss(self) -> float:
        """The mean negative log-probability of a token, in bits."""
        model = self.pipe.model
        if isinstance(self.pipe, MaskedModel):
            tokens = torch.tensor(self.ids).expand(len(self.ids), -1).clone()
            hidden = self.pipe.tokenizer.mask
            assert hidden is not None
            tokens.fill_diagonal_(hidden)
            logits, gold = model.logits(model.encode(tokens).states).diagonal().T, torch.tensor(self.ids)
        else:
            memory = encode(model, self.pipe.tokenizer, [self.ids]) if isinstance(self.pipe, Translator) else None
            logits = model.logits(model.decode(row(self.target[:-1]), memory))[0]
            gold = torch.tensor(self.target[1:])
        return nn.functional.cross_entropy(logits.float(), gold).item() / torch.log(torch.tensor(2.0)).item()


@lru_cache(maxsize=32)
def translated(pipe: Translator, written: tuple[int, ...]) -> str:
    """The model's own translation: asked for once, not with every move of a control."""
    return pipe.translate([pipe.tokenizer.decode(list(written))], beam=1)[0].text


def knock_outs(trial: Trial, attention: MultiHeadAttention) -> list[float]:
    """The loss without each head of a layer."""
    losses: list[float] = []
    for head in range(attention.n_heads):
        with without_head(attention, head):
            losses.append(trial.loss())
    return losses


@lru_cache(maxsize=32)
def missed(pipe: Pipeline, written: tuple[int, ...], layer: int) -> tuple[float, list[float]]:
    """The loss on a sentence with all heads and without each of a layer: measured once, not with every move."""
    ids, lookups = look(pipe, [*written])
    trial = Trial.of(pipe, [*written], ids)
    return trial.loss(), knock_outs(trial, lookups[layer].attention)


def best_of(found: dict[str, Tensor]) -> list[dict[str, Any]]:
    """For each part the head of the whole model that plays it best."""
    return [
        {
            "role": role,
            "layer": int(scores.argmax()) // scores.shape[1],
            "head": int(scores.argmax()) % scores.shape[1],
            "value": scores.max().item(),
        }
        for role, scores in found.items()
    ]


def trained() -> dict[str, Any]:
    """Models of one size that were trained with each number of heads: their loss and BLEU, beside the paper's BLEU."""
    losses, scores = (
        {int(heads): value for (heads,), value in means("heads", ["heads"], measured).items()}
        for measured in ("loss", "BLEU")
    )
    return {
        "heads": list(losses),
        "loss": list(losses.values()),
        "bleu": list(scores.values()),
        "made": how("heads"),
        "cited": [
            {"heads": heads, "value": bleu, "source": f"vaswani2017:table 3 ({'base' if heads == 8 else 'A'})"}
            for heads, bleu in PAPER_BLEU.items()
        ],
    }


def claims(added: list[float], losses: dict[str, Any]) -> list[dict[str, Any]]:
    """Most heads of the layer are hardly missed; and of the models trained with each h, several heads beat one."""
    few = sum(loss < LITTLE for loss in added)
    made: list[dict[str, Any]] = [
        {
            "key": "heads.claim-little",
            "word": str(few),
            "origin": str(len(added)),
            "value": LITTLE,
            "holds": 2 * few > len(added),
        }
    ]
    by_heads = dict(zip(losses["heads"], losses["loss"], strict=True))
    if len(by_heads) > 1:
        best = min(by_heads, key=by_heads.__getitem__)
        made.append(
            {
                "lead": "frame.claim-experiment",
                "key": "heads.claim-several",
                "word": str(best),
                "origin": "",
                "value": by_heads[1] - by_heads[best],
                "holds": best > 1,
            }
        )
    return made


@torch.no_grad()
def compute(inputs: HeadsInputs, models: Models) -> dict[str, Any]:
    """The weights of every head of a layer, the parts they play, and the loss without each of them."""
    with models.use(inputs.model, Pipeline) as pipe:
        tokenizer = pipe.tokenizer
        places = pipe.config.max_length - pipe.n_marks
        written = encoded(tokenizer, inputs.sentence or EXAMPLE, "sentence", places, LONGEST_SENTENCE)
        if len(written) < 2:
            raise FigureError("error.short-sentence", "sentence")
        ids, lookups = look(pipe, written)
        places = Places.within(inputs.layer, inputs.head, lookups)
        seen = lookups[places.layer]
        words = words_of(tokenizer, ids)
        names = names_of(tokenizer, ids, words)
        every = by_words(torch.stack([lookup.weights() for lookup in lookups]), words)
        width = seen.attention.n_heads * seen.attention.d_head
        can_recut = seen.place.turn is None and seen.place.bias is None and width % inputs.h == 0
        recut = inputs.recut and can_recut
        shown = by_words(recut_weights(seen, inputs.h), words) if recut else every[places.layer]
        found = roles([name["text"] for name in names], every)
        whole, losses = missed(pipe, tuple(written), places.layer)
        parts = contributions(seen)
        sentence = tokenizer.decode(written)
    head, out = min(inputs.head, len(shown) - 1), min(inputs.out, len(losses) - 1)
    joined = min(inputs.joined, len(parts))
    added, other = [loss - whole for loss in losses], trained()
    here = {role: scores[places.layer] for role, scores in found.items()}
    return {
        "names": names,
        "sentence": sentence,
        "cells": shown,
        "recut": recut,
        "can_recut": can_recut,
        "named": [] if recut else [max(here, key=lambda role: here[role][at].item()) for at in range(len(shown))],
        "roles": []
        if recut
        else [{role: scores[at].item() for role, scores in here.items()} for at in range(len(shown))],
        "best": best_of(found),
        "groups": seen.attention.n_kv_heads,
        "own": {"heads": seen.attention.n_heads, "width": seen.attention.d_head, "d_model": seen.x.shape[-1]},
        "paper": {"width": PAPER_WIDTH // inputs.h, "d_model": PAPER_WIDTH, "parameters": 4 * PAPER_WIDTH**2},
        "operations": 2 * 4 * PAPER_WIDTH**2 * len(ids) + 2 * 2 * PAPER_WIDTH * len(ids) ** 2,
        "loss": {
            "whole": whole,
            "without": losses,
            "added": added,
            "now": whole if out < 0 else losses[out],
        },
        "joining": joining(parts, joined),
        "trained": other,
        "claims": claims(added, other),
        "model": models.card(inputs.model),
        "used": {"layer": places.layer, "head": head, "out": out, "joined": joined},
        "limits": {"layer": places.layers - 1, "head": len(shown) - 1, "out": len(losses) - 1, "joined": len(parts)},
    }


WIDGET = Widget(
    HeadsInputs,
    compute,
    (MultiHeadAttention.forward, attention_weights, roles, without_head, knock_outs, contributions),
)
