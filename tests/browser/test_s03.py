from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_first_word_comes_close(reader: Any) -> None:
    figure = reader.figure("reversal")
    assert reader.value("reversal", "first") == 4
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
    assert claim.get_attribute("data-holds") == str(backwards < plain).lower()


def test_papers_numbers_are_cited(reader: Any) -> None:
    cited = reader.page.locator("#s3 .cited").evaluate_all("all => all.map(node => node.value)")
    assert {"5.8", "4.7", "25.9", "30.6"} <= set(cited)
