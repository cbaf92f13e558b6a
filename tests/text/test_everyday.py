"""The everyday grammar as a source of sentences: what its calls and its splits promise."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, islice
from typing import Any

import pytest

from allyouneed.errors import UsageError
from allyouneed.text.everyday import LANGUAGES, RESERVED, sentences
from allyouneed.text.everyday.lexicon import adjectives, nouns, verbs
from allyouneed.text.everyday.phrases import candidates
from allyouneed.text.everyday.reserved import plain, reserved

Rows = list[tuple[str, ...]]
Texts = Callable[[str], list[str]]


def test_the_same_call_gives_the_same_sentences() -> None:
    first = list(sentences(seed=5, count=300, split="train"))
    assert list(sentences(seed=5, count=300, split="train")) == first
    assert list(islice(sentences(seed=5, count=900, split="train"), 300)) == first
    assert list(sentences(seed=6, count=300, split="train")) != first


def test_another_set_of_languages_tells_the_same() -> None:
    both = list(sentences(seed=5, count=200, split="dev", languages=("en", "fr")))
    assert [row[:1] for row in both] == list(sentences(seed=5, count=200, split="dev", languages=("en",)))


def test_it_streams() -> None:
    assert len(next(sentences(seed=0, count=10**9, split="train"))) == 2


def test_the_source_side_never_repeats() -> None:
    source = [row[0] for row in sentences(seed=2, count=5000, split="train", languages=("fr", "en"))]
    assert len(set(source)) == 5000


def test_splits_share_no_text_in_any_language(everyday: dict[str, Rows]) -> None:
    for at, language in enumerate(LANGUAGES):
        for one, two in combinations(everyday.values(), 2):
            assert not {row[at] for row in one} & {row[at] for row in two}, language


def test_what_the_guide_shows_is_not_in_train_but_its_parts_are(everyday: dict[str, Rows]) -> None:
    text = "\n".join(row[0] for row in everyday["train"])
    shown = (
        "European Economic Area",
        r"\bI (?:am going|went|will go) (?:to school|home)\b",
        r"The cats? sat on the mat",
        r"\bm(?:ouse|ice) (?:is eating|ate|eats|are eating) (?:\w+ )?cheese",
        r"\bfiles? (?:was|were|will be) saved",
    )
    for pattern in shown:
        assert not re.search(pattern, text), pattern
    for part in ("European Economic", "going to school", "I am going to the", "mouse", "on the mat", "saved"):
        assert part in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_split_has_a_reserved_sentence(language: str, texts: Texts) -> None:
    assert not set(map(plain, texts(language))) & set(map(plain, RESERVED))


@pytest.mark.parametrize("text", ["the  MOUSE ate the cheese", "je vais à l’école!", "voy a la escuela"])
def test_a_reserved_sentence_is_known_in_any_case_and_punctuation(text: str) -> None:
    assert reserved(text)
    assert not reserved(f"{text} now")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"split": "tran"}, 'no split "tran"; it has train, dev, test. Did you mean "train"'),
        ({"languages": ("en", "de")}, 'no language "de"; it has en, fr, ko, es'),
    ],
)
def test_an_unknown_split_or_language_is_refused_at_the_call(wrong: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"seed": 0, "count": 1, "split": "train", **wrong}
    with pytest.raises(UsageError, match=re.escape(message)):
        sentences(**call)


def test_every_text_is_one_clean_sentence(everyday: dict[str, Rows]) -> None:
    for row in everyday["train"]:
        for language, text in zip(LANGUAGES, row, strict=True):
            assert text == " ".join(text.split())
            assert not re.search(r"[°*/~+_=|<>(]|None|\.\.| ,| \.", text), text
            assert text[-1] == row[0][-1], row
            assert text[-1] in ".?", text
            assert not text.lstrip("¿")[0].islower(), text
            assert len(text.split()) <= 60
            assert (" ?" in text) == (language == "fr" and text[-1] == "?"), text


def test_lengths_and_breadth(everyday: dict[str, Rows]) -> None:
    rows = everyday["train"]
    lengths = Counter(len(row[0].split()) for row in rows)
    assert sum(number for length, number in lengths.items() if 4 <= length <= 15) > 0.8 * len(rows)
    assert max(lengths) > 50
    assert all(len(set(column)) > 0.97 * len(rows) for column in zip(*rows, strict=True))
    assert len(nouns()) + len(nouns("bodies")) > 250
    assert len({verb.en for verb in verbs()}) > 100
    assert len(adjectives()) > 90


def test_every_kind_that_a_table_names_has_nouns() -> None:
    asked = [(entry.en, kind) for entry in (*verbs(), *adjectives()) for kind in entry.kinds]
    asked += [(verb.en, kind) for verb in verbs() for kind in verb.objects | verb.recipients]
    for word, kind in asked:
        assert candidates(frozenset({kind})), f"{word}: {kind}"


def test_numbers_and_names_are_those_of_the_translation(everyday: dict[str, Rows]) -> None:
    for row in everyday["train"]:
        years = [sorted(re.findall(r"(?:19|20)\d\d", text)) for text in row]
        assert years == [years[0]] * 4, row
        for name in nouns("names"):
            if re.search(rf"\b{name.en}\b", row[0]):
                assert name.fr in row[1]
                assert name.ko in row[2]
                assert name.es in row[3]
