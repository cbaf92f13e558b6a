"""The lexicon: one row of a table is one meaning with its word in each language.

The tables lie in `data/*.tsv`. A cell may carry notation that belongs to its language:

- English noun: `mouse/mice` for an irregular plural, `~bread` for a mass noun.
- French and Spanish noun: `cheval m`, `souris f`; `jersey/jerséis m` for an irregular plural; `ciseaux m+` exists in the
  plural only; `*haricot` has an aspirated h (no elision before it); Spanish `agua f*` takes `el` in the singular.
- Korean noun: the word, then the counter if it is not 개.
- French and Spanish adjective: `masculine/feminine/masculine before a vowel` where the rules don't give them;
  `=faim` is said with avoir (tener) and a noun, `=en bois` is a fixed phrase.
- Korean predicate: `춥다!` is irregular in its consonant class; `늙다=늙은` states the form before a noun;
  one without 다 is a noun used before a noun.
- Verb: `jouer +à` has a preposition (Korean: a particle) before its object.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "fr", "ko", "es")


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One meaning. Entries are compared by identity, so two meanings may share their English word."""

    en: str
    fr: str
    ko: str
    es: str
    kinds: frozenset[str]

    def text(self, language: str) -> str:
        return str(getattr(self, language))

    def any_of(self, kinds: frozenset[str]) -> bool:
        """True if one of `kinds` is among this entry's kinds or is its own English word."""
        return self.en.split("/")[0].lstrip("~") in kinds or not kinds.isdisjoint(self.kinds)


@dataclass(frozen=True, slots=True, eq=False)
class Noun(Entry):
    @property
    def mass(self) -> bool:
        """Without an English plural: bread, music."""
        return self.en.startswith("~")

    @property
    def person(self) -> bool:
        return "person" in self.kinds

    @property
    def alive(self) -> bool:
        return self.person or "animal" in self.kinds

    @property
    def female(self) -> bool:
        return "female" in self.kinds


@dataclass(frozen=True, slots=True, eq=False)
class Adjective(Entry):
    order: int  # English order before the noun: opinion 1 < quality 2 < size 3 < age 4 < colour 5 < origin 6 < field 7
    notes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Verb(Entry):
    """`kinds` holds the kinds of its subjects; `objects` and `recipients` are empty where it takes none."""

    objects: frozenset[str]
    recipients: frozenset[str]
    notes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Place(Entry):
    """Where to and where from: the phrases that are not regular are written out; `ko` and `es` are the bare noun."""

    at: str
    fr_at: str
    fr_from: str


def rows(table: str) -> list[dict[str, str]]:
    """The rows of `data/TABLE.tsv` as dictionaries keyed by the first line."""
    text = (files(__package__) / "data" / f"{table}.tsv").read_text(encoding="utf-8")
    head, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(head, line + [""] * (len(head) - len(line)), strict=True)) for line in lines]


def words(row: dict[str, str]) -> tuple[str, str, str, str]:
    return row["en"], row["fr"], row["ko"], row["es"]


def split(text: str, separator: str | None = None) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(separator) if part.strip())


@cache
def nouns(table: str = "nouns") -> tuple[Noun, ...]:
    return tuple(Noun(*words(row), split(row["kinds"])) for row in rows(table))


@cache
def adjectives() -> tuple[Adjective, ...]:
    return tuple(
        Adjective(*words(row), split(row["kinds"]), int(row["order"]), split(row["notes"]))
        for row in rows("adjectives")
    )


@cache
def verbs() -> tuple[Verb, ...]:
    """One verb for each of the frames `subjects > objects > recipients` that its row lists, parted by semicolons."""
    found: list[Verb] = []
    for row in rows("verbs"):
        for frame in row["frames"].split(";"):
            subjects, objects, recipients = ([*frame.split(">"), "", ""])[:3]
            sets = split(subjects, ","), split(objects, ","), split(recipients, ",")
            found.append(Verb(*words(row), *sets, split(row["notes"])))
    return tuple(found)


@cache
def adverbials() -> dict[str, tuple[Entry, ...]]:
    """The adverbials of each kind: present, past, near, habit, frequency, never, manner, care, transport."""
    found: dict[str, list[Entry]] = {}
    for row in rows("adverbials"):
        entry = Entry(*words(row), split(row["kinds"]))
        for kind in sorted(entry.kinds):
            found.setdefault(kind, []).append(entry)
    return {kind: tuple(entries) for kind, entries in found.items()}


@cache
def places() -> tuple[Place, ...]:
    return tuple(
        Place(
            row["to"], row["fr_to"], row["ko"], row["es"], split(row["kinds"]), row["at"], row["fr_at"], row["fr_from"]
        )
        for row in rows("places")
    )


@cache
def nouns_of(*kinds: str, table: str = "nouns") -> tuple[Noun, ...]:
    """The nouns of any of these kinds (or that are one of these words)."""
    wanted = frozenset(kinds)
    return tuple(noun for noun in nouns(table) if noun.any_of(wanted))
