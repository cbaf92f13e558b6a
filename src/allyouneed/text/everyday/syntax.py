"""The abstract sentence: a tree of meanings and features without order, which every language realises its own way."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from allyouneed.text.everyday.lexicon import Adjective, Entry, Noun, Place, Verb


class Tense(StrEnum):
    """What a time means in each language: NOW is eating, HABIT eats, PAST ate, WAS was eating, SOON is going to eat.

    French has mange, mange, a mangé, mangeait, va manger, mangera; Korean one form for SOON and WILL.
    """

    NOW = "now"
    HABIT = "habit"
    PAST = "past"
    WAS = "was"
    SOON = "soon"
    WILL = "will"


NOW, HABIT, PAST, WAS, SOON, WILL = Tense


@dataclass(frozen=True, slots=True)
class Pronoun:
    """I, you, he ...; `female` and `formal` show only where a language marks them.

    `antecedent` is the noun that a third person takes up: languages with gender agree with it, and "it" comes from it.
    """

    person: int
    plural: bool = False
    female: bool = False
    formal: bool = False
    antecedent: Noun | None = None

    @property
    def thing(self) -> bool:
        """Takes up something that is no person."""
        return self.antecedent is not None and not self.antecedent.person


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun with what belongs to it. `determiner`: the, a, generic, this, own (with `owner`), name or none."""

    noun: Noun
    determiner: str
    plural: bool = False
    count: int = 0
    owner: Pronoun | None = None
    adjectives: tuple[Adjective, ...] = ()
    topic: "Phrase | None" = None  # the agreement *on the area*
    relative: "Relative | None" = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two noun phrases joined by "and"."""

    first: Phrase
    second: Phrase


Nominal = Pronoun | Phrase | Pair


@dataclass(frozen=True, slots=True)
class Where:
    """A place of the lexicon and its relation: to, at or from."""

    place: Place
    relation: str


@dataclass(frozen=True, slots=True)
class Prepositional:
    """`preposition` is the English word: on, in, under, behind, near, next to or with."""

    preposition: str
    nominal: Nominal


@dataclass(frozen=True, slots=True)
class Clock:
    """At a full hour."""

    hour: int


@dataclass(frozen=True, slots=True)
class Month:
    """In March 1994; without a year: in March."""

    month: int
    year: int = 0


Adverbial = Entry | Where | Prepositional | Clock | Month


@dataclass(frozen=True, slots=True)
class Action:
    """A verb of the lexicon with its object and the person it is done to."""

    verb: Verb
    object: Nominal | None = None
    recipient: Nominal | None = None


@dataclass(frozen=True, slots=True)
class Motion:
    """`key` names the row of each language's own table: go, come, return, go back, arrive or stay."""

    key: str
    where: Where


@dataclass(frozen=True, slots=True)
class Quality:
    """An adjective after "be". `degree`: "", very, too, more, less, as (the last three compare with `standard`)."""

    adjective: Adjective
    degree: str = ""
    standard: Nominal | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A noun after "be": my brother is a doctor."""

    phrase: Phrase


@dataclass(frozen=True, slots=True)
class Located:
    """The cat is under the bed."""

    where: Where | Prepositional


@dataclass(frozen=True, slots=True)
class Age:
    """She is twelve years old."""

    years: int


@dataclass(frozen=True, slots=True)
class Passive:
    """The treaty was signed, by somebody or not."""

    verb: Verb
    agent: Phrase | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """There is ...; the clause's subject is what there is."""

    where: Where | Prepositional


@dataclass(frozen=True, slots=True)
class Weather:
    """`key` names the row of each language's own table: rain, snow, cold, hot, sunny or windy."""

    key: str


Predicate = Action | Motion | Quality | Kind | Located | Age | Passive | Existence | Weather


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject and what is said of it. `modal`: "", want, can, must. `frequency` "never" makes the clause negative."""

    subject: Nominal | None
    predicate: Predicate
    tense: Tense
    negative: bool = False
    modal: str = ""
    frequency: Entry | None = None
    adverbials: tuple[Adverbial, ...] = ()


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative clause: its head noun is its object, or else its subject (`clause.subject` is None then)."""

    clause: Clause
    head_is_object: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One clause with further ones linked to it.

    `mood`: statement, question, command or request. `wh`: "", who, what, where, when, why, how many.
    `links` pair a conjunction (and, but, because, when, while, if, so, that) with a clause; a link "that" makes the
    first clause (I know, he says) the frame of the second. `fronted`: the link stands first. `opening`: a time that
    stands before all.
    """

    clause: Clause
    mood: str = "statement"
    wh: str = ""
    links: tuple[tuple[str, Clause], ...] = ()
    fronted: bool = False
    opening: Entry | None = None


def person(nominal: Nominal | None) -> int:
    """The grammatical person: 1, 2 or 3."""
    return nominal.person if isinstance(nominal, Pronoun) else 3


def is_plural(nominal: Nominal | None) -> bool:
    """More than one by meaning."""
    if nominal is None:
        return False
    return isinstance(nominal, Pair) or nominal.plural


def is_feminine(nominal: Nominal | None, gender: Callable[[Noun], bool]) -> bool:
    """Feminine by the `gender` that a language gives to nouns; two are feminine if both are."""
    match nominal:
        case Pronoun():
            return gender(nominal.antecedent) if nominal.antecedent else nominal.female
        case Pair(first, second):
            return gender(first.noun) and gender(second.noun)
        case Phrase():
            return gender(nominal.noun)
        case None:
            return False


def assemble(it: Sentence, words: str, tell: Callable[[Clause, bool], str], conjunctions: dict[str, str]) -> str:
    """The linked clauses around the words of the first, for the languages that put conjunctions before clauses.

    `tell(clause, silent)` gives a clause; `silent` says that its subject is the first clause's again.
    """
    links = list(it.links)
    if it.fronted:
        conjunction, clause = links.pop(0)
        words = f"{conjunctions[conjunction]} {tell(clause, False)}, {words}"
    for conjunction, clause in links:
        comma = "," if conjunction in ("but", "so") else ""
        silent = conjunction in ("because", "when") and taken_up(clause.subject, it.clause.subject)
        words = f"{words}{comma} {conjunctions[conjunction]} {tell(clause, silent)}"
    return words


def taken_up(subject: Nominal | None, main: Nominal | None) -> bool:
    """The subject is a pronoun for something that the main clause has named, or the same pronoun again."""
    return isinstance(subject, Pronoun) and (subject.antecedent is not None or subject == main)
