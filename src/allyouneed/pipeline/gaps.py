"""Texts with gaps: how a gap is written, and what stands in it."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from allyouneed.pipeline.common import TextError
from allyouneed.text.vocabulary import Vocabulary

SPELT = (r"<mask>", r"\[MASK\]", r"_{3,}")  # how a mask may be written, besides the tokenizer's own way
# A text that goes on from one of these gets no space before it, and no tokenizer joins them to what follows.
OPENINGS = ("1", ".", "a")
SENTINELS = ("<gap {}>", "<extra_id_{}>")


@dataclass(frozen=True)
class Guess:
    """A token, or several, that may stand in a gap."""

    token: str
    probability: float


@dataclass(frozen=True)
class Filling:
    """A text with what is likeliest in each gap, and for each gap the likeliest, best first."""

    text: str
    guesses: list[list[Guess]]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"text": self.text, "gaps": [[asdict(guess) for guess in guesses] for guesses in self.guesses]}


def check_gaps(counts: Sequence[int]) -> None:
    """Raises TextError for the first text without a gap."""
    for index, count in enumerate(counts):
        if not count:
            raise TextError(index, "has no gap: write ___ where a token is missing")


def with_masks(vocabulary: Vocabulary, text: str, mask: int) -> list[int]:
    """The tokens of a text without marks, its masks among them. A mask takes the space before it, as a word does."""
    spelt = "|".join((*SPELT, re.escape(vocabulary.pieces([mask])[0])))
    first, *others = re.split(spelt, text)
    tokens = vocabulary.encode(first.rstrip() if others else first)
    for number, part in enumerate(others, 1):
        tokens += [mask, *encode_after(vocabulary, part if number == len(others) else part.rstrip())]
    return tokens


def encode_after(vocabulary: Vocabulary, text: str) -> list[int]:
    """The tokens of a text that does not begin with its first word."""
    for opening in OPENINGS:
        before, both = vocabulary.encode_batch([opening, opening + text])
        if both[: len(before)] == before:
            return both[len(before) :]
    return vocabulary.encode(text)


def sentinels_of(vocabulary: Vocabulary) -> list[int]:
    """The tokens that mark a text's first gap, its second, and so on; none where a model knows no such tokens."""
    ids = {piece: token for token, piece in enumerate(vocabulary.pieces(range(vocabulary.vocab_size)))}
    for spelling in SENTINELS:
        found: list[int] = []
        while (piece := spelling.format(len(found))) in ids:
            found.append(ids[piece])
        if found:
            return found
    return []
