"""Glossaries: how the terms of a source are to be translated."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from unicodedata import normalize

from allyouneed.errors import InputError
from allyouneed.text.corpus import Pair, read_pairs


class Glossary:
    """Terms, each with its one translation. A term is whole words; in small letters it is found in capitals, too, and
    otherwise as it is written. Hangul may be written onto it, as particles are. Of terms that begin at one place the
    longest counts.
    """

    def __init__(self, terms: Iterable[Pair]) -> None:
        found: dict[str, Pair] = {}
        for pair in terms:
            before = found.setdefault(_plain(pair.source), pair)
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

    @classmethod
    def of(cls, translations: Mapping[str, str]) -> "Glossary":
        """Of terms and their translations; a blank one says nothing."""
        pairs = (Pair(*pair, "glossary", number) for number, pair in enumerate(translations.items(), 1))
        return cls(pair for pair in pairs if pair.source.strip() and pair.target.strip())

    def held_by(self, text: str, always: Iterable[str] = ()) -> list[str]:
        """What the translation of a text must hold: a phrase that is asked for `always` is not asked for twice."""
        return list((Counter(always) | Counter(self.for_text(text))).elements())

    def for_text(self, text: str) -> list[str]:
        """The translations of the terms in a text, in its order: as often as they stand there."""
        text = _plain(text)
        found: list[str] = []
        place = 0
        while place < len(text):
            length, translation = self._longest(text, place)
            if translation:
                found.append(translation)
            place += length
        return found

    def _longest(self, text: str, place: int) -> tuple[int, str]:
        """The length and the translation of the term there; 1 and nothing where none stands."""
        for length in self.lengths:
            if place + length <= len(text) and _is_whole(text, place, place + length):
                written = text[place : place + length]
                translation = self.translations.get(written) or self.translations.get(written.lower())
                if translation:
                    return length, translation
        return 1, ""


def _plain(text: str) -> str:
    """A text in the one form that its letters, spaces and apostrophes are compared in."""
    return " ".join(normalize("NFC", text).replace("’", "'").split())


def _is_whole(text: str, start: int, end: int) -> bool:
    """Is what stands there no part of a longer word, but for Hangul behind it?"""
    joins_before = start > 0 and _is_word(text[start - 1 : start + 1])
    joins_behind = end < len(text) and _is_word(text[end - 1 : end + 1]) and not "가" <= text[end] <= "힣"
    return not joins_before and not joins_behind


def _is_word(letters: str) -> bool:
    return all(letter.isalnum() or letter == "_" for letter in letters)
