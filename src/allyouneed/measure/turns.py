"""Peers measured side by side: each in its own process, taking turns, so that a busy minute slows all of them alike."""

import multiprocessing
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from allyouneed.measure.memory import peak_memory_mb

THREADS = os.cpu_count() or 1
QUIET_SHARE = 0.10  # a turn starts when the rest of the machine uses less than this share of the processors,
QUIET_WAIT = 60.0  # or when this many seconds have been spent on waiting in all

# One OpenMP thread a core, for every peer: unbound, two threads may share a core beside a busy neighbour.
ENVIRONMENT = {
    "OMP_NUM_THREADS": str(THREADS),
    "OMP_PROC_BIND": "true",
    "OMP_PLACES": "cores",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

# A pass does the whole work once and says how many seconds each part of it took.
Pass = Callable[[], list[float]]
Prepared = tuple[Callable[..., Pass], tuple[Any, ...]]  # a function that prepares a pass, and its arguments


@dataclass
class Peer:
    """What was measured of one peer."""

    name: str
    passes: list[list[float]] = field(default_factory=list)
    others: list[float] = field(default_factory=list)  # share of the processors that others used, a pass
    peak_mb: float = 0.0
    failure: str = ""

    @property
    def calm(self) -> list[int]:
        """The passes that were disturbed least: all undisturbed ones, or else the better half."""
        order = sorted(range(len(self.passes)), key=lambda i: self.others[i])
        undisturbed = [i for i in order if self.others[i] <= QUIET_SHARE]
        return max(undisturbed, order[: (len(order) + 1) // 2], key=len)

    def median(self, part: int) -> float:
        """Seconds of a part of the work, over the calm passes."""
        return statistics.median(self.passes[i][part] for i in self.calm)

    @property
    def disturbance(self) -> float:
        """The largest share of the processors that others used in a calm pass."""
        return max(self.others[i] for i in self.calm)


def measure(
    peers: dict[str, Prepared],
    *,
    rounds: int,
    patience: float | None = None,
    preload: Sequence[str] = (),
    on_progress: Callable[[], None] = lambda: None,
) -> list[Peer]:
    """Runs every peer `rounds` times, in turns.

    For a turn it waits until the machine is quiet, `patience` seconds in all (None: `QUIET_WAIT`). Modules to `preload`
    are loaded once for all processes, where the system can do that. `on_progress` is called after each preparation and
    each turn.
    """
    patience = QUIET_WAIT if patience is None else patience
    context = _context(preload)
    running: list[tuple[Peer, Connection, Any]] = []
    with _environment():
        for name, prepared in peers.items():
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, *prepared), daemon=True)
            process.start()
            there.close()
            peer = Peer(name)
            _receive(peer, here)
            running.append((peer, here, process))
            on_progress()
    for _ in range(rounds):
        for peer, connection, process in running:
            if peer.failure:
                continue
            patience -= _wait_for_quiet(patience)
            (busy, total), own = _machine_ticks(), _process_ticks(process.pid)
            connection.send("go")
            seconds = _receive(peer, connection)
            if seconds is not None:
                busy_after, total_after = _machine_ticks()
                own = _process_ticks(process.pid) - own
                peer.passes.append(seconds)
                peer.others.append(max(0.0, busy_after - busy - own) / max(1, total_after - total))
            on_progress()
    for peer, connection, process in running:
        if not peer.failure:
            connection.send("peak")
            peer.peak_mb = (_receive(peer, connection) or [0.0])[0]
        connection.close()
        process.join(10)
        if peer.failure:
            print(f"{peer.name} failed:\n{peer.failure}", file=sys.stderr)
    return [peer for peer, _, _ in running]


@contextmanager
def _environment() -> Generator[None]:
    """While it is open, processes that are started have the environment of all peers."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _context(preload: Sequence[str]) -> Any:
    """How processes are made: each from nothing, or from one that has loaded the modules."""
    if not preload or "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context


def _serve(connection: Connection, prepare: Callable[..., Pass], arguments: tuple[Any, ...]) -> None:
    """The life of a peer's process: prepare, then a pass for each `go`."""
    try:
        work = prepare(*arguments)
        work()  # the first pass warms caches and is not counted
        connection.send([])
        while True:
            request = connection.recv()
            connection.send(work() if request == "go" else [peak_memory_mb()])
    except EOFError:
        return
    except BaseException:
        connection.send(traceback.format_exc(limit=-3))


def _receive(peer: Peer, connection: Connection) -> list[float] | None:
    """The answer of a peer; a text, or silence, says that it failed."""
    try:
        answer: list[float] | str = connection.recv()
    except EOFError:
        answer = "its process ended"
    if isinstance(answer, str):
        peer.failure = answer
        return None
    return answer


def timed(parts: Iterable[Callable[[], object]]) -> list[float]:
    """Seconds that each part takes."""
    seconds: list[float] = []
    for part in parts:
        start = time.perf_counter()
        part()
        seconds.append(time.perf_counter() - start)
    return seconds


def _machine_ticks() -> tuple[int, int]:
    """Clock ticks that the processors were busy, and all ticks; where the system does not tell, none."""
    file = Path("/proc/stat")
    if not file.exists():
        return 0, 0
    ticks = [int(value) for value in file.read_text("ascii").partition("\n")[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _process_ticks(pid: int | None) -> int:
    """Clock ticks that a process has run; where the system does not tell, none."""
    file = Path(f"/proc/{pid}/stat")
    if not file.exists():
        return 0
    fields = file.read_text("utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _wait_for_quiet(patience: float) -> float:
    """Waits until the machine is quiet, at most `patience` seconds; returns the seconds waited."""
    start = time.monotonic()
    while time.monotonic() - start < patience:
        busy, total = _machine_ticks()
        time.sleep(0.3)
        busy_after, total_after = _machine_ticks()
        if busy_after - busy <= QUIET_SHARE * (total_after - total):
            break
    return time.monotonic() - start
