"""Sparse attention against dense attention under the same mask, and how much it computes."""

from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from lookups import assert_same, lookups, values_and_gradients
from torch import Tensor

from allyouneed.parts import sparse
from allyouneed.parts.attention import attention_weights, naive_attend
from allyouneed.parts.masks import Mask, causal, global_tokens, random_blocks, sliding_window
from allyouneed.parts.sparse import sparse_attend


@settings(deadline=None, max_examples=80)
@given(lookups())
def test_sparse_is_dense_with_all_gradients(lookup: tuple[list[Tensor], Mask | None, Tensor | None, int]) -> None:
    tensors, mask, bias, size = lookup
    mask = causal() if mask is None else mask
    ours = values_and_gradients(partial(sparse_attend, mask=mask, bias=bias, size=size), tensors, bias)
    assert_same(ours, values_and_gradients(partial(naive_attend, mask=mask, bias=bias), tensors, bias))


def test_single_precision_is_close_at_a_length() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(1, 2, 900, 16, requires_grad=True) for _ in range(3)]
    mask = sliding_window(65, ahead=64) | global_tokens(3) | random_blocks(900, block=32, count=2, seed=3)
    ours = values_and_gradients(partial(sparse_attend, mask=mask, size=32), tensors, None)
    for a, b in zip(ours, values_and_gradients(partial(naive_attend, mask=mask), tensors, None), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def never(*_: object, **__: object) -> bool:
    return False


@settings(deadline=None, max_examples=40)
@given(lookups())
def test_without_sums_the_passes_are_the_same(lookup: tuple[list[Tensor], Mask | None, Tensor | None, int]) -> None:
    """What the kernel gives no sums for: an accelerator's way, and grouped heads'."""
    tensors, mask, bias, size = lookup
    mask = causal() if mask is None else mask
    fixed = None if bias is None else bias.detach()
    ours = values_and_gradients(partial(sparse_attend, mask=mask, bias=fixed, size=size), tensors, None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sparse.Plan, "knows_sums", never)
        again = values_and_gradients(partial(sparse_attend, mask=mask, bias=fixed, size=size), tensors, None)
    assert_same(ours, again)


@pytest.mark.parametrize("extra", ["window", "with global tokens and random blocks"])
def test_work_grows_with_the_length_alone(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = 0

    kernel = sparse.FUSED

    def counting(query: Tensor, key: Tensor, value: Tensor, **arguments: Any) -> tuple[Tensor, Tensor]:
        nonlocal scores
        scores += len(query) * query.shape[2] * key.shape[2]
        return kernel(query, key, value, **arguments)

    monkeypatch.setattr(sparse, "FUSED", counting)
    counts: list[int] = []
    for length in (512, 1024, 2048):
        mask = causal() & sliding_window(64)
        if extra != "window":
            mask = mask | global_tokens(1) | random_blocks(length, block=32, count=2, seed=0)
        query, key, value = torch.randn(3, 1, 1, length, 4)
        scores = 0
        sparse_attend(query, key, value, mask, size=32)
        counts.append(scores)
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    assert second < 2.1 * first  # each doubling adds twice as much as the one before: no square in it
    assert counts[2] < 0.2 * 2048**2


def test_dropout_drops_weights() -> None:
    torch.manual_seed(0)
    identity = torch.eye(64).expand(1, 1, -1, -1)
    mask = causal() & sliding_window(16)
    weights = sparse_attend(torch.zeros(1, 1, 64, 4), torch.zeros(1, 1, 64, 4), identity, mask, dropout=0.5, size=16)
    seen = mask.dense(64, 64)
    assert float((weights[0, 0][seen] == 0).float().mean()) == pytest.approx(0.5, abs=0.06)
    assert float(weights[0, 0][~seen].abs().max()) == 0
    assert float(weights.sum(-1).mean()) == pytest.approx(1, abs=0.1)


def test_dropout_is_drawn_again_backward() -> None:
    length, rate = 24, 0.4
    generator = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(1, 2, length, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    identity = torch.eye(length, dtype=torch.float64).expand(1, 2, -1, -1)
    mask = causal() & sliding_window(7)
    dropped = partial(sparse_attend, mask=mask, dropout=rate, size=4)
    torch.manual_seed(7)
    kept = (dropped(query, key, identity) > 0).double() / (1 - rate)
    tensors = [x.requires_grad_() for x in (query, key, value)]

    def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attention_weights(query, key, mask) * kept @ value

    def then_something_else(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = dropped(query, key, value)
        torch.rand(100)  # what draws between the two passes
        return out

    torch.manual_seed(7)
    assert_same(values_and_gradients(then_something_else, tensors, None), values_and_gradients(by_hand, tensors, None))


def test_no_later_key_moves_an_earlier_query() -> None:
    query, key, value = torch.randn(3, 1, 2, 60, 8)
    mask = causal() & sliding_window(20)
    before = sparse_attend(query, key, value, mask, size=8)
    key[:, :, 33], value[:, :, 33] = 50.0, -50.0
    after = sparse_attend(query, key, value, mask, size=8)
    assert torch.equal(before[:, :, :33], after[:, :, :33])
    assert not torch.equal(before[:, :, 33], after[:, :, 33])
