"""The guide as one file: it opens without a server, moves as far as answers came with it, and says where it ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from allyouneed.guide.export import export
from allyouneed.guide.widgets import WIDGETS


@pytest.fixture(scope="module")
def saved(site: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("site"), "en", site.models)


@pytest.fixture(scope="module")
def page(browser: Any, saved: Path) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.problems = []
    page.asked = []

    def note_problem(error: Any) -> None:
        page.problems.append(str(error))

    def note_request(request: Any) -> None:
        page.asked.append(request.url)

    page.on("pageerror", note_problem)
    page.on("request", note_request)
    page.goto(saved.as_uri())
    yield page
    assert page.problems == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


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
