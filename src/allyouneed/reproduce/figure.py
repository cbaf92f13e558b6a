"""A result as a figure: lines or bars, the mean of the seeds with a whisker from the lowest to the highest."""

from collections.abc import Sequence
from statistics import fmean
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allyouneed.lens.pictures import drawing, file_of
from allyouneed.reproduce.experiment import Chart
from allyouneed.reproduce.result import Result, Row, Value
from allyouneed.reproduce.table import grouped

# Colours that are told apart without red and green (Okabe and Ito), and markers for those who see none.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#999999")
MARKERS = "os^Dv*Px"
LABEL = 14  # characters of a line below the axis: more would run into the next label


def draw(chart: Chart, result: Result, suffix: str) -> bytes:
    """The figure as ".png" or ".svg". The same rows give the same bytes."""
    rows = [row for row in result.rows if chart.y in row and chart.x in row]
    with drawing():
        figure = Figure(figsize=(8.0, 4.4), dpi=160, layout="constrained")
        axes = figure.add_subplot()
        places = list(dict.fromkeys(row[chart.x] for row in rows))
        series = grouped(rows, chart.by)
        for number, (key, group) in enumerate(series.items()):
            label = ", ".join(map(str, key)) or None
            plot = lines if chart.kind == "lines" else bars
            plot(axes, spans(group, chart, places), places, label, number, len(series))
        axes.set_xlabel(chart.x)
        axes.set_ylabel(f"{chart.y} ({chart.unit})" if chart.unit else chart.y)
        axes.set_title(result.title, fontsize="medium")
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if chart.logarithmic:
            axes.set_xscale("log", base=2)
        axes.set_xticks(ticks(places, chart.kind), [fill(str(place), LABEL) for place in places])
        if chart.by:
            figure.legend(title=", ".join(chart.by), frameon=False, loc="outside right upper")
        return file_of(figure, suffix)


Span = tuple[float, float, float]  # mean, lowest, highest


def spans(rows: Sequence[Row], chart: Chart, places: Sequence[Value]) -> list[Span | None]:
    """For each place on the x axis what stands there; None where nothing was measured."""
    found: list[Span | None] = []
    for place in places:
        values = [float(row[chart.y]) for row in rows if row[chart.x] == place]
        found.append((fmean(values), min(values), max(values)) if values else None)
    return found


def ticks(places: Sequence[Value], kind: str) -> list[float]:
    """Where the places stand: numbers on a line at their value, all else side by side."""
    numbers = [float(place) for place in places if not isinstance(place, str)]
    return numbers if kind == "lines" and len(numbers) == len(places) else [float(i) for i in range(len(places))]


def lines(
    axes: Axes, found: Sequence[Span | None], places: Sequence[Value], label: str | None, number: int, _total: int
) -> None:
    """A line through the means."""
    there = [(x, span) for x, span in zip(ticks(places, "lines"), found, strict=True) if span]
    axes.errorbar(
        [x for x, _ in there],
        [mean for _, (mean, _, _) in there],
        whiskers([span for _, span in there]),
        label=label,
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        capsize=3,
    )


def bars(
    axes: Axes, found: Sequence[Span | None], places: Sequence[Value], label: str | None, number: int, total: int
) -> None:
    """One bar of each group."""
    width = 0.8 / total
    there = [(x + (number - (total - 1) / 2) * width, span) for x, span in enumerate(found) if span]
    axes.bar(
        [x for x, _ in there],
        [mean for _, (mean, _, _) in there],
        width,
        yerr=whiskers([span for _, span in there]),
        label=label,
        color=COLOURS[number % len(COLOURS)],
        capsize=3,
    )


def whiskers(found: Sequence[Span]) -> list[list[float]] | None:
    """How far down and up the seeds reach; None where there is one."""
    down, up = [mean - low for mean, low, _ in found], [high - mean for mean, _, high in found]
    return [down, up] if any(down) or any(up) else None
