"""What can be asked about points: exact answers, which sets have one, and how good another answer is."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from allyouneed.models.pointer_rules import Problem
from allyouneed.tasks.pointing.geometry import Points, Triangle, area, convex_hull, delaunay, is_simple, same_ring, turn
from allyouneed.tasks.pointing.tours import shortest_tours, tour_length

Sets = npt.NDArray[np.float64] | npt.NDArray[np.float32]  # [B, N, 2]

FEWEST: Mapping[Problem, int] = {"hull": 3, "triangulation": 3, "tour": 2}
ASKED: Mapping[Problem, str] = {"hull": "a hull", "triangulation": "a triangulation", "tour": "a tour"}
LARGEST = 1e100  # a coordinate whose square is still a number
MOST_CITIES = 60  # of a tour whose shortest form is found in seconds
SAME = 1e-9  # relative difference up to which two tours are equally long


@dataclass(frozen=True)
class Verdict:
    """How good an answer is. `exact`: it is the exact one, or as good. `valid`: it is a simple polygon, a whole tour,
    or whole triangles. `ratio`: its area by the hull's, its length by the shortest tour's, or the share of the exact
    triangles that it holds; 0 where it is not valid.
    """

    exact: bool
    valid: bool
    ratio: float


def answers(problem: Problem, sets: Sets) -> list[list[int]]:
    """The exact answer to each set of distinct points, as a row of their numbers.

    hull: counter-clockwise from the lowest number. tour: from 0 on, towards the neighbour with the lower number.
    triangulation: triangle after triangle, as `delaunay` orders them (Vinyals 2015, section 3).
    """
    return ANSWERS[problem](sets)


def hulls(sets: Sets) -> list[list[int]]:
    """The convex hull of each set."""
    return [convex_hull(points) for points in sets.tolist()]


def triangulations(sets: Sets) -> list[list[int]]:
    """The Delaunay triangulation of each set, its triangles in a row."""
    return [list(chain(*delaunay(points))) for points in sets.tolist()]


ANSWERS: Mapping[Problem, Callable[[Sets], list[list[int]]]] = {
    "hull": hulls,
    "triangulation": triangulations,
    "tour": shortest_tours,
}


def triangles(row: Sequence[int]) -> set[Triangle]:
    """The triangles of a row of numbers, each rising."""
    found = (sorted(row[start : start + 3]) for start in range(0, len(row) - 2, 3))
    return {(one, two, three) for one, two, three in found}


def judge(problem: Problem, points: Points, row: Sequence[int], exact: Sequence[int]) -> Verdict:
    """How good the answer `row` is beside the exact one."""
    if problem == "hull":
        return judge_hull(points, row, exact)
    if problem == "tour":
        return judge_tour(points, row, exact)
    found, wanted = triangles(row), triangles(exact)
    return Verdict(found == wanted, bool(found) and len(row) % 3 == 0, len(found & wanted) / len(wanted))


def judge_hull(points: Points, row: Sequence[int], exact: Sequence[int]) -> Verdict:
    """A polygon beside the hull: exact wherever it begins."""
    if not is_simple(points, row):
        return Verdict(False, False, 0.0)
    return Verdict(same_ring(row, exact), True, abs(area(points, row)) / area(points, exact))


def judge_tour(points: Points, row: Sequence[int], exact: Sequence[int]) -> Verdict:
    """A tour beside a shortest one: exact where it is no longer."""
    if sorted(row) != list(range(len(points))):
        return Verdict(False, False, 0.0)
    ratio = tour_length(points, row) / tour_length(points, exact)
    return Verdict(ratio < 1 + SAME, True, ratio)


def fault(problem: Problem, points: Points) -> tuple[int | None, str] | None:
    """Why a set has no answer: the point that is at fault, or None where it is the set; and what is wrong, in words to
    stand behind a name of either. None for a set that has one.
    """
    for number, (x, y) in enumerate(points):
        if not (math.isfinite(x) and math.isfinite(y)):
            return number, f"is ({x}, {y}): both coordinates must be finite numbers"
        if max(abs(x), abs(y)) > LARGEST:
            return number, f"is ({x}, {y}): coordinates up to {LARGEST:g} are allowed"
    fewest = FEWEST[problem]
    if len(points) < fewest:
        there = f"{len(points)} point" + ("" if len(points) == 1 else "s")
        return None, f"has {there}, and {ASKED[problem]} needs {fewest} or more"
    first = dict[tuple[float, float], int]()
    for number, (x, y) in enumerate(points):
        before = first.setdefault((x, y), number)
        if before != number:
            return number, f"is ({x}, {y}), which point {before} of its set is, too: points must differ"
    if problem != "tour" and all(turn(points[0], points[1], point) == 0 for point in points[2:]):
        return None, f"has all its points on one line, and {ASKED[problem]} needs an area"
    return None


def in_unit_square(points: Points | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Points as models know them, [N, 2]: as they are where all lie in the unit square, and otherwise moved and made
    smaller or larger, the same in both directions, until the longer side of their frame is 1.
    """
    places = np.asarray(points, np.float64)
    low, high = places.min(0), places.max(0)
    if low.min() >= 0 and high.max() <= 1:
        return places
    return (places - low) / max(float((high - low).max()), np.finfo(np.float64).tiny)
