"""Estimating n-gram probabilities: interpolated modified Kneser-Ney (Chen & Goodman 1999, section 3).

The probability of a token w after a history h is

    p(w | h) = max(c(h w) - D, 0) / c(h)  +  γ(h) p(w | h without its oldest token)

and under no history at all the rest goes to all tokens alike. D is taken off every count, another one for counts of 1,
of 2 and of more; γ(h) is the share that was taken off, so that probabilities add up to 1. In the longest histories c
counts how often h w stands in the text. In shorter ones it counts the different tokens that h w stands behind: what
follows one token only is no likely guess elsewhere. Nothing stands before the beginning of a text, so that what begins
one is counted as in the longest.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

NONE = -1  # before the beginning of a text


class Level(NamedTuple):
    """The N histories of one length, with M tokens behind them in all.

    A history is one of the level before, by its number, and one older token: `keys` [N] are number · V + token, in
    order. Behind history i stand `tokens[starts[i] : starts[i + 1]]` with their own `shares` [M], and `rests` [N] is
    what it leaves to the shorter one.
    """

    keys: Tensor
    starts: Tensor
    tokens: Tensor
    shares: Tensor
    rests: Tensor


def estimate(rows: Iterable[Sequence[int]], *, order: int, vocab_size: int) -> list[Level]:
    """The levels of histories of 0 to `order` - 1 tokens, of texts in tokens. The first token of each text is a mark
    that begins it: it stands nowhere else, and is never predicted.
    """
    tokens, before = windows(rows, order)  # [P], [P, order - 1]
    history = torch.zeros_like(tokens)
    keys = torch.zeros(1, dtype=torch.long)
    levels: list[Level] = []
    for length in range(order):
        pairs, which, counts = torch.unique(history * vocab_size + tokens, return_inverse=True, return_counts=True)
        if length + 1 == order:
            return [*levels, level(keys, pairs, counts, vocab_size)]
        older = before[:, length]
        there = older != NONE
        different = torch.unique(which[there] * vocab_size + older[there]) // vocab_size
        counts = torch.bincount(torch.cat([different, which[~there]]), minlength=len(pairs))
        levels.append(level(keys, pairs, counts, vocab_size))
        keys, history = torch.unique(history[there] * vocab_size + older[there], return_inverse=True)
        tokens, before = tokens[there], before[there]
    return levels


def windows(rows: Iterable[Sequence[int]], order: int) -> tuple[Tensor, Tensor]:
    """Each token but the first of its text [P], and the `order` - 1 before it, nearest first [P, order - 1]."""
    texts = list(rows)
    flat = torch.tensor(list(chain.from_iterable(texts)), dtype=torch.long)
    places = torch.tensor(list(chain.from_iterable(range(len(text)) for text in texts)), dtype=torch.long)
    before = torch.full((len(flat), order - 1), NONE)
    for distance in range(1, order):
        inside = (places >= distance).nonzero().squeeze(1)
        before[inside, distance - 1] = flat[inside - distance]
    return flat[places > 0], before[places > 0]


def level(keys: Tensor, pairs: Tensor, counts: Tensor, vocab_size: int) -> Level:
    """One level from its `pairs` [M] of a history and a token, number · V + token, and their counts [M]."""
    owners = pairs // vocab_size
    taken = torch.cat([torch.zeros(1), discounts(counts)])[counts.clamp(max=3)]
    whole = torch.bincount(owners, counts.double(), minlength=len(keys))
    rests = torch.bincount(owners, taken.double(), minlength=len(keys)) / whole
    shares = (counts - taken) / whole[owners]
    starts = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(owners, minlength=len(keys)).cumsum(0)])
    return Level(keys, starts, pairs % vocab_size, shares.float(), rests.float())


def discounts(counts: Tensor) -> Tensor:
    """What is taken off counts of 1, of 2, and of 3 and more, [3], from how many there are of each (equation 26).

    A text that is too small to say gives half the count, which is what large ones come near to.
    """
    number = [int((counts == count).sum()) for count in range(1, 5)]
    share = number[0] / (number[0] + 2 * number[1]) if number[0] else 0.0
    found: list[float] = []
    for count in (1, 2, 3):
        here, above = number[count - 1], number[count]
        taken = count - (count + 1) * share * above / here if here else 0.0
        found.append(taken if 0 < taken < count else count / 2)
    return torch.tensor(found)
