"""The command line inside this process: as the command, but torch is loaded once."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from allyouneed.cli.main import run


class Outcome(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs `allyouneed` with these arguments and this standard input."""

    def call(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["allyouneed", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ending:
            run()
        captured = capsysbinary.readouterr()
        return Outcome(int(ending.value.code or 0), captured.out.decode(), captured.err.decode())

    return call
