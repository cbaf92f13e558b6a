"""Spanish clauses and sentences."""

from dataclasses import replace

from allyouneed.text.everyday.lexicon import Adjective, Entry
from allyouneed.text.everyday.numerals import MONTHS_ES, number_es
from allyouneed.text.everyday.spanish import verbs
from allyouneed.text.everyday.spanish.words import (
    INDIRECT,
    PLAIN,
    REFLEXIVE,
    SHORT,
    attach,
    determiner,
    direct,
    feminine,
    finish,
    forms,
    index,
    inflect,
    pronoun,
)
from allyouneed.text.everyday.syntax import (
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
    is_plural,
)

MOTION = {"go": "ir", "come": "venir", "return": "volver", "go back": "volver", "arrive": "llegar", "stay": "quedarse"}
WEATHER = {"rain": ("llover", ""), "snow": ("nevar", ""), "cold": ("hacer", "frío"), "hot": ("hacer", "calor"),
           "sunny": ("hacer", "sol"), "windy": ("hacer", "viento")}  # fmt: skip
PREPOSITIONS = {"on": "sobre", "in": "en", "under": "debajo de", "behind": "detrás de", "near": "cerca de",
                "with": "con", "next to": "al lado de"}  # fmt: skip
LINKS = {"and": "y", "but": "pero", "because": "porque", "when": "cuando", "while": "mientras", "if": "si",
         "that": "que", "so": "así que"}  # fmt: skip
ADVERBS = {"": "", "very": "muy", "too": "demasiado", "more": "más", "less": "menos", "as": "tan"}
MODALS = {"want": "querer", "can": "poder", "must": "deber"}


def phrase(it: Nominal, preposition: str = "", *, subject: bool = False) -> str:
    """A noun phrase after a preposition, or a pronoun in its stressed form."""
    if isinstance(it, Pronoun):
        told = pronoun(it)
        return (
            f"con{told.translate(PLAIN)}go"
            if preposition == "con" and told in ("mí", "ti")
            else f"{preposition} {told}"
        )
    if isinstance(it, Pair):
        return f"{phrase(it.first, preposition)} y {phrase(it.second, preposition if preposition == 'a' else '')}"
    noun = forms(it.noun)
    which, titled = noun.feminine + 2 * it.plural, noun.singular[0].isupper()
    words = [noun.plural if it.plural else noun.singular]
    for adjective in reversed(it.adjectives):
        word = inflect(adjective)[which]
        if adjective.es in SHORT:
            words.insert(0, SHORT.get(word, word) if which == 0 else word)
        else:
            words.append(word.capitalize() if titled else word)
    if it.topic:
        words.append(phrase(it.topic, "sobre"))
    if it.relative:
        words.append(relative(it))
    return " ".join((preposition, determiner(it, noun, subject), *words))


def relative(head: Phrase) -> str:
    """The relative clause of a phrase: que lee, que ella compró, al que ayudó."""
    if head.relative is None:
        return ""
    clause = head.relative.clause
    if not head.relative.head_is_object:
        return f"que {predicate(clause, head)}"
    if not head.noun.person:
        return f"que {statement(clause)}"
    article = ("las" if feminine(head) else "los") if head.plural else "la" if feminine(head) else "el°"
    return f"a {article} que {statement(clause)}"


def subject_of(clause: Clause) -> str:
    """The words of the subject; the verb's ending tells yo, tú and nosotros, and nothing stands for "it"."""
    who = clause.subject
    if who is None:
        return ""
    if isinstance(who, Pronoun):
        return "" if index(who) in (0, 1, 3) or who.thing else pronoun(who)
    return phrase(who, subject=True)


def lemma(clause: Clause) -> str:
    """The infinitive, with "se" where it is reflexive."""
    match clause.predicate:
        case Action(verb):
            return verb.es.split(" +")[0]
        case Motion(key):
            return MOTION[key]
        case Weather(key):
            return WEATHER[key][0]
        case Existence():
            return "haber"
        case Located():
            return "estar"
        case Age():
            return "tener"
        case Quality(adjective) if "state" in adjective.notes:
            return "tener"
        case Quality(adjective) if "estar" in adjective.notes:
            return "estar"
        case _:
            return "ser"


def clitic(clause: Clause) -> str:
    """The unstressed pronoun; a recipient has one even where it is named (le da el libro a Ana)."""
    match clause.predicate:
        case Action(_, _, to) if to is not None:
            return INDIRECT[index(to)]
        case Action(_, Pronoun() as thing, _):
            return direct(thing)
        case _:
            return ""


def progressive(clause: Clause) -> bool:
    """Está comiendo, está lloviendo; going and coming are said in the plain present."""
    doing = clause.predicate
    action = isinstance(doing, Action) and "state" not in doing.verb.notes
    return clause.tense in (NOW, WAS) and (action or (isinstance(doing, Weather) and doing.key in ("rain", "snow")))


def group(clause: Clause, who: Nominal | None) -> str:
    """Negation, adverb of frequency, unstressed pronoun and verb."""
    name, at = lemma(clause), 2 if isinstance(clause.predicate, Existence | Weather) else index(who)
    verb, past = verbs.bare(name), clause.tense in (PAST, WAS)
    own = REFLEXIVE[at] if verbs.reflexive(name) else clitic(clause)
    simple = verbs.imperfect if past else verbs.present
    if clause.modal:
        told = f"{simple(MODALS[clause.modal])[at]} {verb}{own}"
    elif clause.tense is SOON:
        told = f"{verbs.present('ir')[at]} a {verb}{own}"
    elif progressive(clause):
        told = f"{own} {simple('estar')[at]} {verbs.gerund(verb)}"
    else:
        table = {PAST: verbs.preterite, WAS: verbs.imperfect, WILL: verbs.future}.get(clause.tense, verbs.present)
        told = f"{own} {table(verb)[at]}"
    often = clause.frequency.es if clause.frequency else ""
    return f"no {told} {often}" if clause.negative and often != "nunca" else f"{often} {told}"


def experienced(action: Action, clause: Clause) -> str:
    """With gustar what is liked is the subject: me gusta el queso, a Ana le gustan los gatos."""
    who, thing = clause.subject, action.object
    at = index(who)
    verb = verbs.present(action.verb.es)[5 if is_plural(thing) else 2]
    somebody = "" if who is None or (isinstance(who, Pronoun) and at in (0, 1, 3)) else phrase(who, "a")
    told = phrase(thing) if thing else ""
    return f"{somebody} {'no' if clause.negative else ''} {INDIRECT[at]} {verb} {told}"


def complement(clause: Clause, who: Nominal | None) -> str:
    """What follows the verb, adverbials not counted."""
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
            return phrase(told if told.adjectives else replace(told, determiner="none"))  # ella es médica
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
    """The agreeing adjective with its degree."""
    word, adverb = inflect(adjective)[feminine(who) + 2 * is_plural(who)], ADVERBS[degree]
    if degree == "more" and adjective.es in SHORT:
        adverb, word = "", f"{'mejor' if adjective.es == 'bueno' else 'peor'}{'es' if is_plural(who) else ''}"
    if standard is None:
        return f"{adverb} {word}"
    return f"{adverb} {word} {'como' if degree == 'as' else 'que'} {phrase(standard)}"


def place(it: Where, preposition: str) -> str:
    """A place of the lexicon after a preposition."""
    name = it.place.es
    return f"{preposition} {f'el° {name[3:]}' if name.startswith('el ') else name}"


def where(it: Where | Prepositional) -> str:
    """En la cocina, de París."""
    if isinstance(it, Prepositional):
        return phrase(it.nominal, PREPOSITIONS[it.preposition])
    return place(it, {"to": "a", "at": "en", "from": "de"}[it.relation])


def adverbial(it: Adverbial) -> str:
    """Where, with whom, when, how."""
    match it:
        case Prepositional("on", seat):
            return phrase(seat, "en")  # sentarse en el sofá
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return "a la una" if hour == 1 else f"a las {number_es(hour, True)}"
        case Month(month, year):
            return f"en {MONTHS_ES[month]} {f'de {year}' if year else ''}"
        case Entry():
            return it.es


def adverbials(clause: Clause) -> str:
    """All adverbials in their order."""
    return " ".join(map(adverbial, clause.adverbials))


def predicate(clause: Clause, who: Nominal | None) -> str:
    """Verb group, complement and adverbials."""
    return f"{group(clause, who)} {complement(clause, who)} {adverbials(clause)}"


def statement(clause: Clause, silent: bool = False) -> str:
    """A clause in the order of statements; `silent`: its subject is known and left out."""
    match clause.predicate:
        case Action(verb) as action if verb.es in ("gustar", "encantar"):
            return experienced(action, clause)
        case Existence(at):
            what = phrase(clause.subject) if clause.subject else ""
            return f"{group(clause, None)} {what} {where(at)} {adverbials(clause)}"
        case _:
            return f"{'' if silent else subject_of(clause)} {predicate(clause, clause.subject)}"


def question(it: Sentence) -> str:
    """A statement between question marks, or the question word, the verb and then the subject."""
    clause, doing = it.clause, it.clause.predicate
    who, verb, rest = subject_of(clause), group(clause, clause.subject), adverbials(clause)
    told = complement(clause, clause.subject)
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
        case _:
            word = {"when": "cuándo", "why": "por qué", "what": "qué"}[it.wh]
            order = (told, who) if isinstance(doing, Quality | Passive) else (who, told)
            return " ".join((word, verb, *order, rest))


def command(clause: Clause) -> str:
    """The imperative of tú or usted: come, siéntese, no vayas."""
    formal = isinstance(clause.subject, Pronoun) and clause.subject.formal
    name = lemma(clause)
    own = ("se" if formal else "te") if verbs.reflexive(name) else clitic(clause)
    form = verbs.command(verbs.bare(name), formal, clause.negative)
    told = f"no {own} {form}" if clause.negative else attach(form, own)
    return f"{told} {complement(clause, clause.subject)} {adverbials(clause)}"


def realise(it: Sentence) -> str:
    """The sentence as Spanish text."""
    opening, end = ("¿", "?") if it.mood == "question" else ("", ".")
    match it.mood:
        case "question":
            words = question(it)
        case "command":
            words = command(it.clause)
        case "request":
            words = f"{command(it.clause)}, por favor"
        case _:
            words = statement(it.clause)
    words = assemble(it, words, statement, LINKS)
    if it.opening:
        words = f"{it.opening.es}, {words}"
    words = finish(words)
    return f"{opening}{words[0].upper()}{words[1:]}{end}"
