"""The figures in the dress of VS Code's notebooks: its themes, and the order in which it draws and shows an output."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from allyouneed.guide.alone import page_of, state_of
from allyouneed.guide.esm import bundle
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB
from allyouneed.guide.widgets import WIDGETS

NAME = "causal-mask"  # it has a heat map
# The class of the body in each kind of theme, and whether that is a dark one.
THEMES = {
    "vscode-light": False,
    "vscode-dark": True,
    "vscode-high-contrast": True,
    "vscode-high-contrast-light vscode-high-contrast": False,
}
# An output as VS Code nests it, with the ground that it lays under widgets.
OUTPUT = """<style>.cell-output-ipywidget-background { background: white !important; }</style>
<div class="output cell-output-ipywidget-background"><div class="cell-output-ipywidget-background"></div></div>"""
# A widget's view is drawn first and put into the document afterwards.
DRAW = """
const state = %s;
const model = { get: key => state[key], set() {}, on() {}, off() {}, save_changes() {} };
const view = document.createElement("div");
front_end.render({ model, el: view });
document.querySelector("div div").append(view);
"""
PAINT = "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data].join()"
GROUND = "node => getComputedStyle(node).backgroundColor"
SCHEME = "node => getComputedStyle(node).colorScheme"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(color_scheme="light")
    yield context.new_page()
    context.close()


def opened(page: Any, theme: str, inside: str) -> None:
    page.set_content("")
    page.evaluate(
        "([kind, html]) => { document.body.className = kind; document.body.innerHTML = html; }", [theme, inside]
    )


def painted(page: Any, theme: str) -> str:
    """A figure that was drawn before it was shown, in this theme. -> the colours of its heat map."""
    opened(page, theme, OUTPUT)
    page.add_style_tag(content=(WEB / "style.css").read_text(encoding="utf-8"))
    state = state_of(NAME, WIDGETS[NAME], "en", {}, Models())
    script = bundle(WEB / "index.js").replace("export default", "const front_end =")
    page.add_script_tag(content=script + DRAW % json.dumps(state), type="module")
    figure = page.locator('figure[data-state="ready"]')
    figure.wait_for()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert figure.evaluate(SCHEME) == ("dark" if THEMES[theme] else "light")
    return figure.locator("canvas").first.evaluate(PAINT)


def framed(page: Any, theme: str) -> Any:
    """A figure in a frame, as `static` shows it."""
    state = state_of(NAME, WIDGETS[NAME], "en", {}, Models())
    shown = page_of(state, WIDGETS[NAME], Models())
    opened(page, theme, shown._repr_html_())  # pyright: ignore[reportPrivateUsage]
    figure = page.frame_locator("iframe").locator('figure[data-state="ready"]')
    figure.wait_for()
    return figure


@pytest.mark.parametrize("theme", THEMES)
def test_figure_has_the_colours_of_the_theme_when_it_appears(page: Any, theme: str) -> None:
    first = painted(page, theme)
    page.evaluate("dispatchEvent(new Event('aun-theme'))")  # drawn anew, now that it is shown
    assert page.locator("canvas").first.evaluate(PAINT) == first
    page.evaluate("document.body.className = 'vscode-light'")
    page.wait_for_timeout(50)
    assert (page.locator("canvas").first.evaluate(PAINT) == first) is not THEMES[theme]


def test_no_white_is_left_around_a_figure_by_itself(page: Any) -> None:
    painted(page, "vscode-dark")
    grounds = page.locator(".cell-output-ipywidget-background")
    assert [node.evaluate(GROUND) for node in grounds.all()] == ["rgba(0, 0, 0, 0)"] * 2
    page.evaluate("document.querySelector('figure').parentNode.replaceChildren('another widget')")
    assert [node.evaluate(GROUND) for node in grounds.all()] == ["rgb(255, 255, 255)"] * 2


@pytest.mark.parametrize("theme", THEMES)
def test_frame_is_dressed_as_the_notebook_around_it(page: Any, theme: str) -> None:
    figure = framed(page, theme)
    body = figure.evaluate("node => getComputedStyle(node.ownerDocument.body).colorScheme")
    assert figure.evaluate(SCHEME) == body == ("dark" if THEMES[theme] else "light")
    colours = figure.locator("canvas").first.evaluate(PAINT)
    page.evaluate("document.body.className = 'vscode-dark'")
    page.wait_for_timeout(50)
    assert figure.evaluate(SCHEME) == "dark"
    assert (figure.locator("canvas").first.evaluate(PAINT) == colours) is THEMES[theme]


def test_wheel_over_a_frame_is_heard_around_it(page: Any) -> None:
    framed(page, "vscode-light").hover(position={"x": 5, "y": 5})
    turns = """new Promise(done => {
        addEventListener("wheel", event => done([event.target.localName, event.deltaY]));
        setTimeout(done, 5000, "nothing was heard");
    })"""
    page.evaluate(f"window.turn = {turns}; null")
    page.mouse.wheel(0, 70)
    assert page.evaluate("window.turn") == ["iframe", 70]
