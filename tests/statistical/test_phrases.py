"""The statistical baseline: words back to text, links that were meant, phrases that were seen, and a search that
always ends.
"""

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.statistical import PhraseTranslator
from allyouneed.statistical.alignment import aligned
from allyouneed.statistical.language import WordModel
from allyouneed.statistical.table import COPIED, PhraseTable, phrase_counts
from allyouneed.statistical.translator import pieces
from allyouneed.statistical.words import Case, join, split

PAIRS = [
    ("The cat sleeps.", "Le chat dort."),
    ("The dog sleeps.", "Le chien dort."),
    ("The cat eats.", "Le chat mange."),
    ("A dog eats.", "Un chien mange."),
    ("The black cat eats.", "Le chat noir mange."),
    ("A black dog sleeps.", "Un chien noir dort."),
    ("The black dog eats.", "Le chien noir mange."),
]


@pytest.fixture(scope="module")
def translator() -> PhraseTranslator:
    return PhraseTranslator.train(PAIRS * 4)


def test_words_are_cut_and_put_back() -> None:
    assert split("L'accord (n° 3), c'est-à-dire: oui.") == (
        ["L'￭", "accord", "(￭", "n", "￭°", "3", "￭)", "￭,", "c'￭", "est-à-dire", "￭:", "oui", "￭."]
    )
    assert join(split("")) == ""


@settings(deadline=None)
@given(st.lists(st.text("ab'’(),.!«é-1", min_size=1), min_size=1))
def test_any_text_comes_back(words: list[str]) -> None:
    text = " ".join(words)
    assert join(split(text)) == text


def test_case_is_that_within_sentences() -> None:
    case = Case([["The", "cat"], ["Paul", "saw", "the", "cat"], ["I", "saw", "Paul"], ["So", "do", "I"]])
    assert case.lowered(["The", "cat"]) == ["the", "cat"]
    assert case.lowered(["Paul"]) == ["Paul"]
    assert case.lowered(["I"]) == ["I"]
    assert case.lowered([]) == []


def test_links_are_those_that_were_meant() -> None:
    sources, targets = [split(source) for source, _ in PAIRS], [split(target) for _, target in PAIRS]
    links = aligned(sources, targets, iterations=5)
    assert links[4] == [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)]  # the black cat: le chat noir


def test_phrases_agree_with_the_links() -> None:
    source, target = ["the", "black", "cat"], ["le", "chat", "noir"]
    counts = phrase_counts([source], [target], [[(0, 0), (1, 2), (2, 1)]], longest=2)
    assert dict(counts) == {
        (("the",), ("le",)): 1,
        (("black",), ("noir",)): 1,
        (("cat",), ("chat",)): 1,
        (("black", "cat"), ("chat", "noir")): 1,
    }
    table = PhraseTable(counts + counts, options=1)
    assert table.translations_for(("cat",)) == [(("chat",), 0.0)]
    assert table.translations_for(("dog",)) == [(("dog",), COPIED)]
    assert ("dog",) in table
    assert ("cat", "the") not in table


def test_phrases_are_no_longer_than_they_may_be_on_either_side() -> None:
    assert list(phrase_counts([["a"]], [["x", "y", "z"]], [[(0, 1)]], longest=1)) == [(("a",), ("y",))]
    assert len(phrase_counts([["a"]], [["x", "y", "z"]], [[(0, 1)]], longest=3)) == 4  # x and z came from nothing


def test_the_better_of_two_translations_stands_first() -> None:
    counts = phrase_counts([["a"]] * 3, [["x"], ["x"], ["y"]], [[(0, 0)]] * 3, longest=1)
    [first, second] = PhraseTable(counts, options=5).translations_for(("a",))
    assert first == (("x",), pytest.approx(math.log(2 / 3) / 2))
    assert second.trg_phrase == ("y",)
    assert len(PhraseTable(counts, options=1).translations_for(("a",))) == 1


def test_the_language_model_is_a_distribution() -> None:
    model = WordModel([["a", "b", "a"], ["a", "c"], ["b", "a"]], order=3)
    for before in ((), ("a",), ("a", "b"), ("c", "c"), ("never", "seen")):
        chances = [math.exp(model.score([word], before)) for word in ("a", "b", "c", "unknown")]
        # The mark that begins a sentence is never asked for; it has what no text gives it, as much as the unknown word.
        assert sum(chances) + chances[-1] == pytest.approx(1, abs=1e-5)
    whole = model.score(["a", "b", "a"])
    parts = model.score(["a"]) + model.score(["b"], ["a"]) + model.score(["a"], ["a", "b"])
    assert whole == pytest.approx(parts)
    assert model.score(["a", "c"]) > model.score(["c", "c"])


def test_the_language_model_knows_how_sentences_begin() -> None:
    model = WordModel([["a", "b", "b", "b"], ["a", "b"], ["a", "c", "b"]])
    assert model.score(["a"]) > model.score(["b"])
    assert model.score(["b"], ["c", "c"]) > model.score(["a"], ["c", "c"])


def test_new_sentences_of_known_words_are_translated(translator: PhraseTranslator) -> None:
    assert translator.translate(["A cat sleeps.", "The black cat sleeps."]) == ["Un chat dort.", "Le chat noir dort."]


def test_unknown_words_are_copied_and_blank_lines_kept(translator: PhraseTranslator) -> None:
    assert translator.translate(["", "The zebra sleeps.", "Xyzzy", "  "]) == ["", "Le zebra dort.", "Xyzzy", ""]


def test_long_texts_end(translator: PhraseTranslator) -> None:
    [found] = translator.translate(["the cat eats, " * 15], stack=3)
    assert found.lower().count("chat") == 15


def test_parts_end_at_signs() -> None:
    words = ["a", "￭,", "b", "c", "d", "e"]
    assert list(pieces(words, 4)) == [["a", "￭,"], ["b", "c", "d", "e"]]
    assert list(pieces(words[2:], 3)) == [["b", "c", "d"], ["e"]]
    assert list(pieces([], 3)) == []


def test_nothing_to_learn_from_is_said() -> None:
    with pytest.raises(InputError, match="no pair with words on both sides"):
        PhraseTranslator.train([("a", " ")])


def test_without_the_library_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['nltk'] = None\n"
        "from allyouneed.errors import InputError\n"
        "try: import allyouneed.statistical\n"
        "except InputError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == 'Statistical translation needs nltk: pip install "allyouneed[statistical]".\n'
