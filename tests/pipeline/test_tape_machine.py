"""A loaded machine: what it says of its copying is what happened, and what is no bit is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.errors import InputError, UsageError
from allyouneed.lens.tape import WIDEST, tape_image, used_slots
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig
from allyouneed.pipeline import Copied, Sorter, TapeMachine, load
from allyouneed.pipeline.tape import draw_bits, read_bits
from allyouneed.tasks.bits.episodes import CopyData

ROWS = [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]]


def model(inputs: int = 4) -> NeuralTuringMachine:
    torch.manual_seed(0)
    made = NeuralTuringMachine(
        TuringConfig(inputs, 3, d_controller=8, n_slots=12, d_slot=5, n_read_heads=2, n_write_heads=1)
    )
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2)
    return made


@pytest.fixture(scope="module")
def machine() -> TapeMachine:
    return TapeMachine(model(), name="a machine")


@pytest.fixture(scope="module")
def copied(machine: TapeMachine) -> Copied:
    return machine.copy(ROWS)


def test_what_is_written_is_what_the_model_says(machine: TapeMachine, copied: Copied) -> None:
    episodes = CopyData(bits=3).episodes(np.array([ROWS], np.float32))
    with torch.no_grad():
        logits = machine.model(torch.from_numpy(episodes.inputs))[0, -4:]
    np.testing.assert_allclose(copied.chances, logits.sigmoid().numpy())
    assert copied.written == (logits > 0).int().tolist()
    assert copied.asked == ROWS
    assert copied.wrong == int((np.array(copied.written) != np.array(ROWS)).sum())
    assert copied.size == 12


def test_heads_are_where_their_weights_are(copied: Copied) -> None:
    weights = copied.turns.addresses.sharpened
    assert weights.shape == (9, 3, 12)
    assert copied.written_slots == [int(weights[step, 2].argmax()) for step in range(4)]
    steps = range(5 - copied.lead, 9 - copied.lead)
    assert copied.read_slots == [int(weights[step, 0].argmax()) for step in steps]


def test_shipped_machine_reads_each_row_where_it_was_written_a_step_ahead() -> None:
    found = load("zoo:ntm-copy", TapeMachine).copy(draw_bits(20, 8, 1))
    assert (found.wrong, found.lead) == (0, 1)
    assert found.read_slots == found.written_slots == found.read_with(1)
    assert found.read_with(0) != found.written_slots


def test_stages_of_a_step_have_their_numbers(copied: Copied) -> None:
    found = copied.stages(step=3, head=1)
    assert list(found) == [
        *("content", "interpolated", "shifted", "sharpened"),
        *("key", "strength", "gate", "shifts", "power"),
    ]
    for name in ("content", "interpolated", "shifted", "sharpened", "shifts"):
        assert sum(found[name]) == pytest.approx(1, abs=1e-5)
    assert len(found["key"]) == 5
    (gate,), before = found["gate"], copied.stages(step=2, head=1)["sharpened"]
    expected = [gate * one + (1 - gate) * other for one, other in zip(found["content"], before, strict=True)]
    assert found["interpolated"] == pytest.approx(expected, abs=1e-6)


def test_other_rules_can_stand_in(machine: TapeMachine, copied: Copied) -> None:
    assert not np.allclose(machine.copy(ROWS, similarity="dot").chances, copied.chances)
    alone = machine.copy(ROWS, by_location=False)
    assert not np.allclose(alone.chances, copied.chances)
    addresses = alone.turns.addresses
    assert torch.equal(addresses.content, addresses.sharpened)
    np.testing.assert_array_equal(machine.copy(ROWS).chances, copied.chances)


def test_files_hold_what_they_say(copied: Copied, tmp_path: Path) -> None:
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        copied.save(tmp_path / f"copy{suffix}")
        content = (tmp_path / f"copy{suffix}").read_bytes()
        assert content.startswith(start)
        for _ in range(3):
            copied.save(tmp_path / f"copy{suffix}")
            assert (tmp_path / f"copy{suffix}").read_bytes() == content
    assert f"4 rows copied, {copied.wrong} of 12 bits wrong" in (tmp_path / "copy.svg").read_text("utf-8")
    copied.save(tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text()) == json.loads(json.dumps(copied.to_dict()))
    copied.save(tmp_path / "copy.npz")
    with np.load(tmp_path / "copy.npz") as arrays:
        assert arrays["memory"].shape == (9, 12, 5)
        np.testing.assert_array_equal(arrays["shifted"], copied.turns.addresses.shifted.numpy())
        assert {"inputs", "chances", "content", "key", "gate", "erase", "add"} <= set(arrays.files)
    with pytest.raises(UsageError, match=r"copy\.txt: the ending says the format"):
        copied.save(tmp_path / "copy.txt")


def test_slots_that_no_head_used_are_not_shown() -> None:
    weights = np.zeros((4, 30), np.float32)
    weights[:, 0] = 0.01
    weights[1, 10] = weights[2, 14] = 0.9
    assert used_slots(weights).tolist() == list(range(8, 17))
    assert used_slots(np.full((2, 30), 1 / 30, np.float32)).tolist() == list(range(30))
    picture = tape_image({"in": np.ones((2, 4), np.float32)}, {"w": weights}, title="a title", suffix=".svg")
    assert b"a title" in picture


def test_a_picture_of_many_steps_grows_no_further() -> None:
    widths: list[str] = []
    for steps in (WIDEST + 1, 3 * WIDEST):
        bits, weights = np.ones((2, steps), np.float32), np.full((steps, 3), 0.5, np.float32)
        picture = tape_image({"in": bits}, {"w": weights}, title="map", suffix=".svg").decode()
        widths += re.findall(r'width="([^"]+)"', picture)[:1]
    assert widths[0] == widths[1]


def test_what_cannot_be_copied_is_refused(machine: TapeMachine) -> None:
    with pytest.raises(InputError, match="There are no bits"):
        machine.copy([])
    with pytest.raises(InputError, match="Row 2 has 2 bits, and a machine copies rows of 3"):
        machine.copy([[1, 0, 1], [1, 0]])
    with pytest.raises(InputError, match="Row 1 holds 2: a bit is 0 or 1"):
        machine.copy([[1, 2, 1]])
    with pytest.raises(InputError, match=r"Row 1 holds 0\.5: a bit is 0 or 1"):
        machine.copy([[1, 0.5, 1]])  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="another has 5 inputs and 3 outputs: it is no copier"):
        TapeMachine(model(5), name="another").copy(ROWS)


def test_lines_of_bits_are_read() -> None:
    assert read_bits(["101", "0 0 1", "", " "], "a file") == [[1, 0, 1], [0, 0, 1]]
    assert read_bits([], "a file") == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["101", "121"], 'a file, line 2: "2" is no bit, but 0 and 1 are.'),
        (["x"], 'a file, line 1: "x" is no bit'),
        (["101", "11"], "a file, line 2 has 2 bits, and line 1 has 3."),
        (["101", "", "111"], "a file, line 2 has 0 bits, and line 1 has 3."),
        (["", "111"], "a file, line 1 has no bits."),
    ],
)
def test_lines_that_are_no_bits_are_named(lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_bits(lines, "a file")


def test_rows_are_drawn_by_their_seed() -> None:
    rows = draw_bits(50, 8, seed=1)
    assert rows == draw_bits(50, 8, seed=1)
    assert rows != draw_bits(50, 8, seed=2)
    assert {bit for row in rows for bit in row} == {0, 1}


def test_a_saved_machine_loads_and_is_no_other_kind(tmp_path: Path, copied: Copied) -> None:
    save_model(tmp_path / "machine", model(), None, card="# A machine\n")
    pipe = load(tmp_path / "machine", TapeMachine)
    assert pipe.card == "# A machine\n"
    np.testing.assert_allclose(pipe.copy(ROWS).chances, copied.chances, atol=1e-6)
    with pytest.raises(UsageError, match=r"is a machine with a tape.*this needs a model that reads a set"):
        load(tmp_path / "machine", Sorter)
