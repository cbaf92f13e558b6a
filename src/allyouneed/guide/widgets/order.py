"""Does the order of the inputs matter? To a reader of sequences it does, to one that looks at a set it does not."""

from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget
from allyouneed.guide.widgets.experiments import how, means
from allyouneed.models.pointer import PointerNetwork
from allyouneed.models.sets import ReadProcessWrite
from allyouneed.pipeline import Pointer, Sorter

SORTER, READER = "zoo:sort", "zoo:hull-lstm"
TEXT = "English prose"
ORDERS = ("natural", "reversed", "three words reversed", "fixed shuffle")
MOST = 20


class OrderInputs(Inputs):
    """Numbers between 0 and 1, a space between them; `shuffle` gives them in another order."""

    numbers: str = Field("0.62 0.11 0.87 0.35 0.5 0.93 0.2 0.74 0.05 0.41", max_length=400)
    shuffle: int = Field(1, ge=0, le=9999)


def parsed(text: str) -> list[float]:
    """The numbers of a text. Raises FigureError for what is none, for too few and for too many."""
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise FigureError("error.numbers", "numbers", most=MOST) from None
    if not 2 <= len(numbers) <= MOST or any(not 0 <= number <= 1 for number in numbers):
        raise FigureError("error.numbers", "numbers", most=MOST)
    return numbers


def apart(one: Tensor, other: Tensor) -> float:
    """The largest difference of two tensors."""
    return (one - other).abs().max().item()


@torch.no_grad()
def set_difference(model: ReadProcessWrite, first: list[float], second: list[float]) -> float:
    """How far the summary of a set moves when its elements come in another order."""
    one, other = (model.encode(torch.tensor(numbers)[None, :, None]).summary for numbers in (first, second))
    return apart(one, other)


@torch.no_grad()
def sequence_difference(model: PointerNetwork, first: list[float], second: list[float]) -> float:
    """How far the last state of an LSTM moves when it reads the same in another order."""
    one, other = (
        model.encode(torch.tensor([[[number, number] for number in numbers]])).pasts[-1].hidden
        for numbers in (first, second)
    )
    return apart(one, other)


def perplexities() -> dict[str, dict[str, float]]:
    """For each kind of model the perplexity a word in each order, as the package's experiment found it: the mean over
    its seeds; nothing where it was not run.
    """
    found: dict[str, dict[str, float]] = {}
    for (model, order), value in means("order", ["model", "order"], "perplexity", text=TEXT).items():
        found.setdefault(str(model), {})[str(order)] = value
    return {model: {order: orders[order] for order in ORDERS if order in orders} for model, orders in found.items()}


def claims(found: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """A shuffled order is harder than the natural one, and the orders lie closer together for the attending model."""
    made: list[dict[str, Any]] = [
        {
            "lead": "frame.claim-experiment",
            "key": "order.claim-natural",
            "word": model,
            "origin": "",
            "value": orders["fixed shuffle"] - orders["natural"],
            "holds": orders["natural"] < orders["fixed shuffle"],
        }
        for model, orders in found.items()
        if {"natural", "fixed shuffle"} <= set(orders)
    ]
    if {"LSTM", "Transformer"} <= set(found):
        spread = {model: max(orders.values()) - min(orders.values()) for model, orders in found.items()}
        made.append(
            {
                "lead": "frame.claim-experiment",
                "key": "order.claim-spread",
                "word": "Transformer",
                "origin": "LSTM",
                "value": spread["LSTM"] - spread["Transformer"],
                "holds": spread["Transformer"] < spread["LSTM"],
            }
        )
    return made


def compute(inputs: OrderInputs, models: Models) -> dict[str, Any]:
    """The same numbers in two orders, read as a set and as a sequence, and the perplexities of four orders of words."""
    numbers = parsed(inputs.numbers)
    moved = np.random.default_rng(inputs.shuffle).permutation(len(numbers)).tolist()
    other = [numbers[at] for at in moved]
    with models.use(SORTER, Sorter, ReadProcessWrite) as pipe:
        difference = set_difference(pipe.model, numbers, other)
        answers = [pipe.sort(given) for given in (numbers, other)]
    with models.use(READER, Pointer, PointerNetwork) as pipe:
        sequence = sequence_difference(pipe.model, numbers, other)
    found = perplexities()
    return {
        "given": [numbers, other],
        "sorted": [answer.sorted for answer in answers],
        "wrong": [answer.wrong for answer in answers],
        "set": difference,
        "sequence": sequence,
        "perplexities": found,
        "made": how("order"),
        "claims": claims(found),
        "model": models.card(SORTER),
    }


WIDGET = Widget(OrderInputs, compute, (ReadProcessWrite.encode, set_difference, sequence_difference, perplexities))
