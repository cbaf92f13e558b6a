"""A loaded model that answers questions about points, and what its answers say."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from allyouneed.errors import InputError, UsageError
from allyouneed.lens.attention import write_whole
from allyouneed.lens.points import point_image
from allyouneed.models.pointer import END, PointerConfig, PointerNetwork
from allyouneed.models.pointer_rules import Problem
from allyouneed.pipeline.common import Loaded
from allyouneed.tasks.pointing.geometry import Points
from allyouneed.tasks.pointing.questions import MOST_CITIES, Verdict, answers, fault, in_unit_square, judge
from allyouneed.tasks.pointing.task import write

COLUMNS = 1 << 14  # points worked on at a time


class PointError(InputError):
    """One of several sets has no answer: `index` says which, `point` which of its points is at fault or None for the
    set, and `problem` why, to stand behind a name of it.
    """

    def __init__(self, index: int, point: int | None, problem: str) -> None:
        self.index, self.point, self.problem = index, point, problem
        at = "" if point is None else f", point {point}"
        super().__init__(f"Set {index + 1}{at} {problem}.")


@dataclass(frozen=True, eq=False)
class Pointing:
    """An answer about N points: a row of their numbers, `indices`.

    `distributions` [T, N + 1] are the chances of each point, and in the last column of the end, at each of the steps
    that wrote it; `logprob` is what the whole answer has. `answer` is the exact one, and `verdict` how good this one is
    beside it; both None for a tour of more cities than one is found for. `scaled` says that the points did not lie in
    the unit square and were moved into it for the model.
    """

    problem: Problem
    points: npt.NDArray[np.float64]
    indices: list[int]
    distributions: npt.NDArray[np.float32]
    logprob: float
    answer: list[int] | None
    verdict: Verdict | None
    scaled: bool

    @property
    def exact(self) -> bool | None:
        """Is it the exact answer, or as good?"""
        return None if self.verdict is None else self.verdict.exact

    @property
    def ratio(self) -> float | None:
        """Area by the hull's, length by the shortest tour's, or share of the exact triangles; 0 for no valid answer."""
        return None if self.verdict is None else self.verdict.ratio

    @property
    def area_ratio(self) -> float | None:
        """Of a hull, its area by that of the exact one."""
        return self.ratio if self.problem == "hull" else None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "problem": self.problem,
            "points": self.points.tolist(),
            "indices": self.indices,
            "logprob": self.logprob,
            "exact": self.exact,
            "valid": None if self.verdict is None else self.verdict.valid,
            "ratio": self.ratio,
            "answer": self.answer,
            "scaled": self.scaled,
            "distributions": self.distributions.tolist(),
        }

    def save(self, path: str | Path) -> None:
        """Writes a picture (.png, .svg), or everything (.json).

        Raises UsageError for another suffix and InputError where the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            write_whole(path, (json.dumps(self.to_dict()) + "\n").encode())
        elif suffix in (".png", ".svg"):
            shown = rings(self.problem, self.indices), rings(self.problem, self.answer or [])
            title = f"{self.problem} of {len(self.points)} points"
            write_whole(path, point_image(self.points, *shown, title=title, suffix=suffix))
        else:
            raise UsageError(f"{path}: the ending says the format, and it is one of .png, .svg and .json.")


def rings(problem: Problem, row: list[int]) -> list[list[int]]:
    """The polygons that an answer stands for."""
    if problem == "triangulation":
        return [row[start : start + 3] for start in range(0, len(row), 3)]
    return [row] if row else []


class Pointer(Loaded):
    """A model that answers a question about points in the plane with a row of the points."""

    what = "a model that points at points"
    model: PointerNetwork

    @property
    def config(self) -> PointerConfig:
        """The model's numbers."""
        return self.model.config

    def point(self, points: Points, *, beam: int = 1) -> Pointing:
        """The likeliest answer to a set of points, each (x, y); with `beam` 1 written greedily.

        Raises PointError for a set that has no answer: too few points, some alike, all on one line, not finite.
        """
        return self.point_all([points], beam=beam)[0]

    def point_all(
        self, sets: Sequence[Points], *, beam: int = 1, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[Pointing]:
        """The likeliest answer to each set, sets of like size worked on together. Raises PointError for the first that
        has none.
        """
        given = [np.asarray(points, np.float64).reshape(-1, 2) for points in sets]
        for index, points in enumerate(given):
            self.check(index, points)
        found: dict[int, Pointing] = {}
        order = sorted(range(len(given)), key=lambda index: len(given[index]))
        while order:
            size = max(COLUMNS // (beam * len(given[order[-1]])), 1)
            run, order = order[-size:], order[:-size]
            for index, pointing in zip(run, self._answer([given[index] for index in run], beam), strict=True):
                found[index] = pointing
            on_progress(len(found))
        return [found[index] for index in range(len(given))]

    def check(self, index: int, points: npt.NDArray[np.float64]) -> None:
        """Raises PointError where set number `index` has no answer, or more points than the model has names for."""
        wrong = fault(self.config.problem, points.tolist())
        most = self.config.max_points
        if wrong is None and most is not None and len(points) > most:
            wrong = None, f"has {len(points):,} points, and this model names {most} positions at most"
        if wrong is not None:
            raise PointError(index, *wrong)

    @torch.inference_mode()
    def _answer(self, sets: list[npt.NDArray[np.float64]], beam: int) -> list[Pointing]:
        """The answers to some sets, padded to the same size."""
        longest = max(map(len, sets))
        points = torch.zeros(len(sets), longest, 2, device=self.device)
        keep = torch.zeros(len(sets), longest, dtype=torch.bool, device=self.device)
        scaled: list[bool] = []
        for number, one in enumerate(sets):
            places = in_unit_square(one)
            points[number, : len(one)] = torch.from_numpy(places)
            keep[number, : len(one)] = True
            scaled.append(places is not one)
        padding = None if bool(keep.all()) else keep
        rows = write(self.model, points, padding, beam=beam)
        chances = self._chances(points, padding, rows)
        return [self._pointing(*one) for one in zip(sets, rows, chances, scaled, strict=True)]

    def _chances(self, points: Tensor, keep: Tensor | None, rows: list[list[int]]) -> list[npt.NDArray[np.float32]]:
        """The distributions [T, N + 1] at each step of written answers, the end in the last column."""
        target = torch.full((len(rows), max(map(len, rows)) + 1), END, device=self.device)
        for number, row in enumerate(rows):
            target[number, : len(row)] = torch.tensor(row, device=self.device) + 1
        chances = self.model(points, target, keep).softmax(-1)
        sizes = [points.shape[1]] * len(rows) if keep is None else keep.sum(1).tolist()
        return [
            torch.cat((part[:, 1 : size + 1], part[:, :1]), 1).cpu().numpy()
            for part, size in ((chances[i, : len(rows[i]) + 1], size) for i, size in enumerate(sizes))
        ]

    def _pointing(
        self, points: npt.NDArray[np.float64], row: list[int], chances: npt.NDArray[np.float32], scaled: bool
    ) -> Pointing:
        """An answer beside the exact one."""
        problem = self.config.problem
        steps = np.arange(len(chances)), [*row, len(points)]
        logprob = float(np.log(chances[steps].astype(np.float64)).sum())
        if problem == "tour" and len(points) > MOST_CITIES:
            return Pointing(problem, points, row, chances, logprob, None, None, scaled)
        exact = answers(problem, points[None])[0]
        return Pointing(
            problem, points, row, chances, logprob, exact, judge(problem, points.tolist(), row, exact), scaled
        )
