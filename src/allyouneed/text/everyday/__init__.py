"""Everyday sentences in English, French, Korean and Spanish, made by a small grammar that is bilingual by construction.

A random abstract sentence (`sentences.py`, `frames.py`, `phrases.py`) is a tree of meanings from the lexicon and of
features; each language (`english.py`, `french.py`, `korean.py`, `spanish.py`) realises that same tree with its own word
order, agreement and verb forms.
"""

from collections.abc import Iterator, Sequence
from random import Random

from ...errors import UsageError, nearest
from . import english, french, korean, spanish
from .sentences import sentence
from .splits import split_of
from .reserved import RESERVED, reserved

LANGUAGES = ("en", "fr", "ko", "es")
SPLITS = ("train", "dev", "test")
REALISE = {"en": english.realise, "fr": french.realise, "ko": korean.realise, "es": spanish.realise}


def sentences(
    *, seed: int, count: int, split: str, languages: Sequence[str] = ("en", "fr")
) -> Iterator[tuple[str, ...]]:
    """`count` sentences, each as a tuple with one text per language; the first language never says the same twice.

    The same arguments give the same sentences. What is held out: a sentence's *combinations* are its frame with the
    words that fill it (verb, subject, object; subject, adjective; who goes where; what lies where) and each stack of
    two adjectives with its noun ("European Economic Area"). A stable hash of the combination sends 2 % of them to dev
    and 2 % to test, and those that the guide shows to test, whatever the tense, the number or the adverbials; a
    sentence with such a combination anywhere is never in train. `RESERVED` sentences are in no split at all.
    """
    check(split, SPLITS, "split")
    for language in languages:
        check(language, LANGUAGES, "language")
    rng = Random(f"{seed}/{split}")
    seen: set[str] = set()
    while len(seen) < count:
        abstract = sentence(rng)
        if split_of(abstract) != split:
            continue
        texts = tuple(REALISE[language](abstract) for language in languages)
        if texts[0] in seen or any(map(reserved, texts)):
            continue
        seen.add(texts[0])
        yield texts


def check(word: str, allowed: Sequence[str], name: str) -> None:
    if word not in allowed:
        raise UsageError(f'"{word}" is no {name}: choose one of {", ".join(allowed)}.{nearest(word, allowed)}')
