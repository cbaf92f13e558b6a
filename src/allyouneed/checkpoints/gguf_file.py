"""GGUF files: a header, metadata, a table of tensors, and their bytes, all little-endian in one file.

Source: the format's public description (ggml, docs/gguf.md). The file is memory-mapped; a tensor is made float32 when
it is asked for.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allyouneed.checkpoints.gguf_blocks import KINDS, OTHERS, Bytes, Kind
from allyouneed.errors import InputError, nearest

VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class CutShortError(Exception):
    """The file ends before what it announces."""


@dataclass(frozen=True)
class Stored:
    """Where one tensor lies. `shape` has the axis that runs fastest last, as torch has it."""

    shape: tuple[int, ...]
    kind: Kind
    start: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) // self.kind.values * self.kind.size


class Tensors(Mapping[str, Tensor]):
    """The tensors of a file by name. Each is made float32 anew when it is asked for; one that is stored so is a view of
    the mapped file, whose pages are read when they are used and copied when they are written to.
    """

    def __init__(self, data: Bytes, stored: dict[str, Stored]) -> None:
        self._data = data
        self.stored = stored

    def __getitem__(self, name: str) -> Tensor:
        where = self.stored[name]
        raw = self._data[where.start : where.start + where.size].reshape(-1, where.kind.size)
        return torch.from_numpy(where.kind.expand(raw)).view(where.shape)

    def __contains__(self, name: object) -> bool:
        return name in self.stored  # the mixin would make the tensor to find out

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


@dataclass(frozen=True)
class Gguf:
    """An opened file."""

    path: Path
    metadata: dict[str, Any]
    tensors: Tensors


def open_gguf(path: str | Path) -> Gguf:
    """Opens a file: its metadata are read, its tensors only mapped.

    Raises InputError with one sentence for a file that is missing, cut short, of another kind, version or byte order,
    and for a tensor in a format that is not known here.
    """
    path = Path(path)
    try:
        # Copy on write: torch takes no memory that may not be written to.
        data = np.memmap(path, np.uint8, "c") if path.stat().st_size else np.zeros(0, np.uint8)
    except FileNotFoundError as error:
        names = [entry.name for entry in path.parent.glob("*.gguf")] if path.parent.is_dir() else []
        raise InputError(f"There is no file {path}.{nearest(path.name, names)}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    reader = Reader(path, np.asarray(data))
    try:
        return reader.read()
    except CutShortError as error:
        raise InputError(f"{path} is cut short: it has {len(data):,} bytes and ends within {error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is damaged: byte {reader.place:,} begins a text that is not UTF-8.") from error


class Reader:
    """Goes through the head of a file from front to back."""

    def __init__(self, path: Path, data: Bytes) -> None:
        self.path, self.data = path, data
        self.place = 0
        self.within = "its header"

    def read(self) -> Gguf:
        """The whole file."""
        magic = self.take(4).tobytes()
        if magic != b"GGUF":
            raise InputError(f"{self.path} is no GGUF file: it begins with {magic!r}, not with b'GGUF'.")
        version = self.number("I")
        if version not in VERSIONS:
            big = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
            what = "is in big-endian byte order" if big else f"is of GGUF version {version}"
            known = "version 2 or 3 in little-endian order is needed"
            raise InputError(f"{self.path} {what}, and {known}: write it anew with today's llama.cpp.")
        n_tensors, n_entries = self.number("Q"), self.number("Q")
        self.within = "its metadata"
        metadata: dict[str, Any] = {}
        for _ in range(n_entries):
            key = self.text()
            metadata[key] = self.value(self.number("I"), key)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 8 or alignment % 8:
            raise InputError(f"{self.path}: general.alignment is {alignment!r}, and a multiple of 8 is needed.")
        self.within = "its table of tensors"
        table = {self.text(): self.entry() for _ in range(n_tensors)}
        begin = math.ceil(self.place / alignment) * alignment
        stored = {name: self.located(name, *entry, begin=begin) for name, entry in table.items()}
        return Gguf(self.path, metadata, Tensors(self.data, stored))

    def located(self, name: str, shape: tuple[int, ...], number: int, offset: int, *, begin: int) -> Stored:
        """Where a tensor lies, after checks that it can be read."""
        if number not in KINDS:
            known = ", ".join(kind.name for kind in KINDS.values())
            what = OTHERS.get(number, f"number {number}")
            hint = nearest(what, [kind.name for kind in KINDS.values()])
            raise InputError(f"{self.path}: {name} is stored as {what}, which is none of {known}.{hint}")
        where = Stored(shape, KINDS[number], begin + offset)
        if shape[-1] % where.kind.values:
            raise InputError(
                f"{self.path} is damaged: {name} has rows of {shape[-1]} numbers, and {where.kind.name} stores"
                f" {where.kind.values} at a time."
            )
        if where.start + where.size > len(self.data):
            raise CutShortError(f"the tensor {name}")
        return where

    def entry(self) -> tuple[tuple[int, ...], int, int]:
        """Shape, kind and offset of a tensor."""
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return shape[::-1] or (1,), self.number("I"), self.number("Q")

    def value(self, kind: int, key: str) -> Any:
        """One value of the metadata; those of arrays as lists."""
        if kind == STRING:
            return self.text()
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind != ARRAY:
            raise InputError(f"{self.path} is damaged: {key} is of type {kind}, and the types are 0 to 12.")
        inner, count = self.number("I"), self.number("Q")
        if inner in NUMBERS:
            dtype = np.dtype("<" + NUMBERS[inner]) if NUMBERS[inner] != "?" else np.dtype(bool)
            return self.take(count * dtype.itemsize).view(dtype).tolist()
        if count > len(self.data):
            raise CutShortError(self.within)
        return [self.value(inner, key) for _ in range(count)]

    def text(self) -> str:
        """A string."""
        return self.take(self.number("Q")).tobytes().decode("utf-8")

    def number(self, code: str) -> Any:
        """A number, by its letter in `struct`."""
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")).tobytes())[0]

    def take(self, size: int) -> Bytes:
        """The next bytes."""
        if size > len(self.data) - self.place:
            raise CutShortError(self.within)
        self.place += size
        return self.data[self.place - size : self.place]
