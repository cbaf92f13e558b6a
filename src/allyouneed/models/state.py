"""What a Transformer has read and written so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from allyouneed.models.config import TransformerConfig
from allyouneed.parts.cache import BeamCache, TextCache, WindowCache
from allyouneed.parts.masks import Mask, padding


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves for the decoder: its states [B, S, D], and which of them are real [B, S] (None: all)."""

    states: Tensor
    keep: Tensor | None

    @property
    def mask(self) -> Mask | None:
        """Who may be looked at in the source."""
        return None if self.keep is None else padding(self.keep)


@dataclass(frozen=True)
class DecoderState:
    """One row a hypothesis; the rows of a sentence stand side by side and share its source, where there is one. `step`,
    `read` and `select` use the storage of the state they are given: that one is spent.
    """

    source: list[tuple[Tensor, Tensor]]  # L × (keys, values), each [B, G, S, K]; empty without an encoder
    source_mask: Mask | None
    keep: Tensor | None
    caches: tuple[BeamCache, ...]  # of the layers that see the whole text, and of those that see a window; see `seats`

    @property
    def cache(self) -> BeamCache:
        """One of the caches: rows, lengths and new positions are the same in all of them."""
        return self.caches[0]

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return self.cache.visible.shape[0] * self.cache.beams

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.cache.visible.device

    @property
    def bytes(self) -> int:
        """Memory of the keys and values of what was read and written, without the source's."""
        return sum(cache.bytes for cache in self.caches)

    def with_caches(self, caches: Iterable[BeamCache]) -> "DecoderState":
        """The state with other caches."""
        return replace(self, caches=tuple(caches))

    @property
    def is_reversible(self) -> bool:
        """Can each row go on and back by a count of its own? What has left a window is gone."""
        return all(not isinstance(cache, WindowCache) and cache.beams == 1 for cache in self.caches)

    def opened(self, counts: Tensor) -> "DecoderState":
        """The state with so many [B] new slots in each row, which must be `is_reversible`."""
        texts = (cache if isinstance(cache, TextCache) else TextCache.of(cache) for cache in self.caches)
        return self.with_caches(cache.open_each(counts) for cache in texts)

    def back(self, counts: Sequence[int]) -> "DecoderState":
        """Each row as it was so many tokens ago, at most as many as were `opened` last."""
        steps = torch.tensor(counts, device=self.device)
        return self.with_caches(cache.back(steps) for cache in self.caches if isinstance(cache, TextCache))

    def select(self, rows: Tensor) -> "DecoderState":
        """Row i of the new state goes on from row `rows[i]` of this one; the kept sentences have equally many rows."""
        owners = rows // self.cache.beams
        sentences = owners.unique_consecutive()
        moved = sentences.shape[0] != self.cache.visible.shape[0]
        caches = tuple(cache.select(rows, sentences, moved=moved) for cache in self.caches)
        if not moved:
            return replace(self, caches=caches)
        keep = None if self.keep is None else self.keep[sentences]
        source = [(keys[sentences], values[sentences]) for keys, values in self.source]
        return DecoderState(source, None if keep is None else padding(keep), keep, caches)


class Seat(NamedTuple):
    """Where a layer's keys and values are: which of the state's caches, and which of its pools."""

    cache: int
    pool: int


def seats(config: TransformerConfig) -> list[Seat]:
    """The seat of each decoder layer: those that see the whole text share a cache, those with a window another one."""
    depth = range(config.n_decoder_layers)
    near = [config.has_window(layer) for layer in depth]
    both = len(set(near)) == 2
    return [Seat(int(both and near[layer]), near[:layer].count(near[layer])) for layer in depth]


def empty_caches(config: TransformerConfig, like: Tensor, *, room: int) -> tuple[BeamCache, ...]:
    """Nothing written yet, for the sentences of `like` [B, G, S, K], with storage for `room` slots a sentence."""
    near = sum(config.has_window(layer) for layer in range(config.n_decoder_layers))
    far = config.n_decoder_layers - near
    caches = [BeamCache.empty(far, like, room)] if far else []
    return (*caches, WindowCache.of(config.window, near, like, room)) if config.window and near else tuple(caches)


ROOM = 64  # slots a sentence that are made ready where nobody knows how many will come


def check_room(steps: int, positions: int) -> None:
    """Refuses a text that is longer than a model's positions."""
    if steps > positions:
        raise ValueError(f"the text has reached this model's {positions} positions")
