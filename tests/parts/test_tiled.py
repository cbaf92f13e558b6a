"""Tiled attention against the definition: values, all gradients, dropout, and the memory it is there for."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from lookups import assert_same, lookups, values_and_gradients
from torch import Tensor

from allyouneed.parts import tiled
from allyouneed.parts.attention import attend, attention_weights, naive_attend
from allyouneed.parts.masks import Mask, causal, padding, sliding_window
from allyouneed.parts.sparse import sparse_attend
from allyouneed.parts.tiled import tiled_attend


@settings(deadline=None, max_examples=80)
@given(lookups())
def test_tiled_is_naive_with_all_gradients(lookup: tuple[list[Tensor], Mask | None, Tensor | None, int]) -> None:
    tensors, mask, bias, size = lookup
    ours = values_and_gradients(partial(tiled_attend, mask=mask, bias=bias, size=size), tensors, bias)
    assert_same(ours, values_and_gradients(partial(naive_attend, mask=mask, bias=bias), tensors, bias))


def test_scale_is_honoured() -> None:
    query, key, value = torch.randn(3, 1, 2, 5, 4, dtype=torch.float64)
    found = tiled_attend(query, key, value, scale=0.3, size=2)
    torch.testing.assert_close(found, naive_attend(query, key, value, scale=0.3))


def test_single_precision_is_close_over_many_blocks() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(1, 2, 700, 16, requires_grad=True) for _ in range(3)]
    ours = values_and_gradients(partial(tiled_attend, mask=causal()), tensors, None)
    for a, b in zip(ours, values_and_gradients(partial(naive_attend, mask=causal()), tensors, None), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_large_scores_do_not_overflow() -> None:
    query, key, value = torch.randn(3, 1, 1, 9, 4)
    found = tiled_attend(query * 1e4, key, value, size=2)
    torch.testing.assert_close(found, naive_attend(query * 1e4, key, value))


def test_half_precision_comes_back_in_half_precision() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 40, 8).bfloat16().requires_grad_()
    found = tiled_attend(query, key, value, causal(), size=4)
    assert found.dtype == torch.bfloat16
    expected = naive_attend(query.float(), key.float(), value.float(), causal())
    torch.testing.assert_close(found.float(), expected, atol=1e-2, rtol=1e-2)


def test_autocast_leaves_the_sums_alone() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 40, 8)
    with torch.autocast("cpu", torch.bfloat16):
        found = tiled_attend(query, key, value, causal(), size=8)
        others = sparse_attend(query, key, value, causal(), size=8)
    torch.testing.assert_close(found, naive_attend(query, key, value, causal()), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found, others, atol=1e-5, rtol=1e-5)


def test_dropout_is_drawn_again_backward() -> None:
    """With the weights that were kept read off identity values, every gradient is that of the same dropped lookup."""
    length, rate = 12, 0.4
    generator = torch.Generator().manual_seed(1)
    query, key = (torch.randn(1, 2, length, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    identity = torch.eye(length, dtype=torch.float64).expand(1, 2, -1, -1)
    dropped = partial(tiled_attend, mask=causal(), dropout=rate, size=5)
    torch.manual_seed(7)
    mixed = dropped(query, key, identity)
    weights = attention_weights(query, key, causal())
    kept = (mixed / weights.clamp_min(1e-30)).where(weights > 0, torch.ones(()).double())
    torch.testing.assert_close(kept, torch.where(kept > 0.5, 1 / (1 - rate), 0.0).double().where(weights > 0, kept))
    tensors = [x.requires_grad_() for x in (query, key, torch.randn(1, 2, length, 8, dtype=torch.float64))]

    def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attention_weights(query, key, causal()) * kept @ value

    torch.manual_seed(7)
    assert_same(values_and_gradients(dropped, tensors, None), values_and_gradients(by_hand, tensors, None))


def test_dropout_keeps_its_share() -> None:
    torch.manual_seed(0)
    identity = torch.eye(200).expand(1, 1, -1, -1)
    weights = tiled_attend(torch.zeros(1, 1, 200, 4), torch.zeros(1, 1, 200, 4), identity, dropout=0.25, size=64)
    assert float((weights == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    assert float(weights.sum(-1).mean()) == pytest.approx(1, abs=0.02)


def test_empty_blocks_are_never_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[tuple[int, int]] = []
    scores = tiled.Work.scores

    def counting(work: tiled.Work, query: Tensor, key: Tensor, bias: Tensor | None, tile: tiled.Tile) -> Tensor:
        visited.append((tile.rows.start, tile.columns.start))
        return scores(work, query, key, bias, tile)

    monkeypatch.setattr(tiled.Work, "scores", counting)
    query, key, value = torch.randn(3, 1, 1, 12, 4)
    tiled_attend(query, key, value, causal() & sliding_window(4), size=4)
    assert visited == [(0, 0), (4, 0), (4, 4), (8, 4), (8, 8)]


def test_no_later_key_moves_an_earlier_query() -> None:
    query, key, value = torch.randn(3, 1, 2, 30, 8)
    before = tiled_attend(query, key, value, causal(), size=8)
    key[:, :, 17], value[:, :, 17] = 50.0, -50.0
    after = tiled_attend(query, key, value, causal(), size=8)
    assert torch.equal(before[:, :, :17], after[:, :, :17])
    assert not torch.equal(before[:, :, 17], after[:, :, 17])


def test_nothing_of_the_size_of_the_scores_is_kept() -> None:
    kept = 0

    def weigh(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += tensor.numel()
        return tensor

    query, key, value = (torch.randn(1, 2, 256, 4, requires_grad=True) for _ in range(3))
    keep = torch.ones(1, 256, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(weigh, lambda x: x):
        attend(query, key, value, causal() & padding(keep), backend="tiled").sum().backward()
    assert kept == 4 * query.numel() + 2 * 256  # query, key, value, result, and one number a row
