"""A network that answers with its own inputs: it points at the corners of a hull, one after another."""

from functools import lru_cache
from typing import Any, Literal

import numpy as np
from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget
from allyouneed.models.pointer import PointerNetwork
from allyouneed.parts.additive import AdditiveAttention
from allyouneed.pipeline import Pointer
from allyouneed.tasks.pointing.geometry import Points, convex_hull
from allyouneed.tasks.pointing.questions import FEWEST, fault
from allyouneed.tasks.pointing.task import draw_sets, write

MOST = 60
TRIED = 200  # random sets by which a model is measured
NAMES = {"pointer": "zoo:hull", "attention": "zoo:hull-attention", "plain": "zoo:hull-lstm"}
CITED = (("plain", 1.9), ("attention", 38.9), ("pointer", 72.6))  # accuracy at 50 points (Vinyals 2015, table 1)


class PointerInputs(Inputs):
    """Points as "x,y" between 0 and 1, a space between them; none stands for `n` random ones. `step` counts what was
    pointed at, from 1; `trial` measures the model on random sets of as many points.
    """

    points: str = Field("", max_length=2000)
    n: int = Field(10, ge=3, le=MOST)
    seed: int = Field(1, ge=0, le=9999)
    shuffle: bool = False
    network: Literal["pointer", "attention", "plain"] = "pointer"
    step: int = Field(1, ge=1, le=MOST + 1)
    trial: bool = False


def parsed(text: str) -> list[tuple[float, float]]:
    """The points of a text. Raises FigureError for what is none."""
    points: list[tuple[float, float]] = []
    for part in text.split():
        numbers = part.split(",")
        try:
            x, y = (float(number) for number in numbers)
        except ValueError:
            raise FigureError("error.point", "points", value=part[:40]) from None
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise FigureError("error.point", "points", value=part[:40])
        points.append((x, y))
    if len(points) > MOST:
        raise FigureError("error.points", "points", most=MOST)
    return points


def refusal(points: Points, most: int | None) -> FigureError | None:
    """Why these points have no hull, or why a model that names `most` places cannot point at it; None where it can."""
    if len(points) < FEWEST["hull"]:
        return FigureError("error.few-points", "points", fewest=FEWEST["hull"])
    if most is not None and len(points) > most:
        return FigureError("error.many-points", "points", most=most)
    if len(set(points)) < len(points):
        return FigureError("error.like-points", "points")
    if fault("hull", points):
        return FigureError("error.one-line", "points")
    return None


@lru_cache(maxsize=16)
def measured(pipe: Pointer, n: int) -> dict[str, float]:
    """On random sets of n points: how many answers are the hull, and the mean share of its area, both out of 100."""
    sets = draw_sets(TRIED, n, np.random.default_rng(n)).astype(float)
    found = [one.verdict for one in pipe.point_all(list(sets.tolist()))]
    verdicts = [verdict for verdict in found if verdict is not None]
    return {
        "exact": 100 * sum(verdict.exact for verdict in verdicts) / len(verdicts),
        "area": 100 * sum(verdict.ratio for verdict in verdicts) / len(verdicts),
    }


def compute(inputs: PointerInputs, models: Models) -> dict[str, Any]:
    """What the network points at, step by step, beside the hull itself."""
    points = parsed(inputs.points)
    if not points:
        points = [
            (x, y) for x, y in draw_sets(1, inputs.n, np.random.default_rng(inputs.seed))[0].astype(float).tolist()
        ]
    if inputs.shuffle:
        order = np.random.default_rng(0).permutation(len(points)).tolist()
        points = [points[at] for at in order]
    name = NAMES[inputs.network]
    with models.use(name, Pointer, PointerNetwork) as pipe:
        if refused := refusal(points, pipe.config.max_points):
            raise refused
        found = pipe.point(points)
        trial = measured(pipe, len(points)) if inputs.trial else None
    step = min(inputs.step, len(found.distributions))
    chances = found.distributions[step - 1].tolist()
    assert found.verdict is not None
    return {
        "points": [list(point) for point in points],
        "count": len(points),
        "indices": found.indices,
        "chances": chances,
        "sum": sum(chances),
        "hull": convex_hull(points),
        "exact": found.verdict.exact,
        "valid": found.verdict.valid,
        "area": 100 * found.verdict.ratio,
        "trial": trial,
        "tried": TRIED,
        "cited": [{"network": network, "value": value, "source": "vinyals2015:table 1"} for network, value in CITED],
        "model": models.card(name),
        "used": {"step": step},
        "limits": {"step": len(found.distributions)},
    }


WIDGET = Widget(PointerInputs, compute, (PointerNetwork.step, AdditiveAttention.scores, write, convex_hull))
