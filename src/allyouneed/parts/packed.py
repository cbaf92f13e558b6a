"""Products with weights that are read again and again: whatever the number of rows, at the speed that memory allows."""

import warnings
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from allyouneed.errors import UsageError
from allyouneed.parts.linear import onednn_linear

Precision = Literal["float32", "int8"]
Product = Callable[[Tensor], Tensor]

LARGE = 2**16  # weights from which another call than torch's plain one saves more than it costs
FEW = 2  # rows up to which the time goes into reading the weights
LIGHT = 2**17  # weights that are read so soon that oneDNN's calls cost more, with up to twice as many rows
HEAVY = 2**20  # weights that are too many to stay in the cache from one step to the next
MANY = 32  # rows up to which oneDNN's own layout saves enough to hold the weights twice

# Where torch's plain product is quick (`plain_is_quick`), what is the fastest depends on the weights and the rows.
SMALL, SMALL_ROWS = 2**18, 16  # up to so many weights it is, for up to so many rows
HUGE, SHARES, SHARES_ROWS = 2**24, 32, 8  # more, up to here, are best cut into so many shares, for up to so many rows
BEAM = 4  # rows for which it is where they cannot be cut


def pack(weight: Tensor, bias: Tensor | None, *, precision: Precision = "float32", rectify: bool = False) -> Product:
    """What computes x Wᵀ + b for rows [R, in] -> [R, out], or max(0, x Wᵀ + b) where `rectify`.

    `weight` is [out, in]. "float32" reads it where it lies, and copies it once it is multiplied with more than a few
    rows and fewer than many; "int8" keeps it in bytes (on the CPU alone).
    """
    if precision not in get_args(Precision):
        raise UsageError(f'precision "{precision}" is none of {", ".join(get_args(Precision))}')
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    on_cpu = weight.device.type == "cpu"
    if precision == "int8":
        if not on_cpu:
            raise UsageError(f'precision "int8" is for the CPU, and this model is on "{weight.device.type}"')
        heavy = weight.numel() >= HEAVY and weight.dtype == torch.float32 and can_use_fbgemm()
        product = (_fbgemm_product if heavy else bytes_product)(weight, bias)
        return (lambda x: relu(product(x))) if rectify else product
    has_onednn = torch.backends.mkldnn.is_available()
    if on_cpu and has_onednn and weight.dtype == torch.float32 and weight.numel() >= LARGE:
        return _LargeProduct(weight, bias, rectify)
    return (lambda x: relu(linear(x, weight, bias))) if rectify else (lambda x: linear(x, weight, bias))


@cache
def plain_is_quick() -> bool:
    """Is torch's plain product of a few rows faster than oneDNN's on this machine? With MKL on Intel's processors it
    takes half as long, on others several times as long: no name says so, and two milliseconds of trying do.
    """
    x, weight = torch.ones(BEAM, 256), torch.ones(768, 256)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def seconds(product: Callable[[], Tensor]) -> float:
        start = perf_counter()
        product()
        return perf_counter() - start

    ways = (lambda: linear(x, weight), lambda: onednn_linear(x, packed, None))
    turns = [[seconds(way) for way in ways] for _ in range(30)]
    plain, other = map(min, zip(*turns, strict=True))
    return plain < other


def plain_rows(size: int, *, is_cut: bool) -> int:
    """Rows up to which torch's plain product is the fastest way to so many weights, where it is quick."""
    if size <= SMALL:
        return SMALL_ROWS
    if size > HUGE:
        return FEW
    return 1 if is_cut else BEAM


class _LargeProduct:
    """A product in float32 whose weights are worth a choice of the way they are read."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rectify: bool) -> None:
        self.weight, self.bias, self.then = weight.contiguous(), bias, "relu" if rectify else "none"
        self.columns = self.weight.t()
        self.packed: Tensor | None = None
        self.is_plain_quick, size = plain_is_quick(), weight.numel()
        # With few rows torch's own product keeps one core busy, and memory half idle, or takes in too much at a time:
        # shares of the outputs are as many products of a batch.
        if self.is_plain_quick:
            shares, self.few = (SHARES if SMALL < size <= HUGE else 0), SHARES_ROWS
        else:
            shares, self.few = torch.get_num_threads(), FEW if size >= LIGHT else 2 * FEW
        is_cut = shares > 0 and len(weight) % shares == 0
        self.shares = self.weight.view(shares, -1, weight.shape[1]) if is_cut else None
        self.share_bias = bias.view(shares, -1) if bias is not None and is_cut else None
        self.plain = plain_rows(size, is_cut=is_cut) if self.is_plain_quick else 0

    def __call__(self, x: Tensor) -> Tensor:
        rows = x.shape[0]
        if rows <= self.plain:
            return self._plain(x)
        if rows <= self.few and self.shares is not None:
            return (self._beside if self.is_plain_quick else self._below)(x, self.shares)
        if self.packed is None and rows <= MANY:
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
        if self.packed is None and self.is_plain_quick:
            return self._plain(x)
        return onednn_linear(x, self.weight if self.packed is None else self.packed, self.bias, self.then)

    def _plain(self, x: Tensor) -> Tensor:
        products = x.mm(self.columns) if self.bias is None else torch.addmm(self.bias, x, self.columns)
        return products.relu_() if self.then == "relu" else products

    def _beside(self, x: Tensor, shares: Tensor) -> Tensor:
        rows, bias = x.expand(len(shares), -1, -1), self.share_bias
        products = rows.bmm(shares.mT) if bias is None else torch.baddbmm(bias[:, None], rows, shares.mT)
        products = products.transpose(0, 1).reshape(x.shape[0], -1)
        return products.relu_() if self.then == "relu" else products

    def _below(self, x: Tensor, shares: Tensor) -> Tensor:
        # Strides are given, for a tensor of one row may have any, and the library takes its slow way with most.
        rows, width = x.shape
        columns = x.contiguous().as_strided((shares.shape[0], width, rows), (0, 1, width))
        bias = self.share_bias
        products = shares.bmm(columns) if bias is None else torch.baddbmm(bias[..., None], shares, columns)
        products = products.view(1, -1) if rows == 1 else products.view(-1, rows).t().contiguous()
        return products.relu_() if self.then == "relu" else products


def to_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows [R, in] as whole numbers between -127 and 127, and what one is worth in each row [R, 1]."""
    scale = x.abs().amax(1, keepdim=True).clamp_(min=1e-20).div_(127)
    return (x / scale).round_().to(torch.int8), scale


def bytes_product(weight: Tensor, bias: Tensor | None) -> Product:
    """Whole numbers are multiplied, and then get their scales. Each output and each row has its own, so that a row's
    result does not depend on the rows beside it.
    """
    rows, scale = to_bytes(weight)
    columns, scale = rows.t(), scale[:, 0]

    def product(x: Tensor) -> Tensor:
        x, x_scale = to_bytes(x)
        scaled = torch.ops.aten._int_mm(x, columns) * x_scale
        return scaled * scale if bias is None else torch.addcmul(bias, scaled, scale)

    return product


def can_use_fbgemm() -> bool:
    """Does this torch hold FBGEMM, which lays weights out anew and then streams them several times as fast?"""
    return "fbgemm" in torch.backends.quantized.supported_engines and hasattr(torch, "quantize_per_channel")


def _fbgemm_product(weight: Tensor, bias: Tensor | None) -> Product:
    # It takes one scale for all rows, from their extremes: each row is brought to a largest number of 1, and a last row
    # holds the extremes.
    scale = weight.abs().amax(1).clamp_min(1e-20) / 127
    zeros = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tensors in bytes may go one day: `can_use_fbgemm` will know
        rows = torch.quantize_per_channel(weight.float(), scale.double(), zeros, 0, torch.qint8)
    torch.backends.quantized.engine = "fbgemm"
    packed = torch.ops.quantized.linear_prepack(rows, None)
    extremes = weight.new_zeros(1, weight.shape[1], dtype=torch.float32)
    extremes[0, 0], extremes[0, 1:] = 1, -1
    # Without instructions for such products, pairs of them are added in 16 bits, which 8 bits a number would overflow.
    coarse = not torch.cpu._is_vnni_supported()  # pyright: ignore[reportPrivateUsage]  # torch says it nowhere else
    multiply = torch.ops.quantized.linear_dynamic.default

    def product(x: Tensor) -> Tensor:
        largest = torch.linalg.vector_norm(x, torch.inf, 1, keepdim=True).clamp_min_(1e-20)
        found = multiply(torch.cat((x / largest, extremes)), packed, coarse)[:-1]
        return found.mul_(largest) if bias is None else torch.addcmul(bias, found, largest)

    return product
