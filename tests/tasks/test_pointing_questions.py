"""Which sets of points have an answer, how good another answer is, and how sets are read from files."""

import math
from pathlib import Path

import numpy as np
import pytest

from allyouneed.errors import InputError
from allyouneed.models.pointer_rules import Problem
from allyouneed.tasks.pointing.questions import Verdict, answers, fault, in_unit_square, judge
from allyouneed.tasks.pointing.reading import from_lines, read_sets

SQUARE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 0.5)]


def test_a_hull_is_right_wherever_it_begins() -> None:
    exact = answers("hull", np.array([SQUARE]))[0]
    assert exact == [0, 1, 2, 3]
    assert judge("hull", SQUARE, [2, 3, 0, 1], exact) == Verdict(True, True, 1.0)
    assert judge("hull", SQUARE, [0, 1, 2], exact) == Verdict(False, True, 0.5)
    assert judge("hull", SQUARE, [0, 2, 1, 3], exact) == Verdict(False, False, 0.0)
    assert judge("hull", SQUARE, [3, 2, 1, 0], exact) == Verdict(False, True, 1.0)  # clockwise


def test_a_tour_is_right_where_it_is_no_longer() -> None:
    exact = answers("tour", np.array([SQUARE[:4]]))[0]
    assert judge("tour", SQUARE[:4], [3, 2, 1, 0], exact) == Verdict(True, True, 1.0)
    assert judge("tour", SQUARE[:4], [0, 2, 1, 3], exact).ratio == pytest.approx((2 + 2 * math.sqrt(2)) / 4)
    assert judge("tour", SQUARE[:4], [0, 1, 2], exact) == Verdict(False, False, 0.0)


def test_a_triangulation_is_right_in_any_order() -> None:
    pytest.importorskip("scipy")
    exact = answers("triangulation", np.array([SQUARE]))[0]
    assert len(exact) == 12
    assert judge("triangulation", SQUARE, exact[3:] + exact[:3], exact) == Verdict(True, True, 1.0)
    assert judge("triangulation", SQUARE, exact[:6], exact) == Verdict(False, True, 0.5)
    assert judge("triangulation", SQUARE, exact[:7], exact).valid is False


@pytest.mark.parametrize(
    ("problem", "points", "where", "why"),
    [
        (
            "hull",
            [(0.0, 0.0), (1.0, math.nan), (1.0, 0.0)],
            1,
            "is (1.0, nan): both coordinates must be finite numbers",
        ),
        ("hull", [(0.0, math.inf), (1.0, 1.0), (1.0, 0.0)], 0, "is (0.0, inf): both coordinates must be finite"),
        ("hull", [(0.0, 1e200), (1.0, 1.0), (1.0, 0.0)], 0, "coordinates up to 1e+100 are allowed"),
        ("hull", SQUARE[:2], None, "has 2 points, and a hull needs 3 or more"),
        ("triangulation", SQUARE[:1], None, "has 1 point, and a triangulation needs 3 or more"),
        ("tour", SQUARE[:1], None, "has 1 point, and a tour needs 2 or more"),
        ("tour", [*SQUARE, SQUARE[1]], 5, "is (1.0, 0.0), which point 1 of its set is, too: points must differ"),
        (
            "hull",
            [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)],
            None,
            "has all its points on one line, and a hull needs an area",
        ),
    ],
)
def test_sets_without_an_answer(
    problem: Problem, points: list[tuple[float, float]], where: int | None, why: str
) -> None:
    found = fault(problem, points)
    assert found is not None
    assert found[0] == where
    assert why in found[1]


def test_sets_with_an_answer() -> None:
    assert fault("hull", SQUARE) is None
    assert fault("tour", [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)]) is None  # a way to and fro
    assert fault("hull", [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0 + 2.0**-52)]) is None  # a turn, however small


def test_points_in_the_unit_square_stay_and_others_keep_their_shape() -> None:
    inside = np.random.default_rng(0).random((6, 2))
    assert in_unit_square(inside) is inside
    outside = 7 - 40 * inside
    scaled = in_unit_square(outside)
    assert scaled.min() == 0
    assert scaled.max() == pytest.approx(1)
    sides = np.linalg.norm(np.diff(outside, axis=0), axis=1) / np.linalg.norm(np.diff(scaled, axis=0), axis=1)
    assert sides == pytest.approx(sides[0])


def test_text_has_a_point_a_line_and_blank_lines_between_sets() -> None:
    lines = ["0 1", "2\t3", "", " ", "4.5,-1e2"]
    sets = from_lines(enumerate(lines, 1), "some.txt")
    assert [one.points for one in sets] == [[(0.0, 1.0), (2.0, 3.0)], [(4.5, -100.0)]]
    assert [one.place for one in sets] == ["some.txt, line 1", "some.txt, line 5"]


def test_tables_may_name_their_columns(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    table.write_text("x,y\n0,1\n2,3\n")
    assert [one.points for one in read_sets(table)] == [[(0.0, 1.0), (2.0, 3.0)]]
    table.write_text("0,1\n2,3\n")
    assert len(read_sets(table)[0].points) == 2


@pytest.mark.parametrize(("text", "sizes"), [("[[0, 1], [2, 3]]", [2]), ("[[[0, 1]], [[2, 3], [4, 5]]]", [1, 2])])
def test_json_is_one_set_or_several(tmp_path: Path, text: str, sizes: list[int]) -> None:
    path = tmp_path / "points.json"
    path.write_text(text)
    assert [len(one.points) for one in read_sets(path)] == sizes


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("p.txt", "0 1\n0.5 half\n", r'p\.txt", line 2: \'0\.5 half\' is no point, which is two numbers, x and y\.'),
        ("p.txt", "0 1\n0 1 2\n", r"line 2: '0 1 2' is no point"),
        ("p.txt", "\n\n", r'p\.txt" holds no points\.'),
        ("p.csv", "x,y\nx,y\n", r"line 2: 'x,y' is no point"),
        ("p.json", "[[0, 1], [2]]", r'p\.json", set 1, point 1: \'\[2\]\' is no point, which is \[x, y\]'),
        ("p.json", "[[[0, 1]], 3]", r"set 2 is no list of points"),
        ("p.json", '{"x": 1}', r"holds no points: a list of points \[x, y\], or a list of such lists, is wanted"),
        ("p.json", "[[0, 1]", r'p\.json" is not JSON'),
        ("p.json", "[[true, 1]]", r"set 1"),
    ],
)
def test_what_is_no_point(tmp_path: Path, name: str, text: str, error: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=error):
        read_sets(path)
