"""Norms: each position's state is brought to one size, so that deep stacks can be trained."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.linalg import vector_norm

NormKind = Literal["layer", "rms"]


def naive_rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / √(mean(x²) + ε) ⊙ w over the last D widths (Zhang & Sennrich 2019, equation 4): [..., D] -> [..., D]."""
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


class RootMeanSquare(torch.autograd.Function):
    """The same in fewer passes over the states, forwards and backwards."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """Keeps the normalised states and what they were multiplied by."""
        mean_square = vector_norm(x, 2, -1, keepdim=True).square_().div_(x.shape[-1])
        scale = mean_square.add_(epsilon).rsqrt_()  # [..., 1]
        normal = x * scale
        ctx.save_for_backward(normal, scale, weight)
        return normal * weight

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor, None]:
        """With n the normalised state and s its scale: ∂w = Σ g n, ∂x = s (g w - n · mean(g w n))."""
        normal, scale, weight = ctx.saved_tensors
        along = grad_outputs[0] * normal
        mean = (along @ weight).unsqueeze(-1).div_(weight.shape[0])
        change = (grad_outputs[0] * weight).addcmul_(normal, mean, value=-1).mul_(scale)
        return change, along.reshape(-1, weight.shape[0]).sum(0), None


class RMSNorm(nn.RMSNorm):
    """Root-mean-square norm, which neither centres nor shifts."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        if self.eps is None or x.dtype not in (torch.float32, torch.float64) or not torch.is_grad_enabled():
            return super().forward(x)
        return RootMeanSquare.apply(x, self.weight, self.eps)


def norm(kind: NormKind, width: int, epsilon: float) -> nn.LayerNorm | nn.RMSNorm:
    """Layer norm (Ba 2016, equation 4), or root-mean-square norm (Zhang & Sennrich 2019, equation 4). `epsilon` is
    added to the mean square.
    """
    return nn.LayerNorm(width, eps=epsilon) if kind == "layer" else RMSNorm(width, eps=epsilon)
