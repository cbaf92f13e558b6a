"""Random clauses: each frame gives one clause that makes sense in the tense it picks."""

from dataclasses import replace
from functools import cache
from random import Random

from .lexicon import Entry, Noun, Verb, adverbials, nouns_of, places, verbs
from .phrases import (
    affair, body, candidates, chance, definite, fitting, inside, name, names, pick, places_of, predicable, pronoun,
    relation, referring, someone, spot, subject, thing, time_for,
)  # fmt: skip
from .syntax import (
    Action, Adverbial, Age, Clause, Clock, Existence, Kind, Located, Month, Motion, Nominal, Pair, Passive, Phrase,
    Prepositional, Pronoun, Quality, Relative, Tense, Weather, Where,
)  # fmt: skip

NOW, HABIT, PAST, WAS, SOON, WILL = Tense
# Verbs that are done at a place: eat in the kitchen, wait at the station.
PLACED = frozenset(
    "eat drink read write study sleep work walk run sing dance play wait rest meet speak smile laugh sign discuss "
    "negotiate organise".split()
)
# Verbs done with somebody, and those done slowly, quickly, carefully.
SHARED = frozenset("eat drink play work walk travel dance study sing visit go swim speak".split())
SPEED = frozenset("eat drink read write run walk swim clean wash cut repair speak work".split())
CARE = frozenset("open close wash clean cut repair carry paint read fold copy".split())
# Verbs whose passive is said in all four languages.
PASSIVE = frozenset(
    "sign discuss negotiate approve publish organise repair save delete print copy finance analyse translate".split()
)


@cache
def action_verbs() -> tuple[Verb, ...]:
    """The everyday verbs; the few whose complement is special have frames of their own."""
    hidden = frozenset({"that", "formal", "hidden", "dwell", "seat", "taste", "skill"})
    return tuple(v for v in verbs() if hidden.isdisjoint(v.notes))


@cache
def verbs_with(note: str) -> tuple[Verb, ...]:
    return tuple(v for v in verbs() if note in v.notes)


def tense_of(rng: Random, verb: Verb) -> Tense:
    if "state" in verb.notes:
        return pick(rng, (HABIT, HABIT, HABIT, WAS, WILL) if verb.en in ("need", "have") else (HABIT, HABIT, WAS))
    if "momentary" in verb.notes:
        return pick(rng, (HABIT, PAST, PAST, PAST, SOON, WILL))
    return pick(rng, (NOW, NOW, NOW, NOW, HABIT, HABIT, PAST, PAST, PAST, PAST, PAST, SOON, SOON, WILL))


def timed(rng: Random, tense: Tense, likely: float = 0.35) -> tuple[tuple[Adverbial, ...], Entry | None]:
    """Adverbials of time for the tense, and the frequency word that the habitual present takes instead."""
    if tense is HABIT:
        if chance(rng, 0.45):
            return (), pick(rng, adverbials()["never" if chance(rng, 0.3) else "frequency"])
    elif tense is WAS or not chance(rng, likely):
        return (), None
    day = time_for(rng, tense)
    clock = tense is not NOW and "day" in day.kinds and chance(rng, 0.4)
    return ((Clock(rng.randint(1, 11)), day) if clock else (day,)), None


def negated(rng: Random, often: Entry | None, likely: float = 0.14) -> bool:
    if often is not None:
        return "never" in often.kinds or ("frequency" in often.kinds and often.en == "often" and chance(rng, likely))
    return chance(rng, likely)


def action(rng: Random, verb: Verb | None = None, who: Nominal | None = None, tense: Tense | None = None) -> Clause:
    """Somebody does something, somewhere, somehow, at some time."""
    verb = verb or pick(rng, action_verbs())
    who = who or subject(rng, verb.kinds)
    tense = tense or tense_of(rng, verb)
    state = "state" in verb.notes
    wanted = thing(rng, verb.objects) if verb.objects else None
    if wanted and chance(rng, 0.05) and isinstance(wanted, Phrase) and wanted.noun.person and verb.kinds == {"person"}:
        wanted = other(rng, who)
    to = recipient(rng, who) if verb.recipients else None
    modal = "" if state or not chance(rng, 0.16) or not person_like(who) else pick(rng, ("want", "can", "must"))
    if modal:
        tense = HABIT if tense not in (PAST, WAS) or modal == "must" else WAS
    when, often = timed(rng, tense) if not modal and not state else ((), None)
    extra = manner(rng, verb) + around(rng, verb, who) if tense is not WILL else ()
    return Clause(who, Action(verb, wanted, to), tense, negated(rng, often), modal, often, (*extra, *when))


def person_like(who: Nominal) -> bool:
    return not isinstance(who, Phrase) or who.noun.person


def other(rng: Random, who: Nominal) -> Pronoun:
    """An object pronoun that isn't the subject again."""
    taken = who.person if isinstance(who, Pronoun) else 3
    return Pronoun(2 if taken == 1 else 1, chance(rng, 0.3), False)


def recipient(rng: Random, who: Nominal) -> Nominal:
    if chance(rng, 0.25):
        return other(rng, who)
    return someone(rng)


def manner(rng: Random, verb: Verb) -> tuple[Adverbial, ...]:
    if verb.en in CARE and chance(rng, 0.12):
        return (pick(rng, adverbials()["care"]),)
    if verb.en in SPEED and chance(rng, 0.12):
        return (pick(rng, adverbials()["manner"]),)
    return ()


def around(rng: Random, verb: Verb, who: Nominal) -> tuple[Adverbial, ...]:
    place: tuple[Adverbial, ...] = (spot(rng),) if verb.en in PLACED and chance(rng, 0.35) else ()
    if verb.en in SHARED and person_like(who) and chance(rng, 0.15):
        return (*place, Prepositional("with", companion(rng)))
    return place


def companion(rng: Random) -> Phrase:
    return name(rng) if chance(rng, 0.35) else relation(rng, kind=pick(rng, ("family", "friend")))


def taste(rng: Random, who: Nominal | None = None) -> Clause:
    """I like apples; his sister hates wine."""
    verb = pick(rng, verbs_with("taste"))
    who = who or subject(rng, verb.kinds)
    return Clause(who, Action(verb, thing(rng, verb.objects, generic=True)), HABIT, chance(rng, 0.2))


def speaking(rng: Random) -> Clause:
    verb = pick(rng, verbs_with("skill"))
    who = subject(rng, verb.kinds)
    modal = "can" if chance(rng, 0.25) else ""
    often = pick(rng, adverbials()["frequency"]) if not modal and chance(rng, 0.2) else None
    how = (pick(rng, adverbials()["manner"]),) if not modal and not often and chance(rng, 0.2) else ()
    return Clause(
        who,
        Action(verb, thing(rng, verb.objects, bare=True)),
        HABIT,
        chance(rng, 0.15) and not often,
        modal,
        often,
        how,
    )


def dwelling(rng: Random, who: Nominal | None = None) -> Clause:
    verb = pick(rng, verbs_with("dwell"))
    where = spot_to_live(rng)
    tense = pick(rng, (HABIT, HABIT, HABIT, WAS, SOON))
    who = who or subject(rng, verb.kinds)
    return Clause(who, Action(verb), tense, chance(rng, 0.1), adverbials=(where,))


def spot_to_live(rng: Random) -> Adverbial:
    if chance(rng, 0.25):
        noun = pick(rng, nouns_of("house", "flat", "village", "town", "castle"))
        return Prepositional("in", Phrase(noun, "a", adjectives=(pick(rng, fitting(noun)),)))
    return Where(pick(rng, places_of("city", "city", "land", "live")), "at")


def sitting(rng: Random, who: Nominal | None = None) -> Clause:
    """The dog sat on the carpet."""
    verb = pick(rng, verbs_with("seat"))
    who = who or subject(rng, verb.kinds)
    tense = pick(rng, (PAST, PAST, PAST, SOON, HABIT))
    seat = pick(rng, nouns_of("seat"))
    when, often = timed(rng, tense, 0.2)
    where = Prepositional("on", Phrase(seat, "the", adjectives=(pick(rng, fitting(seat)),) if chance(rng, 0.2) else ()))
    return Clause(who, Action(verb), tense, negated(rng, often, 0.08), "", often, (where, *when))


def motion(rng: Random, who: Nominal | None = None, tense: Tense | None = None, where: Where | None = None) -> Clause:
    """We are going to the park; she is coming back from Italy."""
    tense = tense or pick(rng, (NOW, NOW, NOW, NOW, NOW, HABIT, PAST, PAST, PAST, SOON, SOON, WILL))
    key = pick(rng, ("go", "go", "go", "go", "go", "go", "come", "return", "go back", "arrive", "stay"))
    relation_ = {"return": "from", "arrive": "at", "stay": "at"}.get(key, "to")
    who = who or (subject(rng, frozenset({"person"}), 0.6) if chance(rng, 0.93) else subject(rng, frozenset({"pet"})))
    place = where.place if where else pick(rng, places() if person_like(who) else places_of("beasts"))
    if key == "arrive" and (place.en == "home" or tense is NOW):
        key, relation_ = "go", "to"
    extra: list[Adverbial] = []
    if key in ("go", "come") and person_like(who):
        if "near" not in place.kinds and chance(rng, 0.15):
            extra.append(transport(rng, far="land" in place.kinds or "city" in place.kinds))
        if chance(rng, 0.12):
            extra.append(Prepositional("with", companion(rng)))
    modal = pick(rng, ("want", "can", "must")) if person_like(who) and chance(rng, 0.12) else ""
    if modal:
        tense = HABIT
    when, often = timed(rng, tense) if not modal else ((), None)
    predicate = Motion(key, Where(place, relation_))
    return Clause(who, predicate, tense, negated(rng, often, 0.12), modal, often, (*extra, *when))


def transport(rng: Random, *, far: bool) -> Entry:
    long = ("by plane", "by boat", "by train", "by car", "by bus")
    near = ("by bus", "by car", "by bike", "by taxi", "by underground", "on foot", "by train")
    wanted = pick(rng, long if far else near)
    return next(entry for entry in adverbials()["transport"] if entry.en == wanted)


def quality(rng: Random, who: Nominal | None = None, tense: Tense | None = None) -> Clause:
    """The cat is fat; I am hungry; this car is more expensive than mine would be."""
    who = who or (subject(rng, frozenset({"person"})) if chance(rng, 0.5) else definite(rng, describable(rng)))
    fit = predicable(head(who))
    adjective = pick(rng, fit) if fit else pick(rng, predicable(names()[0]))
    state = "state" in adjective.notes
    tense = tense or pick(rng, (HABIT, HABIT, HABIT, HABIT, WAS, WAS))
    degree, standard = "", None
    way = rng.random()
    if not state and way < 0.3:
        degree = "very" if way < 0.2 else "too"
    elif not state and 0.5 < way < 0.68 and "estar" not in adjective.notes and adjective.order < 5:
        degree, standard = pick(rng, ("more", "more", "less", "as")), standard_for(rng, who)
    return Clause(who, Quality(adjective, degree, standard), tense, chance(rng, 0.15) and not degree)


def head(who: Nominal) -> Noun:
    match who:
        case Phrase():
            return who.noun
        case Pair(first, _):
            return first.noun
        case Pronoun():
            return who.antecedent or names()[0]


@cache
def describables() -> tuple[Noun, ...]:
    return tuple(n for n in candidates(frozenset(DESCRIBABLE)) if predicable(n) and "family" not in n.kinds)


DESCRIBABLE = (
    "animal food drink clothes furniture container dishware room building vehicle device tool thing toy text show sound "
    "matter plant nature open opening seat body accord event".split()
)


def describable(rng: Random) -> Noun:
    return pick(rng, describables())


def standard_for(rng: Random, who: Nominal) -> Nominal:
    """Something of the same sort to compare with."""
    noun = head(who)
    if noun.person:
        return name(rng) if chance(rng, 0.4) else relation(rng)
    alike = candidates(noun.kinds)
    twin = pick(rng, alike)
    return Phrase(twin if predicable(twin) and not twin.person else noun, "this")


def kind(rng: Random, who: Nominal | None = None) -> Clause:
    """My brother is a doctor; Anna is a good teacher."""
    who = who or subject(rng, frozenset({"person"}), 0.5)
    if isinstance(who, Pair) or (isinstance(who, Pronoun) and who.plural) or (isinstance(who, Phrase) and who.plural):
        who = name(rng)
    if isinstance(who, Phrase) and not who.noun.kinds.isdisjoint({"job", "child", "official", "rank", "infant"}):
        who = relation(rng)
        who = replace(who, plural=False, count=0)
    female = who.female if isinstance(who, Pronoun) else who.noun.female
    sex = "female" if female else "male"
    job = pick(rng, tuple(n for n in nouns_of("job") if sex in n.kinds))
    fit = tuple(a for a in fitting(job) if a.en in ("good", "famous", "bad", "young", "French", "Spanish", "Korean"))
    adjective = (pick(rng, fit),) if chance(rng, 0.4) and isinstance(who, Phrase) else ()
    return Clause(who, Kind(Phrase(job, "a", adjectives=adjective)), pick(rng, (HABIT, HABIT, WAS)), chance(rng, 0.12))


def setting(rng: Random) -> tuple[Noun, Prepositional]:
    """A thing that can lie about, and where: the key under the chair, the milk in the fridge."""
    what = pick(rng, candidates(frozenset({"small", "dishware", "text", "pet", "toy", "food", "drink"})))
    pet = "pet" in what.kinds
    if pet and chance(rng, 0.5):
        return what, inside(rng)
    if not what.kinds.isdisjoint({"food", "drink"}):
        noun = pick(rng, nouns_of("table", "fridge", "basket" if "fruit" in what.kinds else "cupboard"))
        return what, Prepositional("on" if noun.en == "table" else "in", Phrase(noun, "the"))
    preposition, kind_ = pick(
        rng, (("on", "seat" if pet else "surface"), ("on", "surface"), ("under", "furniture"),
              ("next to" if pet else "in", "container"), ("behind", "furniture"),
              ("next to", "furniture"), ("near", "opening")),
    )  # fmt: skip
    fit = [n for n in nouns_of(kind_) if "fixed" not in n.kinds and n is not what]
    if preposition == "near":
        fit = [n for n in fit if n.en in ("door", "window")]
    noun = pick(rng, fit)
    adjective = (pick(rng, fitting(noun)),) if fitting(noun) and chance(rng, 0.2) else ()
    return what, Prepositional(preposition, Phrase(noun, "the", adjectives=adjective))


def located(rng: Random) -> Clause:
    """The cat is under the bed; my mother is in Rome."""
    tense = pick(rng, (HABIT, HABIT, HABIT, WAS))
    if chance(rng, 0.45):
        who = subject(rng, frozenset({"person"}))
        return Clause(who, Located(Where(pick(rng, places()), "at")), tense, chance(rng, 0.15))
    what, where = setting(rng)
    return Clause(definite(rng, what), Located(where), tense, chance(rng, 0.12))


def existence(rng: Random) -> Clause:
    """There is a book on the table."""
    what, where = setting(rng)
    way = rng.random()
    if what.mass:
        told = Phrase(what, "a")
    elif way < 0.45:
        told = Phrase(what, "a", adjectives=(pick(rng, fitting(what)),) if fitting(what) and way < 0.15 else ())
    else:
        told = Phrase(what, "a", True, rng.randint(2, 12) if way < 0.8 else 0)
    return Clause(told, Existence(where), pick(rng, (HABIT, HABIT, WAS)), chance(rng, 0.15) and not told.count)


def age(rng: Random) -> Clause:
    who = subject(rng, frozenset({"person"}), 0.5)
    low, high = next((years for kind_, years in AGES.items() if head(who).any_of(frozenset({kind_}))), (16, 80))
    return Clause(who, Age(rng.randint(low, high)), HABIT)


AGES = {"infant": (2, 2), "child": (4, 14), "grandfather": (60, 95), "grandmother": (60, 95), "father": (30, 60),
        "mother": (30, 60), "student": (15, 25)}  # fmt: skip


def weather(rng: Random, tense: Tense | None = None) -> Clause:
    key = pick(rng, ("rain", "snow", "cold", "hot", "windy", "sunny"))
    falls = key in ("rain", "snow")
    tense = tense or pick(rng, (NOW, WAS, SOON) if falls else (HABIT, WAS, SOON))
    if tense is HABIT and falls:
        return Clause(None, Weather(key), NOW, chance(rng, 0.1))
    where: tuple[Adverbial, ...] = (Where(pick(rng, places_of("city", "land")), "at"),) if chance(rng, 0.5) else ()
    when = (time_for(rng, tense),) if tense is SOON else ()
    return Clause(None, Weather(key), tense, chance(rng, 0.15), adverbials=(*where, *when))


def dated(rng: Random) -> tuple[Adverbial, ...]:
    """In March 1994, in Geneva in June 1951."""
    where: tuple[Adverbial, ...] = (Where(pick(rng, places_of("city")), "at"),) if chance(rng, 0.35) else ()
    way = rng.random()
    if way < 0.75:
        return (*where, Month(rng.randint(1, 12), rng.randint(1920, 2024)))
    return (*where, Month(rng.randint(1, 12))) if way < 0.85 else where


def signed(rng: Random) -> Clause:
    """The treaty on the International Monetary Fund was signed in March 1994."""
    verb = pick(rng, tuple(v for v in verbs_with("formal") if v.en in PASSIVE))
    noun = pick(rng, candidates(verb.objects))
    what = affair(rng, noun) if "body" not in noun.kinds else body(rng, noun)
    if not noun.kinds.isdisjoint({"text", "building"}):
        what = definite(rng, noun)
    official = pick(rng, nouns_of("official", "signer", table=pick(rng, ("nouns", "bodies"))) or nouns_of("official"))
    agent = definite(rng, official) if chance(rng, 0.3) else None
    tense = pick(rng, (PAST, PAST, PAST, PAST, SOON, WILL))
    when = dated(rng) if tense is PAST else (time_for(rng, tense),)
    return Clause(what, Passive(verb, agent), tense, chance(rng, 0.08), adverbials=when)


def signing(rng: Random) -> Clause:
    """The ministers discussed the European economic crisis in Brussels."""
    verb = pick(rng, verbs_with("formal"))
    tense = pick(rng, (PAST, PAST, PAST, NOW, SOON, WILL))
    when = dated(rng) if tense is PAST else (time_for(rng, tense),) if chance(rng, 0.4) else ()
    return Clause(
        subject(rng, verb.kinds), Action(verb, thing(rng, verb.objects)), tense, chance(rng, 0.1), "", None, when
    )


def done(rng: Random) -> Clause:
    """The document was translated yesterday."""
    verb = pick(rng, tuple(v for v in action_verbs() if v.en in PASSIVE))
    what = thing(rng, verb.objects)
    if isinstance(what, Phrase) and what.determiner == "a" and not what.count:
        what = replace(what, determiner="the")
    tense = pick(rng, (PAST, PAST, PAST, SOON, WILL))
    when, _ = timed(rng, tense, 0.6)
    agent = definite(rng, pick(rng, nouns_of("job"))) if chance(rng, 0.25) else None
    return Clause(what, Passive(verb, agent), tense, chance(rng, 0.1), adverbials=when)


def related(rng: Random) -> Clause:
    """The man who is reading a newspaper is tired; the book that Anna bought is interesting."""
    if chance(rng, 0.5):
        who = pick(rng, nouns_of("man", "woman", "boy", "girl", "student", "neighbour", "dog", "cat", "doctor"))
        told = action(rng, pick(rng, tuple(v for v in action_verbs() if who.any_of(v.kinds))), Phrase(who, "the"),
                      pick(rng, (NOW, PAST)))  # fmt: skip
        told = replace(
            told, subject=None, modal="", tense=HABIT if "state" in told.predicate.verb.notes else told.tense
        )
        phrase = Phrase(who, "the", chance(rng, 0.2), relative=Relative(told, False))
    else:
        verb = pick(rng, tuple(v for v in action_verbs() if v.objects and not v.recipients and "+" not in v.fr))
        buyer = subject(rng, frozenset({"person"}) if "person" in verb.kinds else verb.kinds, 0.6)
        tense = pick(rng, (PAST, PAST, NOW)) if "state" not in verb.notes else HABIT
        noun = pick(rng, candidates(verb.objects))
        if "family" in noun.kinds or noun.any_of(frozenset({"body", "game", "language"})) or not predicable(noun):
            return related(rng)
        when = (time_for(rng, tense),) if tense is PAST and chance(rng, 0.4) else ()
        told = Clause(buyer, Action(verb), tense, adverbials=when)
        plural = chance(rng, 0.2) and not noun.mass and "once" not in noun.kinds
        phrase = Phrase(noun, "the", plural, relative=Relative(told, True))
    return quality(rng, phrase)
