"""Random noun phrases that make sense: who can do it, what it can be done to, which adjectives fit."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypeVar

from .lexicon import Adjective, Entry, Noun, Place, adjectives, adverbials, nouns, nouns_of, places, rows, split, words
from .syntax import Nominal, Pair, Phrase, Prepositional, Pronoun, Tense, Where

T = TypeVar("T")
TABLES = ("nouns", "bodies")
FIRST = 1900  # the earliest year of a treaty


def pick(rng: Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def chance(rng: Random, probability: float) -> bool:
    return rng.random() < probability


@cache
def candidates(kinds: frozenset[str]) -> tuple[Noun, ...]:
    return tuple(noun for table in TABLES for noun in nouns(table) if noun.any_of(kinds))


@cache
def names() -> tuple[Noun, ...]:
    return tuple(Noun(*words(row), split(row["kinds"])) for row in rows("names"))


@cache
def fitting(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may stand before (or, in French, after) this noun."""
    banned = frozenset({"state", "nopre"})
    return tuple(a for a in adjectives() if noun.any_of(a.kinds) and banned.isdisjoint(a.notes))


@cache
def predicable(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may follow "is" with this noun as the subject."""
    banned = frozenset({"nopred", "nation", "field"})
    return tuple(a for a in adjectives() if noun.any_of(a.kinds) and banned.isdisjoint(a.notes))


def pronoun(rng: Random) -> Pronoun:
    """I, you, he, she, we, they with the hidden features of French: mostly masculine, you mostly singular and familiar."""
    number = pick(rng, (1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6))
    female = chance(rng, 0.5 if number == 3 else 0.15)
    formal = number == 2 and chance(rng, 0.3)
    return Pronoun((number - 1) % 3 + 1, number > 3, female, formal)


def referring(it: Nominal) -> Pronoun:
    """The pronoun that takes up a phrase: my sister ... she."""
    match it:
        case Pronoun():
            return it
        case Pair(first, second):
            return Pronoun(3, True, first.noun.female and second.noun.female)
        case Phrase():
            return Pronoun(3, it.plural, it.noun.female, antecedent=it.noun)


def described(rng: Random, noun: Noun, likely: float = 0.3) -> tuple[Adjective, ...]:
    """None, one or two adjectives in English order."""
    if not chance(rng, likely):
        return ()
    fit = fitting(noun)
    if not fit:
        return ()
    first = pick(rng, fit)
    if chance(rng, 0.2):
        second = pick(rng, fit)
        both = sorted((first, second), key=lambda a: a.order)
        if second.order != first.order and ("pre" in first.notes) != ("pre" in second.notes):
            return tuple(both)
    return (first,)


def name(rng: Random) -> Phrase:
    return Phrase(pick(rng, names()), "name")


def relation(rng: Random, owner: Pronoun | None = None, kind: str = "family") -> Phrase:
    """My sister, his uncles."""
    noun = pick(rng, nouns_of(kind))
    plural = chance(rng, 0.12) and "once" not in noun.kinds and noun.en not in ("father", "mother")
    adjective = tuple(a for a in described(rng, noun, 0.06) if a.en in ("young", "old", "kind"))
    return Phrase(noun, "own", plural, owner=owner or pronoun(rng), adjectives=adjective)


def someone(rng: Random, kinds: frozenset[str] = frozenset({"person"})) -> Phrase | Pair:
    """A person or two by name, by relation or by what they are."""
    if kinds != frozenset({"person"}):
        return definite(rng, pick(rng, candidates(kinds)))
    way = rng.random()
    if way < 0.3:
        return name(rng) if way < 0.27 else Pair(*two_names(rng))
    if way < 0.6:
        return relation(rng)
    return definite(rng, pick(rng, nouns_of("male", "female")), family=False)


def two_names(rng: Random) -> tuple[Phrase, Phrase]:
    first, second = rng.sample(names(), 2)
    return Phrase(first, "name"), Phrase(second, "name")


def definite(rng: Random, noun: Noun, *, family: bool = True) -> Phrase:
    """The noun as a subject: the doctor, this dog, three birds, my neighbour."""
    if "family" in noun.kinds:
        return Phrase(noun, "own", owner=pronoun(rng)) if family else definite(rng, pick(rng, nouns_of("job")))
    once = "once" in noun.kinds or noun.mass
    way = rng.random()
    owned = not noun.kinds.isdisjoint({"pet", "friend"}) and way < 0.3
    if owned:
        return Phrase(noun, "own", chance(rng, 0.2), owner=pronoun(rng), adjectives=described(rng, noun, 0.2))
    if way > 0.93 and not once:
        return Phrase(noun, "a", True, rng.randint(2, 9), adjectives=described(rng, noun, 0.2))
    determiner = "this" if 0.85 < way < 0.93 and not once else "a" if 0.75 < way < 0.85 and noun.alive else "the"
    return Phrase(noun, determiner, chance(rng, 0.22) and not once, adjectives=described(rng, noun))


def subject(rng: Random, kinds: frozenset[str], pronouns: float = 0.42) -> Nominal:
    """A subject of one of these kinds; people are often pronouns."""
    choice = pick(rng, sorted(kinds))
    if choice == "person":
        return pronoun(rng) if chance(rng, pronouns) else someone(rng)
    fit = candidates(frozenset({choice}))
    if not fit:
        raise ValueError(f"no noun of the kind {choice!r}")
    return definite(rng, pick(rng, fit))


def thing(rng: Random, kinds: frozenset[str], *, generic: bool = False, bare: bool = False) -> Nominal:
    """An object of one of these kinds: the book, a red apple, some water, three eggs, my keys; or apples as such."""
    noun = pick(rng, candidates(frozenset({pick(rng, sorted(kinds))})))
    if noun.person:
        return someone(rng) if "person" in kinds or "family" in noun.kinds else definite(rng, noun)
    if "language" in noun.kinds:
        return Phrase(noun, "none" if bare else "generic")
    if generic:
        return Phrase(noun, "generic", not noun.mass)
    if not noun.kinds.isdisjoint({"game", "instrument"}):
        return Phrase(noun, "generic" if "game" in noun.kinds else "the")
    if not noun.kinds.isdisjoint({"accord", "act", "trouble"}):
        return affair(rng, noun)
    if "body" in noun.kinds:
        return body(rng, noun)
    adjective = described(rng, noun)
    if noun.mass:
        return Phrase(noun, pick(rng, ("the", "a", "a")), adjectives=adjective)
    way = rng.random()
    if "once" in noun.kinds or way < 0.4:
        return Phrase(noun, "the", chance(rng, 0.2) and "once" not in noun.kinds, adjectives=adjective)
    if way < 0.73:
        return Phrase(noun, "a", chance(rng, 0.25), adjectives=adjective)
    if way < 0.8:
        return Phrase(noun, "a", True, rng.randint(2, 12), adjectives=adjective)
    if way < 0.88:
        return Phrase(noun, "this", chance(rng, 0.2), adjectives=adjective)
    own = noun.kinds.isdisjoint({"nature", "open", "fixed", "prey", "wild"})
    owner = pronoun(rng) if own else None
    return Phrase(noun, "own" if own else "the", chance(rng, 0.2), owner=owner, adjectives=adjective)


@cache
def relational(noun: Noun, note: str) -> tuple[Adjective, ...]:
    return tuple(a for a in adjectives() if note in a.notes and noun.any_of(a.kinds))


def stacked(rng: Random, noun: Noun, both: float = 0.6) -> tuple[Adjective, ...]:
    """European economic ..., international monetary ...: an origin, a field, or the two."""
    nations, fields = relational(noun, "nation"), relational(noun, "field")
    if nations and fields and chance(rng, both):
        return pick(rng, nations), pick(rng, fields)
    return (pick(rng, nations + fields),) if nations or fields else ()


def body(rng: Random, noun: Noun | None = None) -> Phrase:
    """The European Economic Area, the International Monetary Fund, and the like of them."""
    noun = noun or pick(rng, nouns_of("body", table="bodies"))
    return Phrase(noun, "the", adjectives=stacked(rng, noun, 0.75))


def affair(rng: Random, noun: Noun | None = None) -> Phrase:
    """An agreement, a policy, a crisis or a meeting, with its adjectives and what it is about."""
    noun = noun or pick(rng, nouns_of("accord", "act", "trouble", "event", table="bodies"))
    topic = None
    adjective = stacked(rng, noun, 0.4) if chance(rng, 0.5) else described(rng, noun, 0.4)
    if not noun.kinds.isdisjoint({"accord", "event"}) and chance(rng, 0.55):
        issue = pick(rng, nouns_of("trouble", "act", table="bodies"))
        topic = body(rng) if chance(rng, 0.7) else Phrase(issue, "the", adjectives=stacked(rng, issue))
        adjective = adjective if chance(rng, 0.3) else ()
    way = rng.random()
    determiner = "the" if topic or way < 0.7 else "a" if way < 0.9 else "this"
    return Phrase(noun, determiner, chance(rng, 0.1) and topic is None, adjectives=adjective, topic=topic)


@cache
def places_of(*kinds: str) -> tuple[Place, ...]:
    return tuple(place for place in places() if not place.kinds.isdisjoint(kinds))


def inside(rng: Random) -> Prepositional:
    """In the kitchen, in our house."""
    noun = pick(rng, nouns_of("room"))
    owner = pronoun(rng) if chance(rng, 0.3) else None
    return Prepositional("in", Phrase(noun, "own" if owner else "the", owner=owner))


def spot(rng: Random) -> Where | Prepositional:
    """Where something is done."""
    return inside(rng) if chance(rng, 0.3) else Where(pick(rng, places_of("any", "city", "land")), "at")


def time_for(rng: Random, tense: Tense) -> Entry:
    kind = {Tense.NOW: "present", Tense.HABIT: "habit", Tense.PAST: "past", Tense.SOON: "near", Tense.WILL: "near"}
    return pick(rng, adverbials()[kind.get(tense, "past")])
