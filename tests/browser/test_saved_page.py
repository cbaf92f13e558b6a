"""The guide, or one figure, as one file: it opens without a server, moves as far as it has answers, and says so."""

import json
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from allyouneed.guide.export import export, spelt
from allyouneed.guide.widgets import WIDGETS
from allyouneed.pipeline import load

# Moves each control of a figure to another value whose answer came along, and back. -> for each what was to be seen; of
# one that is disabled its reason.
WALK = """(figure, saved) => {
    const start = () => figure.querySelector('[data-panel="reset"]').click();
    const nodes = field => [...figure.querySelectorAll(`.controls [data-field="${field}"]`)];
    const outputs = () => [...figure.querySelectorAll(".picture output")].filter(one => one.checkVisibility());
    const seen = [];
    for (const [field, { now, others }] of Object.entries(saved)) {
        const [node] = nodes(field);
        if (!node?.checkVisibility()) continue;
        if (node.disabled) {
            seen.push({ field, reason: node.closest("[title]")?.title });
            continue;
        }
        const value = others.at(-1);
        if (node.type === "range") {
            node.value = [...others, now].sort((a, b) => a - b).indexOf(value);
            node.dispatchEvent(new Event("input"));
        } else if (node.type === "radio") nodes(field).find(one => one.value === value).click();
        else node.click();
        const shown = outputs().map(one => [one.dataset.key, one.dataset.value]);
        seen.push({ field, value, state: figure.dataset.state, shown });
        start();
    }
    return seen;
}"""
MEASURED = ("seconds", "bytes", "slope", "time", "exponents")  # parts of an answer that differ each time
YES = {"true": 1.0, "false": 0.0}


@pytest.fixture(scope="module")
def saved(site: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("site"), "en", site.models)


@contextmanager
def offline(browser: Any, path: Path, search: str = "") -> Generator[Any]:
    """A file in a browser without a network. At the end nothing has failed and nothing was asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    problems: list[str] = []
    asked: list[str] = []

    def note_problem(error: Any) -> None:
        problems.append(str(error))

    def note_request(request: Any) -> None:
        asked.append(request.url)

    page.on("pageerror", note_problem)
    page.on("request", note_request)
    page.goto(path.as_uri() + search)
    yield page
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


@pytest.fixture(scope="module")
def page(browser: Any, saved: Path) -> Iterator[Any]:
    with offline(browser, saved) as page:
        yield page


@pytest.fixture(scope="module")
def page_in(browser: Any, saved: Path, page: Any) -> Iterator[Callable[[str], Any]]:
    """The page in a language."""
    with offline(browser, saved, "?lang=ko") as korean:
        yield {"en": page, "ko": korean}.__getitem__


def data_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8").split('id="data">', 1)[1].split("</script>", 1)[0])


def numbers_in(part: Any) -> Iterator[float]:
    """Every number of an answer, and of each pair the number whose mantissa and power of ten it is."""
    if isinstance(part, dict | list):
        inner = list(part.values()) if isinstance(part, dict) else part
        if len(inner) == 2 and type(inner[1]) is int and type(inner[0]) in (int, float):
            yield float(f"{inner[0]}e{inner[1]}")
        for one in inner:
            yield from numbers_in(one)
    elif part is None:
        yield -math.inf
    elif isinstance(part, int | float):
        yield float(part)


def lasting(part: Any) -> Any:
    """An answer without what is measured anew each time."""
    if isinstance(part, dict):
        return {name: lasting(one) for name, one in part.items() if not name.startswith(MEASURED)}
    return [lasting(one) for one in part] if isinstance(part, list) else part


def ready(page: Any, name: str) -> Any:
    figure = page.locator(f'figure[data-widget="{name}"]')
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f'figure[data-widget="{name}"][data-state="ready"]')
    return figure


@pytest.mark.parametrize("name", WIDGETS)
def test_every_figure_shows_its_default(page: Any, site: Any, name: str) -> None:
    figure = ready(page, name)
    assert figure.locator(".picture output").count() > 1
    figure.locator('[data-panel="code"]').click()
    figure.locator(".panel pre").first.wait_for()


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", WIDGETS)
def test_every_control_moves_or_says_why_not(
    page_in: Callable[[str], Any], saved: Path, site: Any, name: str, lang: str
) -> None:
    data = data_of(saved)
    answers, fields = data["baked"][name]["answers"], data["fields"][name]
    defaults = WIDGETS[name].inputs().model_dump()
    kept = {
        field: {"now": defaults[field], "others": [one for one in spec["saved"] if one != defaults[field]]}
        for field, spec in fields.items()
    }
    controls = ready(page_in(lang), name).evaluate(WALK, kept)
    moved = [control for control in controls if "value" in control]
    for control in moved:
        assert control["state"] == "ready", control["field"]
        answer = answers[spelt({**defaults, control["field"]: control["value"]})]
        given = {*numbers_in(answer), *numbers_in(fields)}
        shown = {key: YES[value] if value in YES else float(value) for key, value in control["shown"]}
        assert {key: value for key, value in shown.items() if value not in given} == {}, control["field"]
    if lang == "en" and moved:
        inputs = {**defaults, moved[0]["field"]: moved[0]["value"]}
        assert lasting(answers[spelt(inputs)]) == lasting(WIDGETS[name].answer(inputs, site.models))
    reason = data["strings"][lang]["frame.not-saved"]
    assert [control for control in controls if "value" not in control and control["reason"] != reason] == []


def test_saved_states_can_be_reached_and_others_say_why_not(page: Any, site: Any) -> None:
    figure = ready(page, "causal-mask")
    figure.locator('label[for$="-none"]').click()
    page.wait_for_function("() => document.querySelector('[data-widget=causal-mask] [data-key=masked]').value === '0'")
    sentence = figure.locator('[data-field="sentence"]')
    assert not sentence.is_enabled()
    assert "allyouneed guide" in sentence.locator("xpath=..").get_attribute("title")
    slider = figure.locator('[data-field="layer"]')
    slider.press("ArrowRight")  # two settings at once: not among the answers that came along
    assert figure.get_attribute("data-state") == "error"
    assert "allyouneed guide" in figure.locator(".notice").inner_text()
    figure.locator(".notice button").click()
    assert figure.get_attribute("data-state") == "ready"


def test_buttons_without_answers_are_disabled(page: Any, site: Any) -> None:
    buttons = [
        ready(page, "sentences").locator("button.stretch"),
        ready(page, "sentences").locator("button.word").first,
    ]
    for button in [*buttons, ready(page, "length-quality").locator('button[data-field="seed"]')]:
        assert not button.is_enabled()
        assert "allyouneed guide" in button.get_attribute("title")


def test_language_is_there_twice(page: Any) -> None:
    page.locator("#language").select_option("ko")
    assert page.evaluate("document.documentElement.lang") == "ko"
    assert "연결" in page.locator("main").inner_text() or "확률" in page.locator("main").inner_text()
    page.locator("#language").select_option("en")


def test_one_figure_is_a_page(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("anywidget", reason="the notebook extra is not installed")
    from allyouneed.guide.notebook import MODELS, Widget

    widget = Widget("scaling", "en", d_k=512, scale=False)
    widget.to_html(tmp_path / "scaling.html")
    with offline(browser, tmp_path / "scaling.html") as page:
        figure = page.locator('figure[data-widget="scaling"][data-state="ready"]')
        largest = figure.locator('output[data-key="max"]')
        assert float(largest.get_attribute("data-value")) == widget.result["measures"]["max"]
        figure.locator('[data-field="scale"]').set_checked(True)
        live = WIDGETS["scaling"].answer({"d_k": 512, "scale": True}, MODELS)
        assert float(largest.get_attribute("data-value")) == live["measures"]["max"]
        assert not figure.locator('[data-field="n"]').is_enabled()
        figure.locator('[data-panel="cell"]').click()
        assert "d_k=512" in figure.locator("textarea").input_value()
        figure.locator('[data-panel="reset"]').click()  # back to what was saved
        assert float(largest.get_attribute("data-value")) == widget.result["measures"]["max"]
        figure.locator('[data-panel="code"]').click()
        figure.locator(".panel pre").first.wait_for()


def test_what_a_model_looked_at_is_a_page(browser: Any, tmp_path: Path) -> None:
    view = load("zoo:en-fr").attend("The mouse ate the cheese.")
    view.save(tmp_path / "look.html")
    with offline(browser, tmp_path / "look.html") as page:
        figure = page.locator('figure[data-widget="attention"][data-state="ready"]')
        figure.locator('label[for$="-encoder"]').click()
        figure.locator('[data-field="layer"]').press("Home")
        figure.locator('[data-field="head"]').press("End")
        weights = view["encoder", 0, view.heads("encoder") - 1].tolist()
        pairs = figure.locator(".heat-numbers output").evaluate_all(
            "all => all.map(node => Number(node.dataset.value))"
        )
        assert pairs == pytest.approx([weight for row in weights for weight in row], abs=1e-5)
        figure.locator(".picks button").nth(2).click()
        assert figure.locator(".heat-left .marked").inner_text() == view.tokens["encoder"][0][2]
        figure.locator(".heat-cells").focus()
        page.keyboard.press("ArrowRight")
        assert float(figure.locator(".reading output").get_attribute("data-value")) == pytest.approx(
            weights[2][1], abs=1e-5
        )
        figure.locator('[data-panel="table"]').click()
        assert figure.locator(".panel tbody tr").count() == len(weights)
        figure.locator('[data-panel="picture"]').click()
        for kind in ("svg", "png"):
            with page.expect_download() as download:
                figure.locator(f'[data-format="{kind}"]').click()
            assert download.value.suggested_filename == f"attention.{kind}"
        assert figure.locator('[data-panel="link"]').count() == figure.locator('[data-panel="cell"]').count() == 0
