"""The block that repeats: a sub-layer, a way around it, and a norm."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from allyouneed.parts.dropout import Dropout

Placement = Literal["post", "pre"]


class Residual(nn.Module):
    """LayerNorm(x + Sublayer(x)) as in the paper ("post"), or x + Sublayer(LayerNorm(x)) ("pre": Xiong 2020).

    Vaswani 2017, sections 3.1 and 5.4: dropout falls on the sub-layer's output, before it is added.
    """

    def __init__(self, norm: nn.Module, dropout: float, placement: Placement) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.placement = placement

    def change(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """What the sub-layer adds to x, with its norm before it: [B, T, D] -> [B, T, D]."""
        return self.dropout(sublayer(self.norm(x)))

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        if self.placement == "pre":
            return x + self.change(x, sublayer)
        return self.norm(x + self.dropout(sublayer(x)))
