"""What each position does on its own, between two looks at the others."""

from torch import Tensor, nn
from torch.nn.functional import relu


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂ (Vaswani 2017, equation 2)."""

    def __init__(self, d_model: int, d_ff: int, *, bias: bool = True) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.outer = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D], through width F."""
        return self.outer(relu(self.inner(x)))
