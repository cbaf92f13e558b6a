"""Masks as they are written: `causal & window(512) | global(2)` becomes the rule that it says.

    rule  = with ("|" with)*        with = one ("&" one)*        one = "~" one | "(" rule ")" | name ["(" numbers ")"]

`~` binds closest, then `&`, then `|`. Numbers are whole and not negative.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from allyouneed.errors import UsageError, nearest
from allyouneed.parts import masks
from allyouneed.parts.masks import Mask

LARGEST = 10**9  # number that is taken
MOST_BLOCKS = 4096  # of random blocks, for which a table is drawn
DEEPEST = 50  # parentheses within each other

PIECE = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)|(?P<sign>[()&|~,]))")


@dataclass(frozen=True)
class Name:
    """A rule that has a name: what it takes, in words and in count, and how it is made for a text of some length."""

    takes: str
    least: int
    most: int
    make: Callable[[int, list[int]], Mask]


def _documents(length: int, lengths: list[int]) -> Mask:
    if sum(lengths) != length or 0 in lengths:
        raise ValueError(f"texts of {', '.join(map(str, lengths))} tokens do not fill the {length} that there are")
    return masks.documents(torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))[None])


def _padding(length: int, numbers: list[int]) -> Mask:
    place, (left, right) = torch.arange(length)[None], numbers
    return masks.padding((place >= left) & (place < length - right))


def _random(length: int, numbers: list[int]) -> Mask:
    block, count, seed = (*numbers, 0)[:3]
    if block < 1:
        raise ValueError("a block holds at least one position")
    if length > MOST_BLOCKS * block:
        raise ValueError(f"blocks of {block} cut {length:,} positions into more than {MOST_BLOCKS:,}")
    return masks.random_blocks(length, block=block, count=count, seed=seed)


def _window(length: int, numbers: list[int]) -> Mask:
    return masks.sliding_window(numbers[0], ahead=numbers[1] if len(numbers) > 1 else None)


def _dilated(length: int, numbers: list[int]) -> Mask:
    return masks.dilated_window(numbers[0], numbers[1], ahead=numbers[2] if len(numbers) > 2 else None)


NAMES = {
    "causal": Name("causal", 0, 0, lambda length, numbers: masks.causal()),
    "window": Name("window(width) or window(width, ahead)", 1, 2, _window),
    "dilated": Name("dilated(width, step) or dilated(width, step, ahead)", 2, 3, _dilated),
    "prefix": Name("prefix(count)", 1, 1, lambda length, numbers: masks.prefix(numbers[0])),
    "global": Name("global(count)", 1, 1, lambda length, numbers: masks.global_tokens(numbers[0])),
    "random": Name("random(block, count) or random(block, count, seed)", 2, 3, _random),
    "blocks": Name("blocks(width)", 1, 1, lambda length, numbers: masks.block_diagonal(numbers[0])),
    "documents": Name("documents(length, length, ...)", 1, LARGEST, _documents),
    "padding": Name("padding(left, right)", 2, 2, _padding),
}


def mask_from_text(text: str, length: int) -> Mask:
    """The mask that a text describes, for a text of `length` tokens. Raises UsageError with one sentence for what is no
    rule.
    """
    return _Reader(text, length).whole()


class _Piece(NamedTuple):
    kind: str
    text: str
    place: int  # counted from 1


class _Reader:
    """Reads a rule from left to right, one piece at a time."""

    def __init__(self, text: str, length: int) -> None:
        self.text, self.length = text, length
        self.pieces = list(self._cut())
        self.depth = 0

    def _cut(self) -> list[_Piece]:
        found: list[_Piece] = []
        place = 0
        end = len(self.text.rstrip())
        while place < end:
            match = PIECE.match(self.text, place)
            if match is None:
                place += len(self.text[place:]) - len(self.text[place:].lstrip())
                raise self._error(f"{self.text[place]!r} at character {place + 1} means nothing")
            kind = str(match.lastgroup)
            found.append(_Piece(kind, match[kind], match.start(kind) + 1))
            place = match.end()
        return [*found, _Piece("end", "", end + 1)]

    def _error(self, problem: str) -> UsageError:
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return UsageError(f'The mask "{shown}" cannot be read: {problem}.')

    @property
    def _next(self) -> _Piece:
        return self.pieces[0]

    def _take(self, sign: str) -> bool:
        """Takes a sign where it comes next."""
        if self._next.kind != "sign" or self._next.text != sign:
            return False
        self.pieces.pop(0)
        return True

    def _unexpected(self, wanted: str) -> UsageError:
        piece = self._next
        if piece.kind == "end":
            return self._error(f"it ends where {wanted} is needed")
        return self._error(f'"{piece.text}" at character {piece.place} stands where {wanted} is needed')

    def whole(self) -> Mask:
        """The rule that the whole text is."""
        mask = self._either()
        if self._next.kind != "end":
            raise self._unexpected('"&", "|" or the end')
        return mask

    def _either(self) -> Mask:
        mask = self._both()
        while self._take("|"):
            mask = mask | self._both()
        return mask

    def _both(self) -> Mask:
        mask = self._one()
        while self._take("&"):
            mask = mask & self._one()
        return mask

    def _one(self) -> Mask:
        turns = 0
        while self._take("~"):
            turns += 1
        mask = self._inner() if self._take("(") else self._named()
        return ~mask if turns % 2 else mask

    def _inner(self) -> Mask:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} parentheses stand within each other")
        mask = self._either()
        if not self._take(")"):
            raise self._unexpected('"&", "|" or ")"')
        self.depth -= 1
        return mask

    def _named(self) -> Mask:
        piece = self._next
        if piece.kind != "name":
            raise self._unexpected("a rule")
        self.pieces.pop(0)
        if piece.text not in NAMES:
            there = f"there are {', '.join(NAMES)}"
            hint = nearest(piece.text, NAMES)
            raise UsageError(f'The mask "{self.text[:60]}" cannot be read: "{piece.text}" is no rule; {there}.{hint}')
        name = NAMES[piece.text]
        numbers = self._numbers() if self._take("(") else []
        if not name.least <= len(numbers) <= name.most:
            raise self._error(f"{piece.text} at character {piece.place} is written {name.takes}")
        try:
            return name.make(self.length, numbers)
        except ValueError as error:
            raise self._error(str(error)) from error

    def _numbers(self) -> list[int]:
        found: list[int] = []
        while not found or self._take(","):
            piece = self._next
            if piece.kind != "number":
                raise self._unexpected("a whole number")
            if len(piece.text) > len(str(LARGEST)) or int(piece.text) > LARGEST:
                raise self._error(f"the number at character {piece.place} is above {LARGEST:,}")
            found.append(int(piece.text))
            self.pieces.pop(0)
        if not self._take(")"):
            raise self._unexpected('"," or ")"')
        return found
