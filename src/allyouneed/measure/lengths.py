"""Layers against the length of the text: time and peak memory of each kind, forward and backward, and where each begins
to pay.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allyouneed.errors import UsageError
from allyouneed.lens import pictures
from allyouneed.lens.attention import write_whole
from allyouneed.measure import turns
from allyouneed.measure.layers import HEADS, REFERENCE, WIDTH, Setting, fits, prepare

HEAD = (
    "One layer of width {width} ({heads} heads of {head}), float32, one text of n tokens, forward and backward, on "
    "{where}: seconds, and megabytes beyond weights and input. Windows hold {window} keys; a query of Longformer sees "
    "as many around it and two global tokens, one of BigBird eight blocks of 64. What is two-way also sees what comes "
    "later. The last columns are the exponent of the time's growth over all lengths, and the length from which on the "
    "kind is faster than full attention through the fused kernel."
)
PUBLISHED = Path(__file__).parent / "results" / "attention.json"
PICTURES = (".png", ".svg")
ENDINGS = (*PICTURES, ".json", ".md")


def check_ending(path: Path) -> None:
    """Refuses a file of a kind that no report is written to."""
    if path.suffix.lower() not in ENDINGS:
        *others, last = ENDINGS
        raise UsageError(f"{path}: the ending says the format, and it is one of {', '.join(others)} and {last}.")


@dataclass(frozen=True)
class Row:
    """One kind at one length. `backward` is None where there is no such pass; `others` is the share of the processors
    that other programs took meanwhile.
    """

    kind: str
    length: int
    forward: float
    backward: float | None
    megabytes: float
    others: float

    @property
    def seconds(self) -> float:
        """Forward and backward together."""
        return self.forward + (self.backward or 0.0)


def measure(
    kinds: Sequence[str],
    lengths: Sequence[int],
    *,
    window: int,
    rounds: int,
    device: str = "cpu",
    patience: float | None = None,
    on_progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    """A row for each kind and length; the kinds of a length take turns, each in a process of its own."""
    rows: list[Row] = []
    for length in lengths:
        setting = Setting(length, window, device)
        fit = [kind for kind in kinds if fits(kind, setting)]
        peers = turns.measure(
            {kind: (prepare, (kind, setting)) for kind in fit},
            rounds=rounds,
            patience=patience,
            preload=["allyouneed.measure.layers"],
            on_progress=on_progress,
        )
        for peer in peers:
            if not peer.failure:
                forward, backward, megabytes = (peer.median(part) for part in range(3))
                told = None if math.isnan(backward) else backward
                rows.append(Row(peer.name, length, forward, told, megabytes, peer.disturbance))
    return rows


def amount(kinds: Sequence[str], lengths: Sequence[int], *, rounds: int) -> int:
    """How often `measure` tells of its progress."""
    fit = sum(fits(kind, Setting(length, 1)) for length in lengths for kind in kinds)
    return fit * (1 + rounds)


def seconds(rows: Sequence[Row], kind: str) -> dict[int, float]:
    """Forward and backward together, by length."""
    return {row.length: row.seconds for row in rows if row.kind == kind}


def exponent(times: dict[int, float]) -> float | None:
    """How the time grows: the slope of its logarithm over that of the length, by least squares."""
    if len(times) < 2:
        return None
    points = [(math.log(length), math.log(time)) for length, time in times.items()]
    x, y = (sum(point[i] for point in points) / len(points) for i in range(2))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def break_even(times: dict[int, float], reference: dict[int, float]) -> int | None:
    """The length from which on a kind is always faster than the reference, on straight lines between the logarithms of
    what was measured. The shortest length where it is faster at all of them, None where it is not at the longest.
    """
    shared = sorted(times.keys() & reference.keys())
    ahead = {length: math.log(times[length] / reference[length]) for length in shared}  # below 0: faster
    slower = [length for length in shared if ahead[length] >= 0]
    if not shared or (slower and slower[-1] == shared[-1]):
        return None
    if not slower:
        return shared[0]
    low = slower[-1]
    high = shared[shared.index(low) + 1]
    share = ahead[low] / (ahead[low] - ahead[high])
    return round(math.exp(math.log(low) + share * (math.log(high) - math.log(low))))


def published() -> dict[str, Any]:
    """What ships of a run on one machine: `Report.to_dict`, with that machine and the command."""
    return json.loads(PUBLISHED.read_text("utf-8"))


@dataclass(frozen=True)
class Report:
    """What was measured, and how."""

    rows: list[Row]
    window: int
    device: str = "cpu"

    @property
    def kinds(self) -> list[str]:
        """The kinds that were measured, in order."""
        return list(dict.fromkeys(row.kind for row in self.rows))

    @property
    def lengths(self) -> list[int]:
        """The lengths that were measured, from the shortest on."""
        return sorted({row.length for row in self.rows})

    def growth(self, kind: str) -> float | None:
        """The exponent of the time's growth."""
        return exponent(seconds(self.rows, kind))

    def pays(self, kind: str) -> int | None:
        """The length from which on a kind is faster than the reference; None: at none of these, or it cannot be told.

        What has no backward pass is not compared.
        """
        if kind == REFERENCE or any(row.backward is None for row in self.rows if row.kind == kind):
            return None
        return break_even(seconds(self.rows, kind), seconds(self.rows, REFERENCE))

    def table(self) -> str:
        """A Markdown table, a line a kind, below what it shows."""
        columns = ["layer", *(f"n = {length:,}" for length in self.lengths), "exponent", "faster from"]
        lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
        for kind in self.kinds:
            own = {row.length: row for row in self.rows if row.kind == kind}
            cells = [self._cell(own.get(length)) for length in self.lengths]
            lines.append([kind, *cells, _or_dash(self.growth(kind), ".2f"), _or_dash(self.pays(kind), ",d")])
        where = f"{turns.THREADS} threads" if self.device == "cpu" else f'"{self.device}"'
        head = HEAD.format(width=WIDTH, heads=HEADS, head=WIDTH // HEADS, where=where, window=self.window)
        return head + "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @staticmethod
    def _cell(row: Row | None) -> str:
        if row is None:
            return "-"
        only = " (forward)" if row.backward is None else ""
        return f"{row.seconds:.3f} s, {row.megabytes:,.0f} MB{only}"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, with what follows from them."""
        return {
            "width": WIDTH,
            "heads": HEADS,
            "window": self.window,
            "device": self.device,
            "threads": turns.THREADS,
            "reference": REFERENCE,
            "kinds": {kind: {"exponent": self.growth(kind), "faster_from": self.pays(kind)} for kind in self.kinds},
            "rows": [asdict(row) for row in self.rows],
        }

    def save(self, path: str | Path) -> None:
        """Writes a figure (.png, .svg), the numbers (.json) or the table (.md). Raises UsageError for another suffix
        and InputError where the file cannot be written.
        """
        path = Path(path)
        check_ending(path)
        suffix = path.suffix.lower()
        if suffix in PICTURES:
            content = self._figure(suffix)
        else:
            text = json.dumps(self.to_dict(), indent=2) if suffix == ".json" else self.table()
            content = f"{text}\n".encode()
        write_whole(path, content)

    def _figure(self, suffix: str) -> bytes:
        """Time and memory against length, both axes logarithmic, a line a kind."""
        from matplotlib.figure import Figure

        with pictures.drawing():
            figure = Figure(figsize=(12, 5.2), dpi=120, layout="constrained")
            left, right = figure.subplots(1, 2)
            for number, kind in enumerate(self.kinds):
                own = sorted((row for row in self.rows if row.kind == kind), key=lambda row: row.length)
                lengths = [row.length for row in own]
                look: dict[str, Any] = {
                    "label": kind,
                    "color": f"C{number % 10}",
                    "marker": "osv^Dd<>pPX*"[number % 12],
                    "linestyle": "--" if any(row.backward is None for row in own) else "-",
                }
                left.plot(lengths, [row.seconds for row in own], **look)
                right.plot(lengths, [max(row.megabytes, 0.1) for row in own], **look)
            for axes, what in ((left, "seconds, forward and backward"), (right, "megabytes")):
                axes.set_xscale("log", base=2)
                axes.set_yscale("log")
                axes.set_xticks(self.lengths, [f"{length:,}" for length in self.lengths])
                axes.set_xlabel("tokens")
                axes.set_title(what, fontsize="medium")
                axes.grid(visible=True, alpha=0.3)
            figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize="small")
            return pictures.file_of(figure, suffix)


def _or_dash(number: float | None, form: str) -> str:
    return "-" if number is None else format(number, form)
