"""Random clauses about agreements, institutions and meetings: long noun phrases whose adjectives stack."""

from random import Random

from allyouneed.text.everyday.lexicon import Noun, listed, nouns_of, places_of, verbs_with
from allyouneed.text.everyday.phrases import affair, candidates, chance, definite, pick, subject, thing, time_for
from allyouneed.text.everyday.syntax import (
    NOW,
    PAST,
    SOON,
    WILL,
    Action,
    Adverbial,
    Clause,
    Month,
    Passive,
    Phrase,
    Where,
)

# Verbs whose passive is said in all four languages.
PASSIVE = listed("sign discuss negotiate approve publish organise finance analyse")
YEARS = (1920, 2024)


def dated(rng: Random) -> tuple[Adverbial, ...]:
    """In March 1994; in Geneva in June 1951."""
    where: tuple[Adverbial, ...] = (Where(pick(rng, places_of("city")), "at"),) if chance(rng, 0.35) else ()
    way = rng.random()
    if way < 0.75:
        return (*where, Month(rng.randint(1, 12), rng.randint(*YEARS)))
    return (*where, Month(rng.randint(1, 12))) if way < 0.85 else where


def matter(rng: Random, noun: Noun) -> Phrase:
    """What is signed, discussed or financed."""
    return affair(rng, noun) if noun.kinds & {"accord", "act", "trouble", "event", "body"} else definite(rng, noun)


def signed(rng: Random) -> Clause:
    """The treaty on the International Monetary Fund was signed in March 1994."""
    verb = pick(rng, [v for v in verbs_with("formal") if v.en in PASSIVE])
    what = matter(rng, pick(rng, candidates(verb.objects)))
    agent = definite(rng, pick(rng, nouns_of("official", "signer"))) if chance(rng, 0.3) else None
    tense = pick(rng, (PAST, PAST, PAST, PAST, SOON, WILL))
    when = dated(rng) if tense is PAST else (time_for(rng, tense),)
    return Clause(what, Passive(verb, agent), tense, chance(rng, 0.08), adverbials=when)


def signing(rng: Random) -> Clause:
    """The ministers discussed the European economic crisis in Brussels."""
    verb = pick(rng, verbs_with("formal"))
    tense = pick(rng, (PAST, PAST, PAST, NOW, SOON, WILL))
    when = dated(rng) if tense is PAST else (time_for(rng, tense),) if chance(rng, 0.4) else ()
    done_to = thing(rng, verb.objects)
    return Clause(subject(rng, verb.kinds), Action(verb, done_to), tense, chance(rng, 0.1), adverbials=when)
