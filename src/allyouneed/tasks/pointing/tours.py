"""Shortest round trips: by dynamic programming for few cities, by integer programming for more. Both are exact."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from allyouneed.errors import InputError
from allyouneed.tasks.pointing.geometry import Points, scipy

FEW = 12  # cities up to which all subsets are tried

Lengths = npt.NDArray[np.float64]


def distances(points: Points | npt.NDArray[Any]) -> Lengths:
    """From each point [..., N, 2] to each other, [..., N, N]."""
    places = np.asarray(points, np.float64)
    return np.linalg.norm(places[..., :, None, :] - places[..., None, :, :], axis=-1)


def tour_length(points: Points, ring: Sequence[int]) -> float:
    """The way along the points and back to the first."""
    corners = np.asarray(points, np.float64)[list(ring)].reshape(-1, 2)
    return float(np.linalg.norm(corners - np.roll(corners, -1, 0), axis=1).sum())


def canonical(ring: Sequence[int]) -> list[int]:
    """The same round trip from city 0, in the direction in which the second city has a lower number than the last."""
    first = ring.index(0)
    turned = [*ring[first:], *ring[:first]]
    return turned if len(turned) < 3 or turned[1] < turned[-1] else [0, *turned[:0:-1]]


def shortest_tours(sets: npt.NDArray[Any]) -> list[list[int]]:
    """A shortest round trip through each set of distinct points [B, N, 2], canonical."""
    lengths = distances(sets)
    if sets.shape[1] <= FEW:
        return [canonical(ring) for ring in all_subsets(lengths)]
    return [canonical(by_cuts(one)) for one in lengths]


def all_subsets(lengths: Lengths) -> list[list[int]]:
    """Shortest round trips by the distances [B, N, N]: the best way from city 0 through each subset to each of its
    cities, from those through one city less (Held & Karp 1962).
    """
    size, cities = len(lengths), lengths.shape[1] - 1
    if cities < 2:
        return [list(range(cities + 1))] * size
    between, home = lengths[:, 1:, 1:], lengths[:, 1:, 0]
    best = np.full((size, 1 << cities, cities), np.inf)  # a way's length by the cities on it and the last of them
    for city in range(cities):
        best[:, 1 << city, city] = home[:, city]
    members = (np.arange(1 << cities)[:, None] >> np.arange(cities)) & 1  # [subsets, cities]
    sizes = members.sum(1)
    for count in range(2, cities + 1):
        for city in range(cities):
            subsets = np.flatnonzero((sizes == count) & (members[:, city] == 1))
            before = best[:, subsets ^ (1 << city)]  # [B, subsets, cities]
            best[:, subsets, city] = (before + between[:, None, :, city]).min(-1)
    return [trace(best[one], between[one], home[one]) for one in range(size)]


def trace(best: Lengths, between: Lengths, home: Lengths) -> list[int]:
    """Reads the round trip back from the lengths of its parts."""
    subset = len(best) - 1
    city = int((best[subset] + home).argmin())
    ring: list[int] = []
    while True:
        ring.append(city + 1)
        subset ^= 1 << city
        if not subset:
            return [0, *reversed(ring)]
        city = int((best[subset] + between[:, city]).argmin())


def by_cuts(lengths: Lengths) -> list[int]:
    """A shortest round trip by the distances [N, N]: every city has two roads, and whatever falls apart into several
    rings is cut off, until nothing does (Dantzig, Fulkerson & Johnson 1954).

    Raises InputError where scipy is not installed, or its solver finds none.
    """
    optimize: Any = scipy("optimize", f"a tour of more than {FEW} cities")
    cities = len(lengths)
    roads = np.array(list(combinations(range(cities), 2)))
    costs = lengths[roads[:, 0], roads[:, 1]]
    rows = [(roads == city).any(1).astype(float) for city in range(cities)]
    lower, upper = [2.0] * cities, [2.0] * cities
    while True:
        found = optimize.milp(
            costs,
            integrality=np.ones(len(roads)),
            bounds=optimize.Bounds(0, 1),
            constraints=optimize.LinearConstraint(np.array(rows), lower, upper),
            options={"mip_rel_gap": 0.0},
        )
        if not found.success:
            raise InputError(f"The solver found no tour of {cities} cities: {found.message}")
        rings = rings_of(roads[found.x > 0.5], cities)
        if len(rings) == 1:
            return rings[0]
        for ring in rings:
            inside = np.isin(roads, ring)
            rows.append((inside[:, 0] != inside[:, 1]).astype(float))  # the roads out of it
            lower.append(2.0)
            upper.append(np.inf)


def rings_of(roads: npt.NDArray[np.int64], cities: int) -> list[list[int]]:
    """The rings that roads [E, 2] form where every city has two of them."""
    neighbours: list[list[int]] = [[] for _ in range(cities)]
    for one, other in roads.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    rings: list[list[int]] = []
    seen = set[int]()
    for city in range(cities):
        ring: list[int] = []
        while city not in seen:
            seen.add(city)
            ring.append(city)
            city = next((there for there in neighbours[city] if there not in seen), city)
        if ring:
            rings.append(ring)
    return rings
