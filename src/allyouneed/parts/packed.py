"""Products with weights that are read again and again: laid out once, so that few rows are multiplied fast."""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from allyouneed.errors import UsageError

Precision = Literal["float32", "int8"]
Product = Callable[[Tensor], Tensor]

LARGE = 2**17  # weights from which oneDNN's own layout saves more than its calls cost


def pack(weight: Tensor, bias: Tensor | None, *, precision: Precision = "float32", rectify: bool = False) -> Product:
    """What computes x Wᵀ + b for rows [R, in] -> [R, out], or max(0, x Wᵀ + b) where `rectify`.

    `weight` is [out, in]. "int8" keeps it in bytes (on the CPU alone), "float32" as it is.
    """
    if precision not in get_args(Precision):
        raise UsageError(f'precision "{precision}" is none of {", ".join(get_args(Precision))}')
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    on_cpu = weight.device.type == "cpu"
    if precision == "int8":
        if not on_cpu:
            raise UsageError(f'precision "int8" is for the CPU, and this model is on "{weight.device.type}"')
        product = _bytes_product(weight, bias)
    elif not on_cpu or weight.dtype != torch.float32 or not torch.backends.mkldnn.is_available():
        product = _plain_product(weight, bias)
    elif weight.numel() < LARGE:
        product = _transposed_product(weight, bias)
    else:
        return _onednn_product(weight, bias, "relu" if rectify else "none")
    return (lambda x: relu(product(x))) if rectify else product


def _plain_product(weight: Tensor, bias: Tensor | None) -> Product:
    return lambda x: linear(x, weight, bias)


def _transposed_product(weight: Tensor, bias: Tensor | None) -> Product:
    columns = weight.t().contiguous()
    return (lambda x: x.mm(columns)) if bias is None else (lambda x: torch.addmm(bias, x, columns))


def _onednn_product(weight: Tensor, bias: Tensor | None, then: str) -> Product:
    # The two calls that torch's own compiler makes for a frozen linear layer.
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
    multiply = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: multiply(x, packed, bias, then, [], "")


def _bytes_product(weight: Tensor, bias: Tensor | None) -> Product:
    """Each output and each row has its own scale, so that a row's result does not depend on the rows beside it."""

    def to_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
        scale = x.abs().amax(1, keepdim=True).clamp_(min=1e-20).div_(127)
        return (x / scale).round_().to(torch.int8), scale

    rows, scale = to_bytes(weight)
    columns, scale = rows.t(), scale[:, 0]

    def product(x: Tensor) -> Tensor:
        x, x_scale = to_bytes(x)
        scaled = torch.ops.aten._int_mm(x, columns) * x_scale
        return scaled * scale if bias is None else torch.addcmul(bias, scaled, scale)

    return product
