"""Which split a sentence belongs to: decided by what it says, never by chance.

A clause's *combinations* are its frame with the words that fill it (who does what to what; who goes where; what is
called what; what lies where) and every stack of two adjectives with its noun. A stable hash sends a few per cent of the
combinations to dev and to test, and those that the guide shows go to test, whatever the tense, number or adverbials.
A few whole shapes of clauses are held out besides.
"""

from dataclasses import replace
from functools import cache
from hashlib import blake2b

from allyouneed.text.everyday.syntax import (
    Action,
    Age,
    Clause,
    Existence,
    Kind,
    Located,
    Motion,
    Nominal,
    Pair,
    Passive,
    Phrase,
    Prepositional,
    Pronoun,
    Quality,
    Sentence,
    Weather,
    Where,
)

SHARE = 2  # per cent of the combinations that go to dev, and as many to test
SHOWN = frozenset(
    {"eat|mouse|cheese", "sit|cat|mat", "go|1|to school", "go|1|home", "European economic Area", "was save|file|"}
)
SHAPES = {
    "Existence was not statement": "test",  # there was no cup on the table
    "Passive past question": "test",  # was the treaty signed?
    "Located was not statement": "dev",  # the keys were not in the drawer
    "Quality was question": "dev",  # was he tired?
}


def word(it: Nominal | None) -> str:
    """What the noun phrase is about."""
    match it:
        case None:
            return ""
        case Pronoun(person, plural):
            return "you" if person == 2 else f"{person}{'s' if plural else ''}"  # "you" hides its number
        case Pair(first, second):
            return f"{first.noun.word}+{second.noun.word}"
        case Phrase(noun):
            return noun.word


def place(it: object) -> str:
    """Where: the place's name, or the noun of the phrase; nothing for other adverbials."""
    match it:
        case Where(place):
            return place.en
        case Prepositional("with"):
            return ""
        case Prepositional(_, nominal):
            return word(nominal)
        case _:
            return ""


def stacks(it: Nominal | None) -> list[str]:
    """The combinations inside a noun phrase: its stack of adjectives, its topic, its relative clause."""
    if not isinstance(it, Phrase):
        return []
    found = [" ".join((*(a.en for a in it.adjectives), it.noun.word))] if len(it.adjectives) > 1 else []
    if it.relative:
        head, clause = replace(it, adjectives=(), relative=None), it.relative.clause
        if it.relative.head_is_object and isinstance(clause.predicate, Action):
            found += combinations(replace(clause, predicate=replace(clause.predicate, object=head)))
        else:
            found += combinations(replace(clause, subject=head))
    return found + stacks(it.topic)


def combinations(clause: Clause, wh: str = "") -> list[str]:
    """The combinations of a clause; of a question, those that it shows: "where" hides the place."""
    who, more = word(clause.subject), stacks(clause.subject)
    match clause.predicate:
        case Action(verb, thing, to):
            filler = word(thing) if thing else "".join(map(place, clause.adverbials[:1]))
            own = f"{verb.en}|{who}|{filler}"
            more += stacks(thing) + stacks(to)
        case Motion(key, where):
            own = f"{key}|{who}|{'?' if wh == 'where' else place(where)}"
        case Quality(adjective, degree, standard):
            own = f"is {degree}|{who}|{adjective.en}|{word(standard)}"
        case Kind(phrase):
            own = f"is a|{who}|{word(phrase)}"
        case Located(where) | Existence(where):
            own = f"at|{who}|{'?' if wh == 'where' else place(where)}"
        case Passive(verb, agent):
            own = f"was {verb.en}|{who}|{word(agent)}"
        case Age(years):
            own = f"age|{who}|{years}"
        case Weather(key):
            at = "".join(map(place, clause.adverbials))
            return [f"weather|{key}|{at}"] if at else []  # rain alone is too common to be held out
    return [own, *more]


@cache
def held(combination: str) -> str:
    """The split that a combination is held out for; train if it isn't."""
    if combination in SHOWN:
        return "test"
    bucket = int.from_bytes(blake2b(combination.encode(), digest_size=4).digest(), "big") % 100
    return "dev" if bucket < SHARE else "test" if bucket < 2 * SHARE else "train"


def split_of(sentence: Sentence) -> str:
    """Test if any part of the sentence is held out for the test, else dev if any is held out for dev, else train."""
    found: set[str] = set()
    for clause in (sentence.clause, *(clause for _, clause in sentence.links)):
        found.update(held(combination) for combination in combinations(clause, sentence.wh))
        shape = f"{type(clause.predicate).__name__} {clause.tense}{' not' if clause.negative else ''} {sentence.mood}"
        found.add(SHAPES.get(shape, "train"))
    return "test" if "test" in found else "dev" if "dev" in found else "train"
