"""Where a token stands, as five schemes tell it: a table of waves, a learned table, turns, a slope, and buckets."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, any_model
from allyouneed.guide.widgets.experiments import how, means
from allyouneed.models.inputs import Inputs as StackInputs
from allyouneed.models.inputs import rotary
from allyouneed.parts.positions import Rotary, rotate, sinusoids
from allyouneed.parts.relative import Alibi, BucketBias, alibi_slopes, distances
from allyouneed.pipeline import Pipeline
from allyouneed.reproduce.positions import SCHEMES

Kind = Literal["sinusoidal", "learned", "rotary", "alibi", "t5"]
HEADS = 8  # of schemes that give each head something else, where no model is asked
BASE = 10_000.0
NEAREST, FARTHEST = -50, 50  # offsets of the curve of products


class PositionsInputs(Inputs):
    """A scheme over `length` positions and `d` dimensions; dimension `i`, position `p` and an offset `k` are picked
    out. Where the model has this scheme, its own numbers are drawn.
    """

    kind: Kind = "sinusoidal"
    d: Literal[8, 16, 32, 64, 128] = 64
    length: int = Field(100, ge=2, le=200)
    i: int = Field(6, ge=0, le=127)
    p: int = Field(10, ge=0, le=199)
    k: int = Field(5, ge=NEAREST, le=FARTHEST)
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


@dataclass(frozen=True)
class Table:
    """A vector for each position [length, d], with a pair of dimensions for each frequency [d / 2] where it is made of
    waves, and the products [length, length] of what it makes of one query and one key.
    """

    vectors: Tensor
    frequencies: Tensor | None
    products: Tensor
    own: bool


def stack_of(pipe: Pipeline) -> StackInputs:
    """What goes into the model's first stack."""
    model = pipe.model
    return model.encoder_inputs if model.config.n_encoder_layers else model.decoder_inputs


def waves(length: int, width: int, frequencies: Tensor) -> Tensor:
    """Sine and cosine of every frequency, side by side: [length, width]."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :width].float()


def sinusoidal(inputs: PositionsInputs) -> Table:
    """The paper's table, which has no parameters."""
    vectors = sinusoids(inputs.length, inputs.d)
    frequencies = torch.exp(torch.arange(0, inputs.d, 2, dtype=torch.float64) * (-math.log(BASE) / inputs.d))
    return Table(vectors, frequencies, vectors @ vectors.T, own=False)


def learned(inputs: PositionsInputs, stack: StackInputs) -> Table:
    """The model's table; of a model without one, a table as it is before training."""
    own = stack.learned is not None
    if stack.learned is not None:
        vectors = stack.learned.weight[stack.offset :][: inputs.length, : inputs.d].float()
    else:
        vectors = torch.randn(inputs.length, inputs.d, generator=torch.Generator().manual_seed(0)) * inputs.d**-0.5
    return Table(vectors, None, vectors @ vectors.T, own=own)


def turning(inputs: PositionsInputs, pipe: Pipeline, stack: StackInputs) -> Table:
    """Rotary positions: one random query, turned to each position, times one random key, turned to each."""
    own = stack.rotary is not None
    scheme = Rotary(inputs.d)
    if own:
        scheme = rotary(pipe.model.config)
    query, key = torch.randn(2, 1, 1, 1, scheme.width, generator=torch.Generator().manual_seed(0))
    turn = scheme.turn(torch.arange(inputs.length))
    turned = [rotate(x.expand(-1, -1, inputs.length, -1), turn, scheme.layout)[0, 0] for x in (query, key)]
    frequencies = scheme.frequencies()
    vectors = waves(inputs.length, scheme.width, frequencies)
    return Table(vectors, frequencies, turned[0] @ turned[1].T / scheme.width**0.5, own=own)


def table_view(inputs: PositionsInputs, table: Table) -> dict[str, Any]:
    """The table, one pair of its dimensions along the positions, and what a shift of `k` does."""
    length, width = table.vectors.shape
    pair = min(inputs.i, width - 1) // 2
    i, p = min(inputs.i, width - 1), min(inputs.p, length - 1)
    offsets = [k for k in range(NEAREST, FARTHEST + 1) if 0 <= p + k < length]
    spread = max(
        (band.max() - band.min()).item()
        for k in range(max(NEAREST, 1 - length), min(FARTHEST, length - 1) + 1)
        for band in [table.products.diagonal(k)]
    )
    shown: dict[str, Any] = {
        "cells": table.vectors.T,
        "signed": True,
        "span": 1.0 if table.frequencies is not None else table.vectors.abs().max().item(),
        "curves": table.vectors[:, 2 * pair : 2 * pair + 2].T,
        "offsets": offsets,
        "products": [table.products[p, p + k].item() for k in offsets],
        "spread": spread,
        "own": table.own,
        "used": {"i": i, "p": p},
        "limits": {"i": width - 1, "p": length - 1},
    }
    return shown | (rotation(inputs.k, table.vectors, table.frequencies, pair) if table.frequencies is not None else {})


def rotation(k: int, vectors: Tensor, frequencies: Tensor, pair: int) -> dict[str, Any]:
    """The 2 by 2 matrix that takes the pair at any position to the one `k` further on, and by how much it misses."""
    frequency = frequencies[pair].item()
    cosine, sine = math.cos(k * frequency), math.sin(k * frequency)
    matrix = torch.tensor([[cosine, sine], [-sine, cosine]], dtype=torch.float64)
    both = vectors[:, 2 * pair : 2 * pair + 2].double()
    moved = both @ matrix.T
    first, second = (moved[: len(moved) - k], both[k:]) if k >= 0 else (moved[-k:], both[:k])
    residual = (first - second).abs().max().item() if len(second) else 0.0
    return {"wavelength": 2 * math.pi / frequency, "rotation": matrix, "residual": residual}


def slope_view(inputs: PositionsInputs, stack: StackInputs) -> dict[str, Any]:
    """ALiBi: what is taken off a score at each distance, head by head."""
    own = isinstance(stack.bias, Alibi)
    slopes = stack.bias.slopes if isinstance(stack.bias, Alibi) else alibi_slopes(HEADS)
    cells = -slopes[:, None] * torch.arange(inputs.length)
    return by_distance(inputs, cells, {"slopes": slopes, "own": own})


def bucket_view(inputs: PositionsInputs, stack: StackInputs) -> dict[str, Any]:
    """T5: the bucket of each distance; of a model that has this scheme, what it learned to add there."""
    bias = stack.bias if isinstance(stack.bias, BucketBias) else None
    scheme = BucketBias(HEADS, buckets=32, farthest=128, two_way=False) if bias is None else bias
    distance = distances(torch.tensor([inputs.length - 1]), torch.arange(inputs.length))[0].flip(0)
    buckets = scheme.bucket(distance)
    if bias is None:
        cells = torch.nn.functional.one_hot(buckets, scheme.buckets).T.float()
        return by_distance(inputs, cells, {"buckets": buckets, "own": False, "signed": False})
    cells = bias(distance[None])[:, 0]
    return by_distance(inputs, cells, {"buckets": buckets, "own": True})


def by_distance(inputs: PositionsInputs, cells: Tensor, more: dict[str, Any]) -> dict[str, Any]:
    """What schemes have in common that tell attention a distance: one row a head or bucket, one column a distance."""
    i, p = min(inputs.i, len(cells) - 1), min(inputs.p, inputs.length - 1)
    return {
        "cells": cells,
        "signed": True,
        "span": max(cells.abs().max().item(), 1e-9),
        "curves": cells[i : i + 1],
        "used": {"i": i, "p": p},
        "limits": {"i": len(cells) - 1, "p": inputs.length - 1},
        **more,
    }


def beyond() -> dict[str, Any]:
    """Language models alike but for their scheme, on rows longer than any that they were trained on: the loss of each
    stretch of a row, by how many tokens have been read at its end. The first stretch is as long as the trained rows.
    """
    losses = means("positions", ["positions", "tokens read"], "loss")
    curves = {kind: [loss for (scheme, _), loss in losses.items() if scheme == name] for name, kind in SCHEMES.items()}
    return {
        "tokens": sorted({int(tokens) for _, tokens in losses}),
        "curves": {kind: curve for kind, curve in curves.items() if curve},
        "made": how("positions"),
    }


def claims(curves: dict[str, list[float]]) -> list[dict[str, Any]]:
    """A slope reads on as well as before, and a learned table does not: by how much the loss of the last stretch lies
    above that of the first.
    """
    rise = {kind: curve[-1] - curve[0] for kind, curve in curves.items()}
    return [
        {
            "lead": "frame.claim-experiment",
            "key": f"positions.claim-{kind}",
            "word": kind,
            "origin": "",
            "value": rise[kind],
            "holds": (rise[kind] > 0) == rises,
        }
        for kind, rises in (("alibi", False), ("learned", True))
        if kind in rise
    ]


@torch.no_grad()
def compute(inputs: PositionsInputs, models: Models) -> dict[str, Any]:
    """The scheme's own numbers, and what they say of two tokens at a distance."""
    with models.use(inputs.model, Pipeline) as pipe:
        stack = stack_of(pipe)
        match inputs.kind:
            case "sinusoidal":
                view = table_view(inputs, sinusoidal(inputs))
            case "learned":
                view = table_view(inputs, learned(inputs, stack))
            case "rotary":
                view = table_view(inputs, turning(inputs, pipe, stack))
            case "alibi":
                view = slope_view(inputs, stack)
            case "t5":
                view = bucket_view(inputs, stack)
        scheme = stack.kind
    further = beyond()
    low = -view["span"] if view["signed"] else 0.0
    more = {"low": low, "beyond": further, "claims": claims(further["curves"])}
    return {**view, **more, "scheme": scheme, "model": models.card(inputs.model)}


WIDGET = Widget(PositionsInputs, compute, (sinusoids, Rotary.frequencies, rotate, alibi_slopes, BucketBias.bucket))
