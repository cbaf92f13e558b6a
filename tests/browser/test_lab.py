"""The figures in JupyterLab and in marimo: by the same keys the same numbers as on the page, in the same dress."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.pipeline import load

SLOW = 120_000  # milliseconds for a notebook to come up, load every model and draw every figure
CONTROL = '.controls :is(input[type="range"]:enabled, input[type="radio"]:checked):visible'
MEASURED = ("time", "slope", "table.time")  # how long something took, which differs each time
KEYS = "window.keys = []; addEventListener('keydown', event => window.keys.push(event.key))"
# What a notebook's own style sheet would change.
DRESS = """figure => [figure, ...figure.querySelectorAll("*")].map(node => {
    const style = getComputedStyle(node);
    const names = ["float", "fontWeight", "textAlign", "whiteSpace", "wordBreak", "listStyleType", "textTransform"];
    return [node.localName, ...names.map(name => style[name])].join(" ");
})"""
PAINT = "all => all.map(one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data].join())"
SENTENCE = "The mouse ate the cheese."
LOOK = f'ayn.load("zoo:en-fr").attend("{SENTENCE}").show()'
STATIC = 'ayn.widget("scaling", lang="en", d_k=512, scale=False).static()'


def numbers(figure: Any) -> dict[str, str]:
    pairs = figure.locator(".picture output").evaluate_all("all => all.map(n => [n.dataset.key, n.dataset.value])")
    return {key: value for key, value in pairs if not key.startswith(MEASURED)}


def settled(page: Any, name: str) -> Any:
    figure = page.locator(f'figure[data-widget="{name}"][data-state="ready"]:not([aria-busy])')
    figure.wait_for(state="attached", timeout=SLOW)
    return figure


def seen(page: Any, name: str) -> tuple[set[str], list[str], dict[str, str], dict[str, str]]:
    """How a figure is dressed and painted, its numbers as it comes, and those after a key moved its first control."""
    figure = settled(page, name)
    dress, paint, before = set(figure.evaluate(DRESS)), figure.locator("canvas").evaluate_all(PAINT), numbers(figure)
    control = figure.locator(CONTROL).first
    if control.count():
        control.press("ArrowRight")
    return dress, paint, before, numbers(settled(page, name))


@pytest.fixture(scope="module")
def on_the_page(open_page: Callable[..., Any]) -> dict[str, Any]:
    reader = open_page("/?lang=en")
    for name in WIDGETS:
        reader.page.locator(f'figure[data-widget="{name}"]').scroll_into_view_if_needed()
        settled(reader.page, name)
    return {name: seen(reader.page, name) for name in WIDGETS}


@contextmanager
def served(command: list[str], folder: Path, **variables: str) -> Generator[str]:
    """A server of notebooks on a free port, whose settings are those of nobody. -> its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), str(folder / "home"))
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *command, f"--port={port}"],
            env={**os.environ, **homes, **variables},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        try:
            while not answers(address):
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
            yield address
        finally:
            server.terminate()
            server.wait()


def answers(address: str) -> bool:
    try:
        with urlopen(address) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_jupyterlab_shows_every_figure_as_the_page_does(
    browser: Any, on_the_page: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    figures = f'for name in {list(WIDGETS)}:\n    display(ayn.widget(name, lang="en"))'
    texts = ["import allyouneed as ayn", figures, LOOK, STATIC]
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "id": f"cell-{at}", "source": text} for at, text in enumerate(texts)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "figures.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    command = ["jupyterlab", "--no-browser", "--ip=127.0.0.1", "--allow-root", "--IdentityProvider.token="]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    with served(command, tmp_path, **{name: str(tmp_path / name) for name in names}) as address:
        page, asked = opened(browser, f"{address}/lab/tree/figures.ipynb")
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=SLOW)
        page.get_by_text("Run", exact=True).first.click()
        page.get_by_text("Run All Cells", exact=True).click()
        compare(page, on_the_page)
        dark = "document.body.dataset.jpThemeLight = 'false'"
        finish(page, asked, dark)


def test_marimo_shows_every_figure_as_the_page_does(browser: Any, on_the_page: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    cells = ["import allyouneed as ayn", *(f'ayn.widget("{name}", lang="en")' for name in WIDGETS), LOOK, STATIC]
    program = "import marimo\n\napp = marimo.App()\n"
    for at, text in enumerate(cells):
        program += f"\n\n@app.cell\ndef _({'ayn' if at else ''}):\n    {text}\n    return {'' if at else '(ayn,)'}\n"
    (tmp_path / "figures.py").write_text(program, encoding="utf-8")
    with served(["marimo", "run", "figures.py", "--headless", "--no-token", "--host=127.0.0.1"], tmp_path) as address:
        page, asked = opened(browser, address)
        compare(page, on_the_page)
        finish(page, asked, "document.body.className = 'dark dark-theme'")


def opened(browser: Any, address: str) -> tuple[Any, list[str]]:
    page = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light").new_page()
    page.set_default_timeout(SLOW)
    asked: list[str] = []

    def note(request: Any) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(address)
    page.evaluate(KEYS)
    return page, asked


def compare(page: Any, on_the_page: dict[str, Any]) -> None:
    for name in on_the_page:
        settled(page, name)  # outputs that are still coming in move those that are there
    for name, (dress, *rest) in on_the_page.items():
        own, *same = seen(page, name)
        assert own <= dress, name
        assert same == rest, name
    assert page.evaluate("window.keys") == []  # the arrow keys stay with the figure


def finish(page: Any, asked: list[str], dark: str) -> None:
    """Escape gets out, the theme is followed, `show` and `static` work, and nothing has left this machine."""
    figure = settled(page, "cross-attention")
    figure.locator(CONTROL).first.press("Escape")
    assert page.evaluate("window.keys") == ["Escape"]
    canvas = figure.locator("canvas").first
    pixel = "node => [...node.getContext('2d').getImageData(0, 0, 1, 1).data].join()"
    light = canvas.evaluate(pixel)
    page.evaluate(dark)
    assert figure.evaluate("node => getComputedStyle(node).colorScheme") == "dark"
    for _ in range(250):
        if canvas.evaluate(pixel) != light:
            break
        page.wait_for_timeout(20)
    assert canvas.evaluate(pixel) != light
    follow_a_look(page)
    follow_a_frame(page)
    assert [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))] == []
    page.context.close()


def follow_a_look(page: Any) -> None:
    """What `show` shows are the numbers of the view itself, and its controls lead to any other side, layer and head."""
    view = load("zoo:en-fr").attend(SENTENCE)
    assert_cells(settled(page, "attention"), view["cross", -1, "mean"])
    figure = page.locator('figure[data-widget="attention"]')
    figure.locator('[data-field="head"]').press("End")
    figure.locator('[data-field="layer"]').press("Home")
    assert_cells(settled(page, "attention"), view["cross", 0, view.heads("cross") - 1])
    figure.locator('label[for$="-encoder"]').click()
    assert_cells(settled(page, "attention"), view["encoder", 0, view.heads("cross") - 1])


def assert_cells(figure: Any, weights: Any) -> None:
    shown = {key: float(value) for key, value in numbers(figure).items() if key.startswith("cell.")}
    wanted = {f"cell.{r}.{c}": value for r, row in enumerate(weights.tolist()) for c, value in enumerate(row)}
    assert shown == pytest.approx(wanted, abs=1e-5)


def follow_a_frame(page: Any) -> None:
    """A figure in a frame holds its answers, and is as high as they need."""
    frame = page.frame_locator("iframe").last
    figure = frame.locator('figure[data-widget="scaling"][data-state="ready"]')
    for scale in (False, True):
        figure.locator('[data-field="scale"]').set_checked(scale)
        answer = WIDGETS["scaling"].answer({"d_k": 512, "scale": scale}, Models())
        assert float(numbers(figure)["max"]) == answer["measures"]["max"]
    assert page.locator("iframe").last.bounding_box()["height"] > figure.bounding_box()["height"]
