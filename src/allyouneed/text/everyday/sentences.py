"""Random sentences: a clause alone, or several that give a reason, a time, a condition or just go on."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

from allyouneed.text.everyday import affairs, frames, questions
from allyouneed.text.everyday.lexicon import Verb, verbs_with
from allyouneed.text.everyday.phrases import (
    PEOPLE,
    actions,
    chance,
    feeling,
    pick,
    predicable,
    pronoun,
    referring,
    subject,
    time_for,
)
from allyouneed.text.everyday.syntax import (
    HABIT,
    NOW,
    PAST,
    SOON,
    WAS,
    WILL,
    Action,
    Clause,
    Motion,
    Phrase,
    Quality,
    Sentence,
    Tense,
    Weather,
)

FRAMES: tuple[tuple[Callable[[Random], Clause], int], ...] = (  # how often each comes up
    (frames.action, 30), (frames.motion, 18), (frames.quality, 12), (affairs.signed, 10), (frames.taste, 6),
    (affairs.signing, 6), (frames.sitting, 4), (frames.located, 6), (frames.existence, 5), (frames.kind, 4),
    (frames.related, 6), (frames.dwelling, 3), (frames.speaking, 2), (frames.age, 2), (frames.weather, 2),
    (frames.passive, 3),
)  # fmt: skip
WEIGHTED = tuple(frame for frame, weight in FRAMES for _ in range(weight))
REASONS = {  # why people do what they do
    "eat": ("hungry",), "drink": ("thirsty",), "sleep": ("tired", "sleepy"), "rest": ("tired", "sick"),
    "go to bed": ("tired", "sleepy"), "cry": ("sad", "tired"), "smile": ("happy",), "laugh": ("happy",),
    "dance": ("happy",), "sing": ("happy",), "put on": ("cold",), "wear": ("cold",), "hide": ("afraid", "shy"),
}  # fmt: skip
HABITS = ("sleep", "rest", "sing", "dance", "eat", "drink", "go to bed", "cry", "put on")


def clause(rng: Random) -> Clause:
    """A clause of any frame."""
    return pick(rng, WEIGHTED)(rng)


def single(rng: Random) -> Sentence:
    """One clause, now and then with its time at the front."""
    first = clause(rng)
    if first.tense in (PAST, SOON) and not first.adverbials and not first.modal and chance(rng, 0.15):
        return Sentence(first, opening=time_for(rng, first.tense))
    return Sentence(first)


def yes_no(rng: Random) -> Sentence:
    """A clause asked."""
    return questions.yes_no(rng, clause(rng))


@cache
def by_people(*words: str) -> tuple[Verb, ...]:
    """The verbs with these words whose subjects are people."""
    return tuple(verb for verb in actions(*words) if "person" in verb.kinds)


def plainly(it: Clause) -> Clause:
    """The clause without modal, denial and adverb of frequency."""
    return replace(it, modal="", negative=False, frequency=None)


def feelings(rng: Random, verb: Verb, told: Clause) -> Clause:
    """She is hungry, where "she" takes up the subject of the clause that this explains."""
    ground = WAS if told.tense in (PAST, WAS) else HABIT
    who = referring(told.subject or pronoun(rng))
    return Clause(who, Quality(feeling(pick(rng, REASONS[verb.en]))), ground)


def because(rng: Random) -> Sentence:
    """They bought the house because it was beautiful; we are staying at home because it is raining."""
    way, tense = rng.random(), pick(rng, (NOW, PAST, SOON))
    if way < 0.4:
        verb = pick(rng, by_people(*REASONS))
        told = plainly(frames.action(rng, verb, tense=PAST if "momentary" in verb.notes else tense))
        return (
            Sentence(told, links=(("because", feelings(rng, verb, told)),)) if told.tense is not HABIT else because(rng)
        )
    if way < 0.75:
        told = frames.action(rng, pick(rng, by_people("buy", "read", "sell", "choose", "watch", "visit")), tense=tense)
        thing = told.predicate.object if isinstance(told.predicate, Action) else None
        if told.modal or not isinstance(thing, Phrase) or thing.adjectives or not predicable(thing.noun):
            return because(rng)
        quality = Quality(pick(rng, predicable(thing.noun)), pick(rng, ("", "very")))
        reason = Clause(referring(thing), quality, WAS if tense is PAST else HABIT)
        return Sentence(plainly(told), links=(("because", reason),))
    told = frames.motion(rng, tense=pick(rng, (NOW, PAST)))
    return (
        Sentence(told, links=(("because", sky(rng, WAS if told.tense is PAST else NOW)),))
        if not told.modal
        else because(rng)
    )


def sky(rng: Random, tense: Tense) -> Clause:
    """The weather as a reason or a scene, here and now."""
    told = frames.weather(rng, tense)
    falls = isinstance(told.predicate, Weather) and told.predicate.key in ("rain", "snow")
    return replace(told, adverbials=(), negative=False, tense=HABIT if tense is NOW and not falls else tense)


def background(rng: Random) -> Clause:
    """What was going on: she was reading a letter."""
    verb = pick(rng, [v for v in by_people() if not v.notes and not v.recipients])
    return replace(plainly(frames.action(rng, verb, tense=WAS)), tense=WAS)


def timing(rng: Random) -> Sentence:
    """When Anna arrived at the station, it was raining. I was reading while he was cooking."""
    way = rng.random()
    if way < 0.35:
        return Sentence(background(rng), links=(("while", background(rng)),))
    if way < 0.7:
        event = replace(plainly(frames.motion(rng, tense=PAST)), adverbials=(), tense=PAST)
        if isinstance(event.predicate, Motion) and event.predicate.key == "stay":
            return timing(rng)
        scene = background(rng) if chance(rng, 0.6) else sky(rng, WAS)
        return Sentence(scene, links=(("when", event),), fronted=chance(rng, 0.5))
    verb = pick(rng, by_people(*HABITS))
    habit = replace(plainly(frames.action(rng, verb, tense=HABIT)), adverbials=(), tense=HABIT)
    return Sentence(habit, links=(("when", feelings(rng, verb, habit)),))


def condition(rng: Random) -> Sentence:
    """If it rains we will stay at home. It was snowing, so they did not go to the park."""
    if chance(rng, 0.5):
        move = frames.motion(rng, tense=pick(rng, (WILL, SOON)))
        cause = replace(frames.weather(rng, HABIT), adverbials=())
        told = replace(move, modal="", frequency=None, tense=WILL if move.modal else move.tense)
        return Sentence(told, links=(("if", cause),), fronted=chance(rng, 0.6))
    move = replace(plainly(frames.motion(rng, tense=PAST)), tense=PAST)
    return Sentence(sky(rng, WAS), links=(("so", move),))


def joined(rng: Random) -> Sentence:
    """Two or more clauses with and, but; now and then very many."""
    first, links = clause(rng), list[tuple[str, Clause]]()
    for _ in range(1 if chance(rng, 0.72) else rng.randint(2, 6)):
        link = clause(rng)
        while link.tense in (PAST, WAS) and first.tense not in (PAST, WAS):
            link = clause(rng)
        last = links[-1][1] if links else first
        contrast = link.negative != last.negative and all(word == "and" for word, _ in links)
        links.append(("but" if contrast and chance(rng, 0.7) else "and", link))
    return Sentence(first, links=tuple(links))


def reported(rng: Random) -> Sentence:
    """I know that she is tired; Paul said that the shop was closed."""
    verb, told = pick(rng, verbs_with("that")), clause(rng)
    tense = PAST if told.tense is WAS and verb.en == "say" else HABIT
    return Sentence(Clause(subject(rng, PEOPLE), Action(verb), tense), links=(("that", told),))


KINDS: tuple[tuple[Callable[[Random], Sentence], int], ...] = (
    (single, 60), (yes_no, 7), (questions.where, 2), (questions.what, 2), (questions.who, 2), (questions.how_many, 2),
    (questions.when, 1), (questions.why, 2), (questions.command, 6), (because, 5), (timing, 4), (condition, 2),
    (joined, 11), (reported, 4),
)  # fmt: skip
CHOICES = tuple(kind for kind, weight in KINDS for _ in range(weight))


def sentence(rng: Random) -> Sentence:
    """A random sentence of any kind."""
    return pick(rng, CHOICES)(rng)
