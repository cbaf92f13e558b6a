"""`allyouneed bench`: what is measured is chosen by length and by name, and real processes measure it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allyouneed.cli.bench import kinds_of
from allyouneed.measure.layers import KINDS

Command = Callable[..., Any]


def test_two_kinds_are_measured(command: Command, tmp_path: Path) -> None:
    arguments = ["bench", "attention", "--quick", "--lengths", "48, 32", "--kinds", "convolutional", "--window", "8"]
    status, out, err = command(*arguments, "--json", "--out", tmp_path / "a.svg")
    assert (status, err) == (0, "")
    facts = json.loads(out)
    assert [(row["kind"], row["length"]) for row in facts["rows"]] == [("convolutional", 32), ("convolutional", 48)]
    assert all(row["forward"] > 0 and row["backward"] > 0 for row in facts["rows"])
    assert facts["window"] == 8
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_kinds_are_found_by_words() -> None:
    assert kinds_of(None) == list(KINDS)
    assert kinds_of("Full") == [kind for kind in KINDS if kind.startswith("full")]
    assert kinds_of("lstm, bigbird") == [kind for kind in KINDS if "LSTM" in kind or "BigBird" in kind]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lengths", "12,x"], "--lengths 12,x: whole numbers between 1 and 131,072 are needed"),
        (["--lengths", "0"], "--lengths 0: whole numbers between 1 and 131,072 are needed"),
        (["--kinds", "fussed"], 'no layer is called "fussed"; there are full, naive; '),
        (["--out", "a.gif"], "a.gif: the ending says the format, and it is one of .png, .svg, .json and .md."),
        (["--device", "tpu"], '--device tpu: this machine has "cpu"'),
    ],
)
def test_what_cannot_be_measured_is_refused(command: Command, options: list[str], message: str) -> None:
    status, out, err = command("bench", "attention", *options)
    assert (status, out) == (2, "")
    assert message in err
