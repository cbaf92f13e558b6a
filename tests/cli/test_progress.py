import io
import sys

import pytest

from allyouneed.cli import progress as module
from allyouneed.cli.progress import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("counting", 3) as tell:
        tell(3)
    assert capsys.readouterr().err == ""


def test_the_bar_comes_late_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for patience, shown in ((0.0, True), (1000.0, False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(module, "PATIENCE", patience)
        with progress("counting", 4) as tell:
            tell(1)
            tell(3)
        assert ("counting" in terminal.getvalue()) is shown
