"""What a layer costs and how far two words are from each other in it: the first table of the paper, and a stopwatch."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.clock import Largest, exponent, seconds
from allyouneed.guide.widgets.drawing import drawn
from allyouneed.parts.attention import MultiHeadAttention, attend, naive_attend
from allyouneed.parts.masks import sliding_window

Kind = Literal["recurrent", "convolution", "dilated", "attention", "restricted"]
KINDS: tuple[Kind, ...] = ("recurrent", "convolution", "dilated", "attention", "restricted")
LENGTHS = (128, 256, 512, 1024, 2048)  # that are measured
MEASURED: tuple[Kind, ...] = ("recurrent", "convolution", "attention", "restricted")
WIDTH = 64  # of the layers that are measured


class PathLengthInputs(Inputs):
    """A text of `n` words, layers of width `d`, kernels of `k` words and windows of `r`."""

    n: int = Field(500, ge=2, le=4000)
    kind: Kind = "attention"
    d: Literal[64, 128, 256, 512, 1024] = 512
    k: int = Field(3, ge=2, le=15)
    r: int = Field(64, ge=2, le=512)
    again: int = Field(0, ge=0, le=9999)


def operations(kind: Kind, inputs: PathLengthInputs) -> int:
    """Complexity per layer (Vaswani 2017, table 1)."""
    n, d = inputs.n, inputs.d
    match kind:
        case "attention":
            return n * n * d
        case "recurrent":
            return n * d * d
        case "convolution" | "dilated":
            return inputs.k * n * d * d
        case "restricted":
            return min(inputs.r, n) * n * d


def path(kind: Kind, inputs: PathLengthInputs) -> int:
    """How many steps lie between the first word and the last (Vaswani 2017, table 1 and section 4)."""
    n = inputs.n
    match kind:
        case "attention":
            return 1
        case "recurrent":
            return n - 1
        case "convolution":
            return math.ceil(n / inputs.k)
        case "dilated":
            steps, reach = 1, inputs.k
            while reach < n:
                steps, reach = steps + 1, reach * inputs.k
            return steps
        case "restricted":
            return math.ceil(n / inputs.r)


def layer_of(kind: Kind, width: int, window: int) -> Callable[[Tensor], object]:
    """A layer of each kind, to be timed on [1, n, width]."""
    match kind:
        case "recurrent":
            return nn.GRU(width, width, batch_first=True)
        case "convolution" | "dilated":
            layer = nn.Conv1d(width, width, 3, padding=1)
            return lambda x: layer(x.transpose(1, 2))
        case "attention" | "restricted":
            attention = MultiHeadAttention(width, 1)
            mask = sliding_window(window, ahead=0) if kind == "restricted" else None
            lookup = naive_attend if mask is None else partial(attend, backend="sparse")

            def run(x: Tensor) -> Tensor:
                keys, values = attention.keys_values(x)
                return attention.output(lookup(attention.queries(x), keys, values, mask)[:, 0])

            return run


def layer_and_inputs(kind: Kind, window: int) -> tuple[Callable[[Tensor], object], list[Tensor]]:
    """A layer of the figure's width, and a text of each length for it."""
    with drawn(0):
        return layer_of(kind, WIDTH, window), [torch.randn(1, n, WIDTH) for n in LENGTHS]


@lru_cache(maxsize=64)
def measured(kind: Kind, window: int, again: int) -> list[float]:
    """Milliseconds of one layer at each length, on this machine."""
    layer, given = layer_and_inputs(kind, window)
    with torch.inference_mode():
        return [1000 * seconds(partial(layer, x)) for x in given]


@lru_cache(maxsize=64)
def largest(kind: Kind, window: int) -> list[float]:
    """KiB of the largest tensor that a layer makes at each length."""
    layer, given = layer_and_inputs(kind, window)
    sizes: list[float] = []
    with torch.inference_mode():
        for x in given:
            with Largest() as made:
                layer(x)
            sizes.append(made.bytes / 1024)
    return sizes


def compute(inputs: PathLengthInputs, models: Models) -> dict[str, Any]:
    """The table's formulas as numbers, and time and memory of one layer of each kind against the length."""
    window: dict[Kind, int] = {"restricted": inputs.r}  # which changes no other kind
    times = {kind: measured(kind, window.get(kind, 0), inputs.again) for kind in MEASURED}
    return {
        "rows": [
            {
                "kind": kind,
                "operations": operations(kind, inputs),
                "sequential": inputs.n if kind == "recurrent" else 1,
                "path": path(kind, inputs),
            }
            for kind in KINDS
        ],
        "pairs": inputs.n**2,
        "lengths": LENGTHS,
        "width": WIDTH,
        "times": times,
        "memory": {kind: largest(kind, window.get(kind, 0)) for kind in MEASURED},
        "exponents": {kind: exponent(list(LENGTHS), curve) for kind, curve in times.items()},
    }


WIDGET = Widget(PathLengthInputs, compute, (operations, path, measured, seconds, largest))
