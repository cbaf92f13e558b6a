"""French realisation. Marks in the working text: `le° la° les°` are articles (they contract, pronouns don't), `*` an
aspirated h; the last step resolves elision and contraction and takes the marks away."""

import re
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from . import french_verbs as verbs
from .lexicon import Adjective, Entry, Noun
from .numerals import MONTHS_FR, number_fr
from .syntax import (
    Action, Adverbial, Age, Clause, Clock, Existence, Kind, Located, Month, Motion, Nominal, Pair, Passive, Phrase,
    Prepositional, Pronoun, Quality, Relative, Sentence, Tense, Weather, Where, is_plural,
)  # fmt: skip

SUBJECTS = ("je", "tu", "il", "nous", "vous", "ils")
STRONG = ("moi", "toi", "lui", "nous", "vous", "eux")
DIRECT = ("me", "te", "le", "nous", "vous", "les")
INDIRECT = ("me", "te", "lui", "nous", "vous", "leur")
REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
MOTION = {
    "go": "aller",
    "come": "venir",
    "return": "revenir",
    "go back": "retourner",
    "arrive": "arriver",
    "stay": "rester",
}
WEATHER = {"rain": ("pleuvoir", ""), "snow": ("neiger", ""), "cold": ("faire", "froid"), "hot": ("faire", "chaud"),
           "sunny": ("faire", "soleil"), "windy": ("faire", "du vent")}  # fmt: skip
PREPOSITIONS = {"on": "sur", "in": "dans", "under": "sous", "behind": "derrière", "near": "près de", "with": "avec",
                "for": "pour", "in front of": "devant", "next to": "à côté de", "without": "sans"}  # fmt: skip
LINKS = {"and": "et", "but": "mais", "because": "parce que", "when": "quand", "while": "pendant que", "if": "si",
         "that": "que", "so": "donc"}  # fmt: skip
VOWEL = "aeiouyàâäéèêëîïôöùûœhAEIOUYÀÂÉÈÊÎÔŒH"


class Forms(NamedTuple):
    singular: str
    plural: str
    feminine: bool
    plural_only: bool


def plural(word: str) -> str:
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "au", "eu")) and word != "bleu":
        return f"{word}x"
    return f"{word[:-2]}aux" if word.endswith("al") else f"{word}s"


@cache
def forms(noun: Noun) -> Forms:
    words, _, gender = noun.fr.rpartition(" ")
    if not words:  # a name
        return Forms(noun.fr, noun.fr, noun.female, False)
    singular, _, irregular = words.partition("/")
    only = gender.endswith("+")
    return Forms(singular, singular if only else irregular or plural(singular), gender.startswith("f"), only)


@cache
def inflect(adjective: Adjective) -> tuple[str, str, str, str, str]:
    """Masculine, feminine, masculine plural, feminine plural, masculine before a vowel."""
    if adjective.fr.startswith("="):
        return (adjective.fr[1:],) * 5
    if "invariable" in adjective.notes:
        return (adjective.fr.split("/")[0],) * 5
    masculine, _, others = adjective.fr.partition("/")
    feminine, _, before_vowel = others.partition("/")
    if not feminine:
        for ending, replacement in (("eux", "euse"), ("if", "ive"), ("er", "ère"), ("el", "elle"), ("en", "enne")):
            if masculine.endswith(ending):
                feminine = masculine.removesuffix(ending) + replacement
                break
        else:
            feminine = masculine if masculine.endswith("e") else f"{masculine}e"
    return masculine, feminine, plural(masculine), f"{feminine}s", before_vowel or masculine


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


def many(it: Nominal | None) -> bool:
    """Plural for the grammar: formal you is not (vous êtes content), pâtes are."""
    return is_plural(it) or (isinstance(it, Phrase) and forms(it.noun).plural_only)


def index(it: Nominal | None) -> int:
    if isinstance(it, Pronoun):
        return it.person - 1 + 3 * (it.plural or it.formal)
    return 2 + 3 * many(it)


def possessive(owner: Pronoun, fem: bool, plural_: bool) -> str:
    at = index(owner)
    if at < 3:
        return "mts"[at] + ("es" if plural_ else "a°" if fem else "on")
    if plural_:
        return ("nos", "vos", "leurs")[at - 3]
    return ("notre", "votre", "leur")[at - 3]


def determiner(it: Phrase, fem: bool, plural_: bool, negated: bool) -> str:
    article = "les°" if plural_ else "la°" if fem else "le°"
    count = number_fr(it.count, fem) if it.count else ""
    match it.determiner:
        case "the" | "generic":
            return f"{article} {count}"
        case "a" if count:
            return count
        case "a" if negated:
            return "de"
        case "a" if plural_:
            return "de" if any("pre" in a.notes for a in it.adjectives) else "des"
        case "a" if it.noun.mass:
            return f"de {article}"
        case "a":
            return "une" if fem else "un"
        case "this":
            return "ces" if plural_ else "cette" if fem else "ce°"
        case "own" if it.owner:
            return possessive(it.owner, fem, plural_)
        case _:
            return ""


def phrase(it: Nominal, preposition: str = "", *, negated: bool = False) -> str:
    """A noun phrase after a preposition; pronouns take their strong form there."""
    if isinstance(it, Pronoun):
        return f"{preposition} {strong(it)}"
    if isinstance(it, Pair):
        return f"{phrase(it.first, preposition, negated=negated)} et {phrase(it.second, short(preposition), negated=negated)}"
    noun, number = forms(it.noun), many(it)
    which = noun.feminine + 2 * number
    before = [(a, inflect(a)) for a in it.adjectives if "pre" in a.notes]
    after = [inflect(a)[which] for a in reversed(it.adjectives) if "pre" not in a.notes]
    words = [noun.plural if number else noun.singular]
    for _, inflected in reversed(before):
        liaison = which == 0 and words[0][0] in VOWEL
        words.insert(0, inflected[4 if liaison else which])
    told = " ".join((*words, *after))
    article = determiner(it, noun.feminine, number, negated)
    if preposition.endswith("de") and article.split(" ")[0] in ("de", "des"):
        article = ""  # besoin de + du pain -> besoin de pain
    if it.topic:
        told = f"{told} {phrase(it.topic, 'sur')}"
    if it.relative:
        told = f"{told} {relative(it.relative, it)}"
    return f"{preposition} {article} {told}"


def short(preposition: str) -> str:
    """What is said again before the second noun of a pair: à, de; nothing for the others."""
    return preposition if preposition in ("à", "de") else ""


def strong(it: Pronoun) -> str:
    at = index(it)
    return {2: "elle", 5: "elles"}.get(at, STRONG[at]) if feminine(it) else STRONG[at]


def weak(it: Pronoun) -> str:
    at = index(it)
    return {2: "elle", 5: "elles"}.get(at, SUBJECTS[at]) if feminine(it) else SUBJECTS[at]


def relative(it: Relative, head: Phrase) -> str:
    clause = it.clause
    if it.head_is_object and clause.subject:
        return f"que {subject(clause.subject)} {predicate(clause, clause.subject, before=head)}"
    return f"qui {predicate(clause, head)}"


def subject(it: Nominal) -> str:
    return weak(it) if isinstance(it, Pronoun) else phrase(it)


def lemma(clause: Clause) -> str:
    match clause.predicate:
        case Action(verb):
            return verb.fr.split(" +")[0]
        case Motion(key):
            return MOTION[key]
        case Weather(key):
            return WEATHER[key][0]
        case Quality(adjective) if "state" in adjective.notes:
            return "avoir"
        case Age() | Existence():
            return "avoir"
        case _:
            return "être"


def clitic(clause: Clause) -> str:
    match clause.predicate:
        case Action(_, _, Pronoun() as to):
            return INDIRECT[index(to)]
        case Action(_, Pronoun() as thing, _):
            at = index(thing)
            return "la" if at == 2 and feminine(thing) else DIRECT[at]
        case Existence():
            return "y"
        case _:
            return ""


def group(clause: Clause, who: Nominal | None, *, before: Nominal | None = None, inversion: str = "") -> str:
    """The verb group. `before`: a direct object that stands before it (the participle agrees with it)."""
    name, at = lemma(clause), 2 if isinstance(clause.predicate, Existence | Weather) else index(who)
    verb, rest = verbs.bare(name), name.removeprefix("se ").removeprefix("s'").partition(" ")[2]
    own = REFLEXIVE[at] if verbs.reflexive(name) else clitic(clause)
    # `early` stands before the finite verb, `late` before an infinitive.
    early, late, infinitive = "", own, f"{own} {verb} {rest}"
    past = clause.tense in (Tense.PAST, Tense.WAS)
    if clause.modal:
        helper = {"want": "vouloir", "can": "pouvoir", "must": "devoir"}[clause.modal]
        finite, tail = (verbs.imperfect if past else verbs.present)(helper)[at], infinitive
    elif clause.tense is Tense.SOON:
        finite, tail = verbs.present("aller")[at], infinitive
    elif clause.tense is Tense.PAST:
        helper = verbs.auxiliary(name)
        direct = before or (clause.predicate.object if isinstance(clause.predicate, Action) else None)
        done = verbs.participle(verb)
        if helper == "être":
            done = verbs.agree(done, feminine(who), many(who))
        elif before or isinstance(direct, Pronoun):
            done = verbs.agree(done, feminine(direct), many(direct))
        finite, early, late, tail = verbs.present(helper)[at], own, "", f"{done} {rest}"
    else:
        table = {Tense.WAS: verbs.imperfect, Tense.WILL: verbs.future}.get(clause.tense, verbs.present)
        finite, early, late, tail = table(verb)[at], own, "", rest
    if inversion:
        link = "-t-" if inversion in ("il", "elle") and finite[-1] in "aec" else "-"
        finite = f"{finite}{link}{inversion}"
    often = clause.frequency.fr if clause.frequency else ""
    if clause.negative:
        finite = f"ne {early} {finite} {'jamais' if often == 'jamais' else f'pas {often}'}"
    else:
        finite = f"{early} {finite} {often}"
    return f"{finite} {tail}"


def complement(clause: Clause, who: Nominal | None) -> str:
    match clause.predicate:
        case Action(verb, thing, to):
            preposition = verb.fr.partition(" +")[2]
            told = (
                ""
                if thing is None or isinstance(thing, Pronoun)
                else phrase(thing, preposition, negated=clause.negative)
            )
            return told if to is None or isinstance(to, Pronoun) else f"{told} {phrase(to, 'à')}"
        case Motion(_, at):
            return where(at)
        case Quality(adjective, degree, standard):
            return quality(adjective, degree, standard, who)
        case Kind(told):
            return phrase(told if told.adjectives else replace(told, determiner="none"))  # elle est médecin
        case Located(at) | Existence(at):
            return where(at)
        case Age(years):
            return f"{number_fr(years)} {'an' if years == 1 else 'ans'}"
        case Passive(verb, agent):
            done = verbs.agree(verbs.participle(verbs.bare(verb.fr)), feminine(who), many(who))
            return f"{done} {phrase(agent, 'par')}" if agent else done
        case Weather(key):
            return WEATHER[key][1].replace("du ", "de ") if clause.negative else WEATHER[key][1]


def quality(adjective: Adjective, degree: str, standard: Nominal | None, who: Nominal | None) -> str:
    word = inflect(adjective)[feminine(who) + 2 * many(who)]
    adverb = {"": "", "very": "très", "too": "trop", "more": "plus", "less": "moins", "as": "aussi"}[degree]
    if degree == "more" and adjective.en == "good":
        adverb, word = "", f"meilleur{'e' * feminine(who)}{'s' * many(who)}"
    return f"{adverb} {word} {phrase(standard, 'que')}" if standard else f"{adverb} {word}"


def where(it: Where | Prepositional) -> str:
    if isinstance(it, Prepositional):
        return phrase(it.nominal, PREPOSITIONS[it.preposition])
    return {"to": it.place.fr, "at": it.place.fr_at, "from": it.place.fr_from}[it.relation]


def adverbial(it: Adverbial) -> str:
    match it:
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return f"à {number_fr(hour, True)} heure{'s' if hour > 1 else ''}"
        case Month(month, year):
            return f"en {MONTHS_FR[month - 1]}{f' {year}' if year else ''}"
        case Entry():
            return it.fr


def predicate(clause: Clause, who: Nominal | None, *, before: Nominal | None = None, inversion: str = "") -> str:
    verb = group(clause, who, before=before, inversion=inversion)
    return " ".join((verb, complement(clause, who), *map(adverbial, clause.adverbials)))


def statement(clause: Clause) -> str:
    match clause.predicate:
        case Weather():
            return f"il {predicate(clause, None)}"
        case Existence(at):
            what = phrase(clause.subject, negated=clause.negative) if clause.subject else ""
            return " ".join(("il", group(clause, None), what, where(at), *map(adverbial, clause.adverbials)))
        case _:
            return f"{subject(clause.subject) if clause.subject else ''} {predicate(clause, clause.subject)}"


def question(it: Sentence) -> str:
    clause, predicate_ = it.clause, it.clause.predicate
    if it.wh == "who":
        return f"qui {predicate(clause, None)}"
    if it.wh == "what":
        return f"qu'est-ce que {statement(clause)}"
    word = {"": "", "where": "où", "when": "quand", "why": "pourquoi", "how many": "combien de"}[it.wh]
    adverbs = " ".join(map(adverbial, clause.adverbials))
    if it.wh == "how many" and isinstance(predicate_, Action) and isinstance(predicate_.object, Phrase):
        counted = predicate_.object
        words = f"{word} {phrase(counted, 'de').strip().removeprefix('de ')} est-ce que {subject_of(clause)}"
        return f"{words} {group(clause, clause.subject, before=counted)} {adverbs}"
    if it.wh == "where" and isinstance(predicate_, Motion | Located):
        word = "d'où" if isinstance(predicate_, Motion) and predicate_.where.relation == "from" else "où"
        if isinstance(clause.subject, Pronoun) and index(clause.subject) != 0:
            return f"{word} {group(clause, clause.subject, inversion=weak(clause.subject))} {adverbs}"
        if isinstance(predicate_, Located):
            return f"{word} {group(clause, clause.subject)} {subject_of(clause)} {adverbs}"
        return f"{word} est-ce que {subject_of(clause)} {group(clause, clause.subject)} {adverbs}"
    return f"{word} est-ce que {statement(clause)}"


def subject_of(clause: Clause) -> str:
    return subject(clause.subject) if clause.subject else ""


def command(clause: Clause) -> str:
    who = clause.subject
    name, at = lemma(clause), index(who)
    verb = verbs.bare(name)
    form = verbs.present(verb)[at]
    if at == 1 and form.endswith(("es", "as")):
        form = form[:-1]
    own = REFLEXIVE[at] if verbs.reflexive(name) else ""
    if clause.negative:
        told = f"ne {own} {form} pas"
    else:
        told = f"{form}-{'toi' if at == 1 else 'vous'}" if own else form
    return " ".join((told, complement(clause, who), *map(adverbial, clause.adverbials)))


def finish(text: str) -> str:
    """Elision and contraction, then the marks go; one space between words."""
    text = " ".join(text.split()).replace(" ,", ",")
    text = re.sub(rf"(?<![\w-])(l)[ea]° (?=[{VOWEL}])", r"\1'", text)
    for preposition, singular, plural_ in (("à", "au", "aux"), ("de", "du", "des")):
        text = re.sub(rf"(?<![\w'-]){preposition} le° ", f"{singular} ", text)
        text = re.sub(rf"(?<![\w'-]){preposition} les° ", f"{plural_} ", text)
    text = re.sub(rf"(?<![\w'-])([mts])a° (?=[{VOWEL}])", r"\1on ", text)
    text = re.sub(rf"(?<![\w'-])ce° (?=[{VOWEL}])", "cet ", text)
    text = text.replace("°", "")
    text = re.sub(r"(?<!\w)si (?=ils? )", "s'", text)
    text = re.sub(rf"(?<![\w-])(j|n|m|t|s|qu|d|l)[ea] (?=[{VOWEL}])", elide, text)
    return text.replace("*", "")


def elide(found: re.Match[str]) -> str:
    """`la`, `le`, `de`, `que`... before a vowel. `ma, ta, sa` were settled before; "ta" and "sa" can't stand here."""
    return f"{found[1]}'"


def realise(it: Sentence) -> str:
    match it.mood:
        case "question":
            words, end = question(it), " ?"
        case "command":
            words, end = command(it.clause), "."
        case "request":
            polite = "s'il te plaît" if index(it.clause.subject) == 1 else "s'il vous plaît"
            words, end = f"{command(it.clause)}, {polite}", "."
        case _:
            words, end = statement(it.clause), "."
    if it.fronted:
        (conjunction, clause), *others = it.links
        words = f"{LINKS[conjunction]} {statement(clause)}, {words}"
    else:
        others = list(it.links)
    for conjunction, clause in others:
        comma = "," if conjunction in ("but", "so") else ""
        words = f"{words}{comma} {LINKS[conjunction]} {statement(clause)}"
    if it.opening:
        words = f"{it.opening.fr}, {words}"
    words = finish(words)
    return f"{words[0].upper()}{words[1:]}{end}"
