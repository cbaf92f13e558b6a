from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from allyouneed.guide.widgets import WIDGETS

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])
NAME = "self-attention"


def matrix(figure: Any) -> np.ndarray:
    cells = figure.locator('.heat-numbers output[data-key^="cell."]').evaluate_all(
        "all => all.map(node => Number(node.dataset.value))"
    )
    size = round(len(cells) ** 0.5)
    return np.array(cells).reshape(size, size)


@LANGUAGES
def test_clicked_word_shows_where_it_looks(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    words = figure.locator(".picks button")
    names = figure.locator('.picks .token[data-kind="piece"]').all_inner_texts()
    assert names == ["The", "mouse", "ate", "the", "cheese", "."]
    assert words.nth(2).get_attribute("aria-pressed") == "true"
    weights = matrix(figure)
    assert weights.sum(1) == pytest.approx(np.ones(len(weights)), abs=1e-4)
    for at, how in ((4, "click"), (0, "Enter")):
        words.nth(at).click() if how == "click" else words.nth(at).press("Enter")
        reader.wait(NAME)
        pressed = words.evaluate_all("all => all.map(node => node.getAttribute('aria-pressed'))")
        assert pressed == ["true" if place == at else "false" for place in range(len(weights))]
        shown = list(reader.values(NAME, "weight.").values())
        assert shown == weights[at].tolist()
        assert sum(shown) == pytest.approx(1, abs=1e-4)
        assert reader.value(NAME, "sum") == pytest.approx(1, abs=1e-4)
    assert words.first.evaluate("node => node === document.activeElement")
    words.first.press("ArrowRight")
    assert words.nth(1).evaluate("node => node === document.activeElement")


@LANGUAGES
def test_nothing_is_set_by_hand(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    text = reader.page.locator("#s6").inner_text()
    assert "손수" not in text
    assert "by hand" not in text.lower()
    chip = figure.locator("details.chip")
    assert "zoo:en-fr" in chip.inner_text()
    assert reader.value(NAME, "model.parameters") > 1e6


@LANGUAGES
def test_claims_are_computed_and_lead_to_their_head(visit: Callable[..., Any], site: Any, lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    wanted = WIDGETS[NAME].answer({}, site.models)["claims"]
    assert [claim["word"] for claim in wanted] == ["ate", "The", "the"]
    for at, claim in enumerate(wanted):
        chip = figure.locator(".claim").nth(at)
        assert f"{claim['word']} → {claim['origin']}" in chip.inner_text()
        assert reader.value(NAME, f"claim.{claim['word']}") == claim["value"]
        assert chip.get_attribute("data-holds") == str(claim["holds"]).lower()
        assert chip.locator("b").inner_text() == ("✓" if claim["holds"] else "✗")
    away = next(at for at, claim in enumerate(wanted) if claim["strongest"]["value"] > claim["value"])
    best = wanted[away]["strongest"]
    figure.locator(".claim").nth(away).locator("button").click()
    reader.wait(NAME)
    for field in ("layer", "head"):
        assert figure.locator(f'input[data-field="{field}"]').input_value() == str(best[field])
    assert reader.value(NAME, f"claim.{wanted[away]['word']}") == best["value"]
    assert not figure.locator(".claim").nth(away).locator("button").is_enabled()


def test_claim_can_fail(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s6.self-attention?layer=0&head=0")
    claim = reader.figure(NAME).locator('.claim[data-holds="false"]').first
    assert claim.locator(".fails").inner_text() == "✗"


def test_mixture_has_the_shares_of_the_bars(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    bars, shares = reader.values(NAME, "weight."), reader.values(NAME, "share.")
    assert shares == bars
    widths = figure.locator(".share").evaluate_all("all => all.map(node => node.getBoundingClientRect().width)")
    assert np.array(widths) / sum(widths) == pytest.approx(np.array(list(bars.values())), abs=0.02)
    heights = figure.locator(".entry-bar").evaluate_all("all => all.map(n => +n.style.getPropertyValue('--share'))")
    assert heights == list(bars.values())


def test_pieces_heads_and_rows_can_be_chosen(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    words = figure.locator(".picks button").count()
    reader.set(NAME, {"words": False})
    assert figure.locator(".picks button").count() > words
    reader.set(NAME, {"words": True})
    one = matrix(figure)
    reader.set(NAME, {"head": -1})
    assert figure.locator(".control-value").nth(1).inner_text() == reader.text("field.head.-1")
    assert (matrix(figure) != one).any()
    cells = figure.locator(".heat-cells")
    box = cells.bounding_box()
    cells.click(position={"x": 5, "y": box["height"] * 4.5 / len(one)})
    reader.wait(NAME)
    assert figure.locator('.picks [aria-pressed="true"] .token').inner_text() == "cheese"
    reader.wait_for_address("token=5")


def test_decoder_looks_back_alone(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s6.self-attention?model=zoo%3Alm-en")
    figure = reader.figure(NAME)
    weights = matrix(figure)
    assert (weights[np.triu_indices(len(weights), 1)] == 0).all()
    assert reader.text("self-attention.mask-there") in figure.locator(".measures").inner_text()


@LANGUAGES
def test_words_without_positions_only_change_places(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure(NAME)
    assert figure.locator('output[data-key="reordered.without"]').inner_text() in ("0", "0.000")
    assert reader.value(NAME, "reordered.with") > 0.01
    near = list(reader.values(NAME, "nearest.").values())
    assert near == sorted(near, reverse=True)


@LANGUAGES
def test_block_has_the_sizes_of_the_model(visit: Callable[..., Any], site: Any, lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("encoder-layer")
    order = "all => all.map(node => node.dataset.kind).reverse()"
    assert figure.locator(".block-box").evaluate_all(order) == ["norm", "attention", "add", "norm", "ffn", "add"]
    widths = [reader.value("encoder-layer", f"width.{name}") for name in ("in", "inner", "out")]
    assert widths == [256, 1024, 256]
    whole, chosen = reader.value("encoder-layer", "loss.whole"), figure.locator(".block-box")
    assert [chosen.nth(at).evaluate("n => n.classList.contains('joins')") for at in range(6)] == [
        True,
        False,
        False,
    ] * 2
    chosen.nth(3).click()  # the sum after attention
    reader.wait("encoder-layer")
    assert reader.value("encoder-layer", "loss.without") > 2 * whole
    for value in ("512", "2048", "6"):
        assert reader.page.locator(f'#s6 .cited[value="{value}"]').count() >= 1
    reader.set("encoder-layer", {"block": "post"})
    assert figure.locator(".block-box").evaluate_all(order) == ["attention", "add", "norm", "ffn", "add", "norm"]
    first = figure.locator(".block-box").last
    first.click()
    reader.wait("encoder-layer")
    assert first.get_attribute("aria-pressed") == "true"
    assert reader.values("encoder-layer", "size.") == {
        **{str(at): box["size"] for at, box in enumerate(answer(site)["boxes"])},
        "entry": answer(site)["entering"],
    }


def answer(site: Any) -> dict[str, Any]:
    return WIDGETS["encoder-layer"].answer({"block": "post"}, site.models)
