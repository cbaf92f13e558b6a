"""The caches of keys and values: a whole text's, and a window's ring of constant size."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from allyouneed.parts import cache as caches
from allyouneed.parts.cache import BeamCache, WindowCache
from allyouneed.parts.masks import CAUSAL, Span
from allyouneed.parts.nearness import Extremes, position_window


def written(cache: BeamCache, first: float) -> tuple[BeamCache, Tensor]:
    """One token a beam, whose keys are counted up from `first` -> the cache, and all keys so far [B, used]."""
    cache = cache.open()
    new = torch.arange(first, first + cache.beams).view(1, 1, -1, 1).expand(len(cache.visible), -1, -1, -1)
    keys, values = cache.write(0, new, -new)
    assert torch.equal(keys, -values)
    return cache.settled(), keys[:, 0, :, 0]


def read(cache: BeamCache, tokens: Tensor, keep: Tensor | None = None) -> tuple[BeamCache, Tensor]:
    """Many tokens a sentence, [B, T], which are their own keys -> the cache, and all keys that they saw [B, used]."""
    cache = cache.open_many(tokens.shape[1], keep)
    new = tokens[:, None, :, None].float()
    keys, values = cache.write(0, new, -new)
    assert torch.equal(keys, -values)
    return cache.settled(), keys[:, 0, :, 0]


def seen(cache: BeamCache, keys: Tensor) -> list[list[float]]:
    """What each row of the first sentence sees, in the order of the text."""
    order = cache.positions[0].argsort(stable=True)
    return [keys[0, order][visible[order]].tolist() for visible in cache.visible[0]]


def test_a_ring_keeps_the_window_and_nothing_else() -> None:
    cache: BeamCache = WindowCache.of(4, 1, torch.zeros(1, 1, 0, 1))
    for token in range(1, 20):
        cache, keys = written(cache, token)
        assert seen(cache, keys) == [[float(x) for x in range(max(1, token - 3), token + 1)]]
        assert cache.capacity == 4
        assert cache.positions.amax() == token - 1
        assert cache.steps == token
    assert cache.bytes == 2 * 1 * 1 * 1 * 4 * 4


@pytest.mark.parametrize("room", [1, 3, 64])
def test_a_ring_grows_to_the_window_at_most(room: int) -> None:
    cache: BeamCache = WindowCache.of(10, 1, torch.zeros(2, 1, 0, 1), room)
    assert cache.capacity == min(room, 10)
    for token in range(25):
        cache, keys = written(cache, token)
        assert seen(cache, keys)[0] == [float(x) for x in range(max(0, token - 9), token + 1)]
    assert cache.capacity == 10


def test_what_is_read_sees_more_than_what_stays() -> None:
    cache: BeamCache = WindowCache.of(4, 1, torch.zeros(1, 1, 0, 1))
    cache, keys = read(cache, torch.arange(1, 13)[None])
    assert keys.tolist() == [list(range(1, 13))]
    assert cache.keys[0][0, 0, :4, 0].tolist() == [9, 10, 11, 12]
    cache, keys = read(cache, torch.tensor([[13, 14]]))
    assert keys.tolist() == [[9, 10, 11, 12, 13, 14]]
    cache, keys = written(cache, 15)
    assert seen(cache, keys) == [[12, 13, 14, 15]]
    assert cache.capacity == 4


def test_texts_of_unlike_length_go_round_together() -> None:
    cache: BeamCache = WindowCache.of(4, 1, torch.zeros(3, 1, 0, 1))
    tokens = torch.tensor([[0, 0, 0, 0, 0, 6], [1, 2, 3, 4, 5, 6], [7, 8, 0, 0, 0, 0]])
    cache, _ = read(cache, tokens, tokens > 0)
    expected = [[6], [3, 4, 5, 6], [7, 8]]
    for token in (20, 30, 40, 50):
        cache, keys = written(cache, token)
        expected = [[*row, token][-4:] for row in expected]
        assert [sorted(keys[row][cache.visible[row, 0]].tolist()) for row in range(3)] == expected
    assert cache.lengths.tolist() == [5, 10, 6]
    cache = cache.select(torch.tensor([0, 2]), torch.tensor([0, 2]), moved=True)
    assert cache.steps == 6


def test_beams_share_a_ring_and_each_sees_its_own_window() -> None:
    cache: BeamCache = WindowCache.of(3, 1, torch.zeros(1, 1, 0, 1))
    cache, _ = read(cache, torch.tensor([[1, 2, 3, 4]]))
    cache = cache.select(torch.tensor([0, 0]), torch.tensor([0]), moved=False)
    cache, keys = written(cache, 10)
    assert seen(cache, keys) == [[3, 4, 10], [3, 4, 11]]
    cache = cache.select(torch.tensor([1, 1]), torch.tensor([0]), moved=False)
    cache, keys = written(cache, 20)
    assert seen(cache, keys) == [[4, 11, 20], [4, 11, 21]]
    cache = cache.select(torch.tensor([1]), torch.tensor([0]), moved=False)
    cache, keys = written(cache, 30)
    assert seen(cache, keys) == [[11, 21, 30]]
    for token in (40, 50, 60, 70):
        cache, keys = written(cache, token)
    assert seen(cache, keys) == [[50, 60, 70]]
    assert cache.capacity == 3 * 2
    cache, _ = read(cache, torch.tensor([[80, 81]]))
    assert cache.positions.tolist() == [[10, 11, 12]]
    assert seen(cache, cache.keys[0][:, 0, :3, 0]) == [[70, 80, 81]]


def test_sentences_leave_after_a_text_that_was_read_behind_beams() -> None:
    cache: BeamCache = WindowCache.of(3, 1, torch.zeros(2, 1, 0, 1))
    cache, _ = written(cache, 1)
    cache = cache.select(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1]), moved=False)
    cache, _ = written(cache, 10)
    cache = cache.select(torch.tensor([0, 3]), torch.tensor([0, 1]), moved=False)
    cache, _ = read(cache, torch.tensor([[20], [20]]))
    cache = cache.select(torch.tensor([1]), torch.tensor([1]), moved=True)
    assert cache.lengths.tolist() == [3]
    assert seen(cache, cache.keys[0][:, 0, :3, 0]) == [[1, 11, 20]]


@pytest.mark.parametrize("window", [None, 4])
def test_reordering_copies_no_key(window: int | None) -> None:
    like = torch.zeros(2, 1, 0, 1)
    cache: BeamCache = BeamCache.empty(1, like) if window is None else WindowCache.of(window, 1, like)
    cache = cache.select(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1]), moved=False)
    for token in range(6):
        cache, _ = written(cache, token * 10)
        before, visible = cache.keys[0], cache.visible
        cache = cache.select(torch.tensor([1, 0, 3, 3]), torch.tensor([0, 1]), moved=False)
        assert cache.keys[0] is before
        assert torch.equal(cache.visible[0], visible[0].flip(0))


@pytest.mark.parametrize("window", [None, 8])
def test_storage_is_made_once_where_the_length_is_known(window: int | None) -> None:
    like = torch.zeros(1, 1, 0, 1)
    cache: BeamCache = BeamCache.empty(1, like, 30) if window is None else WindowCache.of(window, 1, like, 30)
    place = cache.keys[0].data_ptr()
    cache, _ = read(cache, torch.arange(20)[None])
    for token in range(10):
        cache, _ = written(cache, token)
    assert cache.keys[0].data_ptr() == place


def test_short_texts_are_read_through_a_matrix_and_long_ones_through_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = torch.arange(12)[None] >= 2
    for window in (None, 4):
        like = torch.zeros(1, 1, 0, 1)
        cache: BeamCache = BeamCache.empty(1, like) if window is None else WindowCache.of(window, 1, like)
        opened = cache.open_many(12, keep)
        matrix = opened.read_mask(12, padded=True)
        assert matrix.matrix is not None
        with monkeypatch.context() as patched:
            patched.setattr(caches, "SHORT", 1)
            rule = opened.read_mask(12, padded=True)
        assert rule.matrix is None
        assert torch.equal(rule.dense(12, 12), matrix.dense(12, 12))
        plain = cache.open_many(12)
        expected = CAUSAL.dense(12, 12)
        expected = expected if window is None else expected & ~expected.tril(-window)
        assert torch.equal(plain.read_mask(12, padded=False).dense(12, 12), expected)


@settings(deadline=None, max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    width=st.integers(1, 8),
    size=st.integers(1, 7),
    sentences=st.integers(1, 2),
    data=st.data(),
)
def test_a_window_of_positions_knows_its_blocks(
    lengths: list[int], width: int, size: int, sentences: int, data: st.DataObject
) -> None:
    row = torch.cat([torch.arange(length) for length in lengths])  # packed texts: positions begin again
    positions = torch.stack([row, row.flip(0)])[:sentences]
    keys = len(row)
    queries = data.draw(st.integers(1, keys))
    mask = position_window(positions, width)
    whole = positions[:, keys - queries :, None] - positions[:, None] < width
    assert torch.equal(mask.dense(queries, keys).view(sentences, queries, keys), whole)
    blocks = mask.blocks(queries, keys, size)
    some, every = (x.view(sentences, *x.shape[-2:]) for x in (blocks.some, blocks.every))
    for i, top in enumerate(range(0, queries, size)):
        for j, left in enumerate(range(0, keys, size)):
            square = whole[:, top : top + size, left : left + size].flatten(1)
            assert torch.equal(some[:, i, j], square.any(1))
            assert torch.equal(every[:, i, j], square.all(1))


def test_extremes_of_any_stretch() -> None:
    numbers = torch.randint(0, 100, (2, 37), generator=torch.Generator().manual_seed(0))
    lowest = Extremes(numbers)
    for first in range(37):
        for last in range(first, 37):
            found = lowest(torch.tensor([0, 1]), Span(torch.tensor(first), torch.tensor(last)))
            assert torch.equal(found, numbers[:, first : last + 1].amin(1))


def test_positions_have_a_row_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"position_window\(\) takes positions \[B, S\], not \[4\]"):
        position_window(torch.arange(4), 2)
