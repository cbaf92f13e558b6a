"""The source read backwards: the first words come close, the last ones go away, and the mean stays."""

from functools import lru_cache
from typing import Any, Literal

import torch
from pydantic import Field
from torch import nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.recurrences import bleu, embedded, held_out, perplexity, recurrent
from allyouneed.guide.widgets.texts import row
from allyouneed.models.recurrent import Recurrent
from allyouneed.models.recurrent.model import Encoder
from allyouneed.tasks.hypotheses import start_of
from allyouneed.text.vocabulary import Vocabulary

Way = Literal["plain", "reversed", "attention"]
Order = Literal["monotone", "verb-final"]
LANGUAGES: dict[Order, str] = {"monotone": "fr", "verb-final": "ko"}
SENTENCES = 60
MEASURED = 8  # sentences whose gradients are taken
PAPER = {  # Sutskever 2014, section 3.3, from English to French
    "plain": {"perplexity": 5.8, "bleu": 25.9},
    "reversed": {"perplexity": 4.7, "bleu": 30.6},
}


class ReversalInputs(Inputs):
    """A sentence of `n` words and a translation of as many; `way` is how the source is read."""

    n: int = Field(4, ge=1, le=20)
    way: Way = "plain"
    order: Order = "monotone"
    word: int = Field(1, ge=1, le=20)


def distances(way: Way, n: int) -> list[int]:
    """Steps from each source word to the step that writes its translation, in a chain of n words that are read and n
    that are written: word i is read at step i, or last of all, and written at step n + i (Sutskever 2014, section 3.3).
    """
    if way == "attention":
        return [1] * n
    read = range(1, n + 1) if way == "plain" else range(n, 0, -1)
    return [n + i - at for i, at in enumerate(read, 1)]


def model_names(target: str) -> dict[str, str]:
    """The two models of a pair of languages."""
    return {"plain": f"zoo:rnnencdec-en-{target}", "reversed": f"zoo:rnnencdec-reversed-en-{target}"}


@lru_cache(maxsize=16)
def first_gradient(tokenizer: Vocabulary, model: Recurrent, pairs: tuple[tuple[str, str], ...]) -> float:
    """How strongly the first source word moves the loss of the first target token, on average."""
    sizes: list[float] = []
    for source, target in pairs:
        first = tokenizer.encode(target)[0]
        with torch.enable_grad():
            x, memory = embedded(model, tokenizer.wrap(tokenizer.encode(source)))
            logits = model.logits(model.decode(row([start_of(tokenizer)]), memory))[0, 0]
            (slope,) = torch.autograd.grad(nn.functional.cross_entropy(logits[None], torch.tensor([first])), x)
        sizes.append(slope[0, 0].norm().item())
    return sum(sizes) / len(sizes)


def compute(inputs: ReversalInputs, models: Models) -> dict[str, Any]:
    """The distances, and what two models that differ in nothing else make of the same held-out sentences."""
    steps = distances(inputs.way, inputs.n)
    word = min(inputs.word, inputs.n)
    target = LANGUAGES[inputs.order]
    pairs = held_out(SENTENCES, target)
    measured: dict[str, dict[str, float]] = {}
    for way, name in model_names(target).items():
        with recurrent(models, name) as (pipe, model):
            measured[way] = {
                "perplexity": perplexity(pipe, tuple(pairs)),
                "bleu": bleu(pipe, tuple(pairs)),
                "gradient": first_gradient(pipe.tokenizer, model, tuple(pairs[:MEASURED])),
            }
    gain = measured["plain"]["perplexity"] - measured["reversed"]["perplexity"]
    return {
        "distances": steps,
        "longest": 2 * inputs.n - 1,  # of any way to read
        "first": steps[0],
        "mean": sum(steps) / len(steps),
        "path": steps[word - 1],
        "measured": measured,
        "paper": PAPER if inputs.order == "monotone" else {},
        "sentences": SENTENCES,
        "claims": [
            {
                "key": f"reversal.claim-{inputs.order}",
                "word": "perplexity",
                "origin": "",
                "value": gain,
                "holds": (gain > 0) == (inputs.order == "monotone"),
            }
        ],
        "model": models.card(model_names(target)["reversed"]),
        "used": {"word": word},
        "limits": {"word": inputs.n},
    }


WIDGET = Widget(ReversalInputs, compute, (distances, first_gradient, perplexity, Encoder.forward))
