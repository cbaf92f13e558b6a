"""Which split a sentence belongs to: decided by what it says, never by chance."""

from dataclasses import replace
from hashlib import blake2b

from .syntax import (
    Action, Clause, Existence, Kind, Located, Motion, Nominal, Pair, Passive, Phrase, Prepositional, Pronoun, Quality,
    Sentence, Weather, Where,
)  # fmt: skip

SHARE = 2  # per cent of the combinations that go to dev, and as many to test
# Combinations that the guide shows: they and all their variants are test material.
SHOWN = frozenset(
    {"eat|mouse|cheese", "eat|cat|cheese", "sit|cat|mat", "go|I|to school", "go|I|home", "European economic Area"}
)


# Whole shapes of clauses that training never sees: there was no ..., was the treaty signed ...?, and so on.
SHAPES = {
    "Existence was not statement": "test",
    "Passive past question": "test",
    "Located was not statement": "dev",
    "Quality was question": "dev",
}


def word(it: Nominal | None) -> str:
    match it:
        case None:
            return "-"
        case Pronoun(person, plural):
            return "I" if (person, plural) == (1, False) else f"{person}{'s' if plural else ''}"
        case Pair(first, second):
            return f"{first.noun.en}+{second.noun.en}"
        case Phrase(noun):
            return noun.en.lstrip("~").partition("/")[0]


def place(it: Where | Prepositional) -> str:
    return it.place.en if isinstance(it, Where) else f"{it.preposition} {word(it.nominal)}"


def stacks(it: Nominal | None) -> list[str]:
    """Noun phrases with two adjectives of relation, wherever they are: European economic Area."""
    if not isinstance(it, Phrase):
        return []
    found = [" ".join((*(a.en for a in it.adjectives), word(it)))] if len(it.adjectives) > 1 else []
    if it.relative:
        head, clause = replace(it, adjectives=(), relative=None), it.relative.clause
        whole = replace(clause, subject=head)
        if it.relative.head_is_object and isinstance(clause.predicate, Action):
            whole = replace(clause, predicate=replace(clause.predicate, object=head))
        found += keys(whole)
    return found + stacks(it.topic)


def keys(clause: Clause) -> list[str]:
    """The combinations of a clause: its frame with the words that fill it, and its stacks of adjectives."""
    who, more = word(clause.subject), stacks(clause.subject)
    match clause.predicate:
        case Action(verb, thing, to):
            at = [place(a) for a in clause.adverbials if isinstance(a, Where | Prepositional)]
            name = verb.en.split(" ")[0] if thing or not at else verb.en
            own = f"{name}|{who}|{word(thing) if thing else ''.join(at[:1]).rpartition(' ')[2]}"
            more += stacks(thing) + stacks(to)
        case Motion(key, where):
            own = f"{key}|{who}|{place(where)}"
        case Quality(adjective, degree, standard):
            own = f"is {degree}|{who}|{adjective.en}|{word(standard)}"
        case Kind(phrase):
            own = f"is a|{who}|{word(phrase)}"
        case Located(where) | Existence(where):
            own = f"at|{who}|{place(where)}"
        case Passive(verb, agent):
            own = f"was {verb.en}|{who}|{word(agent)}"
        case Weather(key):
            own = f"weather|{key}|{clause.tense}|{''.join(place(a) for a in clause.adverbials if isinstance(a, Where))}"
        case age:
            own = f"age|{who}|{age.years}"
    return [own, *more]


def split_of(sentence: Sentence) -> str:
    """test if one of its combinations is held out for the test, else dev if one is held out for dev, else train."""
    clauses = [sentence.clause, *(clause for _, clause in sentence.links)]
    found = [held(key) for clause in clauses for key in keys(clause)]
    found += [SHAPES[shape] for clause in clauses if (shape := shape_of(clause, sentence.mood)) in SHAPES]
    return "test" if "test" in found else "dev" if "dev" in found else "train"


def shape_of(clause: Clause, mood: str) -> str:
    return f"{type(clause.predicate).__name__} {clause.tense}{' not' if clause.negative else ''} {mood}"


def held(key: str) -> str:
    if key in SHOWN:
        return "test"
    bucket = int.from_bytes(blake2b(key.encode(), digest_size=4).digest()) % 100
    return "dev" if bucket < SHARE else "test" if bucket < 2 * SHARE else "train"
