"""Dropout (Srivastava 2014) whose masks cost one random byte an element."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class ByteDropout(torch.autograd.Function):
    """Zeroes elements with probability threshold/256 and scales the rest by 256 / (256 - threshold)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        """x of any shape -> the same shape. Draws from torch's default generator."""
        count = x.numel()
        words = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None)
        keep = (words.view(torch.uint8)[:count] >= threshold).view(x.shape)
        ctx.scale = 256 / (256 - threshold)
        ctx.save_for_backward(keep)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        """The same elements pass, with the same scale."""
        (keep,) = ctx.saved_tensors
        return (grad_outputs[0] * keep).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Drops activations while training. On the CPU the rate is rounded to a 256th: torch's own masks take one slow
    single-threaded draw an element there, about a seventh of a small model's step.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout {rate} is outside [0, 1)")
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape -> the same shape."""
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.rate)
        return ByteDropout.apply(x, min(max(1, round(self.rate * 256)), 255))
