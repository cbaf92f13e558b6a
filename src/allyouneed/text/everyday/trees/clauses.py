"""English clauses as trees: noun phrases with what belongs to them, verbs with what follows them.

The words come from the functions that make the text (`english`), so that only their order and their brackets are told
here.
"""

from allyouneed.text.everyday.english.clauses import MOTION, WEATHER, base, group
from allyouneed.text.everyday.english.verbs import participle
from allyouneed.text.everyday.english.words import OBJECTS, SUBJECTS, index, pronoun
from allyouneed.text.everyday.numerals import MONTHS_EN, number_en
from allyouneed.text.everyday.syntax import (
    HABIT,
    PAST,
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
    Weather,
    Where,
)
from allyouneed.text.everyday.trees.words import (
    adverb,
    adverbials,
    noun_parts,
    place,
    prepositional,
    quality_leaves,
)
from allyouneed.text.trees.tree import Tree, leaf

Parts = tuple[Tree, ...]

FINITE = {"am": "VBP", "are": "VBP", "is": "VBZ", "was": "VBD", "were": "VBD", "do": "VBP", "does": "VBZ", "did": "VBD"}
PARTICLES = {  # what follows a verb as a part of it
    "up": Tree("PRT", (leaf("RP", "up"),)),
    "on": Tree("PRT", (leaf("RP", "on"),)),
    "back": adverb("back"),
    "dressed": Tree("ADJP", (leaf("JJ", "dressed"),)),
    "to bed": prepositional("to", Tree("NP", (leaf("NN", "bed"),))),
}


def nominal(it: Nominal, some: str = "some", *, subject: bool = False) -> Tree:
    """A noun phrase; `some` is the word before an indefinite plural or mass noun: some, any or nothing."""
    if isinstance(it, Pronoun):
        return Tree("NP", (leaf("PRP", pronoun(it, SUBJECTS if subject else OBJECTS)),))
    if isinstance(it, Pair):
        return Tree("NP", (nominal(it.first, some), leaf("CC", "and"), nominal(it.second, some)))
    core = Tree("NP", noun_parts(it, some))
    topic = (prepositional("on", nominal(it.topic, "")),) if it.topic else ()
    more = (*topic, *relative(it))
    return Tree("NP", (core, *more)) if more else core


def relative(head: Phrase) -> Parts:
    """The relative clause of a phrase, if it has one: who is reading, that she bought."""
    if head.relative is None:
        return ()
    told = head.relative.clause
    if head.relative.head_is_object:
        word, inner = leaf("WDT", "that"), statement(told)
    else:
        word = leaf("WP", "who") if head.noun.person else leaf("WDT", "that")
        inner = Tree("S", predicate(told, head))
    return (Tree("SBAR", (Tree("WHNP", (word,)), inner)),)


def where(it: Where | Prepositional) -> Tree:
    """In the kitchen, from Paris."""
    return place(it) if isinstance(it, Where) else prepositional(it.preposition, nominal(it.nominal))


def adverbial(it: Adverbial) -> Tree:
    """Where, with whom, when, how."""
    match it:
        case Where() | Prepositional():
            return where(it)
        case Clock(hour):
            return prepositional("at", Tree("NP", (leaf("CD", number_en(hour)), leaf("RB", "o'clock"))))
        case Month(month, year):
            of_year = (leaf("CD", str(year)),) if year else ()
            return prepositional("in", Tree("NP", (leaf("NNP", MONTHS_EN[month]), *of_year)))
        case _:
            return adverbials()[it.en]


def particle(words: str, *governed: Tree) -> Parts:
    """What belongs to a verb beside its own word, and the object: look (at ...), put (on) ..."""
    if not words:
        return governed
    if words in PARTICLES:
        return (PARTICLES[words], *governed)
    return (prepositional(words, *governed),)


def complement(it: Clause) -> Parts:
    """What follows the verb, adverbials not counted."""
    some = "" if it.tense in (HABIT, WILL, WAS) else "any" if it.negative else "some"
    match it.predicate:
        case Action(verb, thing, to):
            told = (nominal(thing, some),) if thing else ()
            if to and (isinstance(to, Pronoun) or verb.en in ("ask", "teach")):
                return (nominal(to), *told)
            given = (prepositional("to", nominal(to)),) if to else ()
            return (*particle(verb.en.partition(" ")[2], *told), *given)
        case Motion(key, at):
            return (*particle(MOTION[key].partition(" ")[2]), where(at))
        case Quality(_, degree, standard):
            than = "as" if degree == "as" else "than"
            compared_to = (prepositional(than, nominal(standard)),) if standard else ()
            return (Tree("ADJP", (*quality_leaves(it.predicate), *compared_to)),)
        case Kind(told):
            return (nominal(told, ""),)
        case Located(at) | Existence(at):
            return (where(at),)
        case Age(years):
            unit = leaf("NN", "year") if years == 1 else leaf("NNS", "years")
            return (Tree("ADJP", (Tree("NP", (leaf("CD", number_en(years)), unit)), leaf("JJ", "old"))),)
        case Passive(verb, agent):
            by = (prepositional("by", nominal(agent)),) if agent else ()
            return (Tree("VP", (leaf("VBN", participle(verb.en)), *by)),)
        case Weather(key):
            word = WEATHER[key][1]
            return (Tree("ADJP", (leaf("JJ", word),)),) if word else ()


def tail(it: Clause, more: Parts = ()) -> Parts:
    """All that follows the verb: complement, adverbials, and `more`. A passive's participle is a verb of its own, and
    takes the rest.
    """
    return attached(complement(it), (*map(adverbial, it.adverbials), *more))


def attached(parts: Parts, more: Parts) -> Parts:
    """`more` behind the parts, inside the phrase of a participle if they are one."""
    if parts and parts[-1].label == "VP":
        return (*parts[:-1], Tree("VP", (*parts[-1].parts, *more)))
    return (*parts, *more)


def infinite(words: str, after: Parts, verb: str) -> Parts:
    """Verbs that another one governs, `verb` last, with what follows it: eat, eating, going to eat, want to eat."""
    first, _, rest = words.partition(" to ")
    if not first:
        return after
    tag = "VB" if first in (verb, "want") else "VBG"
    return (Tree("VP", (leaf(tag, first), *(to_do(rest, after, verb) if rest else after))),)


def to_do(words: str, after: Parts, verb: str) -> Parts:
    """What is wanted, or going to happen."""
    return (Tree("S", (Tree("VP", (leaf("TO", "to"), *infinite(words, after, verb))),)),)


def predicate(it: Clause, subject: Nominal | None, after: Parts | None = None, more: Parts = ()) -> Parts:
    """Verbs, complement, adverbials and `more` of a statement; `after` stands for what follows the verb by itself."""
    aux, rest, plain = group(it, subject)
    after = tail(it, more) if after is None else attached(after, more)
    often = (adverb(it.frequency.en),) if it.frequency else ()
    never = it.frequency is not None and it.frequency.en == "never"
    denied = (leaf("RB", "not"),) if it.negative and not never else ()
    if plain and not denied:
        tag = "VBD" if it.tense in (PAST, WAS) else "VBZ" if index(subject) == 2 else "VBP"
        first, _, governed = plain.partition(" to ")
        return (*often, Tree("VP", (leaf(tag, first), *(to_do(governed, after, governed) if governed else after))))
    return (Tree("VP", (leaf(FINITE.get(aux, "MD"), aux), *denied, *often, *infinite(rest, after, base(it)))),)


def statement(it: Clause, more: Parts = ()) -> Tree:
    """A clause in the order of statements; `more` is what else belongs to its verb."""
    match it.predicate:
        case Weather():
            return Tree("S", (Tree("NP", (leaf("PRP", "it"),)), *predicate(it, None, more=more)))
        case Existence():
            there = Tree("NP", (leaf("EX", "there"),))
            after = existing(it, "any" if it.negative else "some")
            return Tree("S", (there, *predicate(it, it.subject, after, more)))
        case _:
            subject = (nominal(it.subject, subject=True),) if it.subject else ()
            return Tree("S", (*subject, *predicate(it, it.subject, more=more)))


def existing(it: Clause, some: str) -> Parts:
    """What there is, and where."""
    return (*((nominal(it.subject, some),) if it.subject else ()), *tail(it))


def command(it: Clause) -> Tree:
    """The bare verb, or "do not" before it."""
    verb = Tree("VP", (leaf("VB", base(it)), *tail(it)))
    return Tree("VP", (leaf("VB", "do"), leaf("RB", "not"), verb)) if it.negative else verb
