"""Who may look at whom: a mask is a value, not a matrix.

One rule holds everywhere: a mask answers, for a query position and a key position, *may look* (True) or not. Positions
count from the first key, and the queries are the last ones: the pattern is aligned to the lower right, so one new
query over a cache of `S` keys stands at position `S - 1`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Allows = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Mask:
    """A rule over (query position, key position); combine rules with `&`, `|` and `~`.

    `allows` takes query positions [T, 1] and key positions [1, S] and gives booleans that broadcast to [B, 1, T, S].
    """

    allows: Allows
    name: str

    def dense(self, queries: int, keys: int, device: torch.device | str = "cpu") -> Tensor:
        """The rule as booleans: [T, S], or [B, 1, T, S] where it differs from sentence to sentence."""
        query = torch.arange(keys - queries, keys, device=device)[:, None]
        key = torch.arange(keys, device=device)[None, :]
        allowed = self.allows(query, key)
        if allowed.dim() == 2:
            return allowed.expand(queries, keys)
        return allowed

    def __and__(self, other: "Mask") -> "Mask":
        return Mask(lambda q, k: self.allows(q, k) & other.allows(q, k), f"{self.name} & {other.name}")

    def __or__(self, other: "Mask") -> "Mask":
        return Mask(lambda q, k: self.allows(q, k) | other.allows(q, k), f"({self.name} | {other.name})")

    def __invert__(self) -> "Mask":
        return Mask(lambda q, k: ~self.allows(q, k), f"~{self.name}")


CAUSAL = Mask(lambda q, k: k <= q, "causal")


def causal() -> Mask:
    """No one looks at what comes later (Vaswani 2017, section 3.2.3). The fast kernels know this one by identity."""
    return CAUSAL


def padding(keep: Tensor) -> Mask:
    """Only real tokens are looked at: `keep` [B, S] is True where a token is real."""
    if keep.dim() != 2 or keep.dtype != torch.bool:
        raise ValueError(f"padding() takes booleans [B, S], not {keep.dtype} {list(keep.shape)}")
    return Mask(lambda q, k: keep[:, None, None, :][..., k[0]], "padding")


def prefix(length: int) -> Mask:
    """The first `length` keys are open to every query."""
    return Mask(lambda q, k: (k < length) | (q < 0), f"prefix({length})")


def sliding_window(width: int) -> Mask:
    """A query sees itself and the `width - 1` keys before it (combined with `causal()`)."""
    if width < 1:
        raise ValueError(f"a sliding window holds at least its own position: width {width} is below 1")
    return Mask(lambda q, k: q - k < width, f"window({width})")


def explicit(allowed: Tensor) -> Mask:
    """A rule given as booleans [T, S] or [B, 1, T, S], for keys that stand in no order (the slots of a beam cache)."""
    if allowed.dtype != torch.bool:
        raise ValueError(f"explicit() takes booleans, not {allowed.dtype}")
    return Mask(lambda q, k: allowed, "explicit")
