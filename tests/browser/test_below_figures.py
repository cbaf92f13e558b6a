"""What every figure offers below its picture, and the same figure in a notebook's hands."""

import inspect
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from allyouneed.guide.esm import bundle
from allyouneed.guide.language import strings
from allyouneed.guide.page import WEB
from allyouneed.guide.widgets import WIDGETS

EACH = pytest.mark.parametrize("name", WIDGETS)
# A state of each figure that is not its default one, as controls are set; sliders over listed values count places.
STATES: dict[str, dict[str, Any]] = {
    "sentences": {"unit": "log2"},
    "bottleneck": {"n": 12},
    "length-quality": {"metric": "chrf"},
    "reversal": {"way": "reversed", "n": 6},
    "alignment": {"step": 3, "attention": "uniform"},
    "pointer": {"step": 2},
    "memory": {"head": "read", "rows": 5},
    "order": {"numbers": "0.3 0.1 0.9"},
    "self-attention": {"sentence": "The cat sat on the mat.", "layer": 1, "head": -1},
    "lookup": {"are": 2.5, "layer": 1},
    "scaling": {"d_k": 3, "scale": False},
    "flow": {"step": "z", "row": 2},
    "encoder-layer": {"block": "post", "layers": 3},
    "block": {"activation": "gelu"},
    "causal-mask": {"mask": "window", "window": 2, "stage": "masked"},
    "cross-attention": {"step": 3, "head": 1},
    "heads": {"h": 2, "out": 1},
    "positions": {"kind": "rotary", "i": 4},
    "order-blind": {"positions": True},
    "path-length": {"n": 900, "kind": "restricted"},
    "meme": {"query": "attention"},
    "code": {"snippet": "mask", "n": 4},
    "library": {"visitor": 2},
    "matrix": {"layer": 0},
    "cost": {"layers": 4},
    "families": {"word": "mat"},
}
LISTED = {"scaling": {"d_k": 8}, "heads": {"h": 4}}  # what those places stand for
FEW = {"order-blind": 1, "meme": 0}  # figures that hold fewer numbers of their own
HIDDEN = ("reading", "row-sum", "typical")  # numbers of a picture that are not in its table


def numbers(figure: Any) -> dict[str, str]:
    return dict(
        figure.locator(".picture output").evaluate_all("all => all.map(node => [node.dataset.key, node.dataset.value])")
    )


def panel(figure: Any, name: str) -> Any:
    button = figure.locator(f'[data-panel="{name}"]')
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    return figure.locator(".panel")


@pytest.fixture(scope="module")
def story(open_page: Callable[..., Any]) -> Any:
    """One page for all tests that only read or that put back what they moved."""
    return open_page("/?lang=en")


@pytest.fixture(scope="module")
def other(open_page: Callable[..., Any]) -> Any:
    """A second one, which follows links."""
    return open_page("/?lang=en")


@EACH
def test_link_and_notebook_cell_hold_the_state(
    story: Any, other: Any, site: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = story.figure(name)
    story.set(name, STATES.get(name, {}))
    shown = numbers(figure)
    link = urlparse(panel(figure, "link").locator("textarea").input_value())
    other.page.evaluate("hash => { location.hash = hash; }", f"#{link.fragment}")
    other.page.wait_for_function(
        "([name, count]) => document.querySelectorAll(`[data-widget='${name}'] .picture output`).length >= count",
        arg=[name, len(shown)],
    )
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
    wanted = STATES.get(name, {}) | LISTED.get(name, {})
    assert {field: widget.inputs[field] for field in wanted} == wanted
    figure.locator('[data-panel="reset"]').click()
    story.wait(name)


@EACH
def test_table_holds_the_numbers_of_the_picture(story: Any, name: str) -> None:
    figure = story.figure(name)
    shown = {value for key, value in numbers(figure).items() if not key.startswith(HIDDEN)}
    table = panel(figure, "table")
    assert table.locator("table caption").count() >= 1
    assert table.locator("th[scope=col]").count() > 1
    assert table.locator("th[scope=row]").count() > 1
    written = set(table.locator("output, .cited").evaluate_all("all => all.map(n => n.dataset.value ?? n.value)"))
    assert len(shown & written) >= FEW.get(name, 3)


@EACH
def test_picture_is_saved_as_svg_and_png(story: Any, name: str, tmp_path: Path) -> None:
    figure = story.figure(name)
    content = panel(figure, "picture")
    saved = {}
    for kind in ("svg", "png"):
        with story.page.expect_download() as download:
            content.locator(f'[data-format="{kind}"]').click()
        assert download.value.suggested_filename == f"{name}.{kind}"
        saved[kind] = tmp_path / f"{name}.{kind}"
        download.value.save_as(saved[kind])
    root = ElementTree.fromstring(saved["svg"].read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [node.text for node in root.iter(f"{space}text")]
    first = figure.locator(".picture output:visible:not(:has(sup))").first.inner_text()
    assert any(first in (text or "") for text in texts)
    assert len(list(root.iter(f"{space}image"))) == figure.locator(".picture canvas:visible").count()
    assert saved["png"].read_bytes().startswith(b"\x89PNG\r\n")
    assert saved["png"].stat().st_size > 5000


def test_saved_picture_holds_the_bars_over_the_words(story: Any, tmp_path: Path) -> None:
    figure = story.figure("self-attention")
    bars = figure.locator(".entry-bar span")
    colour = bars.first.evaluate("node => getComputedStyle(node).backgroundColor")
    heights = bars.evaluate_all("all => all.map(n => n.getBoundingClientRect().height).filter(Boolean)")
    with story.page.expect_download() as download:
        panel(figure, "picture").locator('[data-format="svg"]').click()
    download.value.save_as(tmp_path / "saved.svg")
    boxes = ElementTree.parse(tmp_path / "saved.svg").getroot().iter("{http://www.w3.org/2000/svg}rect")
    drawn = [float(box.attrib["height"]) for box in boxes if box.get("fill") == colour]
    assert len(heights) > 3
    assert [height for height in heights if min(abs(height - other) for other in drawn) > 0.01] == []


@EACH
def test_code_button_opens_the_functions_that_ran(story: Any, name: str) -> None:
    content = panel(story.figure(name), "code")
    content.locator("pre").first.wait_for()
    sources = content.locator("pre code").evaluate_all("all => all.map(node => node.textContent)")
    assert sources == [inspect.getsource(function) for function in (*WIDGETS[name].code, WIDGETS[name].compute)]


def test_model_chip_opens_the_card(story: Any, site: Any) -> None:
    figure = story.figure("cross-attention")
    card = site.models.card("zoo:fr-en")
    chip = figure.locator("details.chip")
    assert card["name"] in chip.inner_text()
    assert story.value("cross-attention", "model.parameters") == card["parameters"]
    chip.locator("summary").click()
    assert chip.locator(".card").evaluate("node => node.textContent") == card["card"]


def test_start_again_restores_the_defaults(story: Any) -> None:
    figure = story.figure("scaling")
    before = numbers(figure)
    story.set("scaling", {"d_k": 0, "n": 3})
    assert numbers(figure) != before
    figure.locator('[data-panel="reset"]').click()
    story.wait("scaling")
    assert numbers(figure) == before
    story.page.wait_for_function("() => location.hash === '#s5.scaling'")


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


@pytest.fixture(scope="module")
def cell(browser: Any) -> Iterator[Any]:
    """An empty page, as the output of a notebook's cell is one."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@EACH
def test_bundle_draws_the_same_figure_in_a_notebook(cell: Any, site: Any, name: str) -> None:
    widget = WIDGETS[name]
    result = widget.answer({}, site.models)
    state = {"name": name, "lang": "en", "strings": strings("en"), "fields": widget.fields(), "code": widget.sources()}
    state |= {"inputs": result["inputs"], "result": result, "error": None}
    problems: list[str] = []

    def failed(error: Any) -> None:
        problems.append(str(error))

    cell.on("pageerror", failed)
    cell.set_content('<body class="dark"><div id="cell"></div></body>')
    cell.add_style_tag(content=(WEB / "style.css").read_text(encoding="utf-8"))
    script = bundle(WEB / "index.js").replace("export default", "const front_end =")
    cell.add_script_tag(content=script + NOTEBOOK % json.dumps(state), type="module")
    figure = cell.locator(f'figure[data-widget="{name}"]')
    assert figure.get_attribute("data-state") == "ready"
    assert len(numbers(figure)) > 1
    slider = figure.locator('.controls :is(input[type="range"]:enabled, input[type="radio"]:checked):visible')
    if slider.count():
        slider.last.press("ArrowRight")
        field = slider.last.get_attribute("data-field")
        assert cell.evaluate("window.asked[document.activeElement.dataset.field]") != result["inputs"][field]
        slider.last.press("Escape")
        assert cell.evaluate("window.keys") == ["Escape"]
    figure.locator('[data-panel="code"]').click()
    figure.locator(".panel pre").first.wait_for()
    assert cell.evaluate("getComputedStyle(document.querySelector('figure')).colorScheme") == "dark"
    assert problems == []
    cell.remove_listener("pageerror", failed)
