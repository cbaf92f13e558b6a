"""The selective scan by its authors' extension for GPUs, `mamba_ssm`, where that is installed: one kernel, which leaves
no states behind.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor


@cache
def extension() -> Callable[..., Any] | None:
    """The extension's scan, or None where it is not installed."""
    try:
        return import_module("mamba_ssm.ops.selective_scan_interface").selective_scan_fn
    except ImportError:
        return None


def suits(inputs: Tensor) -> bool:
    """Is there a kernel for where these numbers are?"""
    return inputs.is_cuda and extension() is not None


def fused_scan(inputs: Tensor, steps: Tensor, rates: Tensor, write: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
    """What `selective_scan` gives for one text a row, from its beginning. The state that comes back knows no gradient:
    asking it for one is an error, since the kernel would leave it out.
    """
    kernel = extension()
    assert kernel is not None
    by_channel = (x.transpose(1, 2).contiguous() for x in (inputs, steps))  # [B, F, T]
    by_number = (x.transpose(1, 2).contiguous() for x in (write, read))  # [B, N, T]
    outputs, state = kernel(*by_channel, rates.t().contiguous(), *by_number, return_last_state=True)
    return outputs.transpose(1, 2), _WithoutGradient.apply(state.transpose(1, 2))


class _WithoutGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, state: Tensor) -> Tensor:
        return state.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:
        raise RuntimeError(
            "the extension's scan knows no gradient of the last state: give `selective_scan` a first one"
        )
