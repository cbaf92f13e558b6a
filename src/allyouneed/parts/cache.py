"""Keys and values of what was already read and written, shared by the beams that grew from it.

Two kinds with one interface: `BeamCache` keeps a whole text, `WindowCache` what a sliding window still sees of it, in a
ring of constant size. A pass opens slots (`open`, `open_many`), lets every layer `write` into them, and is `settled`.
`TextCache` is for texts that advance by different counts (`open_each`), and go `back`.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import pad

from allyouneed.parts.backends import SHORT
from allyouneed.parts.masks import CAUSAL, Mask, explicit, padding, sliding_window
from allyouneed.parts.nearness import position_window
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
    def empty(cls, layers: int, like: Tensor, capacity: int = 64) -> Self:
        """An empty pool for the sentences of `like` [B, G, S, K], one row each. A `capacity` that holds all slots to
        come is never outgrown: a token a slot, and one for each beam of what a search writes.
        """
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
        """Positions of the tokens that were opened last, one a row: [1 or B, beams]."""
        return (self.lengths[:, None] - 1).expand(-1, self.beams)

    @property
    def capacity(self) -> int:
        """Slots a sentence that there is storage for."""
        return self.keys[0].shape[2]

    @property
    def bytes(self) -> int:
        """Memory of the slots in use: 2 · L · B · G · K · slots · bytes a number."""
        used = self.visible.shape[-1]
        return sum(pool[:, :, :used].numel() * pool.element_size() for pool in self.keys + self.values)

    def open(self) -> Self:
        """The cache with one new slot a beam, visible to that beam alone; `write` then fills it, layer by layer."""
        new = self.lengths[:, None].expand(-1, self.beams)
        return self._grown(self._own(), new, self.lengths + 1, self.steps + 1)

    def open_many(self, length: int, keep: Tensor | None = None) -> Self:
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

    def _own(self) -> Tensor:
        """Who sees the slots of one new token a beam: [B, beams, beams]."""
        return identity(self.beams, self.visible.device).expand(self.visible.shape[0], -1, -1)

    def _grown(self, own: Tensor, new: Tensor, lengths: Tensor, steps: int) -> Self:
        visible = torch.cat((self.visible, own), dim=-1)
        sentences = max(self.positions.shape[0], new.shape[0])
        positions = torch.cat((self.positions.expand(sentences, -1), new.expand(sentences, -1)), dim=-1)
        grown = self._with_room(visible.shape[-1])
        return replace(grown, visible=visible, positions=positions, lengths=lengths, steps=steps)

    def _with_room(self, slots: int, most: int | None = None) -> Self:
        """The cache with storage for so many slots: twice as much as it had, where that was too little, but not more
        than `most`.
        """
        if slots <= self.capacity:
            return self
        wanted = max(slots, 2 * self.capacity)
        room = (wanted if most is None else min(wanted, most)) - self.capacity
        keys, values = (
            [torch.cat((pool, pool.new_zeros(*pool.shape[:2], room, pool.shape[3])), 2) for pool in pools]
            for pools in (self.keys, self.values)
        )
        return replace(self, keys=keys, values=values)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the open slots with [B, G, new, K] and gives all keys and values so far [B, G, used, K]."""
        used, new = self.visible.shape[-1], keys.shape[2]
        key_pool, value_pool = self.keys[layer], self.values[layer]
        key_pool.narrow(2, used - new, new).copy_(keys)
        value_pool.narrow(2, used - new, new).copy_(values)
        return key_pool.narrow(2, 0, used), value_pool.narrow(2, 0, used)

    def settled(self) -> Self:
        """The cache after a pass, when all layers have written."""
        return self

    def step_mask(self) -> Mask:
        """What each beam may look at with the token that was opened last."""
        return explicit(self.visible[:, None])

    def read_mask(self, length: int, *, padded: bool) -> Mask:
        """What the `length` tokens that were opened last may look at; `padded`: some of them are no real ones."""
        slots = self.visible.shape[-1]
        if slots == length and not padded:
            return self._look_back(length)
        mask = CAUSAL & padding(self.visible[:, 0])
        near = self._near()
        mask = mask if near is None else mask & near
        # What is short is made dense once for all layers.
        return mask if length * slots >= SHORT else explicit(mask.dense(length, slots, self.visible.device))

    def _look_back(self, length: int) -> Mask:
        """What tokens may look at that stand in order, with nothing before them."""
        return CAUSAL

    def _near(self) -> Mask | None:
        """Which slots are near enough, by their positions; None: all are."""
        return None

    def select(self, rows: Tensor, sentences: Tensor, *, moved: bool) -> Self:
        """Rows [R'] of the old rows, which now belong to the old `sentences` [B']; `moved` says that those changed."""
        visible = self.visible.flatten(0, 1)[rows].unflatten(0, (len(sentences), -1))
        if not moved:
            return replace(self, visible=visible)
        keys, values = [k[sentences] for k in self.keys], [v[sentences] for v in self.values]
        if len(self.positions) == 1:
            return replace(self, keys=keys, values=values, visible=visible)
        lengths, positions = self.lengths[sentences], self.positions[sentences]
        steps = int(lengths.max())
        return replace(
            self, keys=keys, values=values, visible=visible, positions=positions, lengths=lengths, steps=steps
        )


@dataclass
class WindowCache(BeamCache):
    """What the last `window` tokens left, the newest included: constant memory, however long the text grows.

    The slots are a ring of `window` columns, a token each; a column holds a slot for each beam, so that all texts go
    round together. A step overwrites the oldest column, and what is left is the window. More beams than ever before
    widen the columns, which copies them once.

    What is read at once may be longer than the window: its queries see each their own window of the old slots and the
    new ones side by side, and only then what is too old is dropped.
    """

    window: int = 1
    beams_held: int = 1  # slots of a column
    columns: int = 0  # that were ever opened
    held: Tensor | None = None  # [1 or B, kept]: while a text is being read, the slots that stay, oldest first

    @classmethod
    def of(cls, window: int, layers: int, like: Tensor, capacity: int = 64) -> "WindowCache":
        """An empty ring for the sentences of `like` [B, G, S, K], one row each; see `empty`."""
        return replace(cls.empty(layers, like, min(capacity, window)), window=window)

    def open(self) -> "WindowCache":
        """The cache with one new slot a beam, visible to that beam alone, in place of those that no one sees now."""
        ring = self._widened(self.beams)
        first = ring.columns % ring.window * ring.beams_held
        last = first + ring.beams_held
        used = max(last, ring.visible.shape[-1])
        ring = ring._with_room(used, ring.window * ring.beams_held)
        more = used - ring.visible.shape[-1]
        visible, positions = (pad(x, (0, more)) if more else x.clone() for x in (ring.visible, ring.positions))
        visible[:, :, first:last] = False
        visible[:, :, first : first + ring.beams] = ring._own()
        positions[:, first:last] = ring.lengths[:, None]
        return replace(
            ring,
            visible=visible,
            positions=positions,
            lengths=ring.lengths + 1,
            steps=ring.steps + 1,
            columns=ring.columns + 1,
        )

    def open_many(self, length: int, keep: Tensor | None = None) -> "WindowCache":
        """The cache with `length` new slots a sentence behind those of the ring; see `BeamCache.open_many`."""
        opened = super().open_many(length, keep)
        alike = len(opened.positions) == 1 and self.beams_held == 1
        order = torch.where(opened.visible[:1, 0] if alike else opened.visible[:, 0], opened.positions, -1)
        newest = order.topk(min(self.window, opened.steps, order.shape[1])).indices
        return replace(opened, held=newest.flip(-1))

    def _grown(self, own: Tensor, new: Tensor, lengths: Tensor, steps: int) -> "WindowCache":
        visible = torch.cat((self.visible, own), dim=-1)
        sentences = max(len(self.positions), len(new))
        positions = torch.cat((self.positions.expand(sentences, -1), new.expand(sentences, -1)), dim=-1)
        ring = self._with_room(min(self.window, steps), self.window * self.beams_held)
        return replace(ring, visible=visible, positions=positions, lengths=lengths, steps=steps)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the open slots with [B, G, new, K] and gives all keys and values that may be seen [B, G, used, K]."""
        if self.held is None:
            first = (self.columns - 1) % self.window * self.beams_held
            used, last = self.visible.shape[-1], first + keys.shape[2]
            self.keys[layer][:, :, first:last] = keys
            self.values[layer][:, :, first:last] = values
            return self.keys[layer][:, :, :used], self.values[layer][:, :, :used]
        before, kept = self.visible.shape[-1] - keys.shape[2], self.held.shape[-1]
        seen: list[Tensor] = []
        for pool, new in ((self.keys[layer], keys), (self.values[layer], values)):
            whole = torch.cat((pool[:, :, :before], new), 2) if before else new
            pool[:, :, :kept] = chosen_slots(whole, self.held)
            seen.append(whole)
        return seen[0], seen[1]

    def settled(self) -> "WindowCache":
        """The cache after a pass: of a text that was read, only the window is left."""
        if self.held is None:
            return self
        visible = self.visible[:, 0].gather(-1, self.held.expand(len(self.visible), -1))[:, None]
        positions = self.positions.expand(len(self.held), -1).gather(-1, self.held)
        lengths = self.lengths.expand(len(positions))
        return replace(
            self,
            visible=visible,
            positions=positions,
            lengths=lengths,
            beams_held=1,
            columns=self.held.shape[-1],
            held=None,
        )

    def _widened(self, beams: int) -> "WindowCache":
        """The ring with at least so many slots a column."""
        more = beams - self.beams_held
        if more <= 0:
            return self

        def wide(slots: Tensor) -> Tensor:
            return pad(slots.unflatten(-1, (-1, self.beams_held)), (0, more)).flatten(-2)

        keys, values = (
            [wide(pool.transpose(-1, -2)).transpose(-1, -2).contiguous() for pool in pools]
            for pools in (self.keys, self.values)
        )
        visible, positions = wide(self.visible), wide(self.positions)
        return replace(self, keys=keys, values=values, visible=visible, positions=positions, beams_held=beams)

    def _look_back(self, length: int) -> Mask:
        if length <= self.window:
            return CAUSAL
        mask = CAUSAL & sliding_window(self.window)
        return mask if length * length >= SHORT else explicit(mask.dense(length, length, self.visible.device))

    def _near(self) -> Mask | None:
        return position_window(self.positions, self.window) if self.steps > self.window else None


@dataclass
class TextCache(BeamCache):
    """One text a sentence, and each token in the slot of its position: texts advance and go back by counts of their
    own, and what is written next takes the place of what was forgotten.
    """

    rows: Tensor | None = None  # [N]: the texts of the tokens that were opened last
    slots: Tensor | None = None  # [N]: and their slots

    @classmethod
    def of(cls, cache: BeamCache) -> "TextCache":
        """The same texts, which have one beam a sentence: what is padding goes behind them, if it is not there."""
        used, lengths = cache.visible.shape[-1], cache.lengths.expand(len(cache.visible))
        texts = cls(cache.keys, cache.values, cache.visible, cache.positions, lengths).with_lengths(lengths)
        in_order = texts.visible.shape == cache.visible.shape and bool((texts.visible == cache.visible).all())
        order = None if in_order else (~cache.visible[:, 0]).long().argsort(dim=1, stable=True)
        for pool in cache.keys + cache.values:
            if order is not None:
                pool[:, :, :used] = chosen_slots(pool[:, :, :used], order)
            pool[:, :, used:] = 0  # nobody looks there, but it must be numbers
        return texts

    def with_lengths(self, lengths: Tensor) -> "TextCache":
        """The texts up to so many tokens [B]."""
        steps = int(lengths.max())
        slots = torch.arange(steps, device=lengths.device)
        visible = (slots < lengths[:, None])[:, None]
        return replace(self, visible=visible, positions=slots[None], lengths=lengths, steps=steps)

    def open(self) -> "TextCache":
        """The texts with a new slot each."""
        return self.open_each(torch.ones_like(self.lengths))

    def open_many(self, length: int, keep: Tensor | None = None) -> "TextCache":
        """Refused: see `open_each`."""
        raise ValueError("texts that go on and back by counts of their own are read with open_each")

    def open_each(self, counts: Tensor) -> "TextCache":
        """The texts with so many [B] new slots each; `write` then fills them all, one text's after the other's."""
        rows = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
        firsts = self.lengths + counts - counts.cumsum(0)
        slots = torch.arange(len(rows), device=rows.device) + firsts[rows]
        opened = self.with_lengths(self.lengths + counts)
        room = self._with_room(opened.steps)
        return replace(opened, keys=room.keys, values=room.values, rows=rows, slots=slots)

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the open slots with [N, G, 1, K] and gives all keys and values so far [B, G, used, K]."""
        for pool, new in ((self.keys[layer], keys), (self.values[layer], values)):
            pool[self.rows, :, self.slots] = new[:, :, 0]
        return self.keys[layer].narrow(2, 0, self.steps), self.values[layer].narrow(2, 0, self.steps)

    def back(self, counts: Tensor) -> "TextCache":
        """Each text without so many [B] of its last tokens."""
        return self.with_lengths(self.lengths - counts)

    def select(self, rows: Tensor, sentences: Tensor, *, moved: bool) -> "TextCache":
        """See `BeamCache.select`; each text has one row, so nothing moves within it."""
        if not moved:
            return self
        keys, values = [k[sentences] for k in self.keys], [v[sentences] for v in self.values]
        return replace(self, keys=keys, values=values).with_lengths(self.lengths[sentences])


@cache
def identity(size: int, device: torch.device) -> Tensor:
    """Where the row is the column: [size, size], not to be written into."""
    return torch.eye(size, dtype=torch.bool, device=device)


def chosen_slots(slots: Tensor, which: Tensor) -> Tensor:
    """Slots [B, G, S, K] by their numbers [1 or B, kept] -> [B, G, kept, K]."""
    if len(which) == 1:
        return slots.index_select(2, which[0])
    return slots.gather(2, which[:, None, :, None].expand(-1, slots.shape[1], -1, slots.shape[3]))
