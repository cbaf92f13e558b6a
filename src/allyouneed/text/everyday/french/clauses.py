"""French clauses and sentences."""

from dataclasses import replace

from allyouneed.text.everyday.french import verbs
from allyouneed.text.everyday.french.words import (
    DIRECT,
    INDIRECT,
    REFLEXIVE,
    STRONG,
    SUBJECTS,
    VOWEL,
    determiner,
    feminine,
    finish,
    forms,
    index,
    inflect,
    many,
    pronoun,
)
from allyouneed.text.everyday.lexicon import Adjective, Entry
from allyouneed.text.everyday.numerals import MONTHS_FR, number_fr
from allyouneed.text.everyday.syntax import (
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

MOTION = {"go": "aller", "come": "venir", "return": "revenir", "go back": "retourner", "arrive": "arriver",
          "stay": "rester"}  # fmt: skip
WEATHER = {"rain": ("pleuvoir", ""), "snow": ("neiger", ""), "cold": ("faire", "froid"), "hot": ("faire", "chaud"),
           "sunny": ("faire", "soleil"), "windy": ("faire", "du vent")}  # fmt: skip
PREPOSITIONS = {"on": "sur", "in": "dans", "under": "sous", "behind": "derrière", "near": "près de", "with": "avec",
                "next to": "à côté de"}  # fmt: skip
LINKS = {"and": "et", "but": "mais", "because": "parce que", "when": "quand", "while": "pendant que", "if": "si",
         "that": "que", "so": "donc"}  # fmt: skip
ADVERBS = {"": "", "very": "très", "too": "trop", "more": "plus", "less": "moins", "as": "aussi"}
MODALS = {"want": "vouloir", "can": "pouvoir", "must": "devoir"}


def phrase(it: Nominal, preposition: str = "", *, negated: bool = False) -> str:
    """A noun phrase after a preposition, or a pronoun in its strong form."""
    if isinstance(it, Pronoun):
        return f"{preposition} {pronoun(it, STRONG)}"
    if isinstance(it, Pair):
        again = preposition if preposition in ("à", "de") else ""  # à Paul et à Marie, avec Paul et Marie
        return f"{phrase(it.first, preposition, negated=negated)} et {phrase(it.second, again, negated=negated)}"
    noun, several = forms(it.noun), many(it)
    which = noun.feminine + 2 * several
    words = [noun.plural if several else noun.singular]
    for adjective in reversed([a for a in it.adjectives if "pre" in a.notes]):
        liaison = which == 0 and words[0][0] in VOWEL  # un bel arbre
        words.insert(0, inflect(adjective)[4 if liaison else which])
    # The adjectives behind the noun stand the other way round: the noun's own field first, then its origin.
    words += [inflect(a)[which] for a in reversed(it.adjectives) if "pre" not in a.notes]
    article = determiner(it, noun.feminine, several, negated)
    if preposition.endswith("de") and article.split(" ")[0] in ("de", "des"):
        article = ""  # besoin de + du pain: besoin de pain
    if it.topic:
        words.append(phrase(it.topic, "sur"))
    if it.relative:
        words.append(relative(it))
    return " ".join((preposition, article, *words))


def relative(head: Phrase) -> str:
    """The relative clause of a phrase: qui lit, qu'elle a achetée."""
    if head.relative is None:
        return ""
    clause = head.relative.clause
    if head.relative.head_is_object:
        return f"que {subject_of(clause)} {predicate(clause, clause.subject, before=head)}"
    return f"qui {predicate(clause, head)}"


def subject_of(clause: Clause) -> str:
    """The words of the subject."""
    who = clause.subject
    if who is None:
        return ""
    return pronoun(who, SUBJECTS) if isinstance(who, Pronoun) else phrase(who)


def lemma(clause: Clause) -> str:
    """The verb's infinitive, with "se" and with what belongs to it: se lever, avoir besoin."""
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
    """The unstressed pronoun before the verb: me, lui, la, y."""
    match clause.predicate:
        case Action(_, _, Pronoun() as to):
            return pronoun(to, INDIRECT)
        case Action(_, Pronoun() as thing, _):
            return pronoun(thing, DIRECT)
        case Existence():
            return "y"
        case _:
            return ""


def participle(clause: Clause, who: Nominal | None, before: Nominal | None) -> str:
    """The past participle: with être it agrees with the subject, with avoir with a direct object that stands before."""
    name = lemma(clause)
    done = verbs.participle(verbs.bare(name))
    if verbs.auxiliary(name) == "être":
        return verbs.agree(done, feminine(who), many(who))
    if before is None and isinstance(clause.predicate, Action) and isinstance(clause.predicate.object, Pronoun):
        before = clause.predicate.object
    return verbs.agree(done, feminine(before), many(before))


def group(clause: Clause, who: Nominal | None, *, before: Nominal | None = None, inversion: str = "") -> str:
    """The verb group. `before`: a direct object that stands before it; `inversion`: the pronoun put behind the verb."""
    name, at = lemma(clause), 2 if isinstance(clause.predicate, Existence | Weather) else index(who)
    verb, rest = verbs.bare(name), name.removeprefix("se ").removeprefix("s'").partition(" ")[2]
    own = REFLEXIVE[at] if verbs.reflexive(name) else clitic(clause)
    early, tail = "", f"{own} {verb} {rest}"
    if clause.modal:
        table = verbs.imperfect if clause.tense in (PAST, WAS) else verbs.present
        finite = table(MODALS[clause.modal])[at]
    elif clause.tense is SOON:
        finite = verbs.present("aller")[at]
    elif clause.tense is PAST:
        finite = verbs.present(verbs.auxiliary(name))[at]
        early, tail = own, f"{participle(clause, who, before)} {rest}"
    else:
        table = {WAS: verbs.imperfect, WILL: verbs.future}.get(clause.tense, verbs.present)
        finite, early, tail = table(verb)[at], own, rest
    if inversion:
        link = "-t-" if inversion in ("il", "elle") and finite[-1] in "aec" else "-"
        finite = f"{finite}{link}{inversion}"
    often = clause.frequency.fr if clause.frequency else ""
    if clause.negative:
        return f"ne {early} {finite} {'jamais' if often == 'jamais' else f'pas {often}'} {tail}"
    return f"{early} {finite} {often} {tail}"


def complement(clause: Clause, who: Nominal | None) -> str:
    """What follows the verb, adverbials not counted."""
    match clause.predicate:
        case Action(verb, thing, to):
            told = ""
            if thing is not None and not isinstance(thing, Pronoun):
                told = phrase(thing, verb.fr.partition(" +")[2], negated=clause.negative)
            return told if to is None or isinstance(to, Pronoun) else f"{told} {phrase(to, 'à')}"
        case Motion(_, at) | Located(at) | Existence(at):
            return where(at)
        case Quality(adjective, degree, standard):
            return quality(adjective, degree, standard, who)
        case Kind(told):
            return phrase(told if told.adjectives else replace(told, determiner="none"))  # elle est médecin
        case Age(years):
            return f"{number_fr(years)} {'an' if years == 1 else 'ans'}"
        case Passive(verb, agent):
            done = verbs.agree(verbs.participle(verbs.bare(verb.fr)), feminine(who), many(who))
            return f"{done} {phrase(agent, 'par')}" if agent else done
        case Weather(key):
            return WEATHER[key][1].replace("du ", "de ") if clause.negative else WEATHER[key][1]


def quality(adjective: Adjective, degree: str, standard: Nominal | None, who: Nominal | None) -> str:
    """The agreeing adjective with its degree."""
    word, adverb = inflect(adjective)[feminine(who) + 2 * many(who)], ADVERBS[degree]
    if degree == "more" and adjective.en == "good":
        adverb, word = "", verbs.agree("meilleur", feminine(who), many(who))
    return f"{adverb} {word} {phrase(standard, 'que')}" if standard else f"{adverb} {word}"


def where(it: Where | Prepositional) -> str:
    """Dans la cuisine, de Paris."""
    if isinstance(it, Prepositional):
        return phrase(it.nominal, PREPOSITIONS[it.preposition])
    return {"to": it.place.fr, "at": it.place.fr_at, "from": it.place.fr_from}[it.relation]


def adverbial(it: Adverbial) -> str:
    """Where, with whom, when, how."""
    match it:
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return f"à {number_fr(hour, True)} heure{'s' if hour > 1 else ''}"
        case Month(month, year):
            return f"en {MONTHS_FR[month]} {year or ''}"
        case Entry():
            return it.fr


def adverbials(clause: Clause) -> str:
    """All adverbials in their order."""
    return " ".join(map(adverbial, clause.adverbials))


def predicate(clause: Clause, who: Nominal | None, *, before: Nominal | None = None) -> str:
    """Verb group, complement and adverbials."""
    return f"{group(clause, who, before=before)} {complement(clause, who)} {adverbials(clause)}"


def statement(clause: Clause) -> str:
    """A clause in the order of statements."""
    match clause.predicate:
        case Weather():
            return f"il {predicate(clause, None)}"
        case Existence(at):
            what = phrase(clause.subject, negated=clause.negative) if clause.subject else ""
            return f"il {group(clause, None)} {what} {where(at)} {adverbials(clause)}"
        case _:
            return f"{subject_of(clause)} {predicate(clause, clause.subject)}"


def question(it: Sentence) -> str:
    """Est-ce que before a statement; where a pronoun goes or is, it stands behind its verb."""
    clause, doing, who = it.clause, it.clause.predicate, it.clause.subject
    match it.wh:
        case "who":
            return f"qui {predicate(clause, None)}"
        case "what":
            return f"qu'est-ce que {statement(clause)}"
        case "how many" if isinstance(doing, Action) and isinstance(doing.object, Phrase):
            verb = group(clause, who, before=doing.object)
            return f"combien {phrase(doing.object, 'de')} est-ce que {subject_of(clause)} {verb} {adverbials(clause)}"
        case "where" if isinstance(doing, Motion | Located):
            word = "d'où" if isinstance(doing, Motion) and doing.where.relation == "from" else "où"
            if isinstance(who, Pronoun):
                return f"{word} {group(clause, who, inversion=pronoun(who, SUBJECTS))} {adverbials(clause)}"
            if isinstance(doing, Located):
                return f"{word} {group(clause, who)} {subject_of(clause)} {adverbials(clause)}"
            return f"{word} est-ce que {subject_of(clause)} {group(clause, who)} {adverbials(clause)}"
        case _:
            word = {"": "", "where": "où", "when": "quand", "why": "pourquoi"}[it.wh]
            return f"{word} est-ce que {statement(clause)}"


def command(clause: Clause) -> str:
    """The imperative of tu or vous: mange, levez-vous, ne te lève pas."""
    name, at = lemma(clause), index(clause.subject)
    form = verbs.present(verbs.bare(name))[at]
    if at == 1 and form.endswith(("es", "as")):
        form = form[:-1]
    own = REFLEXIVE[at] if verbs.reflexive(name) else ""
    if clause.negative:
        form = f"ne {own} {form} pas"
    elif own:
        form = f"{form}-{'toi' if at == 1 else 'vous'}"
    return f"{form} {complement(clause, clause.subject)} {adverbials(clause)}"


def realise(it: Sentence) -> str:
    """The sentence as French text."""
    end = " ?" if it.mood == "question" else "."
    match it.mood:
        case "question":
            words = question(it)
        case "command":
            words = command(it.clause)
        case "request":
            words = f"{command(it.clause)}, s'il {'te' if index(it.clause.subject) == 1 else 'vous'} plaît"
        case _:
            words = statement(it.clause)
    words = assemble(it, words, lambda clause, _: statement(clause), LINKS)
    if it.opening:
        words = f"{it.opening.fr}, {words}"
    words = finish(words)
    return f"{words[0].upper()}{words[1:]}{end}"
