"""Pictures of masks: who may look at whom, as characters, as a picture, or as numbers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from allyouneed.errors import UsageError
from allyouneed.lens import pictures
from allyouneed.lens.attention import write_whole
from allyouneed.parts.masks import Mask

NAMED = 64  # tokens whose names still find room beside a picture
SHOWN = 48  # cells a side in characters, at most
DRAWN = 1024  # cells a side in a picture, at most


class MaskView:
    """A mask over `queries` that look at `keys`; None looks everywhere. Longer texts are shown in square cells, shaded
    by the share of their pairs that may look.

    `rows` and `columns` are the names of the tokens; without them they are numbers from 0.
    """

    def __init__(
        self,
        mask: Mask | None,
        queries: int,
        keys: int,
        *,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.mask, self.queries, self.keys = mask, queries, keys
        self.rows = [str(i) for i in range(keys - queries, keys)] if rows is None else list(rows)
        self.columns = [str(i) for i in range(keys)] if columns is None else list(columns)
        self.name = name or ("everything" if mask is None else mask.name)

    def cells(self, most: int) -> torch.Tensor:
        """The share of pairs that may look, in at most `most` cells a side: [rows, columns]. Cells that are wholly open
        or shut are not looked into.
        """
        size = self._size(most)
        shape = (-(-self.queries // size), -(-self.keys // size))
        if self.mask is None:
            return torch.ones(shape)
        blocks = self.mask.blocks(self.queries, self.keys, size)
        some, every = (x[0] if x.dim() == 3 else x for x in (blocks.some, blocks.every))
        cells, partly = every.float(), some & ~every
        inside = torch.arange(size)
        for row in partly.any(1).nonzero().flatten().tolist():
            columns = partly[row].nonzero().flatten()
            own = torch.arange(row * size, min((row + 1) * size, self.queries))[:, None] + self.keys - self.queries
            keys = (columns[:, None] * size + inside).flatten()
            allowed = self.mask.among(own, keys.clamp_max(self.keys - 1)[None])
            allowed = (allowed[0, 0] if allowed.dim() == 4 else allowed).expand(len(own), len(keys))
            found = (allowed & (keys < self.keys)).unflatten(1, (-1, size)).sum((0, 2), dtype=torch.float32)
            cells[row, columns] = found / (len(own) * (self.keys - columns * size).clamp_max(size))
        return cells

    def _size(self, most: int) -> int:
        """Positions a side of a cell."""
        return -(-max(self.queries, self.keys) // most)

    @property
    def share(self) -> float:
        """The share of all pairs that may look."""
        cells, size = self.cells(DRAWN).double(), self._size(DRAWN)
        heights, widths = (
            torch.tensor([min(size, length - first) for first in range(0, length, size)], dtype=torch.double)
            for length in (self.queries, self.keys)
        )
        return float(heights @ cells @ widths) / (self.queries * self.keys)

    @property
    def title(self) -> str:
        """The rule, and how much it opens."""
        return f"{self.name}: {self.share:.1%} of {self.queries:,} × {self.keys:,} pairs"

    def text(self) -> str:
        """The mask in characters, for a terminal."""
        cells = self.cells(SHOWN)
        named = max(self.queries, self.keys) <= SHOWN
        size = self._size(SHOWN)
        starts = [str(self.keys - self.queries + i) for i in range(0, self.queries, size)]
        margin = max(map(pictures.width, self.rows if named else starts))
        lines = [self.title]
        for label, row in zip(self.rows if named else starts, cells.tolist(), strict=True):
            shades = "".join(shade(share) * 2 for share in row)
            lines.append(" " * (margin - pictures.width(label)) + f"{label} {shades}")
        scale = "██ may look, ·· may not"
        lines.append(scale if size == 1 else f"{scale}; a cell holds {size} × {size} pairs")
        return "\n".join(line.rstrip() for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """The rule, its size, and the cells of a picture of at most 1,024 a side."""
        return {
            "mask": self.name,
            "queries": self.queries,
            "keys": self.keys,
            "share": self.share,
            "rows": self.rows,
            "columns": self.columns,
            "cells": pictures.rounded(self.cells(DRAWN).tolist()),
        }

    def save(self, path: str | Path) -> None:
        """Writes a picture (.png, .svg) or the cells (.json). Raises UsageError for another suffix and InputError where
        the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            content = (json.dumps(self.to_dict(), ensure_ascii=False) + "\n").encode()
        elif suffix in (".png", ".svg"):
            content = self._picture(suffix)
        else:
            raise UsageError(f"{path}: the ending says the format, and for a mask it is one of .png, .svg and .json.")
        write_whole(path, content)

    def _picture(self, suffix: str) -> bytes:
        from matplotlib.figure import Figure

        cells = self.cells(DRAWN).numpy()
        named = max(self.queries, self.keys) <= NAMED
        side = max(4.0, 0.22 * max(cells.shape)) if named else 6.0
        with pictures.drawing():
            figure = Figure(figsize=(side + 1, side + 1.2), dpi=160, layout="constrained")
            axes = figure.add_subplot()
            low, high = self.keys - self.queries - 0.5, self.keys - 0.5
            extent = (-0.5, high, high, low)
            axes.imshow(cells, vmin=0, vmax=1, cmap="Blues", extent=extent, interpolation="nearest")
            if named:
                columns = [pictures.plain(token) for token in self.columns]
                axes.set_xticks(range(self.keys), columns, rotation=90)
                rows = [pictures.plain(token) for token in self.rows]
                axes.set_yticks(range(self.keys - self.queries, self.keys), rows)
                axes.tick_params(labelsize="small", length=0)
            axes.xaxis.tick_top()
            axes.set_xlabel("is looked at")
            axes.set_ylabel("looks")
            axes.set_title(pictures.plain(self.title), fontsize="medium")
            return pictures.file_of(figure, suffix)


def shade(share: float) -> str:
    """A character for a share between 0 and 1: only what is wholly open is solid, and only nothing is a dot."""
    return "·" if share == 0 else "█" if share == 1 else "░▒▓"[min(int(share * 3), 2)]
