import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.text.batching import Indices, token_batches

BUDGET = 4_096


def log_normal_lengths(pairs: int) -> Indices:
    """Lengths [N, 2] like those of real pairs: mostly short, a few long, target near the source."""
    random = np.random.default_rng(0)
    sentence = random.lognormal(3.0, 0.7, size=(pairs, 1))
    return np.clip(sentence * random.lognormal(0.0, 0.15, size=(pairs, 2)), 2, 500).astype(np.int64)


def padded(lengths: Indices, batch: Indices) -> Indices:
    """What each side of a batch takes with its padding: [2]."""
    return len(batch) * lengths[batch].max(axis=0)


def fills(lengths: Indices, batches: list[Indices]) -> tuple[float, float]:
    """The share of the budget taken by the real tokens of longer sides, and of the padded positions that are real."""
    real, positions = lengths.sum(), sum(padded(lengths, batch).sum() for batch in batches)
    return lengths.max(axis=1).sum() / (len(batches) * BUDGET), real / positions


def append_then_check(lengths: Indices) -> list[Indices]:
    """The wrong rule, in the order of the corpus: what the bounds below are there to keep out."""
    batches: list[Indices] = []
    held: list[int] = []
    for row in range(len(lengths)):
        held.append(row)
        if padded(lengths, np.array(held)).max() >= BUDGET:
            batches.append(np.array(held))
            held = []
    return batches


@settings(deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60),
    max_tokens=st.integers(40, 200),
    seed=st.integers(0, 2**32),
    epoch=st.integers(0, 100),
    pool=st.integers(1, 70),
)
def test_every_pair_is_in_one_batch_and_every_batch_in_the_budget(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int, epoch: int, pool: int
) -> None:
    table = np.array(lengths, dtype=np.int64).reshape(-1, 2)
    batches = token_batches(table, max_tokens=max_tokens, seed=seed, epoch=epoch, pool=pool)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    assert all(padded(table, batch).max() <= max_tokens for batch in batches)


def test_batches_are_full() -> None:
    lengths = log_normal_lengths(100_000)
    budget, real = fills(lengths, token_batches(lengths, max_tokens=BUDGET, seed=1, epoch=0))
    assert budget >= 0.97
    assert real >= 0.93


def test_the_bounds_refuse_appending_before_checking() -> None:
    lengths = log_normal_lengths(4_000)
    wrong = append_then_check(lengths)
    assert max(padded(lengths, batch).max() for batch in wrong) > BUDGET
    assert fills(lengths, wrong)[1] < 0.93


def test_a_run_can_be_replayed() -> None:
    lengths = log_normal_lengths(2_000)
    first, again = (token_batches(lengths, max_tokens=512, seed=3, epoch=5) for _ in range(2))
    assert len(first) == len(again)
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize(("seed", "epoch"), [(4, 5), (3, 6), (5, 3)])
def test_seed_and_epoch_change_the_batches(seed: int, epoch: int) -> None:
    lengths = log_normal_lengths(2_000)
    first = token_batches(lengths, max_tokens=512, seed=3, epoch=5)
    other = token_batches(lengths, max_tokens=512, seed=seed, epoch=epoch)
    company = {frozenset(batch.tolist()) for batch in first}
    assert sum(frozenset(batch.tolist()) in company for batch in other) < len(other) / 20


def test_batches_come_in_mixed_order() -> None:
    lengths = log_normal_lengths(5_000)
    longest = np.array([lengths[batch].max() for batch in token_batches(lengths, max_tokens=512, seed=0, epoch=0)])
    rank = longest.argsort().argsort()
    assert abs(np.corrcoef(rank, np.arange(len(rank)))[0, 1]) < 0.3


def test_the_longest_pair_of_a_batch_stands_first() -> None:
    lengths = log_normal_lengths(1_000)
    for batch in token_batches(lengths, max_tokens=512, seed=0, epoch=0):
        assert lengths[batch[0]].max() == lengths[batch].max()


def test_a_pair_of_the_whole_budget_has_a_batch_of_its_own() -> None:
    batches = token_batches(np.array([[1, 1], [64, 2], [1, 1]]), max_tokens=64, seed=0, epoch=0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0, 2], [1]]


def test_few_pairs_are_one_batch() -> None:
    (batch,) = token_batches(np.full((8, 2), 10), max_tokens=100, seed=0, epoch=0)
    assert sorted(batch.tolist()) == list(range(8))


def test_a_pair_longer_than_the_budget_is_refused() -> None:
    with pytest.raises(InputError, match=r"pair 2 has 65 tokens, more than max_tokens = 64 .*\(2 of 4 pairs"):
        token_batches(np.array([[1, 1], [1, 65], [64, 64], [70, 1]]), max_tokens=64, seed=0, epoch=0)


def test_no_pairs_give_no_batches() -> None:
    assert token_batches(np.empty((0, 2), dtype=np.int64), max_tokens=64, seed=0, epoch=0) == []


def test_lengths_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the shape \[N, 2\], not \[4, 3\]"):
        token_batches(np.ones((4, 3), dtype=np.int64), max_tokens=64, seed=0, epoch=0)
