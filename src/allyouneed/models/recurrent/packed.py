"""Texts that were packed into one row, read side by side: a recurrence has more to do at once, and fewer steps."""

from typing import NamedTuple

import torch
from torch import Tensor


class Apart(NamedTuple):
    """Where the tokens of a packed batch [B, T] stand when each of its N texts has a row of its own."""

    places: Tensor  # [N, longest]: where in [B · T] each comes from; 0 for padding
    row: Tensor  # [B, T]: in which of the N rows a token stands
    column: Tensor  # [B, T]: and where

    def rows(self, tokens: Tensor) -> Tensor:
        """Packed tokens [B, T] -> [N, longest], padded on the right."""
        return tokens.flatten()[self.places]

    def back(self, states: Tensor) -> Tensor:
        """States [N, longest, D] -> [B, T, D]."""
        return states[self.row, self.column]


def apart(positions: Tensor) -> Apart:
    """The texts of positions [B, T]: a text begins where its position is 0, and with every row."""
    begins = positions == 0
    begins[:, 0] = True
    flat = begins.flatten()
    row = flat.long().cumsum(0) - 1
    starts = flat.nonzero()[:, 0]
    column = torch.arange(len(flat), device=flat.device) - starts[row]
    places = flat.new_zeros(len(starts), int(column.max()) + 1, dtype=torch.long)
    places[row, column] = torch.arange(len(flat), device=flat.device)
    return Apart(places, row.view_as(positions), column.view_as(positions))
