"""Spanish realisation. `el°` marks an article: a el° is al, de el° is del."""

import re
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from . import spanish_verbs as verbs
from .lexicon import Adjective, Entry, Noun
from .numerals import MONTHS_ES, number_es
from .syntax import (
    Action, Adverbial, Age, Clause, Clock, Existence, Kind, Located, Month, Motion, Nominal, Pair, Passive, Phrase,
    Prepositional, Pronoun, Quality, Relative, Sentence, Tense, Weather, Where, is_plural,
)  # fmt: skip

STRONG = ("mí", "ti", "él", "nosotros", "-", "ellos")
DIRECT = ("me", "te", "lo", "nos", "-", "los")
INDIRECT = ("me", "te", "le", "nos", "-", "les")
REFLEXIVE = ("me", "te", "se", "nos", "-", "se")
MOTION = {"go": "ir", "come": "venir", "return": "volver", "go back": "volver", "arrive": "llegar", "stay": "quedarse"}
WEATHER = {"rain": ("llover", ""), "snow": ("nevar", ""), "cold": ("hacer", "frío"), "hot": ("hacer", "calor"),
           "sunny": ("hacer", "sol"), "windy": ("hacer", "viento")}  # fmt: skip
PREPOSITIONS = {"on": "sobre", "in": "en", "under": "debajo de", "behind": "detrás de", "near": "cerca de",
                "with": "con", "next to": "al lado de"}  # fmt: skip
LINKS = {"and": "y", "but": "pero", "because": "porque", "when": "cuando", "while": "mientras", "if": "si",
         "that": "que", "so": "así que"}  # fmt: skip
SHORT = {"bueno": "buen", "malo": "mal"}  # before a masculine singular noun
PLAIN = str.maketrans("áéíóú", "aeiou")


class Forms(NamedTuple):
    singular: str
    plural: str
    feminine: bool
    stressed: bool  # el agua


def plural(word: str) -> str:
    if word == "joven":
        return "jóvenes"
    if word[-1] in "aeiouáéó":
        return f"{word}s"
    if word.endswith("z"):
        return f"{word[:-1]}ces"
    if word[-1] in "ns" and word[-2] in "áéíóú":
        return f"{word[:-2]}{word[-2].translate(PLAIN)}{word[-1]}es"
    return f"{word}es"


@cache
def forms(noun: Noun) -> Forms:
    words, _, gender = noun.es.rpartition(" ")
    if not words:  # a name
        return Forms(noun.es, noun.es, noun.female, False)
    singular, _, irregular = words.partition("/")
    return Forms(singular, irregular or plural(singular), gender.startswith("f"), gender.endswith("*"))


@cache
def inflect(adjective: Adjective) -> tuple[str, str, str, str]:
    """Masculine, feminine, masculine plural, feminine plural."""
    if adjective.es.startswith("="):
        return (adjective.es[1:],) * 4
    masculine, _, feminine = adjective.es.partition("/")
    feminine = feminine or (f"{masculine[:-1]}a" if masculine.endswith("o") else masculine)
    return masculine, feminine, plural(masculine), plural(feminine)


def feminine(it: Nominal | None) -> bool:
    match it:
        case Pronoun():
            return forms(it.antecedent).feminine if it.antecedent else it.female
        case Pair(first, second):
            return feminine(first) and feminine(second)
        case Phrase():
            return forms(it.noun).feminine
        case None:
            return False


def index(it: Nominal | None) -> int:
    """Usted and ustedes take the third person."""
    if isinstance(it, Pronoun):
        who = 3 if it.person == 2 and (it.formal or it.plural) else it.person
        return who - 1 + 3 * it.plural
    return 2 + 3 * is_plural(it)


def possessive(owner: Pronoun, fem: bool, plural_: bool) -> str:
    ending = "s" if plural_ else ""
    at = index(owner)
    if at == 3:
        return f"nuestr{'a' if fem else 'o'}{ending}"
    return f"{('mi', 'tu', 'su', '-', '-', 'su')[at]}{ending}"


def determiner(it: Phrase, noun: Forms, subject: bool) -> str:
    fem, many = noun.feminine, it.plural
    count = number_es(it.count, fem) if it.count else ""
    masculine_article = not fem or noun.stressed
    match it.determiner:
        case "the" | "generic":
            article = ("las" if fem else "los") if many else "el°" if masculine_article else "la"
            return f"{article} {count}"
        case "a" if count:
            return count
        case "a" if many:
            return ("unas" if fem else "unos") if subject else ""
        case "a" if it.noun.mass:
            return ""
        case "a":
            return "un" if masculine_article else "una"
        case "this":
            return ("estas" if fem else "estos") if many else "esta" if fem else "este"
        case "own" if it.owner:
            return possessive(it.owner, fem, many)
        case _:
            return ""


def phrase(it: Nominal, preposition: str = "", *, subject: bool = False) -> str:
    """A noun phrase after a preposition; pronouns take their strong form there."""
    if isinstance(it, Pronoun):
        told = strong(it)
        if preposition == "con" and told in ("mí", "ti"):
            return f"con{told.translate(PLAIN)}go"
        return f"{preposition} {told}"
    if isinstance(it, Pair):
        second = phrase(it.second, preposition if preposition == "a" else "")
        return f"{phrase(it.first, preposition)} {'e' if second.strip()[0] in 'iIÍí' else 'y'} {second}"
    noun = forms(it.noun)
    which = noun.feminine + 2 * it.plural
    capital = noun.singular[0].isupper()
    before: list[str] = []
    after: list[str] = []
    for adjective in it.adjectives:
        word = inflect(adjective)[which]
        if "pre" in adjective.notes and word[:3] in ("bue", "mal"):
            before.append(SHORT.get(word, word) if which == 0 else word)
        else:
            after.insert(0, word.capitalize() if capital else word)
    told = " ".join((*before, noun.plural if it.plural else noun.singular, *after))
    if it.topic:
        told = f"{told} {phrase(it.topic, 'sobre')}"
    if it.relative:
        told = f"{told} {relative(it.relative, it)}"
    return f"{preposition} {determiner(it, noun, subject)} {told}"


def strong(it: Pronoun) -> str:
    if it.person == 2 and (it.formal or it.plural):
        return "ustedes" if it.plural else "usted"
    at, fem = index(it), feminine(it)
    return {2: "ella", 3: "nosotras", 5: "ellas"}.get(at, STRONG[at]) if fem else STRONG[at]


def subject_text(it: Nominal | None) -> str:
    """Pronouns that the verb's ending tells (yo, tú, nosotros) and "it" are left out."""
    if it is None:
        return ""
    if isinstance(it, Pronoun):
        thing = it.antecedent is not None and not it.antecedent.person
        return "" if index(it) in (0, 1, 3) or thing else strong(it)
    return phrase(it, subject=True)


def relative(it: Relative, head: Phrase) -> str:
    clause = it.clause
    if not it.head_is_object:
        return f"que {predicate(clause, head)}"
    if head.noun.person:
        article = ("las" if feminine(head) else "los") if head.plural else "la" if feminine(head) else "el°"
        return f"a {article} que {statement(clause)}"
    return f"que {statement(clause)}"


def lemma(clause: Clause) -> str:
    match clause.predicate:
        case Action(verb):
            return verb.es.split(" +")[0]
        case Motion(key):
            return MOTION[key]
        case Weather(key):
            return WEATHER[key][0]
        case Quality(adjective) if "state" in adjective.notes:
            return "tener"
        case Age():
            return "tener"
        case Existence():
            return "haber"
        case Located():
            return "estar"
        case Quality(adjective) if "estar" in adjective.notes:
            return "estar"
        case _:
            return "ser"


def clitic(clause: Clause) -> str:
    match clause.predicate:
        case Action(verb, thing, to) if to is not None:
            return INDIRECT[index(to)]
        case Action(verb, Pronoun() as thing, _):
            at = index(thing)
            return {2: "la", 5: "las"}.get(at, DIRECT[at]) if feminine(thing) else DIRECT[at]
        case _:
            return ""


def progressive(clause: Clause) -> bool:
    action = isinstance(clause.predicate, Action) and "state" not in clause.predicate.verb.notes
    falls = isinstance(clause.predicate, Weather) and clause.predicate.key in ("rain", "snow")
    return clause.tense in (Tense.NOW, Tense.WAS) and (action or falls)


def group(clause: Clause, who: Nominal | None) -> str:
    """Negation, adverb of frequency, unstressed pronoun and verb."""
    name = lemma(clause)
    at = 2 if isinstance(clause.predicate, Existence | Weather) else index(who)
    verb = verbs.bare(name)
    own = REFLEXIVE[at] if verbs.reflexive(name) else clitic(clause)
    past = clause.tense in (Tense.PAST, Tense.WAS)
    early = ""
    if clause.modal:
        helper = {"want": "querer", "can": "poder", "must": "deber"}[clause.modal]
        told = f"{(verbs.imperfect if past else verbs.present)(helper)[at]} {verb}{own}"
    elif clause.tense is Tense.SOON:
        told = f"{verbs.present('ir')[at]} a {verb}{own}"
    elif progressive(clause):
        table = verbs.imperfect if past else verbs.present
        early, told = own, f"{table('estar')[at]} {verbs.gerund(verb)}"
    else:
        table = {Tense.PAST: verbs.preterite, Tense.WAS: verbs.imperfect, Tense.WILL: verbs.future}
        early, told = own, table.get(clause.tense, verbs.present)(verb)[at]
    often = clause.frequency.es if clause.frequency else ""
    if clause.negative and often != "nunca":
        return f"no {early} {told} {often}"
    return f"{often} {early} {told}"


def experienced(clause: Clause) -> str:
    """With gustar what is liked is the subject: me gusta el queso, a Ana le gustan los gatos."""
    action, who = clause.predicate, clause.subject
    if not isinstance(action, Action) or action.object is None or who is None:
        raise ValueError("gustar needs somebody and something")
    at = index(who)
    verb = verbs.present(action.verb.es)[5 if is_plural(action.object) else 2]
    person = "" if isinstance(who, Pronoun) and at in (0, 1, 3) else phrase(who, "a")
    return f"{person} {'no' if clause.negative else ''} {INDIRECT[at]} {verb} {phrase(action.object)}"


def complement(clause: Clause, who: Nominal | None) -> str:
    match clause.predicate:
        case Action(verb, thing, to):
            told = ""
            if thing is not None and not isinstance(thing, Pronoun):
                human = isinstance(thing, Pair) or thing.noun.person
                told = phrase(thing, "a" if human else verb.es.partition(" +")[2])
            return told if to is None or isinstance(to, Pronoun) else f"{told} {phrase(to, 'a')}"
        case Motion(key, at):
            return place(at, "a") if key == "arrive" else where(at)
        case Quality(adjective, degree, standard):
            return quality(adjective, degree, standard, who)
        case Kind(told):
            return phrase(told if told.adjectives else replace(told, determiner="none"))
        case Located(at) | Existence(at):
            return where(at)
        case Age(years):
            return f"{number_es(years)} {'año' if years == 1 else 'años'}"
        case Passive(verb, agent):
            done = verbs.agree(verbs.participle(verbs.bare(verb.es)), feminine(who), is_plural(who))
            return f"{done} {phrase(agent, 'por')}" if agent else done
        case Weather(key):
            return WEATHER[key][1]


def quality(adjective: Adjective, degree: str, standard: Nominal | None, who: Nominal | None) -> str:
    word = inflect(adjective)[feminine(who) + 2 * is_plural(who)]
    adverb = {"": "", "very": "muy", "too": "demasiado", "more": "más", "less": "menos", "as": "tan"}[degree]
    if degree == "more" and adjective.es in ("bueno", "malo"):
        adverb, word = "", f"{'mejor' if adjective.es == 'bueno' else 'peor'}{'es' if is_plural(who) else ''}"
    if standard is None:
        return f"{adverb} {word}"
    return f"{adverb} {word} {'como' if degree == 'as' else 'que'} {phrase(standard)}"


def place(it: Where, preposition: str) -> str:
    name = it.place.es
    return f"{preposition} {name.replace('el ', 'el° ', 1) if name.startswith('el ') else name}"


def where(it: Where | Prepositional) -> str:
    if isinstance(it, Prepositional):
        return phrase(it.nominal, PREPOSITIONS[it.preposition])
    return place(it, {"to": "a", "at": "en", "from": "de"}[it.relation])


def adverbial(it: Adverbial) -> str:
    match it:
        case Prepositional("on", seat):
            return phrase(seat, "en")  # sentarse en
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return "a la una" if hour == 1 else f"a las {number_es(hour, True)}"
        case Month(month, year):
            return f"en {MONTHS_ES[month - 1]}{f' de {year}' if year else ''}"
        case Entry():
            return it.es


def adverbials(clause: Clause) -> str:
    return " ".join(map(adverbial, clause.adverbials))


def predicate(clause: Clause, who: Nominal | None) -> str:
    return f"{group(clause, who)} {complement(clause, who)} {adverbials(clause)}"


def statement(clause: Clause, *, silent: bool = False) -> str:
    """`silent`: the subject is the one of the main clause and is left out."""
    match clause.predicate:
        case Action(verb) if verb.es in ("gustar", "encantar"):
            return experienced(clause)
        case Existence(at):
            what = phrase(clause.subject) if clause.subject else ""
            return f"{group(clause, None)} {what} {where(at)} {adverbials(clause)}"
        case _:
            who = "" if silent else subject_text(clause.subject)
            return f"{who} {predicate(clause, clause.subject)}"


def question(it: Sentence) -> str:
    clause, doing = it.clause, it.clause.predicate
    who, verb, rest = subject_text(clause.subject), group(clause, clause.subject), adverbials(clause)
    match it.wh:
        case "":
            return statement(clause)
        case "who":
            return f"quién {predicate(clause, None)}"
        case "where":
            word = "dónde"
            if isinstance(doing, Motion):
                word = "de dónde" if doing.where.relation == "from" else "adónde"
            return f"{word} {verb} {who} {rest}"
        case "how many" if isinstance(doing, Action) and isinstance(doing.object, Phrase):
            return f"cuánt{'as' if feminine(doing.object) else 'os'} {phrase(doing.object)} {verb} {who} {rest}"
        case "what" if isinstance(doing, Action):
            return f"qué {verb} {who} {complement(clause, clause.subject)} {rest}"
        case _:
            word = {"when": "cuándo", "why": "por qué"}[it.wh]
            told = complement(clause, clause.subject)
            order = (told, who) if isinstance(doing, Quality | Passive) else (who, told)
            return " ".join((word, verb, *order, rest))


def command(clause: Clause) -> str:
    formal = isinstance(clause.subject, Pronoun) and clause.subject.formal
    name = lemma(clause)
    verb = verbs.bare(name)
    own = ("se" if formal else "te") if verbs.reflexive(name) else clitic(clause)
    form = verbs.command(verb, formal, clause.negative)
    told = f"no {own} {form}" if clause.negative else attach(form, own)
    return f"{told} {complement(clause, clause.subject)} {adverbials(clause)}"


def attach(form: str, own: str) -> str:
    """A pronoun behind a command moves nothing but the written accent: quédate, escríbele."""
    if not own:
        return form
    if sum(letter in "aeiouáéíóú" for letter in form) > 1 and not any(letter in "áéíóú" for letter in form):
        vowels = [at for at, letter in enumerate(form) if letter in "aeiou"]
        strong = [at for at in vowels if not (form[at] in "iu" and at + 1 < len(form) and form[at + 1] in "aeo")]
        at = strong[-2] if len(strong) > 1 else strong[-1]
        form = form[:at] + form[at].translate(str.maketrans("aeiou", "áéíóú")) + form[at + 1 :]
    return f"{form}{own}"


def finish(text: str) -> str:
    text = " ".join(text.split()).replace(" ,", ",")
    text = re.sub(r"(?<!\w)(a|de) el° ", lambda found: "al " if found[1] == "a" else "del ", text)
    return re.sub(r"(?<!\w)y (?=[iíIÍ]|hi[^e])", "e ", text.replace("°", ""))


def taken_up(who: Nominal | None, main: Nominal | None) -> bool:
    return isinstance(who, Pronoun) and (who.antecedent is not None or who == main)


def realise(it: Sentence) -> str:
    opening, end = "", "."
    match it.mood:
        case "question":
            words, opening, end = question(it), "¿", "?"
        case "command":
            words = command(it.clause)
        case "request":
            words = f"{command(it.clause)}, por favor"
        case _:
            words = statement(it.clause)
    if it.fronted:
        (conjunction, clause), *others = it.links
        words = f"{LINKS[conjunction]} {statement(clause)}, {words}"
    else:
        others = list(it.links)
    for conjunction, clause in others:
        comma = "," if conjunction in ("but", "so") else ""
        silent = conjunction in ("because", "when") and taken_up(clause.subject, it.clause.subject)
        words = f"{words}{comma} {LINKS[conjunction]} {statement(clause, silent=silent)}"
    if it.opening:
        words = f"{it.opening.es}, {words}"
    words = finish(words)
    return f"{opening}{words[0].upper()}{words[1:]}{end}"
