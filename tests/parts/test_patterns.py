"""Patterns for long texts: who sees whom, block by block, and keys that count more than once."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from allyouneed.parts.attention import attend, naive_attend
from allyouneed.parts.masks import Mask, global_tokens, padding
from allyouneed.parts.patterns import behind, blocks_around, first_block_again, window_around


def text(numbers: Tensor) -> str:
    return "\n".join("".join(".x"[int(cell)] for cell in row) for row in numbers)


def test_a_window_by_hand() -> None:
    assert text(window_around(1).dense(4, 4)) == "xx..\nxxx.\n.xxx\n..xx"


def test_blocks_by_hand() -> None:
    table = blocks_around(11, block=2, drawn=0, seed=0, ends=True).dense(11, 11)[::2, ::2]
    assert text(table) == "xxxxxx\nxxx..x\nxxxx.x\nx.xxxx\nx..xxx\nxxxxxx"
    inner = blocks_around(11, block=2, drawn=0, seed=0, ends=False).dense(11, 11)[::2, ::2]
    assert text(inner) == "xx....\nxxx...\n.xxx..\n..xxx.\n...xxx\n....xx"


@settings(deadline=None, max_examples=40)
@given(
    length=st.integers(1, 60),
    block=st.integers(1, 7),
    drawn=st.integers(0, 4),
    seed=st.integers(0, 5),
    ends=st.booleans(),
)
def test_as_many_blocks_are_drawn_as_there_are_others(
    length: int, block: int, drawn: int, seed: int, ends: bool
) -> None:
    plain, mask = (
        blocks_around(length, block=block, drawn=count, seed=seed, ends=ends).dense(length, length)[::block, ::block]
        for count in (0, drawn)
    )
    assert bool((mask | ~plain).all())
    expected = (~plain).sum(1).clamp_max(drawn)
    assert torch.equal((mask & ~plain).sum(1), expected)


def test_seeds_draw_unlike_blocks() -> None:
    first, again, other = (
        blocks_around(200, block=4, drawn=2, seed=seed, ends=True).dense(200, 200) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@settings(deadline=None, max_examples=40)
@given(
    length=st.integers(1, 40),
    block=st.integers(1, 6),
    times=st.integers(1, 3),
    batch=st.integers(1, 2),
    padded=st.booleans(),
    marked=st.booleans(),
    size=st.sampled_from([4, 8, 64]),
    seed=st.integers(0, 1000),
)
def test_the_first_block_counts_more(
    length: int, block: int, times: int, batch: int, padded: bool, marked: bool, size: int, seed: int
) -> None:
    """Keys that stand there again are a bias of log(1 + times), whatever computes it; and no block is left out."""
    generator = torch.Generator().manual_seed(seed)
    heads = torch.randn(3, batch, 2, length, 4, generator=generator, dtype=torch.float64)
    query, key, value = heads.unbind(0)
    mask: Mask = blocks_around(length, block=block, drawn=0, seed=0, ends=True)
    if marked:
        mask = mask | global_tokens(torch.rand(batch, length, generator=generator) > 0.8)
    if padded:
        mask = mask & padding(torch.rand(batch, length, generator=generator) > 0.3)
    blocks = torch.arange(length) // block
    between = (blocks > 0) & (blocks < blocks[-1])
    bias = math.log(1 + times) * (between[:, None] & (blocks == 0)).double()
    expected = naive_attend(query, key, value, mask, bias=bias)
    again = first_block_again(mask, length, block=block, times=times)
    keys, values = (torch.cat((*[x[:, :, :block]] * times, x), 2) for x in (key, value))
    torch.testing.assert_close(naive_attend(query, keys, values, again), expected)
    torch.testing.assert_close(attend(query, keys, values, again, backend="sparse"), expected)
    dense = again.dense(length, keys.shape[2]).expand(batch, 1, -1, -1)
    found = again.blocks(length, keys.shape[2], size).together
    for row, queries in enumerate(dense.split(size, 2)):
        for column, square in enumerate(queries.split(size, 3)):
            assert bool(found.some[row, column]) == bool(square.any())
            assert bool(found.every[row, column]) == bool(square.all())
    once = behind(again, keys.shape[2] - length)
    assert torch.equal(
        once.dense(length, length).expand(batch, 1, -1, -1), mask.dense(length, length).expand(batch, 1, -1, -1)
    )
    assert torch.equal(once.blocks(length, length, size).together.some, mask.blocks(length, length, size).together.some)


def test_copies_are_found_where_the_first_token_is_padding() -> None:
    keep = torch.arange(16)[None] > 0
    mask = blocks_around(16, block=4, drawn=0, seed=0, ends=True) & padding(keep)
    found = first_block_again(mask, 16, block=4, times=1).blocks(16, 20, 4)
    assert found.some[:, 0].tolist() == [False, True, True, False]
    assert not found.every[:, 0].any()


@pytest.mark.parametrize("kind", ["window", "blocks", "blocks, the first again"])
def test_what_is_open_grows_with_the_length_alone(kind: str) -> None:
    counts: list[int] = []
    for length in (4096, 8192):
        if kind == "window":
            mask, keys = window_around(100), length
        else:
            mask, keys = blocks_around(length, block=64, drawn=3, seed=0, ends=True), length
        if "again" in kind:
            mask, keys = first_block_again(mask, length, block=64, times=3), length + 192
        counts.append(int(mask.blocks(length, keys, 64).some.sum()))
    assert counts[1] < 2.1 * counts[0]
    assert counts[1] < 0.2 * (8192 / 64) ** 2
