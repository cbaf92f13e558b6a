"""The figure of sentences beside a model that counts neighbours."""

from typing import Any

import pytest

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.counts import SENTENCES, counted, texts
from allyouneed.guide.widgets.sentences import EXAMPLES
from allyouneed.pipeline import LanguageModel
from allyouneed.text.everyday.reserved import reserved

ENGLISH, KOREAN = EXAMPLES["en"], EXAMPLES["ko"]


def ask(models: Models, order: int, *lines: str) -> dict[str, Any]:
    return WIDGETS["sentences"].answer(
        {"reader": "counts", "order": order, "sentences": "\n".join(lines), "unit": "log2"}, models
    )


def of_the_verb(result: dict[str, Any]) -> dict[str, Any]:
    return next(claim for claim in result["claims"] if claim["key"] == "sentences.claim-far")


def test_counts_are_those_of_text_that_the_guide_does_not_show() -> None:
    assert len(texts()) == SENTENCES
    assert not any(reserved(text) for text in texts())


def test_totals_are_those_of_the_counted_model(models: Models, language_model: LanguageModel) -> None:
    result = ask(models, 2, *ENGLISH.sentences)
    scores = counted(language_model.tokenizer, 2).score(list(ENGLISH.sentences))
    bits = [score.total / 0.6931471805599453 for score in scores]
    assert [line["value"] for line in result["lines"]] == pytest.approx(bits, rel=1e-5)
    assert result["model"]["name"] == "2-gram"
    assert f"{SENTENCES:,}" in result["model"]["card"]


@pytest.mark.parametrize("order", [2, 3, 4])
def test_neighbours_do_not_tell_what_stands_far_back(order: int) -> None:
    """With the pieces of the model that ships, in which all of these words are whole."""
    result = ask(Models(), order, *ENGLISH.apart)
    assert of_the_verb(result)["value"] == 0
    assert not of_the_verb(result)["holds"]
    assert not result["claims"][0]["holds"]
    near = ask(Models(), order, *ENGLISH.sentences)
    assert [claim["holds"] for claim in near["claims"]] == [True, True]


def test_network_still_sees_it() -> None:
    result = WIDGETS["sentences"].answer({"sentences": "\n".join(ENGLISH.apart)}, Models())
    assert [claim["holds"] for claim in result["claims"]] == [True, True]
    assert of_the_verb(result)["value"] > 0.1


@pytest.mark.parametrize("order", [2, 3, 4])
def test_korean_is_counted_in_korean(order: int) -> None:
    models = Models()
    result = ask(models, order, *KOREAN.sentences)
    assert [claim["holds"] for claim in result["claims"]] == [True, True]
    assert "(ko,\ntrain frames" in result["model"]["card"]
    assert "zoo:rnnencdec-en-ko" in result["model"]["card"]
    assert not result["foreign"]
    far = of_the_verb(ask(models, order, *KOREAN.apart))
    assert (far["word"], far["value"], far["holds"]) == ("먹었어요", 0, False)


def test_korean_sentences_are_not_among_the_counted_ones() -> None:
    assert not {*KOREAN.sentences, *KOREAN.apart} & set(texts("ko"))
    assert not any(map(reserved, texts("ko")))


def test_network_that_does_not_know_korean_says_so() -> None:
    answer = WIDGETS["sentences"].answer({"sentences": "\n".join(KOREAN.sentences)}, Models())
    assert answer["foreign"]
    assert answer["other"]["language"] == "en"
    back = WIDGETS["sentences"].answer(
        {"sentences": "\n".join(answer["other"]["sentences"]), "reader": answer["other"]["reader"]}, Models()
    )
    assert not back["foreign"]
    assert back["other"] == {"language": "ko", "sentences": list(KOREAN.sentences), "reader": "counts"}
