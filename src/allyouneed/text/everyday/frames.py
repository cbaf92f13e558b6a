"""Random everyday clauses: each frame gives one clause that makes sense in the tense it picks."""

from dataclasses import replace
from functools import cache
from random import Random

from allyouneed.text.everyday.lexicon import (
    Entry,
    Noun,
    Verb,
    adverbials,
    listed,
    nouns,
    nouns_of,
    places,
    places_of,
    verbs_with,
)
from allyouneed.text.everyday.phrases import (
    PEOPLE,
    actions,
    candidates,
    chance,
    companion,
    definite,
    described,
    fitting,
    inside,
    name,
    other,
    person_like,
    pick,
    predicable,
    pronoun,
    relation,
    someone,
    spot,
    subject,
    thing,
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
    Adverbial,
    Age,
    Clause,
    Clock,
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
    Relative,
    Tense,
    Weather,
    Where,
)

# Verbs done at a place (eat in the kitchen), with somebody, at some speed, with care.
PLACED = listed(
    "eat drink read write study sleep work walk run sing dance play wait rest meet smile laugh buy sell learn"
)
SHARED = listed("eat drink play work walk travel dance study sing visit swim live")
SPEED = listed("eat drink read write run walk swim clean wash cut repair work")
CARE = listed("open close wash clean cut repair carry paint read copy")
# Verbs whose passive is said in all four languages.
PASSIVE = ("save", "delete", "print", "copy", "repair", "translate", "publish")
SIGHTS = listed(
    "animal food drink clothes furniture container dishware room building vehicle device tool thing toy text show "
    "sound matter plant nature open opening seat body accord event"
)
AGES = {"infant": (2, 2), "child": (4, 14), "grandfather": (60, 95), "grandmother": (60, 95), "parent": (30, 60),
        "student": (15, 25)}  # fmt: skip
LONG_WAY = ("by plane", "by boat", "by train", "by car", "by bus")
SHORT_WAY = ("by bus", "by car", "by bike", "by taxi", "by underground", "on foot", "by train")


def tense_of(rng: Random, verb: Verb) -> Tense:
    """A tense that the verb is said in."""
    if "state" in verb.notes:
        return pick(rng, (HABIT, HABIT, HABIT, WAS, WILL) if verb.en in ("need", "have") else (HABIT, HABIT, WAS))
    if "momentary" in verb.notes:
        return pick(rng, (HABIT, PAST, PAST, PAST, SOON, WILL))
    return pick(rng, (NOW, NOW, NOW, NOW, HABIT, HABIT, PAST, PAST, PAST, PAST, PAST, SOON, SOON, WILL))


def timed(rng: Random, tense: Tense, likely: float = 0.42) -> tuple[tuple[Adverbial, ...], Entry | None]:
    """Adverbials of time for the tense, and the frequency word that the habitual present may take instead."""
    if tense is HABIT and chance(rng, 0.45):
        return (), pick(rng, adverbials()["never" if chance(rng, 0.3) else "frequency"])
    if tense is WAS or (tense is not HABIT and not chance(rng, likely)):
        return (), None
    day = time_for(rng, tense)
    clock = tense is not NOW and "day" in day.kinds and chance(rng, 0.4)
    return ((Clock(rng.randint(1, 11)), day) if clock else (day,)), None


def negated(rng: Random, often: Entry | None, likely: float = 0.14) -> bool:
    """Never denies; always and sometimes aren't denied; the rest is, now and then."""
    if often is None:
        return chance(rng, likely)
    return "never" in often.kinds or (often.en == "often" and chance(rng, likely))


def action(rng: Random, verb: Verb | None = None, who: Nominal | None = None, tense: Tense | None = None) -> Clause:
    """Somebody does something, somewhere, somehow, at some time."""
    verb = verb or pick(rng, actions())
    who = who or subject(rng, verb.kinds)
    tense = tense or tense_of(rng, verb)
    state, modal = "state" in verb.notes, ""
    done_to = thing(rng, verb.objects) if verb.objects else None
    if isinstance(done_to, Phrase) and done_to.noun.person and verb.kinds == PEOPLE and chance(rng, 0.3):
        done_to = other(rng, who)
    to = None
    if verb.recipients:
        to = other(rng, who) if chance(rng, 0.25) else someone(rng)
    if not state and person_like(who) and chance(rng, 0.16):
        modal = pick(rng, ("want", "can", "must"))
        tense = WAS if tense in (PAST, WAS) and modal != "must" else HABIT
    when, often = timed(rng, tense) if not modal and not state else ((), None)
    extra = around(rng, verb, who) if tense is not WILL else ()
    return Clause(who, Action(verb, done_to, to), tense, negated(rng, often), modal, often, (*extra, *when))


def around(rng: Random, verb: Verb, who: Nominal) -> tuple[Adverbial, ...]:
    """How, where and with whom."""
    found: list[Adverbial] = []
    if verb.en in CARE and chance(rng, 0.12):
        found.append(pick(rng, adverbials()["care"]))
    elif verb.en in SPEED and chance(rng, 0.12):
        found.append(pick(rng, adverbials()["manner"]))
    if verb.en in PLACED and chance(rng, 0.42):
        found.append(spot(rng) if person_like(who) else Where(pick(rng, places_of("beasts")), "at"))
    if verb.en in SHARED and person_like(who) and chance(rng, 0.2):
        found.append(Prepositional("with", companion(rng)))
    return tuple(found)


def taste(rng: Random) -> Clause:
    """I like apples; his sister hates wine."""
    verb = pick(rng, verbs_with("taste"))
    noun = pick(rng, candidates(frozenset({pick(rng, sorted(verb.objects))})))
    liked = Phrase(noun, "generic", not noun.mass)
    return Clause(subject(rng, verb.kinds), Action(verb, liked), HABIT, chance(rng, 0.2))


def speaking(rng: Random) -> Clause:
    """She speaks Korean well."""
    verb = pick(rng, verbs_with("skill"))
    modal = "can" if chance(rng, 0.25) else ""
    often = pick(rng, adverbials()["frequency"]) if not modal and chance(rng, 0.2) else None
    how = (pick(rng, adverbials()["manner"]),) if not modal and not often and chance(rng, 0.2) else ()
    said = Action(verb, Phrase(pick(rng, candidates(verb.objects)), "none"))
    return Clause(subject(rng, verb.kinds), said, HABIT, chance(rng, 0.15) and not often, modal, often, how)


def dwelling(rng: Random) -> Clause:
    """My uncle lives in a small village."""
    verb = pick(rng, verbs_with("dwell"))
    where: Adverbial = Where(pick(rng, places_of("city", "land", "live")), "at")
    if chance(rng, 0.25):
        home = pick(rng, nouns_of("house", "flat", "village", "town", "castle"))
        where = Prepositional("in", Phrase(home, "a", adjectives=(pick(rng, fitting(home)),)))
    tense = pick(rng, (HABIT, HABIT, HABIT, WAS, SOON))
    return Clause(subject(rng, verb.kinds), Action(verb), tense, chance(rng, 0.1), adverbials=(where,))


def sitting(rng: Random) -> Clause:
    """The dog sat on the carpet."""
    verb, seat = pick(rng, verbs_with("seat")), pick(rng, nouns_of("seat"))
    tense = pick(rng, (PAST, PAST, PAST, SOON, HABIT))
    when, often = timed(rng, tense, 0.2)
    where = Prepositional("on", Phrase(seat, "the", adjectives=described(rng, seat, 0.2)))
    return Clause(subject(rng, verb.kinds), Action(verb), tense, negated(rng, often, 0.08), "", often, (where, *when))


def motion(rng: Random, who: Nominal | None = None, tense: Tense | None = None) -> Clause:
    """We are going to the park; she is coming back from Italy."""
    tense = tense or pick(rng, (NOW, NOW, NOW, NOW, NOW, HABIT, PAST, PAST, PAST, SOON, SOON, WILL))
    who = who or (subject(rng, PEOPLE, 0.6) if chance(rng, 0.95) else subject(rng, frozenset({"pet"})))
    place = pick(rng, places() if person_like(who) else places_of("beasts"))
    key = pick(rng, ("go", "go", "go", "go", "go", "go", "come", "return", "go back", "arrive", "stay"))
    if key == "arrive" and (place.en == "home" or tense is NOW):
        key = "go"
    modal = pick(rng, ("want", "can", "must")) if person_like(who) and key != "arrive" and chance(rng, 0.12) else ""
    tense = HABIT if modal else tense
    extra: list[Adverbial] = []
    if key in ("go", "come") and person_like(who):
        if "near" not in place.kinds and chance(rng, 0.15):
            way = pick(rng, LONG_WAY if place.kinds & {"land", "city"} else SHORT_WAY)
            extra.append(next(entry for entry in adverbials()["transport"] if entry.en == way))
        if chance(rng, 0.15):
            extra.append(Prepositional("with", companion(rng)))
    when, often = timed(rng, tense) if not modal else ((), None)
    goal = Motion(key, Where(place, {"return": "from", "arrive": "at", "stay": "at"}.get(key, "to")))
    return Clause(who, goal, tense, negated(rng, often, 0.12), modal, often, (*extra, *when))


def head(who: Nominal) -> Noun:
    """The noun that stands for a subject when its adjectives and its age are chosen."""
    match who:
        case Phrase():
            return who.noun
        case Pair(first, _):
            return first.noun
        case Pronoun():
            return nouns("names")[0]


@cache
def sights() -> tuple[Noun, ...]:
    """The things and animals of which something can be said."""
    return tuple(n for n in candidates(SIGHTS) if predicable(n) and not n.person)


def quality(rng: Random, who: Nominal | None = None) -> Clause:
    """The cat is fat; I am hungry; this car is more expensive than that house."""
    who = who or (subject(rng, PEOPLE) if chance(rng, 0.5) else definite(rng, pick(rng, sights())))
    own = who.adjectives if isinstance(who, Phrase) else ()
    adjective = pick(rng, [a for a in predicable(head(who)) if a not in own] or predicable(head(who)))
    degree, standard, way = "", None, rng.random()
    if "state" not in adjective.notes and way < 0.3:
        degree = "very" if way < 0.2 else "too"
    elif way > 0.82 and adjective.notes.isdisjoint({"state", "estar"}) and adjective.order < 5:
        degree, standard = pick(rng, ("more", "more", "less", "as")), standard_for(rng, who)
    tense = pick(rng, (HABIT, HABIT, WAS))
    return Clause(who, Quality(adjective, degree, standard), tense, chance(rng, 0.15) and not degree)


def standard_for(rng: Random, who: Nominal) -> Nominal:
    """Something of the same sort to compare with."""
    noun = head(who)
    if noun.person:
        return name(rng) if chance(rng, 0.4) else relation(rng)
    alike = [twin for twin in candidates(noun.kinds) if predicable(twin) and not twin.person]
    return Phrase(pick(rng, alike), "this")


def kind(rng: Random) -> Clause:
    """My brother is a doctor; Anna is a good teacher."""
    way = rng.random()
    who = pronoun(rng) if way < 0.4 else name(rng) if way < 0.7 else replace(relation(rng), plural=False)
    if isinstance(who, Pronoun) and who.plural:
        who = name(rng)
    sex = "female" if (who.female if isinstance(who, Pronoun) else who.noun.female) else "male"
    job = pick(rng, [n for n in nouns_of("job") if sex in n.kinds])
    fit = [a for a in fitting(job) if a.en in ("good", "famous", "young", "French", "English", "Spanish", "Korean")]
    # "He is a good teacher" is "c'est un bon professeur" in French, which hides who he is: only names have adjectives.
    adjective = (pick(rng, fit),) if isinstance(who, Phrase) and chance(rng, 0.5) else ()
    return Clause(who, Kind(Phrase(job, "a", adjectives=adjective)), pick(rng, (HABIT, HABIT, WAS)), chance(rng, 0.12))


def setting(rng: Random) -> tuple[Noun, Prepositional]:
    """Something that can lie about, and where: the key under the chair, the milk in the fridge."""
    what = pick(rng, nouns_of("small", "dishware", "text", "pet", "toy", "food", "drink"))
    pet = "pet" in what.kinds
    if pet and chance(rng, 0.4):
        return what, inside(rng)
    if not what.kinds.isdisjoint({"food", "drink"}):
        holder = pick(rng, nouns_of("table", "fridge", "basket" if "fruit" in what.kinds else "cupboard"))
        return what, Prepositional("on" if holder.en == "table" else "in", Phrase(holder, "the"))
    preposition, kind_ = pick(rng, (("on", "seat" if pet else "surface"), ("under", "furniture"),
                                    ("next to" if pet else "in", "container"), ("behind", "furniture"),
                                    ("next to", "furniture"), ("near", "door"), ("near", "window")))  # fmt: skip
    holder = pick(rng, [n for n in nouns_of(kind_) if "fixed" not in n.kinds])
    return what, Prepositional(preposition, Phrase(holder, "the", adjectives=described(rng, holder, 0.25)))


def located(rng: Random) -> Clause:
    """The cat is under the bed; my mother is in Rome."""
    tense = pick(rng, (HABIT, HABIT, HABIT, WAS))
    if chance(rng, 0.45):
        return Clause(subject(rng, PEOPLE), Located(Where(pick(rng, places()), "at")), tense, chance(rng, 0.15))
    what, where = setting(rng)
    return Clause(definite(rng, what), Located(where), tense, chance(rng, 0.12))


def existence(rng: Random) -> Clause:
    """There is a book on the table."""
    what, where = setting(rng)
    several = not what.mass and chance(rng, 0.5)
    count = rng.randint(2, 12) if several and chance(rng, 0.6) else 0
    told = Phrase(what, "a", several, count, adjectives=described(rng, what, 0.2))
    return Clause(told, Existence(where), pick(rng, (HABIT, HABIT, WAS)), chance(rng, 0.15) and not count)


def age(rng: Random) -> Clause:
    """She is twelve years old."""
    who = subject(rng, PEOPLE, 0.5)
    low, high = next((years for word, years in AGES.items() if head(who).any_of(frozenset({word}))), (16, 80))
    return Clause(who, Age(rng.randint(low, high)), HABIT)


def weather(rng: Random, tense: Tense | None = None) -> Clause:
    """It is snowing in Seoul; it was cold."""
    key = pick(rng, ("rain", "snow", "cold", "hot", "windy", "sunny"))
    falls = key in ("rain", "snow")
    tense = tense or pick(rng, (NOW if falls else HABIT, WAS, SOON))
    where: tuple[Adverbial, ...] = (Where(pick(rng, places_of("city", "land")), "at"),) if chance(rng, 0.5) else ()
    when = (time_for(rng, tense),) if tense is SOON else ()
    return Clause(None, Weather(key), tense, chance(rng, 0.15), adverbials=(*where, *when))


def passive(rng: Random) -> Clause:
    """The document was translated yesterday."""
    verb = pick(rng, [v for v in actions(*PASSIVE) if v.objects])
    what = pick(rng, [n for n in candidates(verb.objects) if not n.mass])
    tense = pick(rng, (PAST, PAST, PAST, SOON, WILL))
    when, _ = timed(rng, tense, 0.6)
    agent = definite(rng, pick(rng, nouns_of("job"))) if chance(rng, 0.25) else None
    return Clause(definite(rng, what), Passive(verb, agent), tense, chance(rng, 0.1), adverbials=when)


def related(rng: Random) -> Clause:
    """The man who is reading a newspaper is tired; the book that Anna bought is interesting."""
    return quality(rng, doer(rng) if chance(rng, 0.5) else done(rng))


@cache
def doable(who: Noun) -> tuple[Verb, ...]:
    """The verbs that this noun can be the subject of."""
    return tuple(verb for verb in actions() if who.any_of(verb.kinds))


def doer(rng: Random) -> Phrase:
    """The man who is reading a newspaper."""
    who = pick(rng, nouns_of("man", "woman", "boy", "girl", "student", "neighbour", "dog", "cat", "doctor", "child"))
    verb = pick(rng, doable(who))
    told = action(rng, verb, Phrase(who, "the"), HABIT if "state" in verb.notes else pick(rng, (NOW, PAST)))
    if told.modal or ("momentary" in verb.notes and told.tense is NOW):
        return doer(rng)
    clause = replace(told, subject=None, frequency=None)
    return Phrase(who, "the", chance(rng, 0.2), relative=Relative(clause, False))


def done(rng: Random) -> Phrase:
    """The book that Anna bought."""
    verb = pick(rng, [v for v in actions() if v.objects and not v.recipients and "+" not in v.fr])
    noun = pick(rng, candidates(verb.objects))
    if not predicable(noun) or not noun.kinds.isdisjoint({"family", "body"}):
        return done(rng)
    plain = PAST if "momentary" in verb.notes else pick(rng, (PAST, PAST, NOW))
    tense = HABIT if "state" in verb.notes else plain
    when = (time_for(rng, tense),) if tense is PAST and chance(rng, 0.4) else ()
    clause = Clause(subject(rng, verb.kinds, 0.6), Action(verb), tense, adverbials=when)
    several = chance(rng, 0.2) and not noun.mass and "once" not in noun.kinds
    return Phrase(noun, "the", several, relative=Relative(clause, True))
