"""What the package's own experiments found, as the figures show it: means over the seeds of a full run."""

from collections.abc import Sequence

from allyouneed.reproduce.result import Value, stored


def means(name: str, keys: Sequence[str], measured: str, **only: Value) -> dict[tuple[Value, ...], float]:
    """The mean of a measurement for each setting of `keys`, in the order of the rows; of the rows with `only` those
    values. Nothing where the experiment's full run does not ship.
    """
    result = stored(name)
    found: dict[tuple[Value, ...], list[float]] = {}
    for row in result.rows if result else []:
        if all(row[key] == value for key, value in only.items()):
            found.setdefault(tuple(row[key] for key in keys), []).append(float(row[measured]))
    return {setting: sum(values) / len(values) for setting, values in found.items()}


def how(name: str) -> dict[str, float] | None:
    """How large that run was: its seeds, the updates of an arm and the minutes of all training. None where it does not
    ship.
    """
    result = stored(name)
    if result is None:
        return None
    return {"seeds": len(result.made.seeds), "updates": max(result.made.updates), "minutes": result.made.minutes}
