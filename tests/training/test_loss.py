"""The blockwise loss against its definition, and the schedule against the paper's formula."""

import math
from typing import Any, cast

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from allyouneed.training.loss import (
    ROWS,
    naive_smoothed_cross_entropy,
    negative_log_likelihood,
    smoothed_cross_entropy,
)
from allyouneed.training.schedules import Schedule, falling, inverse_square_root


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("has_bias", [False, True])
def test_blockwise_is_naive_with_all_gradients(smoothing: float, has_bias: bool) -> None:
    torch.manual_seed(0)
    rows = ROWS + 37  # two blocks, the second one short
    states = torch.randn(rows, 16, requires_grad=True)
    weight = torch.randn(50, 16, requires_grad=True)
    bias = torch.randn(50, requires_grad=True) if has_bias else None
    targets = torch.randint(0, 50, (rows,))
    learned = [x for x in (states, weight, bias) if x is not None]
    loss, likelihood = smoothed_cross_entropy(states, weight, bias, targets, smoothing)
    fast = torch.autograd.grad(loss * 0.5, learned)
    expected = naive_smoothed_cross_entropy(states, weight, bias, targets, smoothing)
    naive = torch.autograd.grad(expected * 0.5, learned)
    torch.testing.assert_close(loss, expected)
    for got, wanted in zip(fast, naive, strict=True):
        torch.testing.assert_close(got, wanted, atol=2e-5, rtol=1e-4)
    logits = linear(states, weight, bias)
    torch.testing.assert_close(likelihood, cross_entropy(logits, targets, reduction="sum"))
    for plain in negative_log_likelihood(states, weight, bias, targets):
        torch.testing.assert_close(plain, likelihood)
    torch.testing.assert_close(expected, cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing))


def test_large_logits_neither_overflow_nor_vanish() -> None:
    states, weight = torch.tensor([[1.0], [-1.0]], requires_grad=True), torch.tensor([[500.0], [-500.0], [499.0]])
    loss, likelihood = smoothed_cross_entropy(states, weight, None, torch.tensor([2, 0]), 0.0)
    assert loss.item() == likelihood.item() == pytest.approx(math.log(1 + math.e) + 1000)
    (grad,) = torch.autograd.grad(loss, states)
    assert grad[:, 0].tolist() == pytest.approx([1 / (1 + math.exp(-1)), -1000], rel=1e-4)


def test_the_rate_is_the_papers_with_its_peak_named() -> None:
    d_model, warmup = 512, 4000
    peak = d_model**-0.5 * warmup**-0.5
    for update in (1, 100, 4000, 4001, 100_000):
        papers = d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
        assert inverse_square_root(update, peak=peak, warmup=warmup) == pytest.approx(papers)


def test_cooldown_ends_near_zero() -> None:
    rates = [inverse_square_root(u, peak=1.0, warmup=1, cooldown=10, updates=100) for u in (90, 91, 100)]
    assert rates[0] == pytest.approx(1 / math.sqrt(90))
    assert rates[1] == pytest.approx(10 / 11 / math.sqrt(91))
    assert rates[2] == pytest.approx(1 / 11 / math.sqrt(100))


def test_a_cooldown_is_no_longer_than_the_run() -> None:
    rates = [inverse_square_root(u, peak=1.0, warmup=1, cooldown=600, updates=3) for u in (1, 2, 3, 4)]
    assert rates == pytest.approx([3 / 4, 2 / 4 / math.sqrt(2), 1 / 4 / math.sqrt(3), 0])


@pytest.mark.parametrize(("schedule", "middle"), [("linear", 0.55), ("cosine", 0.55), ("linear", 0.5)])
def test_rates_that_fall_to_a_share_of_the_peak(schedule: Schedule, middle: float) -> None:
    final = 2 * middle - 1
    shape = {"schedule": schedule, "peak": 2.0, "warmup": 10, "updates": 110, "final": final}
    rates = [falling(update, **cast(Any, shape)) for update in (1, 10, 60, 110, 200)]
    assert rates == pytest.approx([0.2, 2.0, 2 * middle, 2 * final, 2 * final])


def test_a_cosine_falls_slowly_at_both_ends() -> None:
    rates = [falling(u, schedule="cosine", peak=1.0, warmup=1, updates=101, final=0.0) for u in (1, 26, 51, 76, 101)]
    assert rates == pytest.approx([1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2, 0.0])
