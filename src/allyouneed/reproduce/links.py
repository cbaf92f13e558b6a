"""Which word of an everyday sentence is which of its French translation: the grammar knows, since both come from one
tree of meanings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import islice
from random import Random

from allyouneed.text.everyday import REALISE
from allyouneed.text.everyday.english import verbs as english_verbs
from allyouneed.text.everyday.english import words as english
from allyouneed.text.everyday.french import verbs as french_verbs
from allyouneed.text.everyday.french import words as french
from allyouneed.text.everyday.lexicon import Adjective, Entry, Noun, Verb
from allyouneed.text.everyday.reserved import reserved
from allyouneed.text.everyday.sentences import sentence
from allyouneed.text.everyday.splits import split_of

AGREEMENTS = ((False, False), (False, True), (True, False), (True, True))  # feminine, plural


@dataclass(frozen=True)
class Linked:
    """A sentence, its translation, and the pairs of words, counted from 0, that say the same."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]


def linked_sentences(count: int, seed: int = 0) -> list[Linked]:
    """Everyday sentences of the test split, English and French, that have links."""
    return list(islice(endless(Random(f"{seed} links")), count))


def endless(rng: Random) -> Iterator[Linked]:
    """Sentences with links, as they are made."""
    while True:
        tree = sentence(rng)
        if split_of(tree) != "test":
            continue
        source, target = REALISE["en"](tree), REALISE["fr"](tree)
        links = links_of([*entries(tree)], source, target)
        if links and not reserved(source):
            yield Linked(source, target, links)


def entries(part: object) -> Iterator[Entry]:
    """The nouns, adjectives and verbs of a tree of meanings."""
    if isinstance(part, (Noun, Adjective, Verb)):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from entries(inner)
    elif is_dataclass(part) and not isinstance(part, Entry):
        for field in fields(part):
            yield from entries(getattr(part, field.name))


def links_of(meanings: list[Entry], source: str, target: str) -> tuple[tuple[int, int], ...]:
    """The pairs of words of a meaning that each side says once, in a form that the dictionary knows."""
    read, written = bare(source), bare(target)
    found: set[tuple[int, int]] = set()
    for meaning in meanings:
        ours, theirs = forms(meaning)
        places = [place for place, word in enumerate(read) if word in ours]
        others = [place for place, word in enumerate(written) if word in theirs]
        if len(places) == len(others) == 1:
            found.add((places[0], others[0]))
    return tuple(sorted(found, key=lambda pair: pair[::-1]))


def bare(text: str) -> list[str]:
    """The words of a text in small letters, without punctuation and what is joined to their front (l'accord)."""
    words = (word.strip(".,?!").lower() for word in text.split())
    return [word.rpartition("'")[2] or word for word in words]


@cache
def forms(meaning: Entry) -> tuple[frozenset[str], frozenset[str]]:
    """The English and the French forms of a meaning, those of one word."""
    match meaning:
        case Noun():
            here, there = english.forms(meaning), french.forms(meaning)[:2]
        case Adjective():
            here, there = (meaning.en, english.compared(meaning, "more")), french.inflect(meaning)
        case Verb():
            here, there = english_forms(meaning.en), french_forms(meaning.fr.split(" +")[0])
        case _:
            here, there = (), ()
    return one_word(here), one_word(there)


def english_forms(verb: str) -> tuple[str, ...]:
    """Eat, eats, eating, ate, eaten."""
    made = (english_verbs.third, english_verbs.ing, english_verbs.past, english_verbs.participle)
    return verb, *(form(verb) for form in made)


def french_forms(lemma: str) -> tuple[str, ...]:
    """Manger, mange ..., mangeait ..., mangera ..., mangé ...; nothing for verbs that are no single word."""
    if " " in lemma or french_verbs.reflexive(lemma):
        return ()
    finite = (*french_verbs.present(lemma), *french_verbs.imperfect(lemma), *french_verbs.future(lemma))
    done = french_verbs.participle(lemma)
    return lemma, *finite, *(french_verbs.agree(done, feminine, plural) for feminine, plural in AGREEMENTS)


def one_word(found: tuple[str, ...]) -> frozenset[str]:
    """Those forms that are one word, in small letters."""
    return frozenset(form.lower() for form in found if form and " " not in form and form != "-")
