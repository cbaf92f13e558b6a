"""What a model must offer to be searched: a state with rows, and a step that appends one token to each."""

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor


class State(Protocol):
    """What a model has read and written so far, one row a hypothesis. Once used it is spent: the new one goes on."""

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        ...

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Row i of the new state goes on from row `rows[i]` [R'] of this one.

        Rows of one sentence stand side by side, and sentences keep their order; a sentence without rows leaves.
        """
        ...


AnyState = TypeVar("AnyState", bound=State)

Step = Callable[[Tensor, AnyState], tuple[Tensor, AnyState]]
"""tokens [R], state -> the logits of the next token [R, V], and the state with these tokens written."""
