"""Exact answers about points, beside scipy's and beside trying everything."""

import sys
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from allyouneed.errors import InputError
from allyouneed.tasks.pointing import geometry, tours
from allyouneed.tasks.pointing.geometry import area, convex_hull, delaunay, is_simple, same_ring, turn

SQUARE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize("size", [3, 4, 5, 20, 300])
def test_hulls_are_scipys(size: int) -> None:
    spatial = pytest.importorskip("scipy.spatial")
    draw = np.random.default_rng(size)
    for points in draw.random((20, size, 2)):
        theirs = spatial.ConvexHull(points)
        ours = convex_hull(points.tolist())
        assert ours == geometry.from_lowest(theirs.vertices.tolist())
        assert area(points.tolist(), ours) == pytest.approx(theirs.volume, rel=1e-12)


def test_hull_leaves_out_points_on_its_edges() -> None:
    points = [(0.5, 0.0), *SQUARE, (0.0, 0.25), (0.5, 0.5)]
    assert convex_hull(points) == [1, 2, 3, 4]
    assert convex_hull([(0.0, 0.0), (2.0, 2.0), (1.0, 1.0)]) == [0, 1]


def test_turns_are_exact_where_floats_are_not() -> None:
    b, c, wrong = (12.0, 12.0), (24.0, 24.0), 0
    for i in range(16):
        for j in range(16):
            a = (0.5 + i * 2.0**-53, 0.5 + j * 2.0**-53)
            true = Fraction(a[1]) - Fraction(a[0])  # the line through the others has equal coordinates
            rounded = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            assert np.sign(turn(a, b, c)) == int(true > 0) - int(true < 0)
            wrong += np.sign(rounded) != int(true > 0) - int(true < 0)
    assert wrong > 10  # a determinant of doubles would not do


def test_rings_are_the_same_wherever_they_begin() -> None:
    assert same_ring([2, 3, 0], [0, 2, 3])
    assert not same_ring([2, 3, 0], [0, 3, 2])
    assert not same_ring([0, 2, 3], [0, 2, 3, 4])


@pytest.mark.parametrize(
    ("ring", "simple"),
    [
        ([0, 1, 2, 3], True),
        ([3, 2, 1, 0], True),
        ([0, 2, 1, 3], False),  # two edges cross
        ([0, 1], False),
        ([0, 1, 2, 1], False),
        ([], False),
        ([0, 1, 4], False),  # back on itself
        ([0, 4, 1, 2], True),  # 4 lies on the way
        ([0, 1, 2, 4], False),  # an edge ends on another one
    ],
)
def test_simple_polygons(ring: list[int], simple: bool) -> None:
    assert is_simple([*SQUARE, (0.5, 0.0)], ring) is simple


def test_area_has_a_sign() -> None:
    assert area(SQUARE, [0, 1, 2, 3]) == 1.0
    assert area(SQUARE, [3, 2, 1, 0]) == -1.0


def test_no_point_is_in_a_delaunay_circle() -> None:
    pytest.importorskip("scipy")
    points = np.random.default_rng(4).random((25, 2))
    triangles = delaunay(points.tolist())
    hull = convex_hull(points.tolist())
    assert len(triangles) == 2 * len(points) - 2 - len(hull)
    for triangle in triangles:
        assert list(triangle) == sorted(triangle)
        a, b, c = points[list(triangle)]
        centre = np.linalg.solve(2 * np.array([b - a, c - a]), [b @ b - a @ a, c @ c - a @ a])
        inside = np.linalg.norm(points - centre, axis=1) < np.linalg.norm(a - centre) - 1e-12
        assert not inside.any()


def test_triangles_stand_from_left_to_right() -> None:
    pytest.importorskip("scipy")
    points = np.random.default_rng(5).random((15, 2))
    centres: list[tuple[float, float]] = []
    for triangle in delaunay(points.tolist()):
        a, b, c = points[list(triangle)]
        sides = np.array([np.linalg.norm(b - c), np.linalg.norm(a - c), np.linalg.norm(a - b)])
        centres.append(tuple((sides @ np.array([a, b, c]) / sides.sum()).tolist()))
    assert centres == sorted(centres)


def test_without_scipy_the_way_to_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    with pytest.raises(InputError, match=r'Exact a triangulation needs scipy: pip install "allyouneed\[geometry\]"\.'):
        delaunay(SQUARE)


@pytest.mark.parametrize("cities", [2, 3, 4, 7])
def test_no_order_of_the_cities_is_shorter(cities: int) -> None:
    sets = np.random.default_rng(cities).random((5, cities, 2))
    for points, ring in zip(sets, tours.shortest_tours(sets), strict=True):
        assert ring == tours.canonical(ring)
        best = min(tours.tour_length(points.tolist(), [0, *rest]) for rest in permutations(range(1, cities)))
        assert tours.tour_length(points.tolist(), ring) == pytest.approx(best, rel=1e-12)


def test_both_ways_to_a_tour_agree() -> None:
    pytest.importorskip("scipy")
    sets = np.random.default_rng(2).random((4, 11, 2))
    for points, ring in zip(sets, tours.shortest_tours(sets), strict=True):
        assert tours.canonical(tours.by_cuts(tours.distances(points))) == ring


def test_tours_through_two_far_groups_are_one_ring() -> None:
    pytest.importorskip("scipy")
    draw = np.random.default_rng(3)
    points = np.concatenate((draw.random((7, 2)) / 10, 0.9 + draw.random((8, 2)) / 10))
    ring = tours.shortest_tours(points[None])[0]  # without cuts each group would have a ring of its own
    assert sorted(ring) == list(range(15))
    crossings = sum((ring[i] < 7) != (ring[i - 1] < 7) for i in range(15))
    assert crossings == 2


def test_a_tour_begins_at_0_towards_the_lower_neighbour() -> None:
    assert tours.canonical([3, 1, 0, 2]) == [0, 1, 3, 2]
    assert tours.canonical([1, 0, 2]) == [0, 1, 2]
    assert tours.canonical([1, 0]) == [0, 1]


def test_distances_are_those_of_pairs() -> None:
    points = np.random.default_rng(6).random((4, 2))
    lengths = tours.distances(points)
    for one, other in combinations(range(4), 2):
        assert lengths[one, other] == pytest.approx(np.hypot(*(points[one] - points[other])))
