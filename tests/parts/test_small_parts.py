"""Positions, dropout, the residual block and the cache."""

import pytest
import torch
from torch import nn

from allyouneed.parts.block import Residual
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.dropout import Dropout
from allyouneed.parts.positions import real_positions, sinusoids


def test_sinusoids_have_the_papers_values() -> None:
    table = sinusoids(100, 64)
    assert table.shape == (100, 64)
    expected = {(0, 0): 0.0, (0, 1): 1.0, (1, 0): 0.8415, (1, 1): 0.5403, (10, 6): -0.8798, (10, 7): -0.4754}
    for (position, dimension), value in expected.items():
        assert float(table[position, dimension]) == pytest.approx(value, abs=5e-5)


def test_moving_along_is_a_rotation() -> None:
    table = sinusoids(60, 8).double()
    shift = 7
    for pair in range(4):
        angle = torch.tensor(shift / 10_000 ** (2 * pair / 8), dtype=torch.float64)
        rotation = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])
        moved = table[:-shift, 2 * pair : 2 * pair + 2] @ rotation.T
        torch.testing.assert_close(moved, table[shift:, 2 * pair : 2 * pair + 2], atol=1e-6, rtol=0)


def test_positions_count_real_tokens_only() -> None:
    keep = torch.tensor([[False, False, True, True, True], [True, True, False, False, False]])
    assert real_positions(keep).tolist() == [[0, 0, 0, 1, 2], [0, 1, 1, 1, 1]]


def test_dropout_keeps_the_mean_and_the_share() -> None:
    torch.manual_seed(0)
    dropout = Dropout(0.25)
    out = dropout(torch.ones(400, 500))
    assert float((out == 0).float().mean()) == pytest.approx(0.25, abs=0.005)
    assert float(out.mean()) == pytest.approx(1.0, abs=0.005)
    assert out.unique().tolist() == pytest.approx([0.0, 4 / 3])


def test_dropout_passes_gradients_where_it_passed_values() -> None:
    torch.manual_seed(0)
    x = torch.ones(50, 3, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out.detach())


def test_dropout_may_drop_nearly_all() -> None:
    torch.manual_seed(0)
    out = Dropout(0.999)(torch.ones(1000, 256))
    assert 0 < float((out > 0).float().mean()) < 0.01
    assert out.unique().tolist() == [0.0, 256.0]


def test_dropout_is_nothing_outside_training() -> None:
    x = torch.randn(5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
    with pytest.raises(ValueError, match=r"dropout 1.0 is outside \[0, 1\)"):
        Dropout(1.0)


def test_norm_stands_before_or_after() -> None:
    x = torch.randn(2, 3, 8)
    norm = nn.LayerNorm(8)
    double = nn.Linear(8, 8)
    torch.testing.assert_close(Residual(norm, 0.0, "post")(x, double), norm(x + double(x)))
    torch.testing.assert_close(Residual(norm, 0.0, "pre")(x, double), x + double(norm(x)))


def test_cache_shows_each_beam_its_own_past() -> None:
    cache = BeamCache.empty(1, torch.zeros(1, 1, 1, 1), capacity=2)

    def write(value: float) -> torch.Tensor:
        nonlocal cache
        cache = cache.open()
        new = torch.arange(value, value + cache.beams).view(1, 1, -1, 1)
        keys, values = cache.write(0, new, -new)
        assert torch.equal(keys, -values)
        return keys.flatten()

    write(10)
    cache = cache.select(torch.tensor([0, 0]), torch.tensor([0]), moved=False)
    write(20)  # beam 0 writes 20, beam 1 writes 21
    cache = cache.select(torch.tensor([1, 1]), torch.tensor([0]), moved=False)
    slots = write(30)
    seen = [slots[visible].tolist() for visible in cache.visible[0]]
    assert seen == [[10, 21, 30], [10, 21, 31]]
    assert cache.steps == 3


def test_cache_drops_sentences() -> None:
    cache = BeamCache.empty(1, torch.zeros(3, 1, 1, 1)).open()
    cache.write(0, torch.arange(3.0).view(3, 1, 1, 1), torch.zeros(3, 1, 1, 1))
    cache = cache.select(torch.tensor([0, 2]), torch.tensor([0, 2]), moved=True)
    assert cache.keys[0][:, 0, 0, 0].tolist() == [0, 2]
