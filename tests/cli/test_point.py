"""`allyouneed point`: points from files, standard input or chance; one sentence for what has no answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.models.pointer import PointerConfig, PointerNetwork

Command = Callable[..., Any]

TRIANGLE = "0 0\n1 0\n0 1\n"


@pytest.fixture(scope="session")
def pointer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hull model's folder, to be read and not written."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("pointer") / "model"
    save_model(folder, PointerNetwork(PointerConfig(d_model=8)), None)
    return folder


def test_points_of_a_file(command: Command, pointer_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "points.txt"
    path.write_text(TRIANGLE + "\n-10 0\n10 0\n10 10\n")
    status, out, _ = command("point", pointer_folder, path)
    first, second = out.split("\n\n")
    assert status == 0
    assert first.splitlines()[0] == f'points      3 from "{path}", line 1'
    row = next(line for line in first.splitlines() if line.startswith("hull"))
    assert sorted(row.split()[1:]) == ["0", "1", "2"]
    assert "area        100.00% of the exact hull's" in first
    assert ("exact       yes" in first) != ("exact       no, it is 0 1 2" in first)
    assert "scaled" not in first
    assert "scaled      from its own frame to the unit square" in second


def test_standard_input_gives_what_a_file_gives(command: Command, pointer_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,y\n" + TRIANGLE.replace(" ", ","))
    from_file = command("point", pointer_folder, path, "--json").out
    assert command("point", pointer_folder, "--json", stdin=TRIANGLE.encode()).out == from_file
    value = json.loads(from_file)
    assert set(value["indices"]) == {0, 1, 2}
    assert value["points"] == [[0, 0], [1, 0], [0, 1]]


def test_chance_is_the_seeds(command: Command, pointer_folder: Path) -> None:
    arguments = ("point", pointer_folder, "--random", "6", "--sets", "2", "--json", "--seed")
    one, again, other = (command(*arguments, seed).out for seed in ("1", "1", "2"))
    assert one == again != other
    assert [len(json.loads(line)["points"]) for line in one.splitlines()] == [6, 6]


def test_pictures_and_numbers_are_written(command: Command, pointer_folder: Path, tmp_path: Path) -> None:
    picture, numbers = tmp_path / "hull.svg", tmp_path / "hulls.json"
    assert command("point", pointer_folder, "--random", "5", "--out", picture).status == 0
    assert b"<svg" in picture.read_bytes()
    assert command("point", pointer_folder, "--random", "5", "--sets", "3", "--out", numbers).status == 0
    assert len(json.loads(numbers.read_text())) == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("0 0\n1 0\n", "line 1: the set has 2 points, and a hull needs 3 or more.\n"),
        (TRIANGLE + "\n0 0\n1 1\n2 2\n", "line 5: the set has all its points on one line, and a hull needs an area.\n"),
        ("0 0\n1 0\n0 0\n", "line 3: the point is (0.0, 0.0), which point 0 of its set is, too: points must differ.\n"),
        ("0 0\n1 nan\n0 1\n", "line 2: the point is (1.0, nan): both coordinates must be finite numbers.\n"),
        ("0 0\none two\n", "line 2: 'one two' is no point, which is two numbers, x and y.\n"),
        ("\n", "standard input holds no points.\n"),
    ],
)
def test_what_has_no_answer_is_named(command: Command, pointer_folder: Path, text: str, error: str) -> None:
    status, out, err = command("point", pointer_folder, stdin=text.encode())
    assert (status, out) == (1, "")
    assert err.startswith("standard input")
    assert err.endswith(error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["points.txt", "--random", "5"], "--random draws points, and points.txt has some: give one of them."),
        (["points.txt", "--sets", "5"], "--sets belongs to --random."),
        (["--random", "5", "--sets", "2", "--out", "a.png"], "a.png: a picture shows one set, and there are 2"),
        (["--random", "2"], "--random 2: the set has 2 points, and a hull needs 3 or more."),
        (["nowhere.txt"], 'there is no file "nowhere.txt".'),
        (["--random", "5", "--out", "a.gif"], "one of .png, .svg and .json"),
    ],
)
def test_wrong_use(command: Command, pointer_folder: Path, arguments: list[str], error: str) -> None:
    status, out, err = command("point", pointer_folder, *arguments)
    assert status in (1, 2)
    assert out == ""
    assert error in err
    assert err.count("\n") == 1


def test_a_model_of_text_does_not_point(command: Command, encoder_folder: Path) -> None:
    status, _, err = command("point", encoder_folder, "--random", "5")
    assert status == 2
    assert "this needs a model that points at points" in err
