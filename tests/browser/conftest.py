"""The guide in headless Chromium: a server on the loopback, and a reader who may leave it for nowhere."""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn

from allyouneed.guide.models import Models
from allyouneed.guide.server import create_app
from allyouneed.guide.widgets import WIDGETS

# The shell draws no window around a page, which takes a browser with one as much time as the page.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 60_000  # milliseconds; a loaded machine is slow, and no test measures time

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Chromium the browser tests are skipped, and say so."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@dataclass
class Site:
    """A running guide; `stop` and `start` take it away and bring it back at the same port."""

    models: Models
    port: int = 0
    server: uvicorn.Server | None = None
    thread: threading.Thread | None = None

    def start(self) -> None:
        config = uvicorn.Config(
            create_app(self.models), host="127.0.0.1", port=self.port, log_level="error", lifespan="off"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.02)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        assert self.server is not None
        assert self.thread is not None
        self.server.should_exit = True
        self.thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def own_models(saved_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A user's model, and a folder that holds none."""
    broken = tmp_path_factory.mktemp("broken")
    (broken / "config.json").write_text('{"format": 1}', encoding="utf-8")
    return str(saved_folder), str(broken)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    running = Site(Models())
    running.start()
    yield running
    running.stop()


@pytest.fixture
def own_site(own_models: tuple[str, str]) -> Iterator[Site]:
    """A guide that was started with a user's own models."""
    running = Site(Models(own_models))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def guide_of() -> Iterator[Callable[..., Site]]:
    """Starts guides for the models of these folders."""
    running: list[Site] = []

    def start(*own: str) -> Site:
        running.append(Site(Models(own)))
        running[-1].start()
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Reader:
    """Somebody who reads the page: opens figures, moves controls, takes down numbers."""

    page: Any
    address: str
    requests: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])
    may_complain: bool = False

    def requested(self, request: Any) -> None:
        self.requests.append(request.url)

    def told(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def failed(self, error: Any) -> None:
        self.complaints.append(str(error))

    def open(self, path: str = "/") -> "Reader":
        self.page.goto(f"{self.address}{path}")
        return self

    def figure(self, name: str) -> Any:
        """The figure, once it shows the numbers of its inputs."""
        node = self.page.locator(f'figure[data-widget="{name}"]')
        node.scroll_into_view_if_needed()
        self.wait(name)
        return node

    def wait(self, name: str, state: Literal["ready", "error"] = "ready") -> None:
        self.page.wait_for_function(
            """([name, state]) => {
                const node = document.querySelector(`figure[data-widget="${name}"]`);
                return node.dataset.state === state && !node.hasAttribute("aria-busy");
            }""",
            arg=[name, state],
        )

    def wait_for_address(self, part: str) -> None:
        """Until the address holds this at last: it follows the figures, with rests."""
        self.page.wait_for_function("part => location.href.includes(part)", arg=part)

    def read(self) -> "Reader":
        """The whole page once, until every figure shows its numbers."""
        for name in WIDGETS:
            self.figure(name)
        return self

    def speak(self, lang: str) -> "Reader":
        """Exchanges the language."""
        self.page.locator("#language").select_option(lang)
        return self

    def set(self, name: str, inputs: dict[str, Any]) -> None:
        """Moves controls as a hand would, and waits for the numbers."""
        for control, value in inputs.items():
            node = self.page.locator(f'figure[data-widget="{name}"] [data-field="{control}"]')
            kind = node.first.get_attribute("type")
            if kind == "radio":
                self.page.locator(f'figure[data-widget="{name}"] label[for="{self.radio(node, value)}"]').click()
            elif kind == "checkbox":
                node.set_checked(value)
            elif kind == "text":
                node.fill(value)
            else:
                node.evaluate(
                    "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", str(value)
                )
            self.wait(name)

    @staticmethod
    def radio(nodes: Any, value: str) -> str:
        return nodes.evaluate_all("(all, value) => all.find(node => node.value === value).id", value)

    def value(self, name: str, key: str) -> float:
        node = self.page.locator(f'figure[data-widget="{name}"] output[data-key="{key}"]').first
        return float(node.get_attribute("data-value"))

    def values(self, name: str, prefix: str) -> dict[str, float]:
        """All numbers whose key begins so, by the rest of the key."""
        pairs = self.page.locator(f'figure[data-widget="{name}"] output[data-key^="{prefix}"]').evaluate_all(
            "all => all.map(node => [node.dataset.key, node.dataset.value])"
        )
        return {key.removeprefix(prefix): float(value) for key, value in pairs}

    def text(self, key: str, **params: str) -> str:
        """A text of the page's language."""
        lang = self.page.evaluate("document.documentElement.lang")
        strings = self.page.evaluate("JSON.parse(document.getElementById('data').textContent).strings")
        return strings[lang][key].format(**params)


@pytest.fixture
def visit(browser: Any, site: Site) -> Iterator[Callable[..., Reader]]:
    """Opens a page, `visit(path, width=…, theme=…, at=site)`. At the end nothing has left the loopback or failed."""
    yield from visits(browser, site)


@pytest.fixture(scope="module")
def open_page(browser: Any, site: Site) -> Iterator[Callable[..., Reader]]:
    """The same for pages that the tests of a module share."""
    yield from visits(browser, site)


def visits(browser: Any, site: Site) -> Iterator[Callable[..., Reader]]:
    readers: list[Reader] = []
    contexts: list[Any] = []

    def visit(path: str = "/", *, width: int = 1280, theme: str = "light", at: Site = site, **options: Any) -> Reader:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        reader = Reader(page, at.address)
        page.on("request", reader.requested)
        page.on("console", reader.told)
        page.on("pageerror", reader.failed)
        readers.append(reader)
        return reader.open(path)

    yield visit
    for context in contexts:
        context.close()
    for reader in readers:
        outside = [url for url in reader.requests if not re.match(r"(http://127\.0\.0\.1:|data:|blob:)", url)]
        assert outside == []
        assert reader.may_complain or reader.complaints == []
