"""English realisation."""

from functools import cache

from .english_verbs import ing, participle, past, third
from .lexicon import Adjective, Entry, Noun
from .numerals import CLOCK_EN, MONTHS_EN, number_en
from .syntax import (
    Action, Adverbial, Age, Clause, Clock, Existence, Kind, Located, Month, Motion, Nominal, Pair, Passive, Phrase,
    Prepositional, Pronoun, Quality, Relative, Sentence, Tense, Weather, Where, is_plural, person,
)  # fmt: skip

SUBJECTS = ("I", "you", "he", "we", "you", "they")
OBJECTS = ("me", "you", "him", "us", "you", "them")
POSSESSIVES = ("my", "your", "his", "our", "your", "their")
MOTION = {"go": "go", "come": "come", "return": "come back", "go back": "go back", "arrive": "arrive", "stay": "stay"}
WEATHER = {"rain": ("rain", ""), "snow": ("snow", ""), "cold": ("be", "cold"), "hot": ("be", "hot"),
           "sunny": ("be", "sunny"), "windy": ("be", "windy")}  # fmt: skip
BE = ("am", "are", "is", "are", "are", "are")


def index(nominal: Nominal | None) -> int:
    return person(nominal) - 1 + 3 * is_plural(nominal)


def pronoun(it: Pronoun, forms: tuple[str, ...]) -> str:
    if it.person == 3 and not it.plural:
        he, she, thing = {"he": ("he", "she", "it"), "him": ("him", "her", "it"), "his": ("his", "her", "its")}[
            forms[2]
        ]
        if it.antecedent and not it.antecedent.person:
            return thing
        return she if it.female else he
    return forms[it.person - 1 + 3 * it.plural]


@cache
def forms(noun: Noun) -> tuple[str, str]:
    """Singular and plural."""
    singular, _, plural = noun.en.lstrip("~").partition("/")
    if plural or noun.mass:
        return singular, plural or singular
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular, f"{singular}es"
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return singular, f"{singular[:-1]}ies"
    return singular, f"{singular}s"


def an(words: str) -> str:
    vowel = words[0].lower() in "aeiou" and not words.lower().startswith(("uni", "eu", "use", "one"))
    return f"{'an' if vowel else 'a'} {words}"


def phrase(it: Nominal, some: str = "some", *, subject: bool = False) -> str:
    """`some` is the word before an indefinite plural or mass noun: some, any or nothing."""
    if isinstance(it, Pronoun):
        return pronoun(it, SUBJECTS if subject else OBJECTS)
    if isinstance(it, Pair):
        return f"{phrase(it.first, some)} and {phrase(it.second, some)}"
    adjectives = [a.en.capitalize() if "body" in it.noun.kinds else a.en for a in it.adjectives]
    words = " ".join((*adjectives, forms(it.noun)[it.plural]))
    match it.determiner:
        case "the":
            words = f"the {f'{number_en(it.count)} ' if it.count else ''}{words}"
        case "a" if it.count:
            words = f"{number_en(it.count)} {words}"
        case "a" if it.plural or it.noun.mass:
            words = f"{some} {words}".lstrip()
        case "a":
            words = an(words)
        case "this":
            words = f"{'these' if it.plural else 'this'} {words}"
        case "own" if it.owner:
            words = f"{pronoun(it.owner, POSSESSIVES)} {words}"
        case _:
            pass
    if it.topic:
        words += f" on {phrase(it.topic, '')}"
    return words + relative(it.relative, it) if it.relative else words


def relative(it: Relative, head: Phrase) -> str:
    if it.head_is_object:
        return f" that {statement(it.clause)}"
    return f" {'who' if head.noun.person else 'that'} {predicate(it.clause, head)}"


def compared(adjective: Adjective, degree: str) -> str:
    word = adjective.en
    if degree in ("very", "too", "less", "as"):
        return f"{degree} {word}"
    if degree == "more":
        irregular = {"good": "better", "bad": "worse"}.get(word)
        if irregular:
            return irregular
        if word.endswith("y") and len(word) < 7:
            return f"{word[:-1]}ier"
        if len(word) > 6 or word.endswith(("ous", "ful", "ing", "ern")) or word in MORE:
            return f"more {word}"
        if word[-1] in "gtdn" and word[-2] in "aeiou" and word[-3] not in "aeiou":
            return f"{word}{word[-1]}er"
        return f"{word}r" if word.endswith("e") else f"{word}er"
    return word


MORE = frozenset({"tired", "afraid", "polite", "simple", "useful", "modern"})


def complement(clause: Clause) -> str:
    """What follows the verb group, adverbials not counted."""
    question_or_not = "any" if clause.negative else "some"
    some = "" if clause.tense in (Tense.HABIT, Tense.WILL, Tense.WAS) else question_or_not
    match clause.predicate:
        case Action(verb, thing, to):
            particle = verb.en.partition(" ")[2]
            told = phrase(thing, some) if thing else ""
            if to and (isinstance(to, Pronoun) or verb.en in ("ask", "teach")):
                return f"{phrase(to)} {told}"
            return " ".join(part for part in (particle, told, f"to {phrase(to)}" if to else "") if part)
        case Motion(key, at):
            particle = MOTION[key].partition(" ")[2]
            return f"{particle} {where(at)}".strip()
        case Quality(adjective, degree, standard):
            told = compared(adjective, degree)
            than = {"as": "as"}.get(degree, "than")
            return f"{told} {than} {phrase(standard)}" if standard else told
        case Kind(told):
            return phrase(told, "")
        case Located(at) | Existence(at):
            return where(at)
        case Age(years):
            return f"{number_en(years)} years old"
        case Passive(verb, agent):
            by = f" by {phrase(agent)}" if agent else ""
            return f"{participle(verb.en.split(' ')[0])}{by}"
        case Weather(key):
            return WEATHER[key][1]


def where(it: Where | Prepositional) -> str:
    if isinstance(it, Prepositional):
        return f"{it.preposition} {phrase(it.nominal)}"
    return {"to": it.place.en, "at": it.place.at, "from": f"from {it.place.en.removeprefix('to ')}"}[it.relation]


def adverbial(it: Adverbial) -> str:
    match it:
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return f"at {CLOCK_EN[hour]} o'clock"
        case Month(month, year):
            return f"in {MONTHS_EN[month - 1]}{f' {year}' if year else ''}"
        case Entry():
            return it.en


def base(clause: Clause) -> str:
    match clause.predicate:
        case Action(verb):
            return verb.en.split(" ")[0]
        case Motion(key):
            return MOTION[key].split(" ")[0]
        case Weather(key):
            return WEATHER[key][0]
        case _:
            return "be"


def stative(clause: Clause) -> bool:
    return base(clause) == "be" or (isinstance(clause.predicate, Action) and "state" in clause.predicate.verb.notes)


def group(clause: Clause, subject: Nominal | None) -> tuple[str, str, str]:
    """The auxiliary, what follows it, and the two as one in a plain statement ("does", "eat", "eats")."""
    verb, at = base(clause), index(subject)
    before, now = clause.tense in (Tense.PAST, Tense.WAS), ing(verb)
    be = ("was" if at in (0, 2) else "were") if before else BE[at]
    aux, rest = "", verb
    match clause.modal:
        case "can":
            aux = "could" if before else "can"
        case "must" if before:
            verb, rest = "have", f"have to {verb}"
        case "must":
            aux = "must"
        case "want":
            verb, rest = "want", f"want to {verb}"
        case _:
            if clause.tense is Tense.SOON:
                aux, rest = be, f"going to {verb}"
            elif clause.tense is Tense.WILL:
                aux = "will"
            elif verb == "be":
                aux, rest = be, ""
            elif clause.tense in (Tense.NOW, Tense.WAS) and not stative(clause):
                aux, rest = be, now
    if aux:
        return aux, rest, ""
    finite = past(verb) if before else third(verb) if at == 2 else verb
    return ("did" if before else "does" if at == 2 else "do"), rest, finite + rest.removeprefix(verb)


def predicate(clause: Clause, subject: Nominal | None) -> str:
    """Verb group, complement and adverbials of a statement."""
    aux, rest, plain = group(clause, subject)
    often = clause.frequency.en if clause.frequency else ""
    if clause.negative and often != "never":
        verb = f"cannot {often} {rest}" if aux == "can" else f"{aux} not {often} {rest}"
    else:
        verb = f"{often} {plain}" if plain else f"{aux} {often} {rest}"
    return " ".join((verb, complement(clause), *map(adverbial, clause.adverbials)))


def statement(clause: Clause) -> str:
    return f"{subject_of(clause)} {predicate(clause, clause.subject)}"


def subject_of(clause: Clause) -> str:
    if isinstance(clause.predicate, Weather):
        return "it"
    if clause.subject is None:
        return ""
    if isinstance(clause.predicate, Existence):
        return "there"
    return phrase(clause.subject, subject=True)


def existence(clause: Clause, *, question: bool = False) -> str:
    aux, rest, _ = group(clause, clause.subject)
    some = "any" if clause.negative or question else "some"
    what = phrase(clause.subject, some) if clause.subject else ""
    verb = f"{aux} there {rest}" if question else f"there {aux} {'not ' if clause.negative else ''}{rest}"
    return " ".join((verb, what, complement(clause), *map(adverbial, clause.adverbials)))


def question(it: Sentence) -> str:
    clause = it.clause
    if isinstance(clause.predicate, Existence):
        return existence(clause, question=True)
    if it.wh == "who":
        return f"who {predicate(clause, None)}"
    aux, rest, _ = group(clause, clause.subject)
    head, tail = it.wh, complement(clause)
    if it.wh == "where" and isinstance(clause.predicate, Motion):
        head = "where"
        tail = MOTION[clause.predicate.key].partition(" ")[2]
        tail += " from" if clause.predicate.where.relation == "from" else ""
    elif it.wh == "where" and isinstance(clause.predicate, Located):
        tail = ""
    elif it.wh == "how many" and isinstance(clause.predicate, Action) and isinstance(clause.predicate.object, Phrase):
        head = f"how many {phrase(clause.predicate.object, '')}"
        tail = clause.predicate.verb.en.partition(" ")[2]
    negation = "not " if clause.negative else ""
    often = clause.frequency.en if clause.frequency else ""
    parts = (head, aux, subject_of(clause), negation, often, rest, tail, *map(adverbial, clause.adverbials))
    return " ".join(parts).replace(" some ", " any ")


def command(clause: Clause) -> str:
    words = " ".join((base(clause), complement(clause), *map(adverbial, clause.adverbials)))
    return f"do not {words}" if clause.negative else words


def told(clause: Clause) -> str:
    return existence(clause) if isinstance(clause.predicate, Existence) else statement(clause)


def realise(it: Sentence) -> str:
    match it.mood:
        case "question":
            words, end = question(it), "?"
        case "command":
            words, end = command(it.clause), "."
        case "request":
            words, end = f"please {command(it.clause)}", "."
        case _:
            words, end = told(it.clause), "."
    if it.fronted:
        (conjunction, clause), *others = it.links
        words = f"{conjunction} {told(clause)}, {words}"
    else:
        others = list(it.links)
    for conjunction, clause in others:
        comma = "," if conjunction in ("but", "so") else ""
        words = f"{words}{comma} {conjunction} {told(clause)}"
    if it.opening:
        words = f"{it.opening.en}, {words}"
    words = " ".join(words.split()).replace(" ,", ",")
    return f"{words[0].upper()}{words[1:]}{end}"
