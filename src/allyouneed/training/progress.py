"""What a run shows: a live bar on a terminal, a plain line now and then elsewhere, and files for later."""

import json
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from tensorboardX import SummaryWriter

SECONDS_BETWEEN_LINES = 30.0


class Display(Protocol):
    """Where a run's news goes."""

    def say(self, message: str) -> None:
        """A line that stays."""
        ...

    def show(self, update: int, facts: dict[str, str]) -> None:
        """How far the run is."""
        ...


class Terminal:
    """News on standard error: a bar where that is a terminal, a line every half minute where it is a file."""

    def __init__(self, updates: int, start: int = 0) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.updates, self._last = updates, 0.0
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=updates, completed=start)

    def __enter__(self) -> "Terminal":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, message: str) -> None:
        """A line that stays."""
        if self.console.is_terminal:
            self.console.print(message, markup=False)
        else:
            print(message, file=sys.stderr, flush=True)

    def show(self, update: int, facts: dict[str, str]) -> None:
        """How far the run is."""
        text = "  ".join(f"{name} {value}" for name, value in facts.items())
        self._bar.update(self._task, completed=update, description=text)
        if not self.console.is_terminal and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"update {update}/{self.updates}  {text}", file=sys.stderr, flush=True)


class Quiet:
    """No news: for the ranks that do not report, and for tests."""

    def say(self, message: str) -> None:
        """Nothing."""

    def show(self, update: int, facts: dict[str, str]) -> None:
        """Nothing."""


class Metrics:
    """`metrics.jsonl`, one line a record, and the same numbers as an event file that TensorBoard shows.

    A run that goes on from update N first drops what an interrupted one had written beyond N.
    """

    def __init__(self, folder: Path, resumed_at: int) -> None:
        self.path = folder / "metrics.jsonl"
        kept = [line for line in self._lines() if json.loads(line)["update"] <= resumed_at]
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text("".join(kept), "utf-8")
        temporary.replace(self.path)
        self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=resumed_at + 1)

    def write(self, update: int, record: dict[str, Any]) -> None:
        """Adds one record."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"update": update, **record}) + "\n")
        for name, value in record.items():
            self._events.add_scalar(name, value, update)
        self._events.flush()

    def _lines(self) -> list[str]:
        """Whole lines written so far: a killed process may have left half a line at the end."""
        if not self.path.is_file():
            return []
        return [line for line in self.path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
