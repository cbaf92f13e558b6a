"""A sliding window that is counted in positions, for slots and texts in which position and place are not the same."""

import torch
from torch import Tensor

from allyouneed.parts.masks import Fill, Mask, Span


def position_window(positions: Tensor, width: int) -> Mask:
    """Keys whose position is less than `width` before the query's, or after it: `positions` [1 or B, S] say where each
    key stands, and the queries are the last of them.

    It is the same rule as `sliding_window(width)` where positions are 0, 1, 2, ...; padding, packed texts and the ring
    of a cache make them others.
    """
    if positions.dim() != 2:
        raise ValueError(f"position_window() takes positions [B, S], not {list(positions.shape)}")
    one = len(positions) == 1
    lowest, highest = Extremes(positions), Extremes(-positions)

    def row(sentence: Tensor) -> Tensor:
        return sentence * 0 if one else sentence

    def rule(sentence: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return positions[row(sentence), query] - positions[row(sentence), key] < width

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        of = row(sentence)
        nearest = lowest(of, queries) + highest(of, keys)
        farthest = -highest(of, queries) - lowest(of, keys)
        return Fill(nearest < width, farthest < width)

    return Mask(rule, f"window({width}) of positions", survey, None if one else len(positions))


class Extremes:
    """The smallest number of any stretch of a row, from tables of the smallest of every 1, 2, 4, ... neighbours (a
    sparse table: two of them cover any stretch).
    """

    def __init__(self, numbers: Tensor) -> None:
        tables = [numbers]
        while 2 ** len(tables) <= numbers.shape[-1]:
            half = 2 ** (len(tables) - 1)
            shorter = tables[-1]
            tables.append(torch.minimum(shorter, torch.cat((shorter[:, half:], shorter[:, -1:].expand(-1, half)), 1)))
        self.tables = torch.stack(tables)  # [levels, B, S]

    def __call__(self, row: Tensor, span: Span) -> Tensor:
        """Rows and stretches that broadcast -> the smallest number in each."""
        level = (span.last - span.first + 1).float().log2().long()
        second = span.last + 1 - 2**level
        return torch.minimum(self.tables[level, row, span.first], self.tables[level, row, second])
