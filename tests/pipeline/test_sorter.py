"""A loaded model of sets: what it says of its sorting is what it pointed at, and what is no number is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.errors import InputError, UsageError
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.pipeline import Sorter, load
from allyouneed.pipeline.sorting import Sorted, between_0_and_1, read_numbers

NUMBERS = [0.3, 0.9, 0.1, 0.5]


def model(inputs: int = 1) -> ReadProcessWrite:
    torch.manual_seed(0)
    made = ReadProcessWrite(SetConfig(inputs, d_model=8, process_steps=3))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


@pytest.fixture(scope="module")
def sorter() -> Sorter:
    return Sorter(model(), name="a sorter")


def sorted_as(order: list[int]) -> Sorted:
    return Sorted(NUMBERS, order, np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), scaled=False)


def test_the_order_is_where_the_model_points(sorter: Sorter) -> None:
    found = sorter.sort(NUMBERS)
    given = torch.tensor(NUMBERS)[None, :, None]
    with torch.no_grad():
        logits = sorter.model(given, torch.tensor([found.order]))[0]
    assert found.order == logits.argmax(-1).tolist()
    np.testing.assert_allclose(found.chances, logits.softmax(-1).numpy(), rtol=1e-4, atol=1e-6)
    assert found.looks.shape == (3, 4)
    np.testing.assert_allclose(found.looks.sum(-1), 1, rtol=1e-5)
    assert not found.scaled
    assert sorted(sorter.sort(NUMBERS, once=True).order) == [0, 1, 2, 3]


def test_the_order_of_a_set_is_nothing(sorter: Sorter) -> None:
    assert sorter.sort(NUMBERS[::-1]).sorted == sorter.sort(NUMBERS).sorted


def test_what_is_wrong_is_told() -> None:
    right = sorted_as([2, 0, 3, 1])
    assert (right.exact, right.wrong, right.twice) == (True, 0, [])
    assert right.sorted == [0.1, 0.3, 0.5, 0.9]
    swapped = sorted_as([2, 3, 0, 1])
    assert (swapped.exact, swapped.wrong, swapped.twice) == (False, 2, [])
    twice = sorted_as([2, 0, 0, 1])
    assert (twice.exact, twice.wrong, twice.twice) == (False, 1, [0])


def test_numbers_that_are_the_same_may_stand_in_either_order() -> None:
    for order in ([0, 1, 2], [1, 0, 2]):
        assert Sorted([0.2, 0.2, 0.7], order, np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), False).exact


def test_numbers_beyond_0_and_1_are_moved_there(sorter: Sorter) -> None:
    far = [30.0, 90.0, 10.0, 50.0]
    found = sorter.sort(far)
    assert found.scaled
    assert found.numbers == far
    assert found.order == sorter.sort([0.25, 1.0, 0.0, 0.5]).order


@pytest.mark.parametrize(
    ("given", "expected", "scaled"),
    [
        ([0.25, 1.0], [0.25, 1.0], False),
        ([-1.0, 0.0, 1.0], [0.0, 0.5, 1.0], True),
        ([7.0, 7.0], [0.0, 0.0], True),
        ([-1e308, 0.0, 1e308], [0.0, 0.5, 1.0], True),
    ],
)
def test_scaling_keeps_the_order(given: list[float], expected: list[float], scaled: bool) -> None:
    found, moved = between_0_and_1(np.array(given))
    assert found.tolist() == pytest.approx(expected)
    assert moved is scaled


def test_files_hold_what_they_say(sorter: Sorter, tmp_path: Path) -> None:
    found = sorter.sort(NUMBERS)
    found.save(tmp_path / "sort.png")
    assert (tmp_path / "sort.png").read_bytes().startswith(b"\x89PNG")
    found.save(tmp_path / "sort.svg")
    assert "which number each step points at" in (tmp_path / "sort.svg").read_text("utf-8")
    found.save(tmp_path / "sort.json")
    assert json.loads((tmp_path / "sort.json").read_text()) == json.loads(json.dumps(found.to_dict()))
    with pytest.raises(UsageError, match=r"sort\.npz: the ending says the format"):
        found.save(tmp_path / "sort.npz")


def test_what_cannot_be_sorted_is_refused(sorter: Sorter) -> None:
    with pytest.raises(InputError, match="There are no numbers"):
        sorter.sort([])
    with pytest.raises(InputError, match="Number 2 is nan: only finite numbers can be sorted"):
        sorter.sort([0.1, float("nan")])
    with pytest.raises(InputError, match="Number 1 is inf"):
        sorter.sort([float("inf")])
    with pytest.raises(UsageError, match="pairs reads elements of 2 numbers"):
        Sorter(model(2), name="pairs").sort([0.1])


def test_lines_of_numbers_are_read() -> None:
    assert read_numbers(["0.5, 1e-3 -7", "", "2"], "a file") == [0.5, 0.001, -7, 2]
    for word in ("x", "nan", "inf", "1e999"):
        with pytest.raises(InputError, match=re.escape(f'a file, line 2: "{word}" is no number that can be sorted.')):
            read_numbers(["1", f"2 {word}"], "a file")


def test_a_saved_sorter_loads(tmp_path: Path, sorter: Sorter) -> None:
    save_model(tmp_path / "sorter", model(), None)
    assert load(tmp_path / "sorter", Sorter).sort(NUMBERS).order == sorter.sort(NUMBERS).order
