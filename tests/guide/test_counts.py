"""The figure of sentences beside a model that counts neighbours."""

from typing import Any

import pytest

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.counts import SENTENCES, counted, texts
from allyouneed.guide.widgets.sentences import APART, EXAMPLES
from allyouneed.pipeline import LanguageModel
from allyouneed.text.everyday.reserved import reserved


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
    result = ask(models, 2, *EXAMPLES)
    scores = counted(language_model.tokenizer, 2).score(list(EXAMPLES))
    bits = [score.total / 0.6931471805599453 for score in scores]
    assert [line["value"] for line in result["lines"]] == pytest.approx(bits, rel=1e-5)
    assert result["model"]["name"] == "2-gram"
    assert f"{SENTENCES:,}" in result["model"]["card"]


@pytest.mark.parametrize("order", [2, 3, 4])
def test_neighbours_do_not_tell_what_stands_far_back(order: int) -> None:
    """With the pieces of the model that ships, in which all of these words are whole."""
    result = ask(Models(), order, *APART)
    assert of_the_verb(result)["value"] == 0
    assert not of_the_verb(result)["holds"]
    assert not result["claims"][0]["holds"]
    near = ask(Models(), order, *EXAMPLES)
    assert [claim["holds"] for claim in near["claims"]] == [True, True]


def test_network_still_sees_it() -> None:
    result = WIDGETS["sentences"].answer({"sentences": "\n".join(APART)}, Models())
    assert [claim["holds"] for claim in result["claims"]] == [True, True]
    assert of_the_verb(result)["value"] > 0.1
