"""Pointing: the answer to a question about points is a row of the points themselves (Vinyals 2015, section 3).

Points are drawn from the unit square, each as likely as any other, new ones for each batch; the exact answers are what
is learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from allyouneed.decoding.search import beam_search
from allyouneed.errors import UsageError
from allyouneed.models.pointer import END, PointerNetwork
from allyouneed.models.pointer_rules import Problem
from allyouneed.tasks.pointing.questions import FEWEST, answers, judge
from allyouneed.tasks.task import Data, Loss, Report, Task

EPOCH = 100  # batches
RATIOS: dict[Problem, str] = {"hull": "area", "triangulation": "triangles", "tour": "length"}


class PointData(Data):
    """Points that are drawn, new ones for each batch."""

    problem: Problem = Field(default="hull", description="what is asked: hull, triangulation or tour")
    min_points: Annotated[int, Field(ge=2)] = Field(default=5, description="points of the smallest sets")
    max_points: Annotated[int, Field(ge=2)] = Field(default=50, description="points of the largest sets")
    growth: Annotated[int, Field(ge=0)] = Field(
        default=0, description=f"epochs of {EPOCH} batches over which the largest sets grow from the smallest"
    )
    dev_sizes: tuple[int, ...] = Field(
        default=(5, 10, 50), min_length=1, description="points of the sets to validate on"
    )
    dev_sets: Annotated[int, Field(gt=0)] = Field(default=500, description="sets of each of these sizes")

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [f"sets of {self.min_points} to {self.max_points} points in the unit square, drawn anew for each batch"]


@dataclass(frozen=True)
class PointBatch:
    """Sets of equally many points, and their answers."""

    points: Tensor  # [B, S, 2]
    target: Tensor  # [B, T]: tokens, with the end after the last point
    real: Tensor  # [B, T]: which of them belong to the answer

    def to(self, device: torch.device) -> "PointBatch":
        """The same batch on a device."""
        return PointBatch(self.points.to(device), self.target.to(device), self.real.to(device))


def draw_sets(sets: int, points: int, draw: np.random.Generator) -> npt.NDArray[np.float32]:
    """Sets of points in the unit square, [sets, points, 2], in the precision in which models see them."""
    return draw.random((sets, points, 2), dtype=np.float32)


def tensors(sets: npt.NDArray[np.float32], rows: Sequence[Sequence[int]]) -> PointBatch:
    """Sets [B, S, 2] and their answers as the model sees them."""
    longest = max(map(len, rows)) + 1
    target = np.full((len(rows), longest), END, np.int64)
    real = np.zeros((len(rows), longest), np.bool_)
    for number, row in enumerate(rows):
        target[number, : len(row)] = np.array(row) + 1
        real[number, : len(row) + 1] = True
    return PointBatch(*map(torch.from_numpy, (sets, target, real)))


@torch.inference_mode()
def write(model: PointerNetwork, points: Tensor, keep: Tensor | None = None, *, beam: int = 1) -> list[list[int]]:
    """The likeliest answers, rows of numbers from 0, to sets [B, S, 2]; of `keep` [B, S] as in `encode`."""
    memory = model.encode(points, keep)
    found = beam_search(
        model.start(memory),
        model.step,
        bos=END,
        eos=END,
        max_tokens=longest_answer(model.config.problem, points.shape[1]),
        beam=beam,
        length_penalty=0.0,
    )
    return [[token - 1 for token in best.tokens] for best, *_ in found]


def longest_answer(problem: Problem, points: int) -> int:
    """The most tokens that an answer can have, with its end: N points have 2N - 5 triangles at most."""
    return 3 * (2 * points - 5) + 1 if problem == "triangulation" else points + 1


class Pointing(Task):
    """Questions about points, without end."""

    line = "points"
    data = PointData
    title = "A model that points"
    measures = (
        "The loss is in nats an answer. For sets of N points, `exact N` is the share of answers that are the exact "
        "one, `valid N` of those that are a simple polygon, a whole tour or whole triangles; and over these, `area N` "
        "is the polygon's area by the hull's, `length N` the tour's length by the shortest one's, `triangles N` the "
        "share of the exact triangles that were found. Answers are written greedily."
    )
    tokenizer = None

    def __init__(self, settings: PointData, report: Report) -> None:
        self.settings = settings
        draw = np.random.default_rng(0)
        report("exact answers to validate on")
        self.dev: list[tuple[npt.NDArray[np.float32], list[list[int]]]] = []
        for size in settings.dev_sizes:
            sets = draw_sets(settings.dev_sets, size, draw)
            self.dev.append((sets, answers(settings.problem, sets)))

    @classmethod
    def prepare(cls, data: PointData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Pointing":
        """Answers to validate on; the others are made when they are wanted."""
        fewest = FEWEST[data.problem]
        for name, size in (("min_points", data.min_points), *(("dev_sizes", size) for size in data.dev_sizes)):
            if size < fewest:
                raise UsageError(f'data.{name} = {size}: the problem "{data.problem}" needs {fewest} points or more.')
        if data.max_points < data.min_points:
            raise UsageError(f"data.max_points = {data.max_points} is less than data.min_points = {data.min_points}.")
        return cls(data, report)

    def size(self) -> str:
        """How many sets there are."""
        settings = self.settings
        sizes = ", ".join(map(str, settings.dev_sizes))
        return f"sets without end, and {settings.dev_sets:,} each of {sizes} points for validation"

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[tuple[int, int]]:
        """Sets and points of each batch of an epoch: all sets of a batch have equally many points."""
        low, high = self.settings.min_points, self.settings.max_points
        if max_tokens < high:
            raise UsageError(f"training.batch_tokens = {max_tokens} holds no set of {high} points.")
        if epoch < self.settings.growth:
            high = low + (high - low) * (epoch + 1) // self.settings.growth
        sizes = np.random.default_rng([seed, epoch]).integers(low, high + 1, EPOCH)
        return [(max_tokens // size, size) for size in sizes.tolist()]

    def batch(self, plan: tuple[int, int], draw: np.random.Generator) -> PointBatch:
        """New sets."""
        sets = draw_sets(*plan, draw)
        return tensors(sets, answers(self.settings.problem, sets))

    def padded_tokens(self, plan: tuple[int, int]) -> int:
        """Points in all."""
        return plan[0] * plan[1]

    def target_tokens(self, plan: tuple[int, int]) -> int:
        """Answers: how long they are is not known before they are drawn."""
        return plan[0]

    def loss(self, model: PointerNetwork, batch: PointBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """The negative log-likelihood, twice: nothing is smoothed, since points are no vocabulary."""
        if model.config.problem != self.settings.problem:
            raise UsageError(
                f'data.problem = "{self.settings.problem}" and model.problem = "{model.config.problem}" must be one.'
            )
        logits = model(batch.points, batch.target)[batch.real].float()
        gold = batch.target[batch.real]
        lost = (logits.logsumexp(-1) - logits.gather(1, gold[:, None])[:, 0]).sum()
        return lost, lost.detach()

    @torch.no_grad()
    def validate(self, model: PointerNetwork, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss on all validation sets; the rest on the first `sentences` of each size."""
        lost, sets_in_all = 0.0, 0
        measures: dict[str, float] = {"loss": 0.0}
        for sets, exact in self.dev:
            size = sets.shape[1]
            rows = max(max_tokens // size, 1)
            for start in range(0, len(sets), rows):
                part = slice(start, start + rows)
                lost += float(self.loss(model, tensors(sets[part], exact[part]).to(model.device), measure)[1])
            sets_in_all += len(sets)
            if sentences:
                measures |= self.measured(model, sets[:sentences], exact[:sentences], rows)
        return {**measures, "loss": lost / sets_in_all}

    def measured(
        self, model: PointerNetwork, sets: npt.NDArray[np.float32], exact: Sequence[Sequence[int]], rows: int
    ) -> dict[str, float]:
        """How good written answers to sets of one size are, so many sets at a time."""
        problem, size = self.settings.problem, sets.shape[1]
        written: list[list[int]] = []
        for start in range(0, len(sets), rows):
            written += write(model, torch.from_numpy(sets[start : start + rows]).to(model.device))
        verdicts = [judge(problem, *one) for one in zip(sets.tolist(), written, exact, strict=True)]
        valid = [verdict.ratio for verdict in verdicts if verdict.valid]
        return {
            f"exact {size}": float(np.mean([verdict.exact for verdict in verdicts])),
            f"valid {size}": len(valid) / len(verdicts),
            **({f"{RATIOS[problem]} {size}": float(np.mean(valid))} if valid else {}),
        }
