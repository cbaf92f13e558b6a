"""Keys and values of what was already written, shared by the beams that grew from it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass
class BeamCache:
    """One pool of key/value slots a sentence, and for each beam the slots that are its own past.

    A beam that branches, moves or dies changes only `visible`; keys and values are written once and never copied. They
    are copied when sentences leave the batch, or when the pool outgrows its storage (which then doubles).
    """

    keys: list[Tensor]  # L × [B, G, capacity, K]
    values: list[Tensor]  # L × [B, G, capacity, K]
    visible: Tensor  # [B, beams, used]: may beam b look at slot s
    steps: int = 0

    @classmethod
    def empty(cls, layers: int, like: Tensor, capacity: int = 64) -> "BeamCache":
        """An empty pool for the sentences of `like` [B, G, S, K], one row each."""
        batch, groups, _, width = like.shape
        pools = [like.new_empty(batch, groups, capacity, width) for _ in range(2 * layers)]
        visible = torch.ones(batch, 1, 0, dtype=torch.bool, device=like.device)
        return cls(pools[:layers], pools[layers:], visible)

    @property
    def beams(self) -> int:
        """Rows a sentence."""
        return self.visible.shape[1]

    def open(self) -> "BeamCache":
        """The cache with one new slot a beam, visible to that beam alone; `write` then fills it, layer by layer."""
        own = torch.eye(self.beams, dtype=torch.bool, device=self.visible.device).expand(len(self.visible), -1, -1)
        visible = torch.cat((self.visible, own), dim=-1)
        capacity = self.keys[0].shape[2]
        if visible.shape[-1] > capacity:
            room = max(capacity, self.beams)
            grow = [
                torch.cat((pool, pool.new_empty(*pool.shape[:2], room, pool.shape[3])), 2)
                for pool in self.keys + self.values
            ]
            layers = len(self.keys)
            return BeamCache(grow[:layers], grow[layers:], visible, self.steps + 1)
        return BeamCache(self.keys, self.values, visible, self.steps + 1)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the open slots with [B, G, beams, K] and gives all keys and values so far [B, G, used, K]."""
        used = self.visible.shape[-1]
        self.keys[layer][:, :, used - self.beams : used] = keys
        self.values[layer][:, :, used - self.beams : used] = values
        return self.keys[layer][:, :, :used], self.values[layer][:, :, :used]

    def select(self, rows: Tensor, sentences: Tensor, *, moved: bool) -> "BeamCache":
        """Rows [R'] of the old rows, which now belong to the old `sentences` [B']; `moved` says that those changed."""
        visible = self.visible.flatten(0, 1)[rows].unflatten(0, (len(sentences), -1))
        if not moved:
            return replace(self, visible=visible)
        return BeamCache([k[sentences] for k in self.keys], [v[sentences] for v in self.values], visible, self.steps)
