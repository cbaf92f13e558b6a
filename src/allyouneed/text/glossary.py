"""Glossaries: how the terms of a source are to be translated."""

import re
from collections.abc import Iterable
from pathlib import Path

from allyouneed.errors import InputError
from allyouneed.text.corpus import Pair, read_pairs


class Glossary:
    """Terms, each with its one translation. A term is whole words, in small letters or capitals; of terms that begin at
    one place the longest counts. What follows a term in Hangul may be written onto it, as particles are.
    """

    def __init__(self, terms: Iterable[Pair]) -> None:
        found: dict[str, Pair] = {}
        for pair in terms:
            term, before = pair.source.strip(), found.get(pair.source.strip().casefold())
            if before is not None and before.target.strip() != pair.target.strip():
                raise InputError(
                    f'"{pair.file}", line {pair.line}: "{term}" has another translation in line {before.line} already; '
                    "a term has one."
                )
            found[term.casefold()] = pair
        self.translations = {term: pair.target.strip() for term, pair in found.items()}
        longest_first = sorted(self.translations, key=lambda term: -len(term))
        self._terms = re.compile("|".join(map(_whole_words, longest_first)), re.IGNORECASE) if longest_first else None

    @classmethod
    def read(cls, path: str | Path) -> "Glossary":
        """Of a file with a term and its translation a line, with a tab between them. Lines with a blank side say
        nothing. Raises InputError with the file and the line.
        """
        return cls(read_pairs(path))

    def for_text(self, text: str) -> list[str]:
        """The translations of the terms that stand in a text, in its order; each once."""
        found = [] if self._terms is None else self._terms.finditer(text)
        return list(dict.fromkeys(self.translations[match.group().casefold()] for match in found))


def _whole_words(term: str) -> str:
    begins, ends = (r"(?<!\w)" if term[0].isalnum() else ""), (r"(?!\w)" if term[-1].isalnum() else "")
    return begins + re.escape(term) + ("" if "가" <= term[-1] <= "힣" else ends)
