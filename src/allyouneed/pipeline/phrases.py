"""Phrases that a translation must hold, as the tokens that may spell them."""

from collections.abc import Sequence

from allyouneed.errors import UsageError
from allyouneed.pipeline.common import TextError, one_text
from allyouneed.tasks.hypotheses import never_written
from allyouneed.text.vocabulary import Vocabulary


def spelt(
    vocabulary: Vocabulary, phrases: Sequence[Sequence[str]] | None, *, texts: int, room: int
) -> list[list[list[list[int]]]]:
    """The phrases of each text (None: there are none), each in all its spellings, in so much `room` for tokens.

    Raises UsageError where there are not as many lists as `texts`, and TextError for what cannot be written.
    """
    if phrases is None:
        return [[] for _ in range(texts)]
    one_text(phrases)
    if len(phrases) != texts:
        raise UsageError(f"{texts} texts and constraints for {len(phrases)}: each text needs one list.")
    unwritten = {vocabulary.unk, *never_written(vocabulary, vocabulary.start)}
    found: list[list[list[list[int]]]] = []
    for index, own in enumerate(phrases):
        one_text(own)
        if not all(phrase.strip() for phrase in own):
            raise UsageError("A constraint is blank: it says nothing to hold.")
        found.append([[way for way in spellings(vocabulary, phrase) if not unwritten & set(way)] for phrase in own])
        for phrase, ways in zip(own, found[-1], strict=True):
            if not ways:
                raise TextError(index, f'must hold "{phrase}", which this model cannot write')
        if sum(max(map(len, ways)) for ways in found[-1]) >= room:
            raise TextError(index, f"must hold more than fits into this model's {room} positions")
    return found


def spellings(vocabulary: Vocabulary, phrase: str) -> list[list[int]]:
    """The tokens of a phrase behind another word, and behind one that lost its end before an apostrophe (l'image). What
    begins with punctuation may stand right behind the word.
    """
    phrase = " ".join(phrase.split())
    betweens = (" ", "'", "’") if phrase[:1].isalnum() else ("", " ")
    word, *behind = vocabulary.encode_batch(["a", *(f"a{between}{phrase}" for between in betweens)])
    found = [tokens[len(word) :] for tokens in behind if tokens[: len(word)] == word]
    return [way for way in found if way] or [vocabulary.encode(phrase)]


def inside_words(vocabulary: Vocabulary) -> list[int]:
    """The tokens that go on with a word or a number, or with parts of a character. Letters without capitals do not
    count: particles are written onto words.
    """
    word = vocabulary.encode("a")
    end = len(vocabulary.decode(word))
    behind = (vocabulary.decode([*word, token])[end : end + 1] for token in range(vocabulary.vocab_size))
    return [
        token
        for token, letter in enumerate(behind)
        if letter.isdigit() or letter.lower() != letter.upper() or letter == "\ufffd"
    ]
