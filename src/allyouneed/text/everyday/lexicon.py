"""The lexicon: one row of a table is one meaning with its word in each language.

The tables lie in `data/*.tsv`. A cell may carry notation that belongs to its language:

- English noun: `mouse/mice` for an irregular plural, `~bread` for a mass noun.
- French and Spanish noun: `cheval m`, `souris f`; `jersey/jerséis m` for an irregular plural; `pâtes f+` is a plural by
  its form; `*haricot` has an aspirated h (no elision before it); Spanish `agua f*` takes `el` in the singular.
- Korean noun: the word, then its counter if it is not 개.
- French and Spanish adjective: `masculine/feminine/masculine before a vowel` where the rules don't give them;
  `=faim` is said with avoir (tener) and a noun, `=en bois` is a fixed phrase.
- Korean predicate: `춥다!` is irregular in its final consonant; `늙다=늙은` states the form before a noun; `~겁이 나다`
  is a verb where English has an adjective; a word without 다 is a noun used before a noun.
- Verb: `jouer +à` has a preposition (in Korean a particle) before its object.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One meaning. Entries are compared by identity, so two meanings may share their English word."""

    en: str
    fr: str
    ko: str
    es: str
    kinds: frozenset[str]

    @property
    def word(self) -> str:
        """The English word without notation."""
        return self.en.lstrip("~").partition("/")[0]

    def any_of(self, kinds: frozenset[str]) -> bool:
        """True if one of `kinds` is among this entry's kinds or is its own English word."""
        return self.word in kinds or not kinds.isdisjoint(self.kinds)


@dataclass(frozen=True, slots=True, eq=False)
class Noun(Entry):
    """A noun or a name; its kinds say what it can do and what can be done to it."""

    @property
    def mass(self) -> bool:
        """Without an English plural: bread, music."""
        return self.en.startswith("~")

    @property
    def person(self) -> bool:
        """Somebody."""
        return "person" in self.kinds

    @property
    def alive(self) -> bool:
        """Somebody or an animal."""
        return self.person or "animal" in self.kinds

    @property
    def female(self) -> bool:
        """A woman or a girl."""
        return "female" in self.kinds


@dataclass(frozen=True, slots=True, eq=False)
class Adjective(Entry):
    """`kinds` are the nouns it fits; `order` its English place: quality 2, size 3, age 4, colour 5, origin 6, field 7.

    Notes: pre, post (French); ser, estar (Spanish); state (said with avoir); nopre, nopred (not before a noun, not
    after "be"); nation, field (adjectives of relation, which stack); invariable.
    """

    order: int
    notes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Verb(Entry):
    """`kinds` holds the kinds of its subjects; `objects` and `recipients` are empty where it takes none.

    Notes: state (no progressive), momentary (nor the present of an action going on), and taste, skill, dwell, seat,
    that, formal, which have frames of their own.
    """

    objects: frozenset[str]
    recipients: frozenset[str]
    notes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Place(Entry):
    """Where to (`en`, `fr`), at and from; `ko` and `es` are the bare noun, the rest is regular."""

    at: str
    fr_at: str
    fr_from: str


def rows(table: str) -> list[dict[str, str]]:
    """The rows of `data/TABLE.tsv` as dictionaries keyed by the table's first line."""
    text = (files("allyouneed.text.everyday") / "data" / f"{table}.tsv").read_text(encoding="utf-8")
    head, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(head, line + [""] * (len(head) - len(line)), strict=True)) for line in lines]


def words(row: dict[str, str]) -> tuple[str, str, str, str]:
    """The row's word in each language."""
    return row["en"], row["fr"], row["ko"], row["es"]


def listed(text: str, separator: str | None = None) -> frozenset[str]:
    """The set that a cell lists."""
    return frozenset(part.strip() for part in text.split(separator) if part.strip())


def gendered(cell: str) -> tuple[str, str, str]:
    """Singular, irregular plural (or nothing) and the gender's mark of a French or Spanish noun; a name has no mark."""
    words_, _, gender = cell.rpartition(" ")
    if not words_:
        return cell, "", ""
    singular, _, plural = words_.partition("/")
    return singular, plural, gender


@cache
def nouns(table: str = "nouns") -> tuple[Noun, ...]:
    """The nouns of a table: nouns, bodies (institutions and their affairs) or names."""
    return tuple(Noun(*words(row), listed(row["kinds"])) for row in rows(table))


@cache
def adjectives() -> tuple[Adjective, ...]:
    """All adjectives."""
    return tuple(
        Adjective(*words(row), listed(row["kinds"]), int(row["order"]), listed(row["notes"]))
        for row in rows("adjectives")
    )


@cache
def verbs() -> tuple[Verb, ...]:
    """One verb for each of the frames `subjects > objects > recipients` that its row lists, parted by semicolons."""
    found: list[Verb] = []
    for row in rows("verbs"):
        for frame in row["frames"].split(";"):
            subjects, objects, recipients = ([*frame.split(">"), "", ""])[:3]
            sets = listed(subjects, ","), listed(objects, ","), listed(recipients, ",")
            found.append(Verb(*words(row), *sets, listed(row["notes"])))
    return tuple(found)


@cache
def adverbials() -> dict[str, tuple[Entry, ...]]:
    """The adverbials of each kind: present, past, near, habit, day, frequency, never, manner, care, transport."""
    found: dict[str, list[Entry]] = {}
    for row in rows("adverbials"):
        entry = Entry(*words(row), listed(row["kinds"]))
        for kind in sorted(entry.kinds):
            found.setdefault(kind, []).append(entry)
    return {kind: tuple(entries) for kind, entries in found.items()}


@cache
def places() -> tuple[Place, ...]:
    """All places."""
    return tuple(
        Place(
            row["to"], row["fr_to"], row["ko"], row["es"], listed(row["kinds"]), row["at"], row["fr_at"], row["fr_from"]
        )
        for row in rows("places")
    )


@cache
def places_of(*kinds: str) -> tuple[Place, ...]:
    """The places of any of these kinds."""
    return tuple(place for place in places() if not place.kinds.isdisjoint(kinds))


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of both tables that are of any of these kinds, or are one of these words."""
    wanted = frozenset(kinds)
    return tuple(noun for noun in (*nouns(), *nouns("bodies")) if noun.any_of(wanted))


@cache
def verbs_with(note: str) -> tuple[Verb, ...]:
    """The verbs with this note."""
    return tuple(verb for verb in verbs() if note in verb.notes)
