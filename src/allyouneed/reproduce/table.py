"""A result as a table: one line for each of its keys, seeds taken together."""

from collections.abc import Sequence
from statistics import fmean

from allyouneed.reproduce.result import Cited, Made, Result, Row, Value

Key = tuple[Value, ...]


def grouped(rows: Sequence[Row], keys: Sequence[str]) -> dict[Key, list[Row]]:
    """The rows by their keys, in the order of their coming."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def measures(result: Result) -> list[str]:
    """The columns that hold what was measured."""
    names = dict.fromkeys(name for row in result.rows for name in row)
    return [name for name in names if name not in result.keys and name != "seed"]


def cells(result: Result) -> tuple[list[str], list[list[str]]]:
    """Head and lines of the table. A measure of several seeds is their mean, with the lowest and the highest."""
    names = measures(result)
    lines = [
        [*map(shown, key), *(spread([row[name] for row in group if name in row]) for name in names)]
        for key, group in grouped(result.rows, result.keys).items()
    ]
    return [*result.keys, *names], lines


def spread(values: Sequence[Value]) -> str:
    """Values of one measure in words: "3.21", or "3.21 (3.15 to 3.28)"."""
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values) or not values:
        return ", ".join(dict.fromkeys(map(shown, values))) or "-"
    if len(numbers) == 1:
        return shown(numbers[0])
    return f"{shown(float(fmean(numbers)))} ({shown(min(numbers))} to {shown(max(numbers))})"


def shown(value: Value) -> str:
    """A value with as many digits as are read."""
    if not isinstance(value, float):
        return str(value)
    digits = 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:.{digits}f}"


def markdown(result: Result) -> str:
    """The whole result as a page: what was asked, what came out, what the paper says, and how it was made."""
    parts = [f"# {result.title}", result.note, piped(*cells(result))]
    if result.paper:
        rows = [[cited.what, f"{cited.value:g}", source(cited)] for cited in result.paper]
        parts += ["In the paper, on data and with models of another size:", piped(["", "value", "source"], rows)]
    return "\n\n".join([*parts, how(result.made)]) + "\n"


def source(cited: Cited) -> str:
    """Where a number stands, and whether it was looked up there."""
    return cited.source + ("" if cited.confirmed else " (unconfirmed)")


def how(made: Made) -> str:
    """How a result was made, in sentences."""
    low, high = made.updates
    updates = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    seeds = f"seed{'s' if len(made.seeds) > 1 else ''} {', '.join(map(str, made.seeds))}"
    quick = " A quick run: it shows that all works, and its numbers mean nothing." if made.quick else ""
    return (
        f"Made on {made.date} by `{made.command}`: {seeds}, {updates} updates a model, {len(made.arms)} models in "
        f"{made.minutes:g} minutes of training ({made.machine}, torch {made.torch}).{quick} {made.remark}".rstrip()
    )


def piped(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
