"""Masks asked for a matrix, for blocks, and for a flex-attention block mask: the rule stays the same."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

from allyouneed.parts.mask_text import mask_from_text
from allyouneed.parts.masks import (
    Mask,
    block_diagonal,
    causal,
    chosen_blocks,
    dilated_window,
    documents,
    explicit,
    global_tokens,
    padding,
    prefix,
    random_blocks,
    sliding_window,
)
from allyouneed.parts.nearness import position_window

LENGTH = 23


def masks(sentences: int = 3, length: int = LENGTH) -> dict[str, Mask]:
    """One of every kind, some of them per sentence."""
    generator = torch.Generator().manual_seed(4)
    keep = (torch.rand(sentences, length, generator=generator) > 0.95).cumsum(1) % 2 == 0
    keep[0] = True
    numbers = (torch.rand(sentences, length, generator=generator) > 0.7).cumsum(1)
    marks = torch.zeros(sentences, length, dtype=torch.bool)
    marks[:, [0, 1, length // 2]] = True
    return {
        "causal": causal(),
        "padding": padding(keep),
        "prefix": prefix(5),
        "window": sliding_window(4),
        "two-way window": sliding_window(4, ahead=3),
        "dilated": dilated_window(3, 2),
        "two-way dilated": dilated_window(3, 2, ahead=2),
        "global": global_tokens(2),
        "marked global": global_tokens(marks),
        "block diagonal": block_diagonal(5),
        "documents": documents(numbers),
        "random": random_blocks(length, block=4, count=2, seed=1),
        "explicit": explicit(torch.rand(length, length, generator=generator) > 0.5),
        "explicit a sentence": explicit(torch.rand(sentences, 1, length, length, generator=generator) > 0.5),
    }


NAMES = list(masks())


def dense(mask: Mask, queries: int = LENGTH, keys: int = LENGTH) -> torch.Tensor:
    """As [B, T, S], whatever the mask gives."""
    return mask.dense(queries, keys).expand(3, 1, queries, keys)[:, 0]


@settings(deadline=None, max_examples=60)
@given(
    first=st.sampled_from(NAMES),
    second=st.sampled_from(NAMES),
    sign=st.sampled_from("&|"),
    turned=st.booleans(),
    size=st.integers(1, 9),
    queries=st.integers(1, LENGTH),
)
def test_blocks_are_the_matrix_in_squares(
    first: str, second: str, sign: str, turned: bool, size: int, queries: int
) -> None:
    queries = LENGTH if "explicit" in first + second else queries  # a matrix has the queries that it has
    a, b = masks()[first], masks()[second]
    mask = a & b if sign == "&" else a | b
    mask = ~mask if turned else mask
    whole = dense(mask, queries)
    blocks = mask.blocks(queries, LENGTH, size)
    expected = [[whole[:, i : i + size, j : j + size] for j in range(0, LENGTH, size)] for i in range(0, queries, size)]
    some = torch.stack([torch.stack([x.flatten(1).any(1) for x in row], -1) for row in expected], -2)
    every = torch.stack([torch.stack([x.flatten(1).all(1) for x in row], -1) for row in expected], -2)
    assert torch.equal(blocks.some.expand_as(some), some)
    assert torch.equal(blocks.every.expand_as(every), every)
    assert torch.equal(blocks.together.some, some.any(0))
    assert torch.equal(blocks.together.every, every.all(0))


@pytest.mark.parametrize("name", [name for name in NAMES if "explicit" not in name])
def test_most_blocks_of_known_rules_are_never_looked_into(name: str) -> None:
    looked = 0
    mask = masks(length=400)[name]

    def counting(sentence: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        nonlocal looked
        looked += query.numel() * key.numel()
        return mask.allows(sentence, query, key)

    counted = Mask(counting, name, mask.survey, mask.sentences)
    blocks = counted.blocks(400, 400, 4)
    reference = Mask(mask.allows, name, sentences=mask.sentences).blocks(400, 400, 4)
    assert torch.equal(blocks.some, reference.some.expand_as(blocks.some))
    assert torch.equal(blocks.every, reference.every.expand_as(blocks.every))
    assert looked < 0.6 * 400 * 400


def test_each_rule_by_hand() -> None:
    def rows(mask: Mask, length: int = 5) -> list[str]:
        return ["".join("x" if cell else "." for cell in row) for row in dense(mask, length, length)[0].tolist()]

    assert rows(sliding_window(2, ahead=1)) == ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"]
    assert rows(causal() & dilated_window(2, 2)) == ["x....", ".x...", "x.x..", ".x.x.", "..x.x"]
    assert rows(dilated_window(2, 2, ahead=1)) == ["x.x..", ".x.x.", "x.x.x", ".x.x.", "..x.x"]
    assert rows(global_tokens(1)) == ["xxxxx", "x....", "x....", "x....", "x...."]
    assert rows(global_tokens(torch.tensor([[False, False, True, False, False]]))) == [
        "..x..",
        "..x..",
        "xxxxx",
        "..x..",
        "..x..",
    ]
    assert rows(block_diagonal(2)) == ["xx...", "xx...", "..xx.", "..xx.", "....x"]
    assert rows(documents(torch.tensor([[7, 7, 8, 8, 7]]))) == ["xx...", "xx...", "..xx.", "..xx.", "....x"]
    assert rows(chosen_blocks(torch.tensor([[False, True], [True, False]]), 3)) == ["...xx"] * 3 + ["xxx.."] * 2


def test_random_blocks_come_from_their_seed() -> None:
    one, same, other = (random_blocks(64, block=8, count=3, seed=seed).dense(64, 64) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.sum(1).tolist() == [3 * 8] * 64


def test_a_matrix_keeps_its_own_rows() -> None:
    allowed = torch.rand(2, 1, 3, 7, generator=torch.Generator().manual_seed(0)) > 0.5
    everything = prefix(7)
    assert torch.equal((explicit(allowed) & everything).dense(3, 7), allowed)
    one_row = allowed[:, :, :1]
    assert torch.equal((explicit(one_row) & everything).dense(3, 7), one_row.expand(-1, -1, 3, -1))


def test_padding_serves_more_queries_than_keys() -> None:
    keep = torch.tensor([[True, False], [True, True]])
    assert padding(keep).dense(5, 2).tolist() == [[[[True, False]]], [[[True, True]]]]


@pytest.mark.parametrize("name", NAMES)
def test_flex_obeys_the_same_rule(name: str) -> None:
    mask = masks()[name] if "explicit" in name else masks()[name] & prefix(20)
    sentences = mask.sentences or 1
    ours = mask.flex(LENGTH, LENGTH, device="cpu", size=8)
    theirs = create_block_mask(ours.mask_mod, sentences, None, LENGTH, LENGTH, device="cpu", BLOCK_SIZE=8)
    assert torch.equal(ours.to_dense(), theirs.to_dense())
    found = torch.stack(
        [
            torch.stack(
                [
                    torch.stack(
                        [ours.mask_mod(*torch.tensor([b, 0, q, k]).unbind()) for k in range(LENGTH)],
                    )
                    for q in range(LENGTH)
                ]
            )
            for b in range(sentences)
        ]
    )
    assert torch.equal(found, dense(mask)[:sentences])


def test_refusals_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="padding holds for 2 sentences and documents for 3"):
        _ = padding(torch.ones(2, 4, dtype=torch.bool)) & documents(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="between 0 and 2 blocks of 4"):
        random_blocks(8, block=4, count=3, seed=0)
    with pytest.raises(ValueError, match="step 0 is below 1"):
        dilated_window(2, 0)
    with pytest.raises(ValueError, match="0 or more positions ahead, not -1"):
        sliding_window(2, ahead=-1)
    with pytest.raises(ValueError, match="width 0 is below 1"):
        block_diagonal(0)
    with pytest.raises(ValueError, match=r"global_tokens\(\) takes booleans \[B, S\]"):
        global_tokens(torch.ones(2, 2))
    with pytest.raises(ValueError, match=r"documents\(\) takes numbers \[B, S\], not \[4\]"):
        documents(torch.zeros(4))
    with pytest.raises(ValueError, match=r"chosen_blocks\(\) takes booleans"):
        chosen_blocks(torch.ones(2, 2), 1)


@pytest.mark.parametrize("name", ["padding", "documents", "global", "explicit", "positions"])
def test_a_rule_for_one_sentence_goes_with_one_for_many(name: str) -> None:
    row = torch.arange(LENGTH)[None]
    rule = {
        "padding": padding(row > 3),
        "documents": documents(row // 7),
        "global": global_tokens(row % 9 == 1),
        "explicit": explicit(((row + row.T) % 3 > 0)[None, None]),
        "positions": position_window(row // 2, 3),
    }[name]
    many = padding((torch.arange(3)[:, None] + row) % 5 > 0)
    expected = rule.dense(LENGTH, LENGTH) & many.dense(LENGTH, LENGTH)
    both = rule & many
    assert torch.equal(both.dense(LENGTH, LENGTH), expected)
    assert torch.equal(both.blocks(LENGTH, LENGTH, 1).some, expected[:, 0].expand(-1, LENGTH, -1))


def test_pythons_own_words_combine_no_rules() -> None:
    for combine in (
        lambda: causal() and sliding_window(2),
        lambda: causal() or sliding_window(2),
        lambda: not causal(),
    ):
        with pytest.raises(TypeError, match=r"Masks are combined with &, \| and ~"):
            combine()


def test_the_name_of_what_is_turned_round_means_the_same() -> None:
    near = ~(causal() & sliding_window(2))
    assert near.name == "~(causal & window(2))"
    assert torch.equal(mask_from_text(near.name, 6).dense(6, 6), near.dense(6, 6))
    assert (~causal()).name == "~causal"
