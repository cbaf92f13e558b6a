"""What a recurrent model has read and written so far."""

from dataclasses import dataclass

import torch
from torch import Tensor

from allyouneed.parts.cells import Past


@dataclass(frozen=True)
class RecurrentMemory:
    """What the encoder leaves for the decoder.

    `states` [B, S, M] stand where their tokens stood, in whichever order these were read; `keep` [B, S] says which are
    real (None: all); `keys` [B, S, A] is what attention compares with, `summary` [B, H] what every step is told.
    """

    states: Tensor
    keep: Tensor | None
    start: list[Past]  # what the decoder's layers begin with, [B, H] each
    keys: Tensor | None = None
    summary: Tensor | None = None

    def select(self, sentences: Tensor) -> "RecurrentMemory":
        """That of some sentences."""

        def chosen(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor[sentences]

        start = [past.select(sentences) for past in self.start]
        return RecurrentMemory(
            self.states[sentences], chosen(self.keep), start, chosen(self.keys), chosen(self.summary)
        )


@dataclass(frozen=True)
class RecurrentState:
    """One row a hypothesis; the rows of a sentence stand side by side and share its memory, where there is one. Its
    size does not depend on how much was written.
    """

    layers: list[Past]
    memory: RecurrentMemory | None

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return len(self.layers[0].hidden)

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.layers[0].hidden.device

    @property
    def bytes(self) -> int:
        """Memory of the layers' states."""
        return sum(part.numel() * part.element_size() for past in self.layers for part in past if part is not None)

    def select(self, rows: Tensor) -> "RecurrentState":
        """Row i of the new state goes on from row `rows[i]` of this one; the kept sentences have equally many rows."""
        layers = [past.select(rows) for past in self.layers]
        if self.memory is None:
            return RecurrentState(layers, None)
        sentences = (rows // (self.rows // len(self.memory.states))).unique_consecutive()
        same = len(sentences) == len(self.memory.states)
        return RecurrentState(layers, self.memory if same else self.memory.select(sentences))
