"""Glossaries: how the terms of a source are to be translated."""

from collections.abc import Iterable
from pathlib import Path

from allyouneed.errors import InputError
from allyouneed.text.corpus import Pair, read_pairs


class Glossary:
    """Terms, each with its one translation. A term is whole words, in small letters or capitals, and Hangul may be
    written onto it, as particles are; of terms that begin at one place the longest counts.
    """

    def __init__(self, terms: Iterable[Pair]) -> None:
        found: dict[str, Pair] = {}
        for pair in terms:
            term = pair.source.strip().casefold()
            before = found.setdefault(term, pair)
            if before.target.strip() != pair.target.strip():
                raise InputError(
                    f'"{pair.file}", line {pair.line}: "{pair.source.strip()}" has another translation in line '
                    f"{before.line} already; a term has one."
                )
        self.translations = {term: pair.target.strip() for term, pair in found.items()}
        self.lengths = sorted({len(term) for term in found}, reverse=True)

    @classmethod
    def read(cls, path: str | Path) -> "Glossary":
        """Of a file with a term and its translation a line, with a tab between them. Lines with a blank side say
        nothing. Raises InputError with the file and the line.
        """
        return cls(read_pairs(path))

    def for_text(self, text: str) -> list[str]:
        """The translations of the terms that stand in a text, in its order; each once."""
        text = text.casefold()
        found: dict[str, None] = {}
        place = 0
        while place < len(text):
            ends = (place + length for length in self.lengths)
            end = next((end for end in ends if text[place:end] in self.translations and _is_whole(text, place, end)), 0)
            if end:
                found[self.translations[text[place:end]]] = None
            place = max(end, place + 1)
        return list(found)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Is what stands there no part of a longer word, but for Hangul behind it?"""
    joins_before = start > 0 and _is_word(text[start - 1 : start + 1])
    joins_behind = end < len(text) and _is_word(text[end - 1 : end + 1]) and not "가" <= text[end] <= "힣"
    return not joins_before and not joins_behind


def _is_word(letters: str) -> bool:
    return all(letter.isalnum() or letter == "_" for letter in letters)
