"""Tokens that look at a whole text where all others look around themselves (Beltagy 2020, section 3.1)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from allyouneed.parts.linear import Linear
from allyouneed.parts.masks import Mask, explicit


class Chosen(NamedTuple):
    """The marked tokens of each text, filled up with others to equally many: their numbers [B, M], and which of them
    are `marked` [B, M].
    """

    numbers: Tensor
    marked: Tensor

    @classmethod
    def of(cls, marks: Tensor) -> "Chosen":
        """marks [B, T] -> the tokens where they are True, in their order."""
        most = int(marks.sum(1).max())
        numbers = (~marks).int().argsort(dim=1, stable=True)[:, :most]
        return cls(numbers, marks.gather(1, numbers))

    def taken(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, M, D]."""
        return x.gather(1, self.numbers[:, :, None].expand(-1, -1, x.shape[-1]))

    def put(self, rows: Tensor, into: Tensor) -> Tensor:
        """rows [B, H, M, K] in their places in [B, H, T, K], where they are marked."""
        places = self.numbers[:, None, :, None].expand(-1, into.shape[1], -1, into.shape[-1])
        kept = torch.where(self.marked[:, None, :, None], rows, into.gather(2, places))
        return into.scatter(2, places, kept)

    def sight(self, mask: Mask | None, keys: int) -> Mask | None:
        """What a mask opens to these queries."""
        if mask is None:
            return None
        batch, most = self.numbers.shape
        device = self.numbers.device
        sentences = torch.arange(batch, device=device)[:, None, None, None]
        allowed = mask.allows(sentences, self.numbers[:, None, :, None], torch.arange(keys, device=device))
        return explicit(allowed.expand(batch, 1, most, keys))


class GlobalProjections(nn.Module):
    """The queries of global tokens, and the keys and values that they look at, are made apart from those of all others:
    they have another task than to look around.
    """

    def __init__(self, d_model: int, width: int, *, bias: bool) -> None:
        super().__init__()
        self.query = Linear(d_model, width, bias=bias)
        self.key = Linear(d_model, width, bias=bias)
        self.value = Linear(d_model, width, bias=bias)
