"""What each position does on its own, between two looks at the others."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu, relu, silu

from allyouneed.parts.linear import Linear

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "gelu": gelu,  # x Φ(x) with the normal distribution itself (Hendrycks & Gimpel 2016, section 2)
    "gelu-tanh": partial(gelu, approximate="tanh"),  # and its approximation there
    "silu": silu,  # x σ(x), also called swish
}
# From the gradient of the value, and x, to the gradient of x.
BACKWARD: dict[Activation, Callable[[Tensor, Tensor], Tensor]] = {
    "relu": lambda gradient, x: gradient * (x > 0),
    "gelu": torch.ops.aten.gelu_backward.default,
    "gelu-tanh": partial(torch.ops.aten.gelu_backward.default, approximate="tanh"),
    "silu": torch.ops.aten.silu_backward.default,
}
BLOCK = 2**17  # numbers that are worked on while they lie in a cache near the core


def naive_gate(gate: Tensor, inner: Tensor, activation: Activation) -> Tensor:
    """f(gate) ⊙ inner (Shazeer 2020, equation 6)."""
    return ACTIVATIONS[activation](gate) * inner


class Gate(torch.autograd.Function):
    """The same, some rows at a time: each operation finds in the cache what the one before it left there."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, inner: Tensor, activation: Activation) -> Tensor:
        """Two tensors [..., F] of one shape -> [..., F]; f(gate) is not kept."""
        ctx.save_for_backward(gate, inner)
        ctx.activation = activation
        out = inner.new_empty(inner.shape)
        for g, x, o in _blocks(gate, inner, out):
            torch.mul(ACTIVATIONS[activation](g), x, out=o)
        return out

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor, None]:
        """∂gate = f'(gate) ⊙ g ⊙ inner, ∂inner = g ⊙ f(gate)."""
        gate, inner = ctx.saved_tensors
        activate, backward = ACTIVATIONS[ctx.activation], BACKWARD[ctx.activation]
        to_gate, to_inner = gate.new_empty(gate.shape), inner.new_empty(inner.shape)
        for g, x, pull, g_out, x_out in _blocks(gate, inner, grad_outputs[0], to_gate, to_inner):
            torch.mul(pull, activate(g), out=x_out)
            g_out.copy_(backward(pull * x, g))
        return to_gate, to_inner, None


def _blocks(*tensors: Tensor) -> Any:
    """The same rows of tensors [..., F], a block at a time."""
    width = tensors[0].shape[-1]
    return zip(*(x.reshape(-1, width).split(max(1, BLOCK // width)) for x in tensors), strict=True)


class FeedForward(nn.Module):
    """FFN(x) = f(x W₁ + b₁) W₂ + b₂, with f(x) = max(0, x) in the paper (Vaswani 2017, equation 2).

    With a gate: (f(x W) ⊙ x V) W₂ (Shazeer 2020, equation 6; SwiGLU where f is SiLU).
    """

    def __init__(
        self, d_model: int, d_ff: int, *, bias: bool = True, activation: Activation = "relu", gated: bool = False
    ) -> None:
        super().__init__()
        self.activation: Activation = activation
        self.inner = Linear(d_model, d_ff, bias=bias)
        self.gate = Linear(d_model, d_ff, bias=bias) if gated else None
        self.outer = Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D], through width F."""
        if self.gate is None:
            return self.outer(ACTIVATIONS[self.activation](self.inner(x)))
        return self.outer(Gate.apply(self.gate(x), self.inner(x), self.activation))
