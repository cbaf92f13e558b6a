"""Whom the queries of an encoder see in a long text, so that its cost grows with the text's length alone: what stands
around them, a few places that all see, and a few blocks that are drawn.
"""

from functools import lru_cache

import torch
from torch import Tensor

from allyouneed.parts.masks import Fill, Mask, Span, chosen_blocks, sliding_window

REMEMBERED = 64  # patterns that are kept with what was found out about them: a model's layers, at a few lengths


@lru_cache(REMEMBERED)
def window_around(side: int) -> Mask:
    """Keys up to `side` positions before and after the query (Beltagy 2020, section 3.1)."""
    return sliding_window(side + 1, ahead=side)


@lru_cache(REMEMBERED)
def blocks_around(length: int, *, block: int, drawn: int, seed: int, ends: bool) -> Mask:
    """A text of `length` in blocks: each sees itself, its two neighbours, and `drawn` others (Zaheer 2020, section 2).

    With `ends` the first and the last block see all and are seen by all (the paper's internal construction); without,
    global tokens are the caller's (its extended construction). Blocks are drawn among those that a block does not see
    otherwise, all of them where they are fewer; one seed always draws the same.
    """
    total = -(-length // block)
    number = torch.arange(total)
    table = (number[:, None] - number).abs() <= 1
    if ends:
        for end in (0, -1):
            table[end] = table[:, end] = True
    chances = torch.rand(total, total, generator=torch.Generator().manual_seed(seed)).masked_fill_(table, -1.0)
    best = chances.topk(min(drawn, total), 1)
    return chosen_blocks(table.scatter(1, best.indices, table.gather(1, best.indices) | (best.values >= 0)), block)


def first_block_again(mask: Mask, length: int, *, block: int, times: int) -> Mask:
    """A mask over keys before which those of the first block stand `times` times more: what lies between the first and
    the last block sees these as it sees the first ones, and so counts them so much the more.
    """
    block = min(block, length)
    ahead, last = times * block, (length - 1) // block * block

    def rule(sentence: Tensor, query: Tensor, key: Tensor) -> Tensor:
        query, again = query - ahead, key < ahead
        between = (query >= block) & (query < last)
        return mask.allows(sentence, query, torch.where(again, key % block, key - ahead)) & (between | ~again)

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        # Whatever holds keys that stand there again is looked into: its share does not grow with the text.
        again = keys.first < ahead
        own = Span(*((x - ahead).clamp_min(0) for x in keys))
        fill = mask.survey(sentence, Span(*(x - ahead for x in queries)), own)
        return Fill(fill.some | again, fill.every & ~again)

    return Mask(rule, f"{mask.name}, the first block {times + 1} times", survey, mask.sentences)


def behind(mask: Mask, ahead: int) -> Mask:
    """A mask without its first `ahead` keys: who sees whom, where these only made others count more than once."""

    def rule(sentence: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return mask.allows(sentence, query + ahead, key + ahead)

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        return mask.survey(sentence, Span(*(x + ahead for x in queries)), Span(*(x + ahead for x in keys)))

    return Mask(rule, mask.name, survey, mask.sentences)
