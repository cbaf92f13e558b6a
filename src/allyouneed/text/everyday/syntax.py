"""The abstract sentence: a tree of meanings and features with no word order, which every language realises its own way."""

from dataclasses import dataclass
from enum import StrEnum

from .lexicon import Adjective, Entry, Noun, Place, Verb


class Tense(StrEnum):
    NOW = "now"  # is eating, mange, está comiendo, 먹고 있어요
    HABIT = "habit"  # eats, mange, come, 먹어요
    PAST = "past"  # ate, a mangé, comió, 먹었어요
    WAS = "was"  # was eating, mangeait, estaba comiendo, 먹고 있었어요
    SOON = "soon"  # is going to eat, va manger, va a comer, 먹을 거예요
    WILL = "will"  # will eat, mangera, comerá, 먹을 거예요


@dataclass(frozen=True, slots=True)
class Pronoun:
    """`female` and `formal` show only where a language marks them. Person 3, `thing`: it, they (things and animals)."""

    person: int
    plural: bool = False
    female: bool = False
    formal: bool = False
    antecedent: Noun | None = None  # "it": the languages with gender agree with this noun


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase. `determiner`: the, a, generic, this, own (with `owner`), name, none."""

    noun: Noun
    determiner: str
    plural: bool = False
    count: int = 0
    owner: Pronoun | None = None
    adjectives: tuple[Adjective, ...] = ()
    topic: "Phrase | None" = None  # agreement *on the area*, question *about the film*
    relative: "Relative | None" = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two noun phrases joined by "and"."""

    first: Phrase
    second: Phrase


Nominal = Pronoun | Phrase | Pair


@dataclass(frozen=True, slots=True)
class Where:
    """A place with its relation: to, at or from; `home` and the like are places too."""

    place: Place
    relation: str


@dataclass(frozen=True, slots=True)
class Prepositional:
    """`preposition` is the English word: on, in, under, behind, near, with, for, by, before, after, in front of."""

    preposition: str
    nominal: Nominal


@dataclass(frozen=True, slots=True)
class Clock:
    hour: int


@dataclass(frozen=True, slots=True)
class Month:
    """In March 1994; no year: in March."""

    month: int
    year: int = 0


Adverbial = Entry | Where | Prepositional | Clock | Month


@dataclass(frozen=True, slots=True)
class Action:
    verb: Verb
    object: Nominal | None = None
    recipient: Nominal | None = None


@dataclass(frozen=True, slots=True)
class Motion:
    """go, come (back), arrive, leave: `key` names the row of the languages' own tables."""

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
    """A noun after "be": my brother is a doctor, it is a good book."""

    phrase: Phrase


@dataclass(frozen=True, slots=True)
class Located:
    where: Where | Prepositional


@dataclass(frozen=True, slots=True)
class Age:
    years: int


@dataclass(frozen=True, slots=True)
class Passive:
    verb: Verb
    agent: Phrase | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """There is ... ; the clause's subject is what there is."""

    where: Where | Prepositional


@dataclass(frozen=True, slots=True)
class Weather:
    """It is raining; `key` names the row of the languages' own tables."""

    key: str


Predicate = Action | Motion | Quality | Kind | Located | Age | Passive | Existence | Weather


@dataclass(frozen=True, slots=True)
class Clause:
    subject: Nominal | None
    predicate: Predicate
    tense: Tense
    negative: bool = False
    modal: str = ""  # want, can, must
    frequency: Entry | None = None  # often, always, sometimes; "never" makes the clause negative
    adverbials: tuple[Adverbial, ...] = ()


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative clause; the head noun is its subject (`clause.subject` is None) or its object."""

    clause: Clause
    head_is_object: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """`mood`: statement, question (with `wh`: "", who, what, where, when, why, how many), command.

    `links` are further clauses, each with its conjunction: and, but, because, when, while, if, that, so. A link "that"
    makes the first clause (I know, he says) the frame of the second. `fronted`: the link comes first.
    """

    clause: Clause
    mood: str = "statement"
    wh: str = ""
    links: tuple[tuple[str, Clause], ...] = ()
    fronted: bool = False
    opening: Entry | None = None  # a time at the very front: "Yesterday, ..."


def person(nominal: Nominal | None) -> int:
    return nominal.person if isinstance(nominal, Pronoun) else 3


def is_plural(nominal: Nominal | None) -> bool:
    if nominal is None:
        return False
    return isinstance(nominal, Pair) or nominal.plural
