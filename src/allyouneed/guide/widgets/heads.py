"""One layer and head of a model, as the figures ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from allyouneed.lens.attention import Lookup


@dataclass(frozen=True)
class Places:
    """Layer and head, counted from 0, brought within what the model has; head -1 stands for the mean of all."""

    layer: int
    head: int
    layers: int
    heads: int

    @classmethod
    def within(cls, layer: int, head: int, lookups: Sequence[Lookup]) -> "Places":
        """The nearest layer and head that there are."""
        layers, heads = len(lookups), lookups[0].attention.n_heads
        return cls(min(layer, layers - 1), min(head, heads - 1), layers, heads)

    def limits(self) -> dict[str, Any]:
        """What the controls must know: the values used, and the largest that this model allows."""
        return {
            "used": {"layer": self.layer, "head": self.head},
            "limits": {"layer": self.layers - 1, "head": self.heads - 1},
        }


def one_head(seen: Lookup, head: int) -> tuple[Tensor, Tensor]:
    """The queries [1, 1, T, K] and keys [1, 1, S, K] of one head; heads may share their keys."""
    queries = seen.attention.queries(seen.x, seen.place)
    group = head * seen.keys.shape[1] // queries.shape[1]
    return queries[:, head : head + 1], seen.keys[:, group : group + 1]


def one_value(seen: Lookup, head: int) -> Tensor:
    """The values [1, 1, S, K] of one head of a self-attention."""
    values = seen.attention.keys_values(seen.x)[1]
    group = head * values.shape[1] // seen.attention.n_heads
    return values[:, group : group + 1]
