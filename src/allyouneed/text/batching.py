"""Batches under a token budget: pool, sort by length, check then append. Rows of several short texts."""

import math

import numpy as np
import numpy.typing as npt

from allyouneed.errors import InputError

Lengths = npt.NDArray[np.integer]
Indices = npt.NDArray[np.int64]

_MIN_POOLS = 2  # sorted in one piece, a small corpus falls into nearly the same batches in every epoch


def token_batches(lengths: Lengths, *, max_tokens: int, seed: int, epoch: int, pool: int = 131_072) -> list[Indices]:
    """Divides all pairs into batches whose padded sides each hold at most `max_tokens` tokens.

    `lengths` [N, 2] are the tokens of source and target, begin and end marks included where the model sees them.
    Each returned array holds the row numbers of one batch, longest pair first; every pair is in exactly one batch.
    Pairs are shuffled, cut into pools of at most `pool` pairs, sorted by length within a pool and packed; what does not
    fill a batch goes to the next pool, and the batches are shuffled at the end. The result depends on nothing but the
    arguments, so that any step of any epoch can be replayed.

    Raises InputError where a pair is longer than the budget: it could enter no batch.
    """
    if lengths.ndim != 2 or lengths.shape[1] != 2:
        raise ValueError(f"lengths must have the shape [N, 2], not {list(lengths.shape)}")
    sides = lengths.astype(np.int64)
    longest = np.maximum(sides.max(axis=1, initial=0), 1)
    _check_budget(longest, max_tokens)
    # Among equally long pairs the shorter side goes back and forth between "source longer" and "target longer", so that
    # it is nearly even in a batch too.
    lean = (sides[:, 1] - sides[:, 0]) * (1 - 2 * (longest % 2))
    random = np.random.default_rng([seed, epoch])
    pools = max(_MIN_POOLS, math.ceil(len(sides) / pool))
    batches: list[Indices] = []
    rest = np.empty(0, dtype=np.int64)
    for part in np.array_split(random.permutation(len(sides)), pools):
        rows = np.concatenate([rest, part])
        rows = rows[np.lexsort((lean[rows], -longest[rows]))]
        full, rest = _pack(rows, longest, max_tokens)
        batches += full
    if len(rest):
        batches.append(rest)
    return [batches[place] for place in random.permutation(len(batches))]


def packed_rows(sizes: Lengths, order: Indices, room: int) -> list[Indices]:
    """Puts pieces of `sizes` [N] into rows of at most `room` tokens, one after another in `order`: numbers of pieces.

    A row is closed when the next piece has no room in it. Every piece of `order` is in exactly one row.
    """
    rows: list[Indices] = []
    start = used = 0
    for place, size in enumerate(sizes[order].tolist()):
        if place > start and used + size > room:
            rows.append(order[start:place])
            start, used = place, 0
        used += size
    return [*rows, order[start:]] if len(order) else rows


def _pack(rows: Indices, longest: Indices, max_tokens: int) -> tuple[list[Indices], Indices]:
    """Cuts `rows`, sorted from long to short, into runs that fill the budget, and a rest that does not."""
    batches: list[Indices] = []
    start = 0
    while start < len(rows):
        # The first row is the longest of its batch: it alone says how many rows fit, before any is taken.
        end = start + max_tokens // int(longest[rows[start]])
        if end > len(rows):
            break
        batches.append(rows[start:end])
        start = end
    return batches, rows[start:]


def _check_budget(longest: Indices, max_tokens: int) -> None:
    over = np.flatnonzero(longest > max_tokens)
    if len(over):
        first = int(over[0])
        raise InputError(
            f"pair {first + 1:,} has {longest[first]:,} tokens, more than max_tokens = {max_tokens:,} lets into a batch"
            f" ({len(over):,} of {len(longest):,} pairs are too long): raise max_tokens or leave such pairs out."
        )
