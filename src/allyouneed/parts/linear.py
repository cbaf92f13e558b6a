"""Products of states with weights: x Wᵀ + b, through the fastest of the libraries that torch holds."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

ENOUGH = 2**21  # multiplications from which oneDNN gains more on the processor than its call costs


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None, then: str = "none") -> Tensor:
    """x Wᵀ + b by oneDNN, in float32 on the processor; then "relu" or "none". Has no gradient of its own."""
    return torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, then, [], "")


class LargeLinear(torch.autograd.Function):
    """x Wᵀ + b: x [..., in], weight [out, in], bias [out] or None -> [..., out]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Keeps x and the weight."""
        ctx.save_for_backward(x, weight)
        return onednn_linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """∂x = g W, ∂W = gᵀ x, ∂b = Σ g."""
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        rows = grad_outputs[0].flatten(0, -2)
        return (
            linear(rows, weight.t()).view_as(x) if needs_x else None,
            rows.t() @ x.flatten(0, -2) if needs_weight else None,
            rows.sum(0) if needs_bias else None,
        )


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, as torch's own function of this name defines it: x [..., in] -> [..., out]."""
    if (
        x.device.type != "cpu"
        or x.dtype != torch.float32
        or weight.dtype != torch.float32
        or x.dim() < 2
        or x.numel() * weight.shape[0] < ENOUGH
        or torch.is_autocast_enabled("cpu")
        or torch.compiler.is_compiling()  # which knows these products itself
        or not torch.backends.mkldnn.is_available()
    ):
        return functional.linear(x, weight, bias)
    if torch.is_grad_enabled():
        return LargeLinear.apply(x, weight, bias)
    return onednn_linear(x, weight, bias)


class Linear(nn.Linear):
    """torch's layer, with this room's product."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return linear(input, self.weight, self.bias)
