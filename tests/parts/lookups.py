"""Random lookups for the tests of the backends: shapes, masks and biases, and the definition's values and gradients."""

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

from allyouneed.parts import masks
from allyouneed.parts.masks import Mask


def some_masks(batch: int, keys: int, seed: int) -> dict[str, Mask | None]:
    """One of every kind, with rows that may look nowhere among them."""
    generator = torch.Generator().manual_seed(seed)
    keep = torch.rand(batch, keys, generator=generator) > 0.3
    numbers = (torch.rand(batch, keys, generator=generator) > 0.7).cumsum(1)
    return {
        "none": None,
        "causal": masks.causal(),
        "padding": masks.padding(keep),
        "causal and padding": masks.causal() & masks.padding(keep),
        "window": masks.causal() & masks.sliding_window(3),
        "window, global, random": masks.sliding_window(2, ahead=1)
        | masks.global_tokens(1)
        | masks.random_blocks(keys, block=2, count=1, seed=seed),
        "documents": masks.causal() & masks.documents(numbers),
        "not causal": ~masks.causal(),
        "nothing": masks.causal() & ~masks.causal(),
    }


NAMES = list(some_masks(1, 1, 0))
BIASES = ["none", "whole", "heads", "queries", "one"]


def some_bias(kind: str, batch: int, heads: int, queries: int, keys: int, seed: int) -> Tensor | None:
    """A bias that broadcasts to [B, H, T, S] in one way or another."""
    shapes = {
        "whole": (batch, heads, queries, keys),
        "heads": (1, heads, queries, keys),
        "queries": (batch, 1, queries, 1),
        "one": (keys,),
    }
    if kind not in shapes:
        return None
    generator = torch.Generator().manual_seed(seed + 1)
    return torch.randn(shapes[kind], generator=generator, dtype=torch.float64).requires_grad_()


@st.composite
def lookups(draw: st.DrawFn) -> tuple[list[Tensor], Mask | None, Tensor | None, int]:
    """Query, key and value; a mask; a bias; and the size of a block."""
    batch, groups, share = (draw(st.integers(1, 3)) for _ in range(3))
    queries, more, seed = draw(st.integers(1, 13)), draw(st.integers(0, 6)), draw(st.integers(0, 10_000))
    keys, heads = queries + more, groups * share
    generator = torch.Generator().manual_seed(seed)
    shapes = [(batch, heads, queries, 8), (batch, groups, keys, 8), (batch, groups, keys, 8)]
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    mask = some_masks(batch, keys, seed)[draw(st.sampled_from(NAMES))]
    bias = some_bias(draw(st.sampled_from(BIASES)), batch, heads, queries, keys, seed)
    return tensors, mask, bias, draw(st.integers(1, 9))


def values_and_gradients(attend: Callable[..., Tensor], tensors: list[Tensor], bias: Tensor | None) -> list[Tensor]:
    """The result of `attend(query, key, value)`, and the gradients of these three, and of the bias if there is one."""
    out = attend(*tensors)
    upstream = torch.randn(out.shape, generator=torch.Generator().manual_seed(9), dtype=out.dtype)
    wanted = tensors if bias is None else [*tensors, bias]
    return [out, *torch.autograd.grad(out, wanted, upstream)]


def assert_same(found: list[Tensor], expected: list[Tensor]) -> None:
    """Equal to 1e-9, and all finite."""
    for a, b in zip(found, expected, strict=True):
        assert bool(torch.isfinite(a).all())
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
