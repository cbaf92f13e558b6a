from collections.abc import Callable
from typing import Any

import pytest

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])


@LANGUAGES
def test_lookup_mixes_by_hand(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("lookup")
    weights = reader.values("lookup", "weight.")
    assert list(weights.values()) == pytest.approx([0.2, 0.1, 0.7], abs=5e-3)
    assert figure.locator('output[data-key="weight.0"]').inner_text() == "0.200"
    assert reader.value("lookup", "sum") == pytest.approx(1, abs=1e-6)
    assert figure.locator('output[data-key="entropy"]').inner_text() == "1.157"
    reader.set("lookup", {"are": 8})
    assert reader.value("lookup", "weight.1") > 0.99
    reader.set("lookup", {"how": 1, "are": 1, "you": 1})
    assert list(reader.values("lookup", "weight.").values()) == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_lookup_shows_the_model_one_click_away(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("lookup")
    assert figure.locator('[data-field="how"]').is_visible()
    reader.set("lookup", {"scores": "model"})
    assert not figure.locator('[data-field="how"]').is_visible()
    assert len(reader.values("lookup", "weight.")) > 3
    assert sum(reader.values("lookup", "weight.").values()) == pytest.approx(1, abs=1e-3)


@LANGUAGES
def test_scaling_keeps_the_softmax_open(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("scaling")
    slider = figure.locator('[data-field="d_k"]')
    slider.focus()
    for _ in range(3):  # each key press is one width on: 64, 128, 256, 512
        slider.press("ArrowRight")
    reader.wait("scaling")
    assert reader.value("scaling", "d_k") == 512
    scaled = reader.value("scaling", "jacobian")
    assert reader.value("scaling", "entropy") > 2
    reader.set("scaling", {"scale": False})
    assert reader.value("scaling", "entropy") < 0.5
    assert reader.value("scaling", "max") > 0.9
    assert reader.value("scaling", "jacobian") < scaled
    assert reader.value("scaling", "variance") == pytest.approx(512, rel=0.1)


def test_scaling_strip_chooses_a_width_by_click_and_key(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("scaling")
    strip = figure.locator(".heat-cells")
    box = strip.bounding_box()
    strip.click(position={"x": box["width"] * 10.5 / 11, "y": box["height"] / 2})
    reader.wait("scaling")
    assert reader.value("scaling", "d_k") == 1024
    strip.press("Home")
    strip.press("Enter")
    reader.wait("scaling")
    assert reader.value("scaling", "d_k") == 1


@LANGUAGES
def test_formula_is_mathml(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    formula = reader.page.locator('#s5 math[display="block"]')
    assert formula.locator("mfrac msqrt msub").count() == 1
    assert formula.bounding_box()["height"] > 30


def test_drawing_again_draws_other_numbers(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("scaling")
    before = reader.values("scaling", "score.")
    figure.locator('button[data-field="seed"]').click()
    reader.wait("scaling")
    assert reader.values("scaling", "score.") != before


@LANGUAGES
def test_flow_opens_a_cell(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("flow")
    scores = figure.locator('[data-step="scores"] .heat-cells')
    box = scores.bounding_box()
    scores.click(position={"x": 5, "y": box["height"] - 5})
    reader.wait("flow")
    row = int(figure.locator('input[data-field="row"]').input_value())
    assert reader.value("flow", "cell") == reader.value("flow", f"scores.cell.{row}.0")
    assert reader.value("flow", "sum") == pytest.approx(reader.value("flow", "cell"), abs=1e-4)
    terms = sum(reader.values("flow", "term.").values()) + reader.value("flow", "rest")
    assert terms == pytest.approx(reader.value("flow", "cell"), abs=1e-3)
    values = figure.locator('[data-step="v"] .heat-cells')
    values.click(position={"x": 40, "y": 5})
    reader.wait("flow")
    assert reader.value("flow", "sum") == pytest.approx(reader.value("flow", "cell"), abs=1e-4)
    assert figure.locator('[data-step="v"]').evaluate("node => node.classList.contains('chosen')")
