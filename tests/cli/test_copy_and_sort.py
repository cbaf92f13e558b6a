"""`allyouneed copy` and `allyouneed sort`, inside this process."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bits") / "machine"
    save_model(folder, NeuralTuringMachine(TuringConfig(4, 3, d_controller=8, n_slots=12, d_slot=5)), None)
    return folder


@pytest.fixture(scope="module")
def sorter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("sets") / "sorter"
    recipe = 'task = "sorting"\n[data]\nnumbers = 3\n'
    save_model(folder, ReadProcessWrite(SetConfig(d_model=8)), None, recipe_text=recipe)
    return folder


def test_rows_are_copied_beside_one_another(command: Any, machine: Path) -> None:
    found = command("copy", machine, stdin=b"101\n0 0 1\n")
    assert found.status == 0
    head, one, two, last = found.out.splitlines()
    assert head == "asked    written  slots"
    wrong = 0
    for line, asked in ((one, "101"), (two, "001")):
        assert line.startswith(f"{asked}      ")
        written = line.split()[1]
        here = sum(a != b for a, b in zip(asked, written, strict=True))
        assert line.endswith(f"{here} wrong" if here else line.split()[3])
        wrong += here
    assert last == f"{wrong} of 6 bits wrong"


def test_drawn_rows_are_the_same_for_a_seed(command: Any, machine: Path) -> None:
    one = json.loads(command("copy", machine, "--random", "5", "--json").out)
    again = json.loads(command("copy", machine, "--random", "5", "--seed", "0", "--json").out)
    other = json.loads(command("copy", machine, "--random", "5", "--seed", "1", "--json").out)
    assert one == again
    assert one["asked"] != other["asked"]
    assert len(one["weights"]) == 11
    rules = json.loads(command("copy", machine, "--random", "5", "--content-only", "--json").out)
    assert rules["weights"] != one["weights"]
    rules = json.loads(command("copy", machine, "--random", "5", "--similarity", "dot", "--json").out)
    assert rules["weights"] != one["weights"]


def test_numbers_are_sorted_as_the_model_points(command: Any, sorter: Path) -> None:
    found = command("sort", sorter, stdin=b"0.5, 0.1\n0.9\n")
    assert found.status == 0
    head, *rows, last = found.out.splitlines()
    assert head == "number      place  chance"
    numbers, right = [0.5, 0.1, 0.9], [0.1, 0.5, 0.9]
    assert len(rows) == 3
    wrong = 0
    for row, belongs in zip(rows, right, strict=True):
        number, place = float(row.split()[0]), int(row.split()[1])
        assert numbers[place] == number
        assert (f"wrong: {belongs:g} belongs here" in row) == (number != belongs)
        wrong += number != belongs
    assert last == ("sorted" if not wrong else f"not sorted: {wrong} of 3 are not in their place")


def test_a_set_of_another_size_than_was_learned_is_told(command: Any, sorter: Path) -> None:
    assert command("sort", sorter, "--random", "3").err == ""
    assert command("sort", sorter, "--random", "4").err == f"{sorter} learned from sets of 3, and this one has 4.\n"


def test_a_number_that_is_pointed_at_again_is_named(command: Any, sorter: Path) -> None:
    free = json.loads(command("sort", sorter, "--random", "8", "--seed", "1", "--json").out)
    once = json.loads(command("sort", sorter, "--random", "8", "--seed", "1", "--once", "--json").out)
    assert free["numbers"] == once["numbers"]
    assert free["twice"]
    assert once["twice"] == []
    assert sorted(once["order"]) == list(range(8))
    out = command("sort", sorter, "--random", "8", "--seed", "1").out
    assert out.count("  again") == 8 - len(set(free["order"]))


def test_pictures_are_written(command: Any, machine: Path, sorter: Path, tmp_path: Path) -> None:
    for verb, model in (("copy", machine), ("sort", sorter)):  # of 3 rows, and of 3 numbers
        found = command(verb, model, "--random", "3", "--out", tmp_path / f"{verb}.svg")
        assert found.status == 0
        assert found.err == f"wrote {tmp_path / verb}.svg\n"
        assert "<svg" in (tmp_path / f"{verb}.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "message"),
    [
        (("copy", "machine"), b"101\n012\n", 1, 'standard input, line 2: "2" is no bit, but 0 and 1 are.'),
        (("copy", "machine"), b"101\n01\n", 1, "standard input, line 2 has 2 bits, and line 1 has 3."),
        (("copy", "machine"), b"", 1, "There are no bits: give one row or more."),
        (("copy", "machine", "--seed", "1"), b"", 2, "--seed belongs to --random."),
        (("sort", "sorter"), b"0.5\n0.1 x\n", 1, 'standard input, line 2: "x" is no number that can be sorted.'),
        (("sort", "sorter"), b"", 1, "There are no numbers: give one or more."),
        (("sort", "sorter", "--seed", "1"), b"", 2, "--seed belongs to --random."),
    ],
)
def test_wrong_input_is_named(
    command: Any,
    machine: Path,
    sorter: Path,
    arguments: tuple[str, ...],
    stdin: bytes,
    status: int,
    message: str,
) -> None:
    verb, model, *rest = arguments
    found = command(verb, machine if model == "machine" else sorter, *rest, stdin=stdin)
    assert (found.status, found.err) == (status, f"{message}\n")


def test_each_verb_wants_its_own_kind_of_model(command: Any, machine: Path, sorter: Path) -> None:
    found = command("sort", machine, "--random", "3")
    assert found.status == 2
    assert "is a machine with a tape, which reads and writes bits, and this needs a model that reads a set" in found.err
    assert "this needs a machine with a tape" in command("copy", sorter, "--random", "3").err
