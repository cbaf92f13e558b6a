"""A language model that only counts, made while the reader waits: it knows what a few neighbours tell, and no more."""

import re
from functools import lru_cache
from typing import Any

from allyouneed.pipeline import NGramModel
from allyouneed.text import everyday
from allyouneed.text.vocabulary import Vocabulary

SENTENCES = 8000
HANGUL = re.compile("[가-힣]")
WORD = re.compile(r"[^\W\d_]+")
CARD = """# N-grams, counted here

How often each token followed the {before} before it in {sentences:,} sentences of the everyday grammar ({language},
train frames, seed 1), smoothed as by Kneser and Ney (interpolated, modified: Chen & Goodman 1999), in the tokens of
{name}.
Nothing further back can change its mind.
"""


def language_of(text: str) -> str:
    """Korean if a letter of it is."""
    return "ko" if HANGUL.search(text) else "en"


@lru_cache
def texts(language: str = "en") -> tuple[str, ...]:
    """The sentences that are counted; those that the guide shows are in no split."""
    found = everyday.sentences(seed=1, count=SENTENCES, split="train", languages=(language,))
    return tuple(text for (text,) in found)


@lru_cache
def words(language: str) -> frozenset[str]:
    """The words of these sentences in small letters: those that a model of the everyday grammar may know."""
    return frozenset(WORD.findall(" ".join(texts(language)).lower()))


def unknown(text: str, language: str = "en") -> list[str]:
    """The words of a text that are in none of these sentences, in order."""
    found = dict.fromkeys(WORD.findall(text))
    return [word for word in found if word.lower() not in words(language)]


@lru_cache(maxsize=8)
def counted(tokenizer: Vocabulary, order: int, language: str = "en") -> NGramModel:
    """The n-gram model over so many tokens of a language, in the tokens of the model that it stands beside."""
    return NGramModel.train(texts(language), order=order, tokenizer=tokenizer)


def card(pipe: NGramModel, beside: str, order: int, language: str) -> dict[str, Any]:
    """What the chip says of it."""
    return {
        "name": f"{order}-gram",
        "own": False,
        "line": "ngram-decoder",
        "parameters": sum(parameter.numel() for parameter in pipe.model.parameters()),
        "card": CARD.format(before=order - 1, sentences=SENTENCES, language=language, name=beside),
    }
