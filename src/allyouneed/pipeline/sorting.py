"""A loaded model of sets, which sorts numbers."""

import json
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.lens.attention import write_whole
from allyouneed.lens.pictures import image
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.pipeline.common import Loaded

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sorted:
    """S numbers, and the `order` in which a model pointed at them, lowest first: places in `numbers`, from 0.

    `chances` [S, S] are those of each number at each step. `looks` [P, S] is where the set was looked at before
    anything was written. `scaled` says that the numbers did not lie between 0 and 1 and were moved there for the model.
    """

    numbers: list[float]
    order: list[int]
    chances: Floats
    looks: Floats
    scaled: bool

    @property
    def sorted(self) -> list[float]:
        """The numbers as the model puts them."""
        return [self.numbers[place] for place in self.order]

    @property
    def twice(self) -> list[int]:
        """Places of the numbers that were pointed at more than once."""
        return sorted({place for place in self.order if self.order.count(place) > 1})

    @property
    def exact(self) -> bool:
        """Are they sorted?"""
        return self.sorted == sorted(self.numbers)

    @property
    def wrong(self) -> int:
        """At how many places another number belongs."""
        return sum(one != other for one, other in zip(self.sorted, sorted(self.numbers), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "numbers": self.numbers,
            "order": self.order,
            "sorted": self.sorted,
            "exact": self.exact,
            "wrong": self.wrong,
            "twice": self.twice,
            "scaled": self.scaled,
            "chances": self.chances.tolist(),
            "looks": self.looks.tolist(),
        }

    def save(self, path: str | Path) -> None:
        """Writes the chances as a picture (.png, .svg), or everything (.json).

        Raises UsageError for another suffix and InputError where the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            content = (json.dumps(self.to_dict()) + "\n").encode()
        elif suffix in (".png", ".svg"):
            steps = [str(step) for step in range(1, len(self.order) + 1)]
            title = "which number each step points at"
            content = image(self.chances, steps, [f"{x:g}" for x in self.numbers], title=title, suffix=suffix)
        else:
            raise UsageError(f"{path}: the ending says the format, and it is one of .png, .svg and .json.")
        write_whole(path, content)


class Sorter(Loaded):
    """A model that reads a set of numbers and points at them in order."""

    what = "a model that reads a set"
    model: ReadProcessWrite

    @property
    def config(self) -> SetConfig:
        """The model's numbers."""
        return self.model.config

    @property
    def learned_size(self) -> int | None:
        """How many numbers the sets had that it learned from, where its recipe says so. It knows no others."""
        return tomllib.loads(self.recipe or "").get("data", {}).get("numbers")

    @torch.no_grad()
    def sort(self, numbers: Sequence[float], *, once: bool = False) -> Sorted:
        """Points at numbers, lowest first. Their own order does not matter. The model may point at one twice and leave
        another out, as when two are nearly the same, unless it may point at each but `once`.

        Raises InputError for no numbers, and for one that is not finite; UsageError for a model of other elements.
        """
        if self.config.n_inputs != 1:
            raise UsageError(f"{self.name} reads elements of {self.config.n_inputs} numbers, and sorting is by one.")
        values = [float(number) for number in numbers]
        if not values:
            raise InputError("There are no numbers: give one or more.")
        for place, value in enumerate(values, 1):
            if not math.isfinite(value):
                raise InputError(f"Number {place} is {value}: only finite numbers can be sorted.")
        given, scaled = between_0_and_1(np.array(values))
        memory = self.model.encode(torch.from_numpy(given)[None, :, None].to(self.device))
        found = self.model.point(memory, once=once)
        return Sorted(
            values,
            found.order[0].tolist(),
            found.chances[0].cpu().numpy(),
            memory.looks[0].cpu().numpy(),
            scaled,
        )


def between_0_and_1(values: npt.NDArray[np.float64]) -> tuple[Floats, bool]:
    """Numbers as models know them: as they are where all lie between 0 and 1, and otherwise moved and scaled until
    they do, which keeps their order; and whether that was needed.
    """
    low, high = values.min(), values.max()
    if low >= 0 and high <= 1:
        return values.astype(np.float32), False
    half = high / 2 - low / 2  # halves, so that no difference overflows
    return ((values / 2 - low / 2) / (half or 1)).astype(np.float32), True


def read_numbers(lines: Iterable[str], name: str) -> list[float]:
    """Numbers of lines, with spaces or commas between them. Raises InputError with the line for what is none."""
    numbers = list[float]()
    for line_number, line in enumerate(lines, 1):
        for word in line.replace(",", " ").split():
            try:
                number = float(word)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise InputError(f'{name}, line {line_number}: "{word}" is no number that can be sorted.')
            numbers.append(number)
    return numbers
