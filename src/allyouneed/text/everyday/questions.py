"""Random questions and commands, made from the clauses of statements."""

from dataclasses import replace
from functools import cache
from random import Random

from allyouneed.text.everyday import affairs, frames
from allyouneed.text.everyday.lexicon import Verb
from allyouneed.text.everyday.phrases import PEOPLE, actions, candidates, chance, pick, pronoun, subject, time_for
from allyouneed.text.everyday.syntax import (
    HABIT,
    NOW,
    PAST,
    SOON,
    Action,
    Clause,
    Motion,
    Nominal,
    Phrase,
    Pronoun,
    Sentence,
    Where,
)

UNCOUNTED = frozenset({"once", "family", "person", "game", "language", "matter", "body", "fixed"})
COMMANDED = (
    "open close read write eat drink wash clean cut repair buy sell send print save delete copy translate wait sing "
    "dance work sleep choose prepare cook bring give show lend catch hide water plant pick"
)


def is_i(who: Nominal | None) -> bool:
    """Nobody asks what they do themselves."""
    return isinstance(who, Pronoun) and who.person == 1 and not who.plural


def never(it: Clause) -> bool:
    """The clause says "never", which makes an odd question."""
    return it.frequency is not None and "never" in it.frequency.kinds


def asked(it: Clause, wh: str) -> Sentence:
    """The clause as an affirmative question."""
    return Sentence(replace(it, negative=False, frequency=None), "question", wh)


def yes_no(rng: Random, told: Clause) -> Sentence:
    """Is the clause so? A clause that makes no question becomes another one."""
    if is_i(told.subject) or never(told):
        return yes_no(rng, frames.action(rng))
    return Sentence(replace(told, negative=False), "question")


def where(rng: Random) -> Sentence:
    """Where does she live? Where are you coming back from?"""
    told = pick(rng, (frames.motion, frames.located, frames.dwelling))(rng)
    going = isinstance(told.predicate, Motion) and told.predicate.key not in ("go", "return")
    return where(rng) if is_i(told.subject) or never(told) or going else asked(replace(told, adverbials=()), "where")


@cache
def asking() -> tuple[Verb, ...]:
    """The verbs whose object "what" asks for."""
    living = frozenset({"person", "family", "friend", "animal", "prey"})
    fit = [v for v in actions() if v.objects and v.objects.isdisjoint(living) and "+" not in v.fr]
    return tuple(v for v in fit if "state" not in v.notes and v.en != "tell")


def what(rng: Random) -> Sentence:
    """What are you eating?"""
    verb = pick(rng, asking())
    told = frames.action(rng, verb)
    to = told.predicate.recipient if isinstance(told.predicate, Action) else None
    if is_i(told.subject) or never(told):
        return what(rng)
    return asked(replace(told, predicate=Action(verb, None, to)), "what")


def who(rng: Random) -> Sentence:
    """Who is going to the office?"""
    told = pick(rng, (frames.action, affairs.signing, frames.motion))(rng)
    if isinstance(told.predicate, Action) and told.predicate.verb.kinds.isdisjoint({"person", "official"}):
        return who(rng)
    return Sentence(replace(told, subject=None, negative=never(told)), "question", "who")


def how_many(rng: Random) -> Sentence:
    """How many letters did he write?"""
    verb = pick(rng, [v for v in actions() if v.objects and not v.recipients and "person" in v.kinds])
    countable = [n for n in candidates(verb.objects) if not n.mass and n.kinds.isdisjoint(UNCOUNTED)]
    asker = pronoun(rng) if chance(rng, 0.6) else subject(rng, PEOPLE)
    if is_i(asker) or not countable or "+" in verb.fr:
        return how_many(rng)
    tense = HABIT if "state" in verb.notes else pick(rng, (PAST, PAST, SOON))
    day = (time_for(rng, tense),) if tense is not HABIT and chance(rng, 0.3) else ()
    counted = Phrase(pick(rng, countable), "none", plural=True)
    return Sentence(Clause(asker, Action(verb, counted), tense, adverbials=day), "question", "how many")


def when(rng: Random) -> Sentence:
    """When was the treaty signed?"""
    told = pick(rng, (frames.motion, affairs.signed, frames.passive))(rng)
    if is_i(told.subject) or told.modal:
        return when(rng)
    kept = tuple(a for a in told.adverbials if isinstance(a, Where))
    return asked(replace(told, adverbials=kept, tense=pick(rng, (PAST, SOON))), "when")


def why(rng: Random) -> Sentence:
    """Why is she not eating?"""
    told = pick(rng, (frames.quality, frames.motion, frames.action))(rng)
    if is_i(told.subject) or never(told) or told.modal == "can":
        return why(rng)
    return Sentence(replace(told, frequency=None), "question", "why")


def command(rng: Random) -> Sentence:
    """Open the window. Do not eat the cake. Please close the door."""
    you = Pronoun(2, formal=chance(rng, 0.5))
    verb = pick(rng, [v for v in actions(*COMMANDED.split(" ")) if "person" in v.kinds])
    told = frames.motion(rng, you, HABIT) if chance(rng, 0.25) else frames.action(rng, verb, you, NOW)
    match told.predicate:
        case Motion(key) if key not in ("go", "stay", "come"):
            return command(rng)
        case Action(_, Pronoun(), _) | Action(_, _, Pronoun()):
            return command(rng)
        case _:
            pass
    places = tuple(a for a in told.adverbials if isinstance(a, Where))
    plain = replace(told, modal="", frequency=None, adverbials=places, negative=chance(rng, 0.2), tense=NOW)
    return Sentence(plain, "request" if not plain.negative and chance(rng, 0.3) else "command")
