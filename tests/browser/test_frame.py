"""What every figure offers below its picture, and the same figure in a notebook's hands."""

import inspect
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from allyouneed.guide.esm import bundle
from allyouneed.guide.language import strings
from allyouneed.guide.page import WEB
from allyouneed.guide.widgets import WIDGETS

FIGURES = ["sentences", "lookup", "scaling", "self-attention", "causal-mask", "cross-attention"]
STATES = {
    "sentences": {"unit": "log2"},
    "self-attention": {"sentence": "The cat sat on the mat.", "layer": 1, "head": -1},
    "lookup": {"are": 2.5, "layer": 1},
    "scaling": {"d_k": 3, "scale": False},  # the slider's place 3 is the width 8
    "causal-mask": {"mask": "window", "window": 2, "stage": "masked"},
    "cross-attention": {"step": 3, "head": 1},
}


def numbers(figure: Any) -> dict[str, str]:
    return dict(
        figure.locator(".picture output").evaluate_all("all => all.map(node => [node.dataset.key, node.dataset.value])")
    )


def panel(figure: Any, name: str) -> Any:
    figure.locator(f'[data-panel="{name}"]').click()
    return figure.locator(".panel")


@pytest.mark.parametrize("name", FIGURES)
def test_link_and_notebook_cell_hold_the_state(
    visit: Callable[..., Any], site: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure(name)
    reader.set(name, STATES[name])
    shown = numbers(figure)

    link = urlparse(panel(figure, "link").locator("textarea").input_value())
    other = visit(f"/?{link.query}#{link.fragment}")
    assert numbers(other.figure(name)) == shown

    notebook = pytest.importorskip("allyouneed.guide.notebook", reason="the notebook extra is not installed")
    monkeypatch.setattr(notebook, "MODELS", site.models)
    cell = panel(figure, "cell").locator("textarea").input_value()
    head, call = cell.split("\n\n")
    scope: dict[str, Any] = {}
    exec(head, scope)
    widget = eval(call, scope)
    assert widget.lang == "en"
    assert widget.result == WIDGETS[name].answer(widget.inputs, site.models)
    assert {field: widget.inputs[field] for field in STATES[name]} == {
        **STATES[name],
        **({"d_k": 8} if name == "scaling" else {}),
    }


@pytest.mark.parametrize("name", FIGURES)
def test_table_holds_the_numbers_of_the_picture(visit: Callable[..., Any], name: str) -> None:
    figure = visit("/?lang=en").figure(name)
    shown = {value for key, value in numbers(figure).items() if not key.startswith(("reading", "row-sum", "typical"))}
    table = panel(figure, "table")
    assert table.locator("table caption").count() >= 1
    assert table.locator("th[scope=col]").count() > 1
    assert table.locator("th[scope=row]").count() > 1
    written = set(table.locator("output").evaluate_all("all => all.map(node => node.dataset.value)"))
    assert len(shown & written) >= 3


@pytest.mark.parametrize("name", FIGURES)
def test_picture_is_saved_as_svg_and_png(visit: Callable[..., Any], name: str, tmp_path: Path) -> None:
    reader = visit("/?lang=ko")
    figure = reader.figure(name)
    content = panel(figure, "picture")
    saved = {}
    for kind in ("svg", "png"):
        with reader.page.expect_download() as download:
            content.locator(f'[data-format="{kind}"]').click()
        assert download.value.suggested_filename == f"{name}.{kind}"
        saved[kind] = tmp_path / f"{name}.{kind}"
        download.value.save_as(saved[kind])
    root = ElementTree.fromstring(saved["svg"].read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [node.text for node in root.iter(f"{space}text")]
    first = figure.locator(".picture output:visible:not(:has(sup))").first.inner_text()
    assert first in texts
    assert len(list(root.iter(f"{space}rect"))) > 1
    assert len(list(root.iter(f"{space}image"))) == figure.locator(".picture canvas").count()
    assert saved["png"].read_bytes().startswith(b"\x89PNG\r\n")
    assert saved["png"].stat().st_size > 5000


@pytest.mark.parametrize("name", FIGURES)
def test_code_button_opens_the_functions_that_ran(visit: Callable[..., Any], name: str) -> None:
    figure = visit("/?lang=en").figure(name)
    content = panel(figure, "code")
    content.locator("pre").first.wait_for()
    sources = content.locator("pre code").evaluate_all("all => all.map(node => node.textContent)")
    assert sources == [inspect.getsource(function) for function in (*WIDGETS[name].code, WIDGETS[name].compute)]
    assert (
        "allyouneed.models.transformer" if name == "sentences" else "allyouneed.parts.attention"
    ) in content.inner_text()


def test_model_chip_opens_the_card(visit: Callable[..., Any], site: Any) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("cross-attention")
    card = site.models.card("zoo:fr-en")
    chip = figure.locator("details.chip")
    assert card["name"] in chip.inner_text()
    assert reader.value("cross-attention", "model.parameters") == card["parameters"]
    chip.locator("summary").click()
    assert chip.locator(".card").evaluate("node => node.textContent") == card["card"]


def test_start_again_restores_the_defaults(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("scaling")
    before = numbers(figure)
    reader.set("scaling", {"d_k": 0, "n": 3})
    assert numbers(figure) != before
    figure.locator('[data-panel="reset"]').click()
    reader.wait("scaling")
    assert numbers(figure) == before
    assert reader.page.url.endswith("#s5.scaling")


NOTEBOOK = """
const listeners = {};
const state = %s;
const model = {
    get: key => state[key],
    set: (key, value) => { state[key] = value; (listeners[`change:${key}`] ?? []).forEach(listener => listener()); },
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: () => {},
    save_changes: () => { window.asked = state.inputs; },
};
window.keys = [];
addEventListener("keydown", event => window.keys.push(event.key));
front_end.render({ model, el: document.getElementById("cell") });
"""


@pytest.mark.parametrize("name", FIGURES)
def test_bundle_draws_the_same_figure_in_a_notebook(browser: Any, site: Any, name: str) -> None:
    widget = WIDGETS[name]
    result = widget.answer({}, site.models)
    state = {"name": name, "lang": "en", "strings": strings("en"), "fields": widget.fields(), "code": widget.sources()}
    state |= {"inputs": result["inputs"], "result": result, "error": None}
    page = browser.new_context().new_page()
    problems: list[str] = []

    def failed(error: Any) -> None:
        problems.append(str(error))

    page.on("pageerror", failed)
    page.set_content('<body class="dark"><div id="cell"></div></body>')
    page.add_style_tag(content=(WEB / "style.css").read_text(encoding="utf-8"))
    script = bundle(WEB / "index.js").replace("export default", "const front_end =")
    page.add_script_tag(content=script + NOTEBOOK % json.dumps(state), type="module")
    figure = page.locator(f'figure[data-widget="{name}"]')
    assert figure.get_attribute("data-state") == "ready"
    assert len(numbers(figure)) > 5
    slider = figure.locator('input[type="range"]:enabled, input[type="radio"]:checked').last
    slider.press("ArrowRight")
    assert (
        page.evaluate("window.asked[document.activeElement.dataset.field]")
        != result["inputs"][slider.get_attribute("data-field")]
    )
    slider.press("Escape")
    assert page.evaluate("window.keys") == ["Escape"]
    figure.locator('[data-panel="code"]').click()
    figure.locator("pre").first.wait_for()
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).colorScheme") == "dark"
    assert problems == []
    page.context.close()
