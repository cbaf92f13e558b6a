"""The guide under many readers: how fast it answers, and whether each answer is that of its figure's own function.

    python benchmarks/guide.py              twenty readers for a minute, each a click a second
    python benchmarks/guide.py --browser    first paint, figures as they are scrolled to, sliders' way to their numbers

The server is a process of its own. Readers move controls of all figures, each in an order of its own; what the
answers must be is computed here, before.
"""

import argparse
import http.client
import json
import math
import random
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any
from urllib.parse import urlparse

from allyouneed.guide.export import others
from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError

MEASURED = ("times", "exponents", "seconds")  # a figure's own measurements differ each time, and what follows
STATES = 3  # of each figure, beside its defaults
PAUSE = 1.0  # seconds in which a reader looks at an answer
FLAGS = ["--no-sandbox", "--disable-gpu"]


@contextmanager
def guide() -> Generator[tuple[int, str]]:
    """A guide in a process of its own -> its process and address."""
    command = [sys.executable, "-m", "allyouneed", "guide", "--no-open", "--port", "0", "--lang", "en"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None
    try:
        yield server.pid, found[0]
    finally:
        server.terminate()
        server.wait()


def truths() -> list[tuple[str, str, Any]]:
    """Each figure at its defaults and in a few states of one control: its name, its inputs and the right answer."""
    models, choose = Models(), random.Random(1)
    found: list[tuple[str, str, Any]] = []
    for name, widget in WIDGETS.items():
        first = widget.answer({}, models)
        limits = first.get("limits", {})
        moved = [{key: value} for key, spec in widget.fields().items() for value in others(spec, limits.get(key))]
        for change in [{}, *choose.sample(moved, min(len(moved), STATES))]:
            with suppress(FigureError):  # what the figure refuses cannot be chosen either
                found.append((name, json.dumps(change), widget.answer(change, models)))
    return found


def same(ours: Any, theirs: Any) -> bool:
    """Equal but for what floats lose when threads share a sum differently."""
    if isinstance(ours, float | int) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=1e-3, abs_tol=1e-5)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours if k not in MEASURED)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


@dataclass
class Reader:
    """One who clicks through all figures, over and over: what took how long, and what was wrong."""

    address: str
    work: list[tuple[str, str, Any]]
    until: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict[str, list[float]](list))
    wrong: list[str] = field(default_factory=list[str])

    def read(self, seed: int) -> None:
        """Until the time is up."""
        choose = random.Random(seed)
        connection = http.client.HTTPConnection(urlparse(self.address).netloc, timeout=60)
        time.sleep(choose.random() * PAUSE)
        while time.monotonic() < self.until:
            for name, inputs, truth in choose.sample(self.work, len(self.work)):
                if time.monotonic() >= self.until:
                    break
                start = time.perf_counter()
                connection.request("POST", f"/api/{name}", inputs.encode(), {"content-type": "application/json"})
                answer = connection.getresponse()
                content = answer.read()
                self.seconds[name].append(time.perf_counter() - start)
                if answer.status != 200 or not same(truth, json.loads(content)):
                    self.wrong.append(f"{name} {inputs}: {answer.status}")
                time.sleep(max(0.0, PAUSE - self.seconds[name][-1]))


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def memory(process: int) -> float:
    """The most that a process has held, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def crowd(count: int, seconds: float) -> None:
    """Many readers at once."""
    work = truths()
    with guide() as (process, address):
        for name, inputs, _ in work:  # as after the first reader: every model is there
            warm = http.client.HTTPConnection(urlparse(address).netloc)
            warm.request("POST", f"/api/{name}", inputs.encode(), {"content-type": "application/json"})
            warm.getresponse().read()
        readers = [Reader(address, work, time.monotonic() + seconds) for _ in range(count)]
        threads = [Thread(target=reader.read, args=(seed,)) for seed, reader in enumerate(readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = memory(process)
    every: dict[str, list[float]] = defaultdict(list)
    for reader in readers:
        for name, values in reader.seconds.items():
            every[name] += values
    for name, values in sorted(every.items(), key=lambda one: -percentile(one[1], 0.95)):
        slow = percentile(values, 0.95)
        print(f"{name:>16}  {len(values):5} answers  median {median(values):6.3f} s  95 % {slow:6.3f} s")
    total = [value for values in every.values() for value in values]
    wrong = [line for reader in readers for line in reader.wrong]
    print(*sorted(set(wrong)), sep="\n")
    print(f"{count} readers: {len(total)} answers in {seconds:.0f} s, {len(wrong)} wrong or refused,")
    print(f"median {median(total):.3f} s, 95 % below {percentile(total, 0.95):.3f} s, slowest {max(total):.3f} s;")
    print(f"the server's memory {used:,.0f} MB")


READY = """name => {
    const node = document.querySelector(`figure[data-widget="${name}"]`);
    return node.dataset.state === "ready" && !node.hasAttribute("aria-busy");
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
# From the movement of a figure's first slider to the frame in which its numbers stand, there and back again.
DRAG = """async ([name, turns]) => {
    const figure = document.querySelector(`figure[data-widget="${name}"]`);
    const slider = [...figure.querySelectorAll('.controls input[type="range"]')]
        .find(node => node.checkVisibility() && !node.disabled);
    if (!slider) return [];
    const settled = async () => {
        while (figure.hasAttribute("aria-busy")) await new Promise(requestAnimationFrame);
    };
    const times = [];
    const begin = performance.now();
    for (let turn = 0; turn < turns && performance.now() - begin < 6000; turn += 1) {
        const before = slider.value;
        const up = Math.floor(turn / 8) % 2 === 0;
        slider[up ? "stepUp" : "stepDown"](Math.max(1, Math.round((slider.max - slider.min) / slider.step / 40)));
        if (slider.value === before) continue;
        const start = performance.now();
        slider.dispatchEvent(new Event("input"));
        await settled();
        times.push((performance.now() - start) / 1000);
        await new Promise(resolve => setTimeout(resolve, 30));
    }
    return times;
}"""
TURNS = 48  # or what six seconds allow


def drag(page: Any) -> None:
    """Each figure's first slider, moved step by step: a line each."""
    print("slider to numbers:")
    for name in WIDGETS:
        if times := page.evaluate(DRAG, [name, TURNS]):
            slow = percentile(times, 0.95)
            print(f"{name:>16}  {len(times):3} moves  median {median(times):.3f} s  95 % {slow:.3f} s", flush=True)


def browse() -> None:
    """One reader with a browser, who scrolls through a guide that has just been started."""
    from playwright.sync_api import sync_playwright  # only this needs a browser

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with guide() as (process, address), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.wait_for_function(f"() => {PAINT} > 0")
        print(f"first paint {page.evaluate(PAINT) / 1000:.2f} s")
        waits: dict[str, float] = {}
        for name in WIDGETS:
            start = time.perf_counter()
            page.locator(f'figure[data-widget="{name}"]').scroll_into_view_if_needed()
            page.wait_for_function(READY, arg=name, timeout=60_000)
            waits[name] = time.perf_counter() - start
        slowest = sorted(waits, key=lambda name: -waits[name])[:5]
        print("figures ready after", ", ".join(f"{name} {waits[name]:.2f} s" for name in slowest), "and less")
        drag(page)
        print(f"the server's memory {memory(process):,.0f} MB")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    if given.browser:
        browse()
    else:
        crowd(given.readers, given.seconds)
