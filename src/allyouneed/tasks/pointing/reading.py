"""Sets of points from text, tables and JSON, with the place of each point, so that errors can name it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from allyouneed.errors import InputError
from allyouneed.text.corpus import read_lines


@dataclass
class PointSet:
    """Points, and where each of them was written."""

    points: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    places: list[str] = field(default_factory=list[str])

    @property
    def place(self) -> str:
        """Where the set begins."""
        return self.places[0]

    def add(self, point: tuple[float, float], place: str) -> None:
        """One point more."""
        self.points.append(point)
        self.places.append(place)


def read_sets(path: Path) -> list[PointSet]:
    """The sets of a file: text with a point "x y" a line and blank lines between sets; a .csv with "x,y" a line, where
    names may stand in the first; or .json, one list of points [x, y] or a list of such lists.

    Raises InputError with the line, or the number of the set and of the point, for what is no point.
    """
    name = f'"{path}"'
    if path.suffix.lower() == ".json":
        return from_json("\n".join(read_lines(path)), name)
    lines = read_lines(path)
    return from_lines(without_names(lines) if path.suffix.lower() == ".csv" else enumerate(lines, 1), name)


def without_names(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines of a table without its first, where that holds names and no numbers."""
    for number, line in enumerate(lines, 1):
        if number > 1 or any(is_number(word) for word in line.split(",")):
            yield number, line


def is_number(word: str) -> bool:
    """Can the word be read as a number?"""
    try:
        float(word)
    except ValueError:
        return False
    return True


def from_lines(lines: Iterable[tuple[int, str]], name: str) -> list[PointSet]:
    """The sets of numbered lines; `name` is where they come from. Spaces, a tab or a comma stand between numbers."""
    sets = [PointSet()]
    for number, line in lines:
        words = line.replace(",", " ").split()
        if not words:
            sets.append(PointSet())
            continue
        if len(words) != 2 or not all(map(is_number, words)):
            raise InputError(
                f"{name}, line {number:,}: {line.strip()[:40]!r} is no point, which is two numbers, x and y."
            )
        sets[-1].add((float(words[0]), float(words[1])), f"{name}, line {number:,}")
    found = [one for one in sets if one.points]
    if not found:
        raise InputError(f"{name} holds no points.")
    return found


def from_json(text: str, name: str) -> list[PointSet]:
    """The sets of a JSON text; `name` is where it comes from."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {error}.") from error
    if not isinstance(value, list) or not value:
        raise InputError(f"{name} holds no points: a list of points [x, y], or a list of such lists, is wanted.")
    items = cast(list[Any], value)
    groups: list[Any] = [items] if is_point(items[0]) else items
    sets: list[PointSet] = []
    for number, group in enumerate(groups, 1):
        place = f"{name}, set {number:,}"
        if not isinstance(group, list) or not group:
            raise InputError(f"{place} is no list of points [x, y].")
        sets.append(PointSet())
        for index, point in enumerate(cast(list[Any], group)):
            if not is_point(point):
                raise InputError(f"{place}, point {index:,}: {str(point)[:40]!r} is no point, which is [x, y].")
            sets[-1].add((float(point[0]), float(point[1])), f"{place}, point {index:,}")
    return sets


def is_point(value: Any) -> bool:
    """Is a JSON value two numbers?"""
    if not isinstance(value, list) or len(cast(list[Any], value)) != 2:
        return False
    return all(isinstance(number, int | float) and not isinstance(number, bool) for number in cast(list[Any], value))
