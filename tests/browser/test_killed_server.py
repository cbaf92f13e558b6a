"""The server is killed in the middle of an answer, and started again: figures wait, say so, and go on by themselves."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen


@contextmanager
def guide(port: int, log: Path) -> Generator[subprocess.Popen[bytes]]:
    """The guide in a process of its own, which is killed in the end if it has not been."""
    command = [sys.executable, "-m", "allyouneed", "guide", "--no-open", f"--port={port}"]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            while not answers(f"http://127.0.0.1:{port}/"):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_figures_outlive_a_server_that_is_killed_while_it_computes(visit: Callable[..., Any], tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    names = ("scaling", "lookup")
    with guide(port, tmp_path / "first") as process:
        reader = visit("/?lang=ko", at=SimpleNamespace(address=f"http://127.0.0.1:{port}"))
        reader.may_complain = True  # the browser itself reports requests that nobody answers
        figures = {name: reader.figure(name) for name in names}
        before = {name: figure.locator(".picture").inner_text() for name, figure in figures.items()}
        os.kill(process.pid, signal.SIGSTOP)  # it is holding the questions that follow
        figures["scaling"].locator('[data-field="d_k"]').press("ArrowRight")
        figures["lookup"].locator('[data-field="are"]').press("End")
        for name in names:
            reader.page.wait_for_selector(f'figure[data-widget="{name}"][data-state="busy"]')
        process.kill()
        process.wait()
        for name, figure in figures.items():
            reader.wait(name, "error")
            assert "서버 연결 끊김" in figure.locator(".notice").inner_text()
            assert figure.locator(".picture").is_visible()
            assert figure.locator(".picture").inner_text() == before[name]
    reader.page.locator("#language").select_option("en")  # a reader goes on meanwhile
    for figure in figures.values():
        assert "The server does not answer" in figure.locator(".notice").inner_text()
    assert reader.value("lookup", "weight.1") < 0.5
    width = reader.value("scaling", "d_k")
    figures["scaling"].locator('[data-field="d_k"]').press("ArrowRight")
    with guide(port, tmp_path / "second"):
        for name, figure in figures.items():
            reader.wait(name)
            assert figure.locator(".notice").inner_text() == ""
        assert reader.value("lookup", "weight.1") > 0.99
        assert reader.value("scaling", "d_k") == 4 * width
