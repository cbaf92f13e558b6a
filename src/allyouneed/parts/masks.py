"""Who may look at whom: a mask is a value, not a matrix.

One rule holds everywhere: a mask answers, for a query position and a key position, *may look* (True) or not. Positions
count from the first key, and the queries are the last ones: the pattern is aligned to the lower right, so one new
query over a cache of `S` keys stands at position `S - 1`.

A mask can be asked for a dense matrix, for the blocks that are not empty, or for a flex-attention block mask; whoever
asks, the rule is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

REMEMBERED = 8  # lengths for which a mask remembers its blocks: the layers of a model share one mask


class Span(NamedTuple):
    """Blocks of positions, each from `first` to `last` (which belongs to it)."""

    first: Tensor
    last: Tensor


class Fill(NamedTuple):
    """What can be said of whole blocks without looking into them: where not `some`, no query of the block may look at
    any key of it; where `every`, all may look at all. What is neither has to be looked at.
    """

    some: Tensor
    every: Tensor


Rule = Callable[[Tensor, Tensor, Tensor], Tensor]
Survey = Callable[[Tensor, Span, Span], Fill]


def nothing_known(sentence: Tensor, queries: Span, keys: Span) -> Fill:
    """The survey of a rule that only answers for single positions."""
    unknown = torch.ones_like(queries.first + keys.first, dtype=torch.bool)
    return Fill(unknown, ~unknown)


@dataclass(frozen=True)
class Blocks:
    """A mask in squares of `size` queries by `size` keys; the last ones may be smaller.

    `some` and `every` are [T/size, S/size], or [B, T/size, S/size] where sentences differ: may any query of the block
    look at any of its keys, and may all of them look at all.
    """

    size: int
    some: Tensor
    every: Tensor

    @property
    def share(self) -> float:
        """The share of all blocks that are not empty, over the sentences together."""
        return float(self.together.some.float().mean())

    @property
    def together(self) -> Blocks:
        """One answer for all sentences: some query of some sentence, all queries of all sentences."""
        if self.some.dim() == 2:
            return self
        return Blocks(self.size, self.some.any(0), self.every.all(0))


@dataclass(frozen=True, eq=False)
class Mask:
    """A rule over (sentence, query position, key position); combine rules with `&`, `|` and `~`.

    `allows` takes three tensors of whole numbers that broadcast, and gives booleans: positions [T, 1] and [1, S] give
    what broadcasts to [T, S], and with sentences [B, 1, 1, 1] to [B, 1, T, S]. `survey` answers for blocks.
    `sentences` is B where the rule differs from sentence to sentence. `matrix` is the dense form, where it is at hand.
    """

    allows: Rule
    name: str
    survey: Survey = nothing_known
    sentences: int | None = None
    matrix: Tensor | None = None
    _known: dict[tuple[int, int, int, str], Blocks] = field(default_factory=dict, init=False, repr=False)

    def dense(self, queries: int, keys: int, device: torch.device | str = "cpu") -> Tensor:
        """The rule as booleans: [T, S], or what broadcasts to [B, 1, T, S] where it was given for sentences."""
        if self.matrix is not None and self.matrix.shape[-1] == keys and self.matrix.shape[-2] in (1, queries):
            return self.matrix.expand(queries, keys) if self.matrix.dim() == 2 else self.matrix
        query = torch.arange(keys - queries, keys, device=device)[:, None]
        allowed = self.among(query, torch.arange(keys, device=device)[None])
        return allowed.expand(queries, keys) if allowed.dim() == 2 else allowed

    def among(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The rule among positions that broadcast: [T, 1] and [1, S] give booleans that broadcast to [T, S] or
        [B, 1, T, S], and [N, T, 1] and [N, 1, S] what broadcasts to [N, T, S] or [B, N, T, S].
        """
        return self.allows(self._sentence(keys.device), queries, keys)

    def blocks(self, queries: int, keys: int, size: int, device: torch.device | str = "cpu") -> Blocks:
        """Which blocks are not empty, and which are full. Most are decided as a whole; the others are looked into, one
        row of blocks at a time, so the memory grows with S alone.
        """
        wanted = (queries, keys, size, str(device))
        if wanted not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[wanted] = self._find_blocks(queries, keys, size, torch.device(device))
        return self._known[wanted]

    def _find_blocks(self, queries: int, keys: int, size: int, device: torch.device) -> Blocks:
        query, key = _spans(keys - queries, keys, size, device), _spans(0, keys, size, device)
        fill = self.survey(self._sentence(device), Span(*(x[:, None] for x in query)), Span(*(x[None] for x in key)))
        shape = (len(query.first), len(key.first))
        some, every = ((x[:, 0] if x.dim() == 4 else x) for x in fill)
        sentences = () if self.sentences is None else (self.sentences,)
        some, every = (x.expand(*sentences, *shape).clone() for x in (some, every))
        unknown = some & ~every
        unknown = unknown.any(0) if sentences else unknown
        inside = torch.arange(size, device=device)
        for row in unknown.any(1).nonzero().flatten().tolist():
            columns = unknown[row].nonzero().flatten()
            own = torch.arange(int(query.first[row]), int(query.last[row]) + 1, device=device)
            # The last block's missing keys are its last key once more, which changes neither `any` nor `all`.
            others = (columns[:, None] * size + inside).flatten().clamp_max(keys - 1)
            allowed = self.among(own[:, None], others[None])
            allowed = allowed[:, 0] if allowed.dim() == 4 else allowed
            allowed = allowed.expand(*allowed.shape[:-2], len(own), len(others)).unflatten(-1, (-1, size))
            some[..., row, columns] = allowed.any(-1).any(-2)
            every[..., row, columns] = allowed.all(-1).all(-2)
        return Blocks(size, some, every)

    def flex(self, queries: int, keys: int, *, device: torch.device | str, size: int = 128) -> BlockMask:
        """The rule as torch's flex-attention wants it: which blocks to visit, and the rule itself for the others than
        full ones.
        """
        # It loads torch's compiler, which takes seconds.
        from torch.nn.attention.flex_attention import BlockMask

        blocks = self.blocks(queries, keys, size, device)
        some, every = ((x if x.dim() == 3 else x[None])[:, None] for x in (blocks.some, blocks.every))
        (partial_counts, partial), (full_counts, full) = _listed(some & ~every), _listed(every)
        ahead = keys - queries
        return BlockMask.from_kv_blocks(
            partial_counts,
            partial,
            full_counts,
            full,
            BLOCK_SIZE=size,
            mask_mod=lambda b, h, q, k: self.allows(b, q + ahead, k),
            seq_lengths=(queries, keys),
        )

    @property
    def mirrored(self) -> Mask:
        """The rule with queries and keys exchanged."""
        rule, survey = self.allows, self.survey
        return Mask(
            lambda b, q, k: rule(b, k, q), f"{self.name}ᵀ", lambda b, q, k: survey(b, k, q), sentences=self.sentences
        )

    def _sentence(self, device: torch.device) -> Tensor:
        if self.sentences is None:
            return torch.zeros((), dtype=torch.long, device=device)
        return torch.arange(self.sentences, device=device)[:, None, None, None]

    def _together(self, other: Mask) -> int | None:
        own, others = self.sentences, other.sentences
        if own is not None and others is not None and own != others:
            raise ValueError(f"{self.name} holds for {own} sentences and {other.name} for {others}")
        return own if others is None else others

    def __and__(self, other: Mask) -> Mask:
        def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
            a, b = self.survey(sentence, queries, keys), other.survey(sentence, queries, keys)
            return Fill(a.some & b.some, a.every & b.every)

        name = f"{self.name} & {other.name}"
        return Mask(lambda b, q, k: self.allows(b, q, k) & other.allows(b, q, k), name, survey, self._together(other))

    def __or__(self, other: Mask) -> Mask:
        def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
            a, b = self.survey(sentence, queries, keys), other.survey(sentence, queries, keys)
            return Fill(a.some | b.some, a.every | b.every)

        name = f"({self.name} | {other.name})"
        return Mask(lambda b, q, k: self.allows(b, q, k) | other.allows(b, q, k), name, survey, self._together(other))

    def __invert__(self) -> Mask:
        def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
            some, every = self.survey(sentence, queries, keys)
            return Fill(~every, ~some)

        name = f"~({self.name})" if " & " in self.name else f"~{self.name}"
        return Mask(lambda b, q, k: ~self.allows(b, q, k), name, survey, self.sentences)

    def __bool__(self) -> bool:
        """Python's own words would keep one of two rules, in silence."""
        raise TypeError("Masks are combined with &, | and ~, and not with and, or and not.")


def _spans(first: int, last: int, size: int, device: torch.device) -> Span:
    """The blocks of the positions from `first` up to `last`, which does not belong to them: each [blocks]."""
    starts = torch.arange(first, last, size, device=device)
    return Span(starts, (starts + size - 1).clamp_max(last - 1))


def _listed(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are chosen [..., rows], and their numbers, followed by the others [..., rows, S]."""
    return chosen.sum(-1, dtype=torch.int32), (~chosen).int().argsort(dim=-1, stable=True).int()


def _ahead(most: int, name: str) -> Mask:
    """Keys up to `most` positions after the query."""
    return Mask(
        lambda b, q, k: k - q <= most,
        name,
        lambda b, q, k: Fill(k.first - q.last <= most, k.last - q.first <= most),
    )


def _behind(most: int, name: str) -> Mask:
    """Keys up to `most` positions before the query."""
    return Mask(
        lambda b, q, k: q - k <= most,
        name,
        lambda b, q, k: Fill(q.first - k.last <= most, q.last - k.first <= most),
    )


CAUSAL = _ahead(0, "causal")


def causal() -> Mask:
    """No one looks at what comes later (Vaswani 2017, section 3.2.3). The fast kernels know this one by identity."""
    return CAUSAL


def padding(keep: Tensor) -> Mask:
    """Only real tokens are looked at: `keep` [B, S] is True where a token is real."""
    _check_booleans("padding", keep)
    return replace(_marked(keep, "padding"), matrix=keep[:, None, None, :])


def global_tokens(which: int | Tensor) -> Mask:
    """Some tokens look at all others, and all look at them: the first `which`, or where `which` [B, S] is True
    (Beltagy 2020, section 3.1).
    """
    if isinstance(which, Tensor):
        _check_booleans("global_tokens", which)
    seen = _marked(which, "global") if isinstance(which, Tensor) else prefix(which)
    return replace(seen | seen.mirrored, name="global" if isinstance(which, Tensor) else f"global({which})")


def prefix(length: int) -> Mask:
    """The first `length` keys are open to every query."""
    return Mask(
        lambda b, q, k: k < length, f"prefix({length})", lambda b, q, k: Fill(k.first < length, k.last < length)
    )


def sliding_window(width: int, *, ahead: int | None = None) -> Mask:
    """A query sees itself and the `width - 1` keys before it, and of the later ones `ahead`, or all of them (None:
    combined with `causal()`).
    """
    _check_window(width, ahead)
    behind = _behind(width - 1, f"window({width})")
    return behind if ahead is None else replace(behind & _ahead(ahead, ""), name=f"window({width}, {ahead} ahead)")


def dilated_window(width: int, step: int, *, ahead: int | None = None) -> Mask:
    """A sliding window of every `step`-th key: itself, the `width - 1` such keys before it, and `ahead` after it
    (Beltagy 2020, section 3.1).
    """
    _check_window(width, ahead)
    if step < 1:
        raise ValueError(f"a dilated window takes every first, second, ... key: step {step} is below 1")
    on_step = Mask(lambda b, q, k: (q - k) % step == 0, "")
    reach = sliding_window((width - 1) * step + 1, ahead=None if ahead is None else ahead * step)
    return replace(reach & on_step, name=f"window({width}, every {step})")


def block_diagonal(width: int) -> Mask:
    """Positions are cut into blocks of `width`, and nothing looks beyond its own."""
    if width < 1:
        raise ValueError(f"a block holds at least one position: width {width} is below 1")

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        (first, last), (key_first, key_last) = ((x.first // width, x.last // width) for x in (queries, keys))
        overlap = (first <= key_last) & (key_first <= last)
        return Fill(overlap, overlap & (first == last) & (key_first == key_last))

    return Mask(lambda b, q, k: q // width == k // width, f"block diagonal({width})", survey)


def documents(numbers: Tensor) -> Mask:
    """Several texts in one row do not see each other: `numbers` [B, S] change where another text begins."""
    if numbers.dim() != 2:
        raise ValueError(f"documents() takes numbers [B, S], not {list(numbers.shape)}")
    begins = torch.ones_like(numbers, dtype=torch.bool)
    begins[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    runs = begins.cumsum(1)
    one = len(runs) == 1

    def run(sentence: Tensor, position: Tensor) -> Tensor:
        return runs[sentence * 0 if one else sentence, position]

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        (first, last), (key_first, key_last) = ((run(sentence, end) for end in span) for span in (queries, keys))
        overlap = (first <= key_last) & (key_first <= last)
        return Fill(overlap, overlap & (first == last) & (key_first == key_last))

    return Mask(lambda b, q, k: run(b, q) == run(b, k), "documents", survey, None if one else len(runs))


def random_blocks(length: int, *, block: int, count: int, seed: int) -> Mask:
    """A text of `length` is cut into blocks, and the queries of each see `count` blocks drawn at random (Zaheer 2020,
    section 2). One seed always draws the same ones.
    """
    total = -(-length // block)
    if not 0 <= count <= total:
        raise ValueError(f"{count} random blocks: {length} positions have between 0 and {total} blocks of {block}")
    order = torch.rand(total, total, generator=torch.Generator().manual_seed(seed)).argsort(1)
    return chosen_blocks(torch.zeros(total, total, dtype=torch.bool).scatter_(1, order[:, :count], True), block)


def chosen_blocks(table: Tensor, block: int) -> Mask:
    """Positions are cut into blocks, and a table [blocks, blocks] says which block looks at which."""
    if table.dim() != 2 or table.dtype != torch.bool:
        raise ValueError(f"chosen_blocks() takes booleans [blocks, blocks], not {table.dtype} {list(table.shape)}")
    sums = torch.nn.functional.pad(table.long().cumsum(0).cumsum(1), (1, 0, 1, 0))

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        (top, bottom), (left, right) = ((x.first // block, x.last // block + 1) for x in (queries, keys))
        own = sums.to(queries.first.device)
        inside = own[bottom, right] - own[top, right] - own[bottom, left] + own[top, left]
        return Fill(inside > 0, inside == (bottom - top) * (right - left))

    return Mask(lambda b, q, k: table.to(q.device)[q // block, k // block], f"blocks of {block}", survey)


def explicit(allowed: Tensor) -> Mask:
    """A rule given as booleans [T, S] or [B, 1, T, S], for keys that stand in no order (the slots of a beam cache)."""
    if allowed.dtype != torch.bool:
        raise ValueError(f"explicit() takes booleans, not {allowed.dtype}")
    queries, keys = allowed.shape[-2:]

    def rule(sentence: Tensor, query: Tensor, key: Tensor) -> Tensor:
        row = query * 0 if queries == 1 else query - (keys - queries)
        if allowed.dim() == 2:
            return allowed[row, key]
        return allowed[sentence * 0 if len(allowed) == 1 else sentence, 0, row, key]

    sentences = len(allowed) if allowed.dim() == 4 and len(allowed) > 1 else None
    return Mask(rule, "explicit", sentences=sentences, matrix=allowed)


def _marked(marks: Tensor, name: str) -> Mask:
    """Keys where `marks` [B, S] is True."""
    one = len(marks) == 1
    sums = torch.nn.functional.pad(marks.long().cumsum(1), (1, 0))

    def survey(sentence: Tensor, queries: Span, keys: Span) -> Fill:
        row = sentence * 0 if one else sentence
        count = sums[row, keys.last + 1] - sums[row, keys.first]
        return Fill(count > 0, count == keys.last + 1 - keys.first)

    sentences = None if one else len(marks)
    return Mask(lambda b, q, k: marks[b * 0 if one else b, k], name, survey, sentences)


def _check_booleans(name: str, marks: Tensor) -> None:
    if marks.dim() != 2 or marks.dtype != torch.bool:
        raise ValueError(f"{name}() takes booleans [B, S], not {marks.dtype} {list(marks.shape)}")


def _check_window(width: int, ahead: int | None) -> None:
    if width < 1:
        raise ValueError(f"a sliding window holds at least its own position: width {width} is below 1")
    if ahead is not None and ahead < 0:
        raise ValueError(f"a sliding window reaches 0 or more positions ahead, not {ahead}")
