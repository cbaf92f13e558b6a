"""Exact answers about points in the plane: turns, convex hulls, areas, triangulations.

Points are pairs of floats, answers their numbers from 0. Every decision hangs on the sign of a turn, which is exact.
"""

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from allyouneed.errors import InputError

Point = Sequence[float]
Points = Sequence[Point]
Triangle = tuple[int, int, int]

# Beyond this share of its two products a determinant of doubles has the right sign (Shewchuk 1997, section 4.3).
SURE = 3.3306690738754716e-16


def turn(a: Point, b: Point, c: Point) -> float:
    """Above 0 where a, b, c turn to the left, below 0 to the right, 0 where they lie on one line. The sign is exact."""
    one, other = (b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])
    if abs(one - other) > SURE * (abs(one) + abs(other)):
        return one - other
    (ax, ay), (bx, by), (cx, cy) = ((Fraction(float(x)), Fraction(float(y))) for x, y in (a, b, c))
    exact = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return float(exact > 0) - float(exact < 0)


def convex_hull(points: Points) -> list[int]:
    """The corners of the smallest convex polygon around distinct points, counter-clockwise from the lowest number.

    Points on an edge between two corners are no corners; points on one line have the two ends alone. The lower and the
    upper chain from left to right, without points that turn the wrong way (Andrew 1979).
    """
    places = [tuple(map(float, point)) for point in points]
    order = sorted(range(len(places)), key=places.__getitem__)
    chains: list[int] = []
    for row in (order, order[::-1]):
        chain: list[int] = []
        for number in row:
            while len(chain) > 1 and turn(places[chain[-2]], places[chain[-1]], places[number]) <= 0:
                chain.pop()
            chain.append(number)
        chains += chain[:-1]  # the last point begins the other chain
    return from_lowest(chains) if chains else order


def from_lowest(ring: Sequence[int]) -> list[int]:
    """The same ring, from its lowest number on."""
    first = ring.index(min(ring))
    return [*ring[first:], *ring[:first]]


def same_ring(ring: Sequence[int], other: Sequence[int]) -> bool:
    """Are both one ring, wherever they begin?"""
    return len(ring) == len(other) and (not ring or from_lowest(ring) == from_lowest(other))


def area(points: Points, ring: Sequence[int]) -> float:
    """The area of a polygon by its corners, counter-clockwise above 0 (the shoelace formula)."""
    corners = np.asarray(points, np.float64)[list(ring)].reshape(-1, 2)
    x, y = corners.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def is_simple(points: Points, ring: Sequence[int]) -> bool:
    """Is the ring a polygon: three corners or more, none twice, and no two edges that meet anywhere else?"""
    size = len(ring)
    if size < 3 or len(set(ring)) < size:
        return False
    corners = [points[number] for number in ring]
    edges = [(corners[number], corners[(number + 1) % size]) for number in range(size)]
    for first in range(size):
        (a, b), (_, c) = edges[first], edges[(first + 1) % size]
        if turn(a, b, c) == 0 and (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) < 0:
            return False  # it goes back on itself
        last = size if first else size - 1  # neighbours share a corner: the last edge meets the first one
        if any(meet(*edges[first], *edges[second]) for second in range(first + 2, last)):
            return False
    return True


def meet(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Have the segments a–b and c–d a point in common?"""
    first, second = turn(a, b, c), turn(a, b, d)
    third, fourth = turn(c, d, a), turn(c, d, b)
    if first * second < 0 and third * fourth < 0:
        return True
    ends = ((first, a, b, c), (second, a, b, d), (third, c, d, a), (fourth, c, d, b))
    return any(side == 0 and between(start, end, point) for side, start, end, point in ends)


def between(start: Point, end: Point, point: Point) -> bool:
    """Does a point of the line through two others lie between them?"""
    return all(min(start[i], end[i]) <= point[i] <= max(start[i], end[i]) for i in (0, 1))


def delaunay(points: Points) -> list[Triangle]:
    """The Delaunay triangulation: no circle around a triangle holds a further point. One of several where four points
    or more lie on an empty circle.

    Each triangle by its numbers, rising; triangles by the centres of their inner circles, from left to right and below
    before above (Vinyals 2015, section 3.2). Raises InputError where scipy is not installed.
    """
    spatial: Any = scipy("spatial", "a triangulation")
    triangles: npt.NDArray[np.int64] = np.sort(spatial.Delaunay(np.asarray(points, np.float64)).simplices, axis=1)
    centres = incentres(points, triangles)
    order = np.lexsort((centres[:, 1], centres[:, 0]))
    return [(int(a), int(b), int(c)) for a, b, c in triangles[order]]


def incentres(points: Points, triangles: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The centres of the inner circles [N, 2]: the mean of the corners, each weighted by the length of the side that
    lies across.
    """
    corners = np.asarray(points, np.float64)[triangles]  # [N, 3, 2]
    across = np.linalg.norm(np.roll(corners, -1, 1) - np.roll(corners, -2, 1), axis=2)
    return (corners * across[..., None]).sum(1) / across.sum(1, keepdims=True)


def scipy(module: str, what: str) -> Any:
    """A module of scipy. Raises InputError where it is not installed."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError as error:
        raise InputError(f'Exact {what} needs scipy: pip install "allyouneed[geometry]".') from error
