"""Random noun phrases that make sense: who can do it, what it can be done to, which adjectives fit."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from allyouneed.text.everyday.lexicon import (
    Adjective,
    Entry,
    Noun,
    Verb,
    adjectives,
    adverbials,
    nouns,
    nouns_of,
    places_of,
    verbs,
)
from allyouneed.text.everyday.syntax import (
    HABIT,
    NOW,
    PAST,
    SOON,
    WILL,
    Nominal,
    Pair,
    Phrase,
    Prepositional,
    Pronoun,
    Tense,
    Where,
)

T = TypeVar("T")
PEOPLE = frozenset({"person"})


def pick(rng: Random, items: Sequence[T]) -> T:
    """One of the items."""
    return items[int(rng.random() * len(items))]


def chance(rng: Random, probability: float) -> bool:
    """True with this probability."""
    return rng.random() < probability


@cache
def candidates(kinds: frozenset[str]) -> tuple[Noun, ...]:
    """The nouns of any of these kinds."""
    return nouns_of(*kinds)


@cache
def ordered(kinds: frozenset[str]) -> tuple[str, ...]:
    """A set in an order that is the same in every run."""
    return tuple(sorted(kinds))


@cache
def fitting(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may belong to this noun."""
    return tuple(a for a in adjectives() if noun.any_of(a.kinds) and a.notes.isdisjoint({"state", "nopre"}))


@cache
def predicable(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may follow "is" with this noun as the subject."""
    return tuple(a for a in adjectives() if noun.any_of(a.kinds) and a.notes.isdisjoint({"nopred", "nation", "field"}))


def feeling(word: str) -> Adjective:
    """The adjective of people with this English word."""
    return next(a for a in adjectives() if a.en == word and "person" in a.kinds)


@cache
def actions(*words: str) -> tuple[Verb, ...]:
    """The verbs with these English words that have the common frame of subject, object, recipient."""
    special = frozenset({"that", "formal", "dwell", "seat", "taste", "skill"})
    return tuple(v for v in verbs() if special.isdisjoint(v.notes) and (not words or v.en in words))


def pronoun(rng: Random) -> Pronoun:
    """Any pronoun, with the hidden features of French: mostly masculine, you mostly one and familiar."""
    number = pick(rng, (1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6))
    female = chance(rng, 0.5 if number == 3 else 0.15)
    return Pronoun((number - 1) % 3 + 1, number > 3, female, number == 2 and chance(rng, 0.3))


def other(rng: Random, who: Nominal) -> Pronoun:
    """An object pronoun that isn't the subject again."""
    first = isinstance(who, Pronoun) and who.person == 1
    return Pronoun(2 if first else 1, chance(rng, 0.3))


def referring(it: Nominal) -> Pronoun:
    """The pronoun that takes up a phrase: my sister ... she."""
    match it:
        case Pronoun():
            return it
        case Pair(first, second):
            return Pronoun(3, True, first.noun.female and second.noun.female)
        case Phrase():
            return Pronoun(3, it.plural, it.noun.female, antecedent=it.noun)


def described(rng: Random, noun: Noun, likely: float = 0.34) -> tuple[Adjective, ...]:
    """None, one or two adjectives in English order; of two, one stands before and one behind the French noun."""
    fit = fitting(noun)
    if not fit or not chance(rng, likely):
        return ()
    first, second = pick(rng, fit), pick(rng, fit)
    if first.order != second.order and ("pre" in first.notes) != ("pre" in second.notes) and chance(rng, 0.25):
        return (first, second) if first.order < second.order else (second, first)
    return (first,)


def person_like(who: Nominal) -> bool:
    """Somebody, not an animal or a thing."""
    return not isinstance(who, Phrase) or who.noun.person


def name(rng: Random) -> Phrase:
    """Anna."""
    return Phrase(pick(rng, nouns("names")), "name")


def relation(rng: Random, kind: str = "family") -> Phrase:
    """My sister, his uncles, our friend."""
    noun = pick(rng, nouns_of(kind))
    several = chance(rng, 0.12) and noun.kinds.isdisjoint({"once", "parent"})
    adjective = (feeling(pick(rng, ("young", "old", "kind"))),) if chance(rng, 0.03) else ()
    owner = pronoun(rng)
    if "once" in noun.kinds:
        owner = replace(owner, plural=False)  # nobody shares a husband
    return Phrase(noun, "own", several, owner=owner, adjectives=adjective)


def companion(rng: Random) -> Phrase:
    """With whom something is done."""
    return name(rng) if chance(rng, 0.35) else relation(rng, pick(rng, ("family", "friend")))


def someone(rng: Random) -> Phrase | Pair:
    """A person or two: by name, by relation or by what they are."""
    way = rng.random()
    if way < 0.03:
        first, second = rng.sample(nouns("names"), 2)
        return Pair(Phrase(first, "name"), Phrase(second, "name"))
    if way < 0.3:
        return name(rng)
    noun = pick(rng, nouns_of("male", "female"))
    return relation(rng) if way < 0.6 or "family" in noun.kinds else definite(rng, noun)


def definite(rng: Random, noun: Noun) -> Phrase:
    """The noun as a subject: the doctor, this dog, three birds, my neighbour."""
    if "family" in noun.kinds:
        return Phrase(noun, "own", owner=pronoun(rng))
    if "body" in noun.kinds:
        return affair(rng, noun)
    once, way = "once" in noun.kinds or noun.mass, rng.random()
    if way < 0.3 and not noun.kinds.isdisjoint({"pet", "friend"}):
        return Phrase(noun, "own", chance(rng, 0.2), owner=pronoun(rng), adjectives=described(rng, noun, 0.2))
    if way > 0.94 and not once:
        return Phrase(noun, "a", True, rng.randint(2, 9), adjectives=described(rng, noun, 0.2))
    determiner = "this" if way > 0.86 and not once else "a" if way > 0.75 and noun.alive else "the"
    return Phrase(noun, determiner, chance(rng, 0.22) and not once, adjectives=described(rng, noun))


def subject(rng: Random, kinds: frozenset[str], pronouns: float = 0.42) -> Nominal:
    """A subject of one of these kinds; people are often pronouns."""
    kind = pick(rng, ordered(kinds))
    if kind == "person":
        return pronoun(rng) if chance(rng, pronouns) else someone(rng)
    return definite(rng, pick(rng, candidates(frozenset({kind}))))


def thing(rng: Random, kinds: frozenset[str]) -> Nominal:
    """An object of one of these kinds: the book, a red apple, some water, three eggs, my keys, French."""
    noun = pick(rng, candidates(frozenset({pick(rng, ordered(kinds))})))
    if noun.person:
        return someone(rng) if "person" in kinds else definite(rng, noun)
    if not noun.kinds.isdisjoint({"game", "language"}):
        return Phrase(noun, "generic")
    if not noun.kinds.isdisjoint({"accord", "act", "trouble", "body"}):
        return affair(rng, noun)
    adjective, way = described(rng, noun), rng.random()
    if noun.mass:
        return Phrase(noun, "the" if way < 0.33 else "a", adjectives=adjective)
    once = "once" in noun.kinds
    if once or way < 0.4 or "instrument" in noun.kinds:
        return Phrase(noun, "the", chance(rng, 0.2) and not once, adjectives=adjective)
    if way < 0.73:
        return Phrase(noun, "a", chance(rng, 0.25), adjectives=adjective)
    if way < 0.8:
        return Phrase(noun, "a", True, rng.randint(2, 12), adjectives=adjective)
    if way < 0.88 or not noun.kinds.isdisjoint({"nature", "open", "fixed", "prey", "wild", "public"}):
        return Phrase(noun, "this", chance(rng, 0.2), adjectives=adjective)
    return Phrase(noun, "own", chance(rng, 0.2), owner=pronoun(rng), adjectives=adjective)


@cache
def relational(noun: Noun, note: str) -> tuple[Adjective, ...]:
    """The adjectives of origin (`note` nation) or of a field that fit the noun."""
    return tuple(a for a in adjectives() if note in a.notes and noun.any_of(a.kinds))


def stacked(rng: Random, noun: Noun, both: float) -> tuple[Adjective, ...]:
    """European economic ..., international monetary ...: an origin, a field or, with probability `both`, the two.

    The first origin of the table, European, is the commonest.
    """
    nations, fields = relational(noun, "nation"), relational(noun, "field")
    if nations and fields and chance(rng, both):
        return nations[0] if chance(rng, 0.2) else pick(rng, nations), pick(rng, fields)
    return (pick(rng, nations + fields),)


def affair(rng: Random, noun: Noun) -> Phrase:
    """An institution, or an agreement, a policy, a crisis, a meeting, with what it is on."""
    if "body" in noun.kinds:
        return Phrase(noun, "the", adjectives=stacked(rng, noun, 0.75))
    topic = None
    adjective = stacked(rng, noun, 0.4) if chance(rng, 0.5) else described(rng, noun, 0.4)
    if not noun.kinds.isdisjoint({"accord", "event"}) and chance(rng, 0.55):
        topic = affair(rng, pick(rng, nouns_of("body")))
        if chance(rng, 0.3):
            issue = pick(rng, nouns_of("trouble", "act"))
            topic = Phrase(issue, "the", adjectives=stacked(rng, issue, 0.6))
        adjective = adjective if chance(rng, 0.3) else ()
    way = rng.random()
    determiner = "the" if topic or way < 0.7 else "a" if way < 0.9 else "this"
    return Phrase(noun, determiner, chance(rng, 0.1) and topic is None, adjectives=adjective, topic=topic)


def inside(rng: Random) -> Prepositional:
    """In the kitchen, in our house."""
    owner = pronoun(rng) if chance(rng, 0.3) else None
    return Prepositional("in", Phrase(pick(rng, nouns_of("room")), "own" if owner else "the", owner=owner))


def spot(rng: Random) -> Where | Prepositional:
    """Where something is done."""
    return inside(rng) if chance(rng, 0.3) else Where(pick(rng, places_of("any", "city", "land")), "at")


def time_for(rng: Random, tense: Tense) -> Entry:
    """An adverbial of time that suits the tense."""
    kind = {NOW: "present", HABIT: "habit", PAST: "past", SOON: "near", WILL: "near"}[tense]
    return pick(rng, adverbials()[kind])
