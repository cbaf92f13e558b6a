from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_first_word_comes_close(reader: Any) -> None:
    figure = reader.figure("reversal")
    assert reader.value("reversal", "first") == 4
    first = figure.locator(".measures").first.locator("dd").first
    assert first.inner_text() == reader.text("reversal.counted", steps="4") in ("4단계", "4 steps")
    for way in ("reversed", "attention"):
        reader.set("reversal", {"way": way})
        assert reader.value("reversal", "first") == 1
    reader.set("reversal", {"n": 10, "way": "plain"})
    assert reader.value("reversal", "first") == 10
    assert reader.value("reversal", "mean") == 10
    reader.set("reversal", {"way": "reversed"})
    assert reader.value("reversal", "first") == 1
    assert reader.value("reversal", "mean") == 10
    assert figure.locator(".chain-node").count() == 20
    figure.locator('[data-panel="reset"]').click()
    reader.wait("reversal")


def test_reversed_model_is_better_where_orders_are_alike(reader: Any) -> None:
    reader.figure("reversal")
    plain, backwards = (reader.value("reversal", f"perplexity.{way}") for way in ("plain", "reversed"))
    claim = reader.page.locator('[data-widget="reversal"] .claim')
    assert backwards < plain
    assert claim.get_attribute("data-holds") == "true"
    assert reader.value("reversal", "bleu.reversed") > reader.value("reversal", "bleu.plain")
    beside = reader.page.locator('[data-widget="reversal"] .cited').evaluate_all("all => all.map(node => node.value)")
    assert beside == ["5.8", "25.9", "4.7", "30.6"]
    reader.set("reversal", {"order": "verb-final"})
    plain, backwards = (reader.value("reversal", f"perplexity.{way}") for way in ("plain", "reversed"))
    assert claim.get_attribute("data-holds") == str(backwards >= plain).lower()
    assert reader.page.locator('[data-widget="reversal"] .cited').count() == 0
    reader.page.locator('[data-widget="reversal"] [data-panel="reset"]').click()
    reader.wait("reversal")


def test_papers_numbers_are_cited(reader: Any) -> None:
    cited = reader.page.locator("#s3 .cited").evaluate_all("all => all.map(node => node.value)")
    assert {"5.8", "4.7", "25.9", "30.6"} <= set(cited)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_way_is_drawn_only_where_motion_is_welcome(visit: Callable[..., Any], motion: str) -> None:
    reader = visit("/?lang=en", reduced_motion=motion)
    figure = reader.figure("reversal")
    reader.set("reversal", {"way": "reversed"})
    path = figure.locator(".chain-path")
    assert path.get_attribute("d").startswith("M ")
    name = path.evaluate("node => getComputedStyle(node).animationName")
    assert name == ("none" if motion == "reduce" else "aun-drawn")
