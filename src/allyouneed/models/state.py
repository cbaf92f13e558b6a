"""What a Transformer has read and written so far."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from allyouneed.parts.cache import BeamCache
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
    cache: BeamCache

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return self.cache.visible.shape[0] * self.cache.beams

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.cache.visible.device

    def select(self, rows: Tensor) -> "DecoderState":
        """Row i of the new state goes on from row `rows[i]` of this one; the kept sentences have equally many rows."""
        owners = rows // self.cache.beams
        sentences = owners.unique_consecutive()
        moved = len(sentences) != len(self.cache.visible)
        cache = self.cache.select(rows, sentences, moved=moved)
        if not moved:
            return replace(self, cache=cache)
        keep = None if self.keep is None else self.keep[sentences]
        source = [(keys[sentences], values[sentences]) for keys, values in self.source]
        return DecoderState(source, None if keep is None else padding(keep), keep, cache)


def check_room(steps: int, positions: int) -> None:
    """Refuses a text that is longer than a model's positions."""
    if steps > positions:
        raise ValueError(f"the text has reached this model's {positions} positions")
