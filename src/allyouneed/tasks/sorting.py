"""Sorting numbers by pointing at them, the experiment of Vinyals 2016, section 4.4."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.models.sets import ReadProcessWrite
from allyouneed.tasks.task import Data, Loss, Report, Task

EPOCH = 1000  # batches


class SortingData(Data):
    """Sets of random numbers, new ones for each batch."""

    numbers: Annotated[int, Field(ge=2)] = Field(default=10, description="numbers of a set")
    dev: Annotated[int, Field(ge=1)] = Field(default=1000, description="sets to validate on")

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [f"{self.numbers} random numbers from 0 to 1, drawn for each batch"]


@dataclass(frozen=True)
class SetBatch:
    """Sets and their sorted order: numbers [B, S, 1], and which element is the lowest, the second lowest … [B, S]."""

    numbers: Tensor
    order: Tensor

    def to(self, device: torch.device) -> "SetBatch":
        """The same batch on a device."""
        return SetBatch(self.numbers.to(device), self.order.to(device))


def draw_sets(sets: int, numbers: int, draw: np.random.Generator) -> SetBatch:
    """Random sets."""
    drawn = torch.from_numpy(draw.random((sets, numbers), np.float32))
    return SetBatch(drawn[:, :, None], drawn.argsort(stable=True, dim=1))


class Sorting(Task):
    """Sets without end."""

    line = "set"
    data = SortingData
    title = "A model that sorts sets of numbers"
    measures = (
        "The loss is in nats a number. It is asked for the lowest number, then for the next one, and so on: `pointers` "
        "is the share of right answers where all before were right, `sorted` the share of sets with all of them right, "
        "and `sorted once` the same where no number may be pointed at twice."
    )
    tokenizer = None

    def __init__(self, settings: SortingData) -> None:
        self.settings = settings
        self.dev = draw_sets(settings.dev, settings.numbers, np.random.default_rng(0))

    @classmethod
    def prepare(cls, data: SortingData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Sorting":
        """There is nothing to make: sets are drawn when they are wanted."""
        return cls(data)

    def size(self) -> str:
        """How many sets there are."""
        return f"sets of {self.settings.numbers} numbers, and {self.settings.dev:,} of them for validation"

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[int]:
        """How many sets each batch of an epoch has."""
        sets = max_tokens // self.settings.numbers
        if not sets:
            raise UsageError(f"training.batch_tokens = {max_tokens} holds no set of {self.settings.numbers} numbers.")
        return [sets] * EPOCH

    def batch(self, plan: int, draw: np.random.Generator) -> SetBatch:
        """New sets."""
        return draw_sets(plan, self.settings.numbers, draw)

    def padded_tokens(self, plan: int) -> int:
        """All numbers."""
        return plan * self.settings.numbers

    def target_tokens(self, plan: int) -> int:
        """All numbers: each is pointed at once."""
        return plan * self.settings.numbers

    def loss(self, model: ReadProcessWrite, batch: SetBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the numbers."""
        check_inputs(model)
        return measure_pointers(model(batch.numbers, batch.order), batch.order, measure)

    @torch.no_grad()
    def validate(self, model: ReadProcessWrite, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss, and how often pointers and whole sets are right."""
        check_inputs(model)
        sets = max(max_tokens // self.settings.numbers, 1)
        device, parts = next(model.parameters()).device, list[tuple[Tensor, Tensor, Tensor]]()
        for start in range(0, self.settings.dev, sets):
            rows = slice(start, start + sets)
            batch = SetBatch(self.dev.numbers[rows], self.dev.order[rows]).to(device)
            logits = model(batch.numbers, batch.order)
            likelihood = measure_pointers(logits, batch.order, measure)[1]
            left = logits.masked_fill(taken_before(batch.order), -torch.inf)
            right = logits.argmax(-1) == batch.order, left.argmax(-1) == batch.order
            parts.append((likelihood[None].cpu(), right[0].cpu(), right[1].cpu()))
        loss, free, once = (torch.cat(part) for part in zip(*parts, strict=True))
        return {
            "loss": float(loss.sum()) / free.numel(),
            "pointers": float(free.float().mean()),
            "sorted": float(free.all(1).float().mean()),
            "sorted once": float(once.all(1).float().mean()),
        }


def measure_pointers(logits: Tensor, order: Tensor, measure: Loss) -> tuple[Tensor, Tensor]:
    """Smoothed and plain loss of logits [B, T, S] by the elements that were asked for [B, T], summed."""
    words = torch.eye(logits.shape[-1], device=logits.device, dtype=logits.dtype)  # the elements are the vocabulary
    return measure(logits.flatten(0, 1), words, None, order.flatten())


def taken_before(order: Tensor) -> Tensor:
    """Which elements stand earlier in an order: [B, S] -> [B, S, S], a row for each step."""
    rank = order.argsort(1)
    return rank[:, None] < torch.arange(order.shape[1], device=order.device)[:, None]


def check_inputs(model: ReadProcessWrite) -> None:
    """Refuses a model of elements that are more than one number."""
    if model.config.n_inputs != 1:
        raise UsageError(f"model.n_inputs = {model.config.n_inputs}: elements of this task are 1 number each.")
