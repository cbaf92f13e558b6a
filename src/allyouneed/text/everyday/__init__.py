"""Everyday sentences in English, French, Korean and Spanish from a small grammar that is bilingual by construction.

A random abstract sentence is a tree of meanings and features (`syntax`), filled from the lexicon's tables by frames
that know what makes sense (`phrases`, `frames`, `affairs`, `questions`, `sentences`). Each language (`english`,
`french`, `korean`, `spanish`) realises that same tree with its own order, agreement and verb forms, so that the texts
are translations of each other. `splits` tells which sentences are held out; `reserved` names those that are never made.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from allyouneed.errors import UsageError, nearest
from allyouneed.text.everyday import english, french, korean, spanish
from allyouneed.text.everyday.reserved import RESERVED, reserved
from allyouneed.text.everyday.sentences import sentence
from allyouneed.text.everyday.splits import split_of
from allyouneed.text.everyday.syntax import Sentence

__all__ = ["LANGUAGES", "RESERVED", "SPLITS", "sentences"]

REALISE: dict[str, Callable[[Sentence], str]] = {
    "en": english.realise,
    "fr": french.realise,
    "ko": korean.realise,
    "es": spanish.realise,
}
LANGUAGES = tuple(REALISE)
SPLITS = ("train", "dev", "test")
LONGEST = 60  # words


def sentences(
    *, seed: int, count: int, split: str, languages: Sequence[str] = ("en", "fr")
) -> Iterator[tuple[str, ...]]:
    """`count` sentences, each a tuple with one text per language; the first language never says the same twice.

    The same arguments give the same sentences. Held out of train are 2 % of the combinations of a frame with its words
    (verb, subject and object; who goes where; what is called what; what lies where; two adjectives stacked on a noun)
    for dev and as many for test, chosen by a stable hash; those that the guide shows, for test (a mouse eats cheese, a
    cat sits on a mat, I go to school or home, the European Economic Area, a file is saved); and four shapes of clauses
    ("there was no ...", "was the treaty signed?" for test; "it was not in ...", "was he tired?" for dev). A sentence
    with a held-out part anywhere is not in train. The `RESERVED` sentences are in no split at all.

    Raises UsageError for a language or a split that doesn't exist.
    """
    check(split, SPLITS, "split")
    for language in languages:
        check(language, LANGUAGES, "language")
    return generated(Random(f"{seed} {split}"), count, split, tuple(languages))


def generated(rng: Random, count: int, split: str, languages: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The sentences, one after another as they are made."""
    return (texts for _, texts in drawn(rng, count, split, languages))


def drawn(
    rng: Random, count: int, split: str, languages: tuple[str, ...]
) -> Iterator[tuple[Sentence, tuple[str, ...]]]:
    """The sentences, each as its abstract form and as its texts."""
    seen: set[str] = set()
    while len(seen) < count:
        abstract = sentence(rng)
        if split_of(abstract) != split:
            continue
        texts = tuple(REALISE[language](abstract) for language in languages)
        if texts[0] in seen or any(map(reserved, texts)) or any(len(text.split()) > LONGEST for text in texts):
            continue
        seen.add(texts[0])
        yield abstract, texts


def check(word: str, allowed: Sequence[str], name: str) -> None:
    """Refuse a word that isn't allowed."""
    if word not in allowed:
        raise UsageError(
            f'The everyday grammar has no {name} "{word}"; it has {", ".join(allowed)}.{nearest(word, allowed)}'
        )
