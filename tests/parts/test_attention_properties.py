"""What holds for every lookup and every backend: weights are shares, and the future moves nothing."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lookups import NAMES, lookups, some_bias, some_masks
from torch import Tensor

from allyouneed.parts.attention import attention_weights, fused_attend, naive_attend
from allyouneed.parts.backends import Backend
from allyouneed.parts.masks import Mask, causal, padding
from allyouneed.parts.sparse import sparse_attend
from allyouneed.parts.tiled import tiled_attend

Lookup = tuple[list[Tensor], Mask | None, Tensor | None, int]
# In blocks of few positions, so that short texts have many. Flex is held to these by its values alone.
BACKENDS: dict[Backend, Callable[..., Tensor]] = {
    "naive": naive_attend,
    "tiled": partial(tiled_attend, size=3),
    "fused": fused_attend,
    "sparse": partial(sparse_attend, size=3),
}


def test_no_backend_is_forgotten() -> None:
    assert {*BACKENDS, "flex"} == set(get_args(Backend))


@settings(deadline=None, max_examples=60)
@given(lookups())
def test_rows_of_weights_add_to_one_or_are_empty(lookup: Lookup) -> None:
    (query, key, _), mask, bias, _ = lookup
    weights = attention_weights(query, key, mask, bias=bias)
    assert bool((weights >= 0).all())
    sums = weights.sum(-1)
    queries, keys = weights.shape[-2:]
    allowed = torch.ones_like(weights, dtype=torch.bool) if mask is None else mask.dense(queries, keys)
    some = allowed.expand_as(weights).any(-1)
    torch.testing.assert_close(sums, some.double(), atol=1e-12, rtol=0)
    assert not bool(weights[~allowed.expand_as(weights)].any())


@settings(deadline=None, max_examples=60)
@given(lookups())
def test_what_a_row_sees_lies_between_its_values(lookup: Lookup) -> None:
    """The same said of every backend: of values that are all 1 a row makes 1, or 0 where it may look nowhere."""
    (query, key, value), mask, bias, _ = lookup
    assume(mask is not None)
    assert mask is not None
    ones = torch.ones_like(value)
    some = mask.dense(query.shape[-2], key.shape[-2]).any(-1, keepdim=True).double()
    expected = some.expand(*query.shape[:-1], value.shape[-1])
    for by in BACKENDS.values():
        torch.testing.assert_close(by(query, key, ones, mask, bias=bias), expected, atol=1e-12, rtol=0)


@st.composite
def futures(draw: st.DrawFn) -> tuple[list[Tensor], Mask, Tensor | None, int]:
    """A lookup that sees nothing later, grouped and padded in some way, and a position in it."""
    batch, groups, share, length = (draw(st.integers(1, 3)) for _ in range(4))
    length, seed = 4 * length + draw(st.integers(0, 3)), draw(st.integers(0, 10_000))
    generator = torch.Generator().manual_seed(seed)
    shapes = [(batch, heads, length, 8) for heads in (groups * share, groups, groups)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    more = some_masks(batch, length, seed)[draw(st.sampled_from(NAMES))]
    left = torch.randint(0, 4, (batch, 1), generator=generator)
    mask = causal() & padding(torch.arange(length) >= left)
    mask = mask if more is None else mask & more
    bias = some_bias(draw(st.sampled_from(["none", "whole", "heads"])), batch, groups * share, length, length, seed)
    return tensors, mask, bias, draw(st.integers(1, length - 1))


@settings(deadline=None, max_examples=60)
@given(futures(), st.sampled_from(list(BACKENDS)))
def test_no_later_key_ever_moves_an_earlier_query(
    future: tuple[list[Tensor], Mask, Tensor | None, int], backend: Backend
) -> None:
    """Not its value, by exactly 0; and no earlier query sends a gradient to a later key or value."""
    (query, key, value), mask, bias, position = future
    attend = BACKENDS[backend]
    before = attend(query, key, value, mask, bias=bias)
    other_key, other_value = key.detach().clone(), value.detach().clone()
    other_key[:, :, position:] = 30.0
    other_value[:, :, position:] = -70.0
    after = attend(query, other_key, other_value, mask, bias=bias)
    assert torch.equal(before[:, :, :position], after[:, :, :position])
    d_key, d_value = torch.autograd.grad(before[:, :, :position].sum(), (key, value))
    assert not bool(d_key[:, :, position:].any())
    assert not bool(d_value[:, :, position:].any())
