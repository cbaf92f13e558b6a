"""What a machine is shown, and what it is then asked: episodes of the five experiments of Graves 2014, section 4.

An episode is a row of steps. At each step some numbers come in: bits on their channels, and marks on channels of their
own. What is asked are bits after the last steps, in which nothing comes in: whatever is written was remembered.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from allyouneed.tasks.task import Data

Floats = npt.NDArray[np.float32]
Size = tuple[int, ...]  # how large an episode is: what the numbers say, each kind of episode knows

FIRST_BITS = 5  # of the n-gram experiment: what the next bit depends on
Count = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Episodes:
    """Episodes of one size: what comes in [B, T, I], and the bits that are asked after the last A steps [B, A, O]."""

    inputs: Floats
    asked: Floats


class BitData(Data):
    """Episodes that are drawn, new ones for each batch."""

    dev: Count = Field(default=20, description="episodes of each size to validate on")
    growth: Annotated[int, Field(ge=0)] = Field(
        default=0, description="batches over which episodes grow to their largest size; 0: all sizes from the first on"
    )

    @property
    @abstractmethod
    def channels(self) -> tuple[int, int]:
        """How many numbers come in at a step, and how many bits are asked after one."""

    @abstractmethod
    def sizes(self) -> list[Size]:
        """All sizes that are trained on."""

    def larger(self) -> list[Size]:
        """Sizes beyond those, to be measured alone."""
        return []

    @abstractmethod
    def shape(self, size: Size) -> tuple[int, int]:
        """Steps T of an episode, and after how many of them bits are asked, A."""

    @abstractmethod
    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """New episodes of one size."""

    def blank(self, size: Size, rows: int) -> Floats:
        """Steps in which nothing comes in, [B, T, I]."""
        return np.zeros((rows, self.shape(size)[0], self.channels[0]), np.float32)


class CopyData(BitData):
    """Rows of bits, an end mark, and then: the same again (section 4.1). The size is the number of rows."""

    bits: Count = Field(default=8, description="bits of a row")
    min_length: Count = Field(default=1, description="fewest rows")
    max_length: Count = Field(default=20, description="most rows")
    beyond: tuple[Count, ...] = Field(default=(30, 50, 80, 120), description="lengths that are measured beyond those")

    @model_validator(mode="after")
    def _in_order(self) -> "CopyData":
        if self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is more than max_length {self.max_length}")
        return self

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [
            f"random rows of {self.bits} bits, {self.min_length} to {self.max_length} of them, drawn for each batch"
        ]

    @property
    def channels(self) -> tuple[int, int]:
        """Bits and the end mark; bits."""
        return self.bits + 1, self.bits

    def sizes(self) -> list[Size]:
        """Each length."""
        return [(length,) for length in range(self.min_length, self.max_length + 1)]

    def larger(self) -> list[Size]:
        """Lengths beyond."""
        return [(length,) for length in self.beyond]

    def shape(self, size: Size) -> tuple[int, int]:
        """The rows, the mark, the rows."""
        return 2 * size[0] + 1, size[0]

    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """Random bits."""
        return self.episodes(random_bits(draw, rows, size[0], self.bits))

    def episodes(self, bits: Floats) -> Episodes:
        """The episodes in which these bits [B, L, bits] are to be copied."""
        length = bits.shape[1]
        inputs = self.blank((length,), len(bits))
        inputs[:, :length, : self.bits] = bits
        inputs[:, length, self.bits] = 1
        return Episodes(inputs, bits)


class RepeatCopyData(BitData):
    """Rows of bits, a number, and then: the rows so many times, and an end mark (section 4.2). The size is the number
    of rows and that of repetitions. The number comes in with mean 0 and variance 1 over those that are trained on.
    """

    bits: Count = Field(default=8, description="bits of a row")
    max_length: Count = Field(default=10, description="most rows, from 1")
    max_times: Annotated[int, Field(ge=2)] = Field(default=10, description="most repetitions, from 1")
    beyond: tuple[tuple[Count, Count], ...] = Field(
        default=((20, 10), (10, 20)), description="lengths and repetitions that are measured beyond those"
    )

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        rows = f"up to {self.max_length} random rows of {self.bits} bits"
        return [f"{rows}, to be written up to {self.max_times} times, drawn for each batch"]

    @property
    def channels(self) -> tuple[int, int]:
        """Bits and the number; bits and the end mark."""
        return self.bits + 1, self.bits + 1

    def sizes(self) -> list[Size]:
        """Each length with each number of repetitions."""
        return [(length, times) for length in range(1, self.max_length + 1) for times in range(1, self.max_times + 1)]

    def larger(self) -> list[Size]:
        """Sizes beyond."""
        return [tuple(size) for size in self.beyond]

    def shape(self, size: Size) -> tuple[int, int]:
        """The rows, the number, the rows again and again, the mark."""
        length, times = size
        return length + 1 + length * times + 1, length * times + 1

    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """Random bits."""
        length, times = size
        bits = random_bits(draw, rows, length, self.bits)
        inputs = self.blank(size, rows)
        inputs[:, :length, : self.bits] = bits
        inputs[:, length, self.bits] = self.normal(times)
        asked = np.zeros((rows, self.shape(size)[1], self.channels[1]), np.float32)
        asked[:, :-1, : self.bits] = np.tile(bits, (1, times, 1))
        asked[:, -1, self.bits] = 1
        return Episodes(inputs, asked)

    def normal(self, times: int) -> float:
        """A number of repetitions as it comes in."""
        numbers = np.arange(1, self.max_times + 1)
        return float((times - numbers.mean()) / numbers.std())


class RecallData(BitData):
    """Items one after another, then one of them again, and then: the item that came after it (section 4.3). The size
    is the number of items. A mark stands before each item, and another before the one that is asked for and after it.
    """

    bits: Count = Field(default=6, description="bits of a row")
    rows: Count = Field(default=3, description="rows of an item")
    min_items: Annotated[int, Field(ge=2)] = Field(default=2, description="fewest items")
    max_items: Annotated[int, Field(ge=2)] = Field(default=6, description="most items")
    beyond: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(10, 15, 20), description="numbers of items that are measured beyond those"
    )

    @model_validator(mode="after")
    def _in_order(self) -> "RecallData":
        if self.min_items > self.max_items:
            raise ValueError(f"min_items {self.min_items} is more than max_items {self.max_items}")
        return self

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        items = f"{self.min_items} to {self.max_items} random items of {self.rows} rows of {self.bits} bits"
        return [f"{items}, drawn for each batch"]

    @property
    def channels(self) -> tuple[int, int]:
        """Bits and two marks; bits."""
        return self.bits + 2, self.bits

    def sizes(self) -> list[Size]:
        """Each number of items."""
        return [(items,) for items in range(self.min_items, self.max_items + 1)]

    def larger(self) -> list[Size]:
        """Numbers of items beyond."""
        return [(items,) for items in self.beyond]

    def shape(self, size: Size) -> tuple[int, int]:
        """Items with their marks, the question between its marks, the answer."""
        return (size[0] + 1) * (self.rows + 1) + 1 + self.rows, self.rows

    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """Random items, and any of them but the last is asked for."""
        items = size[0]
        bits = random_bits(draw, rows, items * self.rows, self.bits).reshape(rows, items, self.rows, self.bits)
        which, every = draw.integers(0, items - 1, rows), np.arange(rows)
        inputs = self.blank(size, rows)
        shown = inputs[:, : (items + 1) * (self.rows + 1)].reshape(rows, items + 1, self.rows + 1, -1)  # a view
        shown[:, :items, 0, self.bits] = 1
        shown[:, :items, 1:, : self.bits] = bits
        shown[:, items, 0, self.bits + 1] = 1
        shown[:, items, 1:, : self.bits] = bits[every, which]
        inputs[:, : (items + 1) * (self.rows + 1)] = shown.reshape(rows, -1, self.channels[0])
        inputs[:, (items + 1) * (self.rows + 1), self.bits + 1] = 1
        return Episodes(inputs, bits[every, which + 1])


class PrioritySortData(BitData):
    """Rows of bits with a number each, an end mark, and then: the rows whose numbers were highest, highest first
    (section 4.5). There is one size.
    """

    bits: Count = Field(default=8, description="bits of a row")
    rows: Count = Field(default=20, description="rows that come in")
    highest: Count = Field(default=16, description="rows that are asked for")

    @model_validator(mode="after")
    def _enough(self) -> "PrioritySortData":
        if self.highest > self.rows:
            raise ValueError(f"highest {self.highest} is more than rows {self.rows}")
        return self

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [f"{self.rows} random rows of {self.bits} bits, each with a number from -1 to 1, drawn for each batch"]

    @property
    def channels(self) -> tuple[int, int]:
        """Bits, the number and the end mark; bits."""
        return self.bits + 2, self.bits

    def sizes(self) -> list[Size]:
        """The one there is."""
        return [(self.rows,)]

    def shape(self, size: Size) -> tuple[int, int]:
        """The rows, the mark, the highest."""
        return self.rows + 1 + self.highest, self.highest

    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """Random bits and random numbers."""
        bits = random_bits(draw, rows, self.rows, self.bits)
        numbers = draw.uniform(-1, 1, (rows, self.rows)).astype(np.float32)
        inputs = self.blank(size, rows)
        inputs[:, : self.rows, : self.bits] = bits
        inputs[:, : self.rows, self.bits] = numbers
        inputs[:, self.rows, self.bits + 1] = 1
        order = np.argsort(-numbers, axis=1, kind="stable")[:, : self.highest]
        return Episodes(inputs, np.take_along_axis(bits, order[:, :, None], 1))


class NgramData(BitData):
    """One bit after another, and each time: which one is next? What comes after five bits hangs on a table that is new
    in every episode, so it must be learned within the episode (section 4.4). There is one size.
    """

    length: Annotated[int, Field(gt=FIRST_BITS)] = Field(default=200, description="bits of an episode")

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [f"{self.length} bits from random tables of what follows {FIRST_BITS} bits, drawn for each batch"]

    @property
    def channels(self) -> tuple[int, int]:
        """A bit; a bit."""
        return 1, 1

    def sizes(self) -> list[Size]:
        """The one there is."""
        return [(self.length,)]

    def shape(self, size: Size) -> tuple[int, int]:
        """What comes in at a step was asked after the one before."""
        return self.length, self.length

    def draw(self, size: Size, rows: int, draw: np.random.Generator) -> Episodes:
        """Tables from Beta(½, ½), and bits from them; the first five are even odds."""
        tables, every = draw.beta(0.5, 0.5, (rows, 2**FIRST_BITS)), np.arange(rows)
        bits = np.zeros((rows, self.length), np.float32)
        for place in range(self.length):
            chance = 0.5 if place < FIRST_BITS else tables[every, contexts(bits, place)]
            bits[:, place] = draw.random(rows) < chance
        inputs = self.blank(size, rows)
        inputs[:, 1:, 0] = bits[:, :-1]
        return Episodes(inputs, bits[:, :, None])

    def best_bits(self, asked: Floats) -> float:
        """What the best predictor pays for an episode, in bits: (N₁ + ½) / (N₀ + N₁ + 1) after each five bits, where N
        count what has followed them (equation 10).
        """
        bits, every = asked[:, :, 0], np.arange(len(asked))
        counts = np.full((len(bits), 2**FIRST_BITS, 2), 0.5)
        cost = float(FIRST_BITS * len(bits))
        for place in range(FIRST_BITS, self.length):
            here, now = contexts(bits, place), bits[:, place].astype(int)
            seen = counts[every, here]
            cost -= float(np.log2(seen[every, now] / seen.sum(1)).sum())
            counts[every, here, now] += 1
        return cost / len(bits)


def contexts(bits: Floats, place: int) -> npt.NDArray[np.int64]:
    """The five bits before a place [B, L] -> as a number [B]."""
    return bits[:, place - FIRST_BITS : place].astype(np.int64) @ (1 << np.arange(FIRST_BITS))


def random_bits(draw: np.random.Generator, rows: int, length: int, bits: int) -> Floats:
    """Even odds, [B, L, bits]."""
    return draw.integers(0, 2, (rows, length, bits)).astype(np.float32)


def named(size: Size) -> str:
    """A size as it stands in the name of a measure."""
    return "×".join(map(str, size))


def largest(data: BitData, sizes: Sequence[Size]) -> int:
    """Steps of the longest episode."""
    return max(data.shape(size)[0] for size in sizes)
