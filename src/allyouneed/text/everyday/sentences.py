"""Random sentences: one clause or several, as a statement, a question or a command."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from . import frames
from .lexicon import adjectives, nouns_of
from .phrases import chance, pick, pronoun, referring, subject, time_for
from .syntax import (
    Action, Clause, Located, Motion, Nominal, Phrase, Pronoun, Quality, Sentence, Tense, Weather, Where,
)  # fmt: skip

NOW, HABIT, PAST, WAS, SOON, WILL = Tense
# How often each frame comes up.
FRAMES: tuple[tuple[Callable[[Random], Clause], int], ...] = (
    (frames.action, 30), (frames.motion, 18), (frames.quality, 12), (frames.signed, 8), (frames.taste, 6),
    (frames.signing, 6), (frames.sitting, 4), (frames.located, 6), (frames.existence, 5), (frames.kind, 4),
    (frames.related, 4), (frames.dwelling, 3), (frames.speaking, 2), (frames.age, 2), (frames.weather, 2),
    (frames.done, 3),
)  # fmt: skip
WEIGHTED = tuple(frame for frame, weight in FRAMES for _ in range(weight))

# Why people do what they do: the verb, then the adjectives that explain it.
REASONS = {
    "eat": ("hungry",), "drink": ("thirsty",), "sleep": ("tired", "sleepy"), "rest": ("tired", "sick"),
    "go to bed": ("tired", "sleepy"), "cry": ("sad", "tired"), "smile": ("happy",), "laugh": ("happy",),
    "dance": ("happy",), "sing": ("happy",), "put on": ("cold",), "wear": ("cold",), "hide": ("afraid", "shy"),
}  # fmt: skip
PEOPLE = frozenset({"person"})


def clause(rng: Random) -> Clause:
    return pick(rng, WEIGHTED)(rng)


def is_i(who: Nominal | None) -> bool:
    return isinstance(who, Pronoun) and who.person == 1 and not who.plural


def never(it: Clause) -> bool:
    return it.frequency is not None and "never" in it.frequency.kinds


def single(rng: Random) -> Sentence:
    first = clause(rng)
    if first.tense in (PAST, SOON) and not first.adverbials and not first.modal and chance(rng, 0.15):
        return Sentence(first, opening=time_for(rng, first.tense))
    return Sentence(first)


def yes_no(rng: Random) -> Sentence:
    asked = clause(rng)
    while is_i(asked.subject) or never(asked):
        asked = clause(rng)
    return Sentence(replace(asked, negative=False), "question")


def where(rng: Random) -> Sentence:
    asked = pick(rng, (frames.motion, frames.located, frames.dwelling))(rng)
    key = asked.predicate.key if isinstance(asked.predicate, Motion) else "go"
    if is_i(asked.subject) or never(asked) or key not in ("go", "return"):
        return where(rng)
    return Sentence(replace(asked, adverbials=(), negative=False, frequency=None), "question", "where")


def what(rng: Random) -> Sentence:
    verb = pick(
        rng,
        tuple(
            v
            for v in frames.action_verbs()
            if v.objects and "+" not in v.fr and "state" not in v.notes and v.en != "tell"
        ),
    )
    asked = frames.action(rng, verb)
    if is_i(asked.subject) or never(asked) or verb.objects & {"person", "family", "friend", "animal", "prey"}:
        return what(rng)
    to = asked.predicate.recipient if isinstance(asked.predicate, Action) else None
    return Sentence(
        replace(asked, predicate=Action(verb, None, to), negative=False, frequency=None), "question", "what"
    )


def who(rng: Random) -> Sentence:
    asked = pick(rng, (frames.action, frames.signing, frames.motion))(rng)
    if isinstance(asked.predicate, Action) and asked.predicate.verb.kinds.isdisjoint({"person", "official"}):
        return who(rng)
    return Sentence(replace(asked, subject=None, negative=never(asked)), "question", "who")


def how_many(rng: Random) -> Sentence:
    verb = pick(rng, tuple(v for v in frames.action_verbs() if v.objects and not v.recipients and "person" in v.kinds))
    countable = [n for n in frames.candidates(verb.objects) if not n.mass and not n.kinds & UNCOUNTED]
    asker = pronoun(rng) if chance(rng, 0.6) else subject(rng, PEOPLE)
    if is_i(asker) or not countable or "+" in verb.fr:
        return how_many(rng)
    tense = HABIT if "state" in verb.notes else pick(rng, (PAST, PAST, SOON))
    when = (time_for(rng, tense),) if tense is not HABIT and chance(rng, 0.3) else ()
    counted = Phrase(pick(rng, countable), "none", plural=True)
    return Sentence(Clause(asker, Action(verb, counted), tense, adverbials=when), "question", "how many")


UNCOUNTED = frozenset({"once", "family", "person", "game", "instrument", "language", "matter", "body", "fixed"})


def when(rng: Random) -> Sentence:
    asked = pick(rng, (frames.motion, frames.signed, frames.done))(rng)
    if is_i(asked.subject) or asked.modal:
        return when(rng)
    kept = tuple(a for a in asked.adverbials if isinstance(a, Where))
    tense = pick(rng, (PAST, SOON))
    asked = replace(asked, adverbials=kept, tense=tense, negative=False, frequency=None)
    return Sentence(asked, "question", "when")


def why(rng: Random) -> Sentence:
    asked = pick(rng, (frames.quality, frames.motion, frames.action))(rng)
    if is_i(asked.subject) or never(asked) or asked.modal == "can":
        return why(rng)
    return Sentence(replace(asked, frequency=None), "question", "why")


def command(rng: Random) -> Sentence:
    """Open the window. Do not eat the cake! Please close the door."""
    you = Pronoun(2, formal=chance(rng, 0.5))
    if chance(rng, 0.25):
        told = frames.motion(rng, you, HABIT)
    else:
        told = frames.action(rng, pick(rng, COMMANDS()), you, NOW)
    going = isinstance(told.predicate, Motion) and told.predicate.key not in ("go", "stay", "come")
    if going or (isinstance(told.predicate, Action) and isinstance(told.predicate.object, Pronoun)):
        return command(rng)
    if isinstance(told.predicate, Action) and isinstance(told.predicate.recipient, Pronoun):
        return command(rng)
    places = tuple(a for a in told.adverbials if isinstance(a, Where))
    told = replace(told, modal="", frequency=None, adverbials=places, negative=chance(rng, 0.2), tense=NOW)
    return Sentence(told, "request" if not told.negative and chance(rng, 0.3) else "command")


def COMMANDS() -> tuple["frames.Verb", ...]:
    wanted = frozenset(
        "open close read write eat drink wash clean cut repair buy sell send print save delete copy translate wait sing "
        "dance work sleep take choose prepare cook bring give show lend catch hide water plant pick".split()
    )
    return tuple(v for v in frames.action_verbs() if v.en in wanted and "person" in v.kinds)


def because(rng: Random) -> Sentence:
    """Anna is eating an apple because she is hungry. They bought the house because it was beautiful."""
    way = rng.random()
    tense = pick(rng, (NOW, PAST, SOON))
    ground = WAS if tense is PAST else HABIT
    if way < 0.4:
        verb = pick(rng, tuple(v for v in frames.action_verbs() if v.en in REASONS and "person" in v.kinds))
        main = frames.action(rng, verb, tense=PAST if "momentary" in verb.notes else tense)
        ground = WAS if main.tense in (PAST, WAS) else HABIT
        adjective = pick(rng, REASONS[verb.en])
        feels = next(a for a in adjectives() if a.en == adjective and "person" in a.kinds)
        reason = Clause(referring(main.subject or pronoun(rng)), Quality(feels), ground)
        main = replace(main, negative=False, frequency=None, modal="") if main.tense is not HABIT else main
        return (
            Sentence(replace(main, negative=False), links=(("because", reason),)) if not never(main) else because(rng)
        )
    if way < 0.75:
        verb = pick(
            rng, tuple(v for v in frames.action_verbs() if v.en in ("buy", "read", "sell", "choose", "watch", "visit"))
        )
        main = frames.action(rng, verb, tense=tense)
        thing = main.predicate.object if isinstance(main.predicate, Action) else None
        if main.modal or not isinstance(thing, Phrase) or thing.adjectives or not frames.predicable(thing.noun):
            return because(rng)
        grade = Quality(pick(rng, frames.predicable(thing.noun)), pick(rng, ("", "very")))
        return Sentence(replace(main, negative=False), links=(("because", Clause(referring(thing), grade, ground)),))
    main = frames.motion(rng, tense=pick(rng, (NOW, PAST)))
    if main.modal:
        return because(rng)
    sky = frames.weather(rng, WAS if main.tense is PAST else HABIT)
    return Sentence(replace(main, frequency=None), links=(("because", replace(sky, adverbials=(), negative=False)),))


def timing(rng: Random) -> Sentence:
    """When Anna arrived at the station, it was raining. I was reading while he was cooking."""
    way = rng.random()
    if way < 0.35:
        first, second = background(rng), background(rng)
        return Sentence(first, links=(("while", second),))
    if way < 0.7:
        event = replace(frames.motion(rng, tense=PAST), modal="", adverbials=(), negative=False)
        if not isinstance(event.predicate, Motion) or event.predicate.key == "stay" or event.tense is not PAST:
            return timing(rng)
        scene = background(rng) if chance(rng, 0.6) else replace(frames.weather(rng, WAS), adverbials=())
        return Sentence(scene, links=(("when", event),), fronted=chance(rng, 0.5))
    verb = pick(
        rng, tuple(v for v in frames.action_verbs() if v.en in ("sleep", "rest", "sing", "dance", "eat", "drink"))
    )
    if "person" not in verb.kinds:
        return timing(rng)
    habit = frames.action(rng, verb, tense=HABIT)
    habit = replace(habit, modal="", frequency=None, adverbials=(), negative=False, tense=HABIT)
    adjective = pick(rng, REASONS[verb.en])
    feels = next(a for a in adjectives() if a.en == adjective and "person" in a.kinds)
    cause = Clause(referring(habit.subject or pronoun(rng)), Quality(feels), HABIT)
    return Sentence(habit, links=(("when", cause),))


def background(rng: Random) -> Clause:
    """What was going on: she was reading a letter."""
    verb = pick(
        rng, tuple(v for v in frames.action_verbs() if not v.notes and "person" in v.kinds and not v.recipients)
    )
    return replace(frames.action(rng, verb, tense=WAS), modal="", tense=WAS, frequency=None, negative=False)


def condition(rng: Random) -> Sentence:
    """If it rains tomorrow we will stay at home; it was snowing, so they did not go to the park."""
    sky = frames.weather(rng, NOW)
    if chance(rng, 0.5):
        cause = replace(sky, tense=HABIT, negative=chance(rng, 0.2), adverbials=())
        move = frames.motion(rng, tense=pick(rng, (WILL, SOON)))
        return Sentence(replace(move, modal="", frequency=None, tense=move.tense if not move.modal else WILL),
                        links=(("if", cause),), fronted=chance(rng, 0.6))  # fmt: skip
    cause = replace(sky, tense=WAS, negative=False)
    return Sentence(
        cause, links=(("so", replace(frames.motion(rng, tense=PAST), modal="", tense=PAST, negative=False)),)
    )


def joined(rng: Random) -> Sentence:
    """Two or more clauses with and, but; now and then very many."""
    more = 1 if chance(rng, 0.72) else rng.randint(2, 6)
    first = clause(rng)
    links: list[tuple[str, Clause]] = []
    for _ in range(more):
        link = clause(rng)
        while link.tense in (PAST, WAS) and first.tense not in (PAST, WAS):
            link = clause(rng)
        links.append(("but" if link.negative != first.negative and chance(rng, 0.7) else "and", link))
    return Sentence(first, links=tuple(links))


def reported(rng: Random) -> Sentence:
    """I know that she is tired; Paul said that the shop was closed."""
    verb = pick(rng, frames.verbs_with("that"))
    told = clause(rng)
    before = told.tense is WAS and verb.en == "say"
    speaker = subject(rng, PEOPLE)
    return Sentence(Clause(speaker, Action(verb), PAST if before else HABIT), links=(("that", told),))


KINDS: tuple[tuple[Callable[[Random], Sentence], int], ...] = (
    (single, 62), (yes_no, 7), (where, 2), (what, 2), (who, 2), (how_many, 2), (when, 1), (why, 2), (command, 6),
    (because, 4), (timing, 3), (condition, 2), (joined, 9), (reported, 3),
)  # fmt: skip
CHOICES = tuple(kind for kind, weight in KINDS for _ in range(weight))


def sentence(rng: Random) -> Sentence:
    return pick(rng, CHOICES)(rng)
