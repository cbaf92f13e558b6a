"""Keys and values of what was already read and written, shared by the beams that grew from it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from allyouneed.parts.positions import real_positions


@dataclass
class BeamCache:
    """One pool of key/value slots a sentence, and for each beam the slots that are its own past.

    A beam that branches, moves or dies changes only `visible`; keys and values are written once and never copied. They
    are copied when sentences leave the batch, or when the pool outgrows its storage (which then doubles).

    `positions` and `lengths` are one row for all sentences as long as none was padded.
    """

    keys: list[Tensor]  # L × [B, G, capacity, K]
    values: list[Tensor]  # L × [B, G, capacity, K]
    visible: Tensor  # [B, beams, used]: may beam b look at slot s
    positions: Tensor  # [1 or B, used]: where in its text each slot stands
    lengths: Tensor  # [1 or B]: how many tokens each text has
    steps: int = 0  # tokens of the longest text

    @classmethod
    def empty(cls, layers: int, like: Tensor, capacity: int = 64) -> "BeamCache":
        """An empty pool for the sentences of `like` [B, G, S, K], one row each."""
        batch, groups, _, width = like.shape
        pools = [like.new_empty(batch, groups, capacity, width) for _ in range(2 * layers)]
        visible = torch.ones(batch, 1, 0, dtype=torch.bool, device=like.device)
        start = torch.zeros(1, 0, dtype=torch.long, device=like.device)
        return cls(pools[:layers], pools[layers:], visible, start, start.new_zeros(1))

    @property
    def beams(self) -> int:
        """Rows a sentence."""
        return self.visible.shape[1]

    @property
    def newest(self) -> Tensor:
        """Positions of the tokens that were opened last, one a row of the cache's texts: [1 or B, 1]."""
        return self.lengths[:, None] - 1

    @property
    def bytes(self) -> int:
        """Memory of the slots in use: 2 · L · B · G · K · slots · bytes a number."""
        used = self.visible.shape[-1]
        return sum(pool[:, :, :used].numel() * pool.element_size() for pool in self.keys + self.values)

    def open(self) -> "BeamCache":
        """The cache with one new slot a beam, visible to that beam alone; `write` then fills it, layer by layer."""
        own = torch.eye(self.beams, dtype=torch.bool, device=self.visible.device).expand(len(self.visible), -1, -1)
        new = self.lengths[:, None].expand(-1, self.beams)
        return self._grown(own, new, self.lengths + 1, self.steps + 1)

    def open_many(self, length: int, keep: Tensor | None = None) -> "BeamCache":
        """The cache with `length` new slots a sentence, which must have one beam; `keep` [B, length] is True at real
        tokens, on either side of the padding.
        """
        if self.beams != 1:
            raise ValueError(f"a text is read into a cache with one beam a sentence, and this one has {self.beams}")
        if keep is None:
            own = torch.ones(len(self.visible), 1, length, dtype=torch.bool, device=self.visible.device)
            new = self.lengths[:, None] + torch.arange(length, device=self.lengths.device)
            return self._grown(own, new, self.lengths + length, self.steps + length)
        lengths = self.lengths + keep.sum(1)
        return self._grown(keep[:, None], self.lengths[:, None] + real_positions(keep), lengths, int(lengths.max()))

    def _grown(self, own: Tensor, new: Tensor, lengths: Tensor, steps: int) -> "BeamCache":
        visible = torch.cat((self.visible, own), dim=-1)
        sentences = max(len(self.positions), len(new))
        positions = torch.cat((self.positions.expand(sentences, -1), new.expand(sentences, -1)), dim=-1)
        capacity = self.keys[0].shape[2]
        keys, values = self.keys, self.values
        if visible.shape[-1] > capacity:
            room = max(capacity, visible.shape[-1] - capacity)
            keys, values = (
                [torch.cat((pool, pool.new_empty(*pool.shape[:2], room, pool.shape[3])), 2) for pool in pools]
                for pools in (keys, values)
            )
        return BeamCache(keys, values, visible, positions, lengths, steps)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the open slots with [B, G, new, K] and gives all keys and values so far [B, G, used, K]."""
        used, new = self.visible.shape[-1], keys.shape[2]
        self.keys[layer][:, :, used - new : used] = keys
        self.values[layer][:, :, used - new : used] = values
        return self.keys[layer][:, :, :used], self.values[layer][:, :, :used]

    def select(self, rows: Tensor, sentences: Tensor, *, moved: bool) -> "BeamCache":
        """Rows [R'] of the old rows, which now belong to the old `sentences` [B']; `moved` says that those changed."""
        visible = self.visible.flatten(0, 1)[rows].unflatten(0, (len(sentences), -1))
        if not moved:
            return replace(self, visible=visible)
        keys, values = [k[sentences] for k in self.keys], [v[sentences] for v in self.values]
        if len(self.positions) == 1:
            return replace(self, keys=keys, values=values, visible=visible)
        lengths = self.lengths[sentences]
        return BeamCache(keys, values, visible, self.positions[sentences], lengths, int(lengths.max()))
