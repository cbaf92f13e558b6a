"""`allyouneed attend` for masks: a rule alone, a rule over a text, and a model's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]

SENTENCE = "The cat sat."


def test_a_rule_alone_needs_no_model(command: Command, tmp_path: Path) -> None:
    arguments = ["attend", "--model", tmp_path / "none", "--mask", "causal & window(2)", "--length", "3"]
    status, out, err = command(*arguments)
    assert (status, err) == (0, "")
    assert out.split("\n") == [
        "causal & window(2): 55.6% of 3 × 3 pairs",
        "0 ██····",
        "1 ████··",
        "2 ··████",
        "██ may look, ·· may not",
        "",
        "",
    ]
    assert json.loads(command(*arguments, "--json").out)["cells"] == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert command(*arguments, "--out", tmp_path / "mask.svg") == (0, "", "")
    assert (tmp_path / "mask.svg").stat().st_size > 500


def test_a_rule_over_a_text_names_its_tokens(command: Command, decoder_folder: Path) -> None:
    model = ["attend", "--model", decoder_folder, SENTENCE]
    lines = command(*model, "--mask", "prefix(1)").out.split("\n")
    assert lines[0].startswith("prefix(1): ")
    assert all(line.split(" ")[-1].startswith("██··") for line in lines[1:-3])
    own = command(*model, "--mask-only").out.split("\n")
    assert own[0].startswith("decoder, layer 1: ")
    assert len(own) == len(lines)
    assert own[1].endswith("██" + "··" * (len(lines) - 5))
    assert own[-4].endswith("█" * 2 * (len(lines) - 4))
    assert own[2].split(" ")[-2] in {"The", "T"}


def test_a_translator_shows_the_side_that_is_asked_for(command: Command, saved_folder: Path) -> None:
    model = ["attend", "--model", saved_folder, SENTENCE, "--target", "Le chat.", "--mask-only"]
    assert command(*model).out.startswith("cross, layer 1: 100.0% of ")
    assert command(*model, "--side", "encoder", "--layer", "0").out.startswith("encoder, layer 0: 100.0% of ")
    decoder = command(*model, "--side", "decoder").out.split("\n")
    assert decoder[0].startswith("decoder, layer 1: ")
    assert "██··" in decoder[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mask", "causl", "--length", "4"], '"causl" is no rule; there are causal, '),
        (["--mask", "causal"], "--mask needs a text, or a --length."),
        (["--length", "4"], "--length is for a --mask without a text."),
        ([SENTENCE, "--mask", "causal", "--length", "4"], "--length is for a --mask without a text."),
        (["--mask", "causal", "--length", "4", "--out", "a.npz"], "a.npz: the ending says the format, and for a mask"),
    ],
)
def test_what_does_not_go_together(command: Command, arguments: list[str], message: str) -> None:
    status, out, err = command("attend", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_a_rule_is_for_a_text_that_looks_at_itself(command: Command, saved_folder: Path) -> None:
    arguments = ["attend", "--model", saved_folder, SENTENCE, "--target", "Le chat. Le chat.", "--mask", "causal"]
    status, _, err = command(*arguments, "--side", "cross")
    assert status == 2
    assert '--mask is for a text that looks at itself: choose another --side than "cross".' in err
