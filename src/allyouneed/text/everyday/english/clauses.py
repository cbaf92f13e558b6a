"""English clauses and sentences."""

from allyouneed.text.everyday.english.verbs import ing, participle, past, third
from allyouneed.text.everyday.english.words import OBJECTS, SUBJECTS, compared, determined, forms, index, pronoun
from allyouneed.text.everyday.lexicon import Entry
from allyouneed.text.everyday.numerals import MONTHS_EN, number_en
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
    Month,
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
    assemble,
)

MOTION = {"go": "go", "come": "come", "return": "come back", "go back": "go back", "arrive": "arrive", "stay": "stay"}
WEATHER = {"rain": ("rain", ""), "snow": ("snow", ""), "cold": ("be", "cold"), "hot": ("be", "hot"),
           "sunny": ("be", "sunny"), "windy": ("be", "windy")}  # fmt: skip
BE = ("am", "are", "is", "are", "are", "are")
LINKS = {word: word for word in ("and", "but", "because", "when", "while", "if", "that", "so")}


def phrase(it: Nominal, some: str = "some", *, subject: bool = False) -> str:
    """A noun phrase; `some` is the word before an indefinite plural or mass noun: some, any or nothing."""
    if isinstance(it, Pronoun):
        return pronoun(it, SUBJECTS if subject else OBJECTS)
    if isinstance(it, Pair):
        return f"{phrase(it.first, some)} and {phrase(it.second, some)}"
    titled = "body" in it.noun.kinds  # the European Economic Area
    adjectives = [a.en.capitalize() if titled else a.en for a in it.adjectives]
    words = determined(it, " ".join((*adjectives, forms(it.noun)[it.plural])), some)
    if it.topic:
        words = f"{words} on {phrase(it.topic, '')}"
    return f"{words} {relative(it)}" if it.relative else words


def relative(head: Phrase) -> str:
    """The relative clause of a phrase: who is reading, that she bought."""
    if head.relative is None:
        return ""
    clause = head.relative.clause
    if head.relative.head_is_object:
        return f"that {statement(clause)}"
    return f"{'who' if head.noun.person else 'that'} {predicate(clause, head)}"


def base(clause: Clause) -> str:
    """The verb alone: look, for "look for"."""
    match clause.predicate:
        case Action(verb):
            return verb.en.split(" ")[0]
        case Motion(key):
            return MOTION[key].split(" ")[0]
        case Weather(key):
            return WEATHER[key][0]
        case _:
            return "be"


def progressive(clause: Clause) -> bool:
    """An action going on: is eating, was eating. States are never said so."""
    state = isinstance(clause.predicate, Action) and "state" in clause.predicate.verb.notes
    return clause.tense in (NOW, WAS) and not state and base(clause) != "be"


def group(clause: Clause, subject: Nominal | None) -> tuple[str, str, str]:
    """The auxiliary, what follows it, and the two as one in a plain statement ("does", "eat", "eats").

    Where no plain form exists (is eating, can eat) the last is empty.
    """
    verb, at, before = base(clause), index(subject), clause.tense in (PAST, WAS)
    be = ("was" if at in (0, 2) else "were") if before else BE[at]
    rest = verb
    if clause.modal == "can":
        return ("could" if before else "can"), verb, ""
    if clause.modal == "must":
        return "must", verb, ""
    if clause.modal == "want":
        verb, rest = "want", f"want to {verb}"
    elif clause.tense is SOON:
        return be, f"going to {verb}", ""
    elif clause.tense is WILL:
        return "will", verb, ""
    elif verb == "be":
        return be, "", ""
    elif progressive(clause):
        return be, ing(verb), ""
    plain = past(verb) if before else third(verb) if at == 2 else verb
    return ("did" if before else "does" if at == 2 else "do"), rest, plain + rest.removeprefix(verb)


def complement(clause: Clause) -> str:
    """What follows the verb, adverbials not counted."""
    some = "" if clause.tense in (HABIT, WILL, WAS) else "any" if clause.negative else "some"
    match clause.predicate:
        case Action(verb, thing, to):
            particle, told = verb.en.partition(" ")[2], phrase(thing, some) if thing else ""
            if to and (isinstance(to, Pronoun) or verb.en in ("ask", "teach")):
                return f"{phrase(to)} {told}"
            return f"{particle} {told} {f'to {phrase(to)}' if to else ''}"
        case Motion(key, at):
            return f"{MOTION[key].partition(' ')[2]} {where(at)}"
        case Quality(adjective, degree, standard):
            told = compared(adjective, degree)
            return f"{told} {'as' if degree == 'as' else 'than'} {phrase(standard)}" if standard else told
        case Kind(told):
            return phrase(told, "")
        case Located(at) | Existence(at):
            return where(at)
        case Age(years):
            return f"{number_en(years)} {'year' if years == 1 else 'years'} old"
        case Passive(verb, agent):
            return f"{participle(verb.en)} {f'by {phrase(agent)}' if agent else ''}"
        case Weather(key):
            return WEATHER[key][1]


def where(it: Where | Prepositional) -> str:
    """In the kitchen, from Paris."""
    if isinstance(it, Prepositional):
        return f"{it.preposition} {phrase(it.nominal)}"
    return {"to": it.place.en, "at": it.place.at, "from": f"from {it.place.en.removeprefix('to ')}"}[it.relation]


def adverbial(it: Adverbial) -> str:
    """Where, with whom, when, how."""
    match it:
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return f"at {number_en(hour)} o'clock"
        case Month(month, year):
            return f"in {MONTHS_EN[month]} {year or ''}"
        case Entry():
            return it.en


def adverbials(clause: Clause) -> str:
    """All adverbials in their order."""
    return " ".join(map(adverbial, clause.adverbials))


def predicate(clause: Clause, subject: Nominal | None) -> str:
    """Verb group, complement and adverbials of a statement."""
    aux, rest, plain = group(clause, subject)
    often = clause.frequency.en if clause.frequency else ""
    if clause.negative and often != "never":
        verb = f"cannot {often} {rest}" if aux == "can" else f"{aux} not {often} {rest}"
    else:
        verb = f"{often} {plain}" if plain else f"{aux} {often} {rest}"
    return f"{verb} {complement(clause)} {adverbials(clause)}"


def statement(clause: Clause) -> str:
    """A clause in the order of statements."""
    match clause.predicate:
        case Weather():
            return f"it {predicate(clause, None)}"
        case Existence():
            aux, rest, _ = group(clause, clause.subject)
            negation = "not" if clause.negative else ""
            return f"there {aux} {negation} {rest} {existing(clause, 'any' if clause.negative else 'some')}"
        case _:
            return f"{subject_of(clause)} {predicate(clause, clause.subject)}"


def existing(clause: Clause, some: str) -> str:
    """What there is, and where."""
    what = phrase(clause.subject, some) if clause.subject else ""
    return f"{what} {complement(clause)} {adverbials(clause)}"


def subject_of(clause: Clause) -> str:
    """The words of the subject, or the "it" of the weather."""
    if isinstance(clause.predicate, Weather):
        return "it"
    return phrase(clause.subject, subject=True) if clause.subject else ""


def question(it: Sentence) -> str:
    """The auxiliary before the subject, and the question word before both."""
    clause, doing = it.clause, it.clause.predicate
    if it.wh == "who":
        return f"who {predicate(clause, None)}"
    aux, rest, _ = group(clause, clause.subject)
    if isinstance(doing, Existence):
        return f"{aux} there {rest} {existing(clause, 'any')}"
    head, tail = it.wh, complement(clause)
    match doing:
        case Motion(key, at) if it.wh == "where":
            tail = f"{MOTION[key].partition(' ')[2]} {'from' if at.relation == 'from' else ''}"
        case Located() if it.wh == "where":
            tail = ""
        case Action(verb, Phrase() as counted) if it.wh == "how many":
            head, tail = f"how many {phrase(counted, '')}", verb.en.partition(" ")[2]
        case _:
            pass
    negation = "not" if clause.negative else ""
    often = clause.frequency.en if clause.frequency else ""
    words = f"{head} {aux} {subject_of(clause)} {negation} {often} {rest} {tail} {adverbials(clause)}"
    return words.replace(" some ", " any ")


def command(clause: Clause) -> str:
    """The bare verb, or "do not" before it."""
    words = f"{base(clause)} {complement(clause)} {adverbials(clause)}"
    return f"do not {words}" if clause.negative else words


def realise(it: Sentence) -> str:
    """The sentence as English text."""
    end = "?" if it.mood == "question" else "."
    match it.mood:
        case "question":
            words = question(it)
        case "command":
            words = command(it.clause)
        case "request":
            words = f"please {command(it.clause)}"
        case _:
            words = statement(it.clause)
    words = assemble(it, words, lambda clause, _: statement(clause), LINKS)
    if it.opening:
        words = f"{it.opening.en}, {words}"
    words = " ".join(words.split()).replace(" ,", ",")
    return f"{words[0].upper()}{words[1:]}{end}"
