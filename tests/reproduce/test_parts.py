"""The parts of experiments that can be wrong without anybody noticing."""

from pathlib import Path

import pytest

from allyouneed.reproduce.bottleneck import BINS, binned, scores
from allyouneed.reproduce.experiment import Setting
from allyouneed.reproduce.links import bare, forms, linked_sentences
from allyouneed.reproduce.order import ORDERS, sentences, texts
from allyouneed.reproduce.text import written
from allyouneed.text import everyday
from allyouneed.text.everyday.lexicon import adjectives, nouns, verbs

QUICK = Setting(1, True, Path("nowhere"), Path("nowhere"))


@pytest.mark.parametrize(
    ("order", "text"),
    [("natural", "a b c d e"), ("reversed", "e d c b a"), ("three words reversed", "c b a e d")],
)
def test_orders(order: str, text: str) -> None:
    assert " ".join(ORDERS[order]("a b c d e".split())) == text


def test_a_shuffle_is_the_same_for_all_sentences_of_a_length() -> None:
    shuffle = ORDERS["fixed shuffle"]
    moved = shuffle(list("abcdefgh"))
    assert moved != list("abcdefgh")
    assert shuffle(list("ABCDEFGH")) == [letter.upper() for letter in moved]
    for order in ORDERS.values():
        assert sorted(order(list("abcdefgh"))) == list("abcdefgh")


def test_all_orders_say_the_same_words() -> None:
    assert texts(QUICK) == ["English prose"]
    found = sentences(QUICK, "English prose", "dev")
    assert found
    assert all(3 < len(words) <= 40 for words in found)
    assert all(word == word.strip() and word for words in found for word in words)


def test_bleu_by_length() -> None:
    said, long = ("one two three four five six", "un deux trois quatre cinq six"), ("one " * 12, "un deux trois quatre")
    rows = scores("a model", {10: [said, said], 20: [long]}, [said[1], said[1], "rien du tout ici"])
    assert [(row["model"], row["source words"], row["sentences"]) for row in rows] == [
        ("a model", 10, 2),
        ("a model", 20, 1),
    ]
    assert rows[0]["BLEU"] == pytest.approx(100)
    assert float(rows[1]["BLEU"]) < 5


def test_held_out_sentences_by_length() -> None:
    bins = binned(5, 60)
    held_out = {*everyday.sentences(seed=0, count=60, split="test")}
    assert list(bins) == sorted(bins)
    for low, high in BINS:
        for source, target in bins.get(high, []):
            assert low <= len(source.split()) <= high
            assert (source, target) in held_out
    assert max(map(len, bins.values())) == 5


def test_links_join_words_that_say_the_same() -> None:
    entries = [*nouns(), *nouns("bodies"), *nouns("names"), *adjectives(), *verbs()]
    for sentence in linked_sentences(40):
        source, target = bare(sentence.source), bare(sentence.target)
        assert sentence.links
        assert len({*sentence.links}) == len(sentence.links)
        for here, there in sentence.links:
            assert any(source[here] in forms(e)[0] and target[there] in forms(e)[1] for e in entries)


def test_words_without_what_is_joined_to_them() -> None:
    assert bare("L'accord, qu'elle a signé ?") == ["accord", "elle", "a", "signé", ""]


def test_forms_of_a_meaning() -> None:
    mouse = next(noun for noun in nouns() if noun.word == "mouse")
    assert forms(mouse) == (frozenset({"mouse", "mice"}), frozenset({"souris"}))
    eat = next(verb for verb in verbs() if verb.en == "eat")
    assert {"eats", "ate", "eaten", "eating"} <= forms(eat)[0]
    assert {"mange", "mangeait", "mangera", "mangé", "mangées"} <= forms(eat)[1]
    assert {"manger"} <= forms(eat)[1]


def test_a_file_is_made_once(tmp_path: Path) -> None:
    path = written(tmp_path / "a" / "text.txt", lambda: "first")
    assert written(path, lambda: "second").read_text("utf-8") == "first\n"
    assert [other.name for other in path.parent.iterdir()] == ["text.txt"]
