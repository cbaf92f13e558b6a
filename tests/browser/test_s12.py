import inspect
from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.guide.widgets import WIDGETS
from allyouneed.parts import attention, masks, positions

NAME = "code"
FIRST = {
    "attention": attention.naive_attend,
    "mask": masks.causal,
    "heads": attention.MultiHeadAttention.keys_values,
    "positions": positions.sinusoids,
}
PLACES = {"attention": "s5.flow", "mask": "s7.causal-mask", "heads": "s8.heads", "positions": "s9.positions"}


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}", permissions=["clipboard-write", "clipboard-read"])


def test_four_pieces_by_keys_show_the_running_source(reader: Any) -> None:
    figure = reader.figure(NAME)
    for at, (snippet, function) in enumerate(FIRST.items()):
        if at:
            figure.locator('[data-field="snippet"]:checked').press("ArrowRight")
            reader.wait(NAME)
        assert figure.locator('[data-field="snippet"]:checked').get_attribute("value") == snippet
        lines = (
            figure.locator(".listing")
            .first.locator("pre code .line")
            .evaluate_all("all => all.map(n => n.textContent)")
        )
        assert "".join(lines) == inspect.getsource(function)
        assert figure.locator(".listing-head a").get_attribute("href") == f"#{PLACES[snippet]}"
        assert reader.value(NAME, "fast-difference") < 1e-6
        assert reader.value(NAME, "torch-difference") < 1e-6
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_lines_carry_the_shapes_of_this_run(reader: Any, site: Any) -> None:
    figure = reader.figure(NAME)
    reader.set(NAME, {"batch": 3, "n": 7})
    made = [
        note["shape"]
        for one in WIDGETS[NAME].answer({"batch": 3, "n": 7}, site.models)["functions"]
        for line in one["lines"]
        for note in line["made"]
    ]
    shapes = figure.locator(".line-made .note .shape").evaluate_all(
        "all => all.map(node => [...node.querySelectorAll('output')].map(out => Number(out.dataset.value)))"
    )
    assert [shape for shape in shapes if shape] == [shape for shape in made if shape]
    assert [3, 4, 7, 7] in shapes


def test_code_is_copied_as_it_is(reader: Any) -> None:
    figure = reader.figure(NAME)
    figure.locator(".listing-head button").first.click()
    reader.page.wait_for_function("() => document.querySelector('.listing-head [role=status]').textContent")
    assert reader.page.evaluate("navigator.clipboard.readText()") == inspect.getsource(attention.naive_attend)
    assert figure.locator(".line-made").first.evaluate("node => getComputedStyle(node).userSelect") == "none"


def test_line_leads_to_its_figure_and_back(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(NAME)
    figure.locator(".line.made").first.click()
    reader.page.wait_for_function("() => location.hash === '#s5.flow'")
    reader.figure("flow")
    assert abs(reader.page.locator('[data-widget="flow"]').bounding_box()["y"]) < 900
    reader.page.go_back()
    reader.page.wait_for_function("() => location.hash !== '#s5.flow'")


def test_norm_placement_of_the_well_known_code_is_told(reader: Any) -> None:
    text = reader.page.locator("#s12").inner_text()
    assert "pre-LN" in text
    assert "post-LN" in text
