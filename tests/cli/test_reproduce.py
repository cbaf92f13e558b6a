"""`allyouneed reproduce`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from allyouneed.reproduce.registry import EXPERIMENTS


def test_the_list(command: Callable[..., Any]) -> None:
    status, out, err = command("reproduce")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(EXPERIMENTS)
    assert "The source sentence backwards" in out


def test_a_quick_run(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    status, out, _ = command("reproduce", "sorting", "--quick", "--out", folder, "--seed", "5")
    assert status == 0
    assert "How often to look before writing" in out
    assert "Vinyals 2016" in out
    assert out.splitlines()[-1] == str(folder)
    made = json.loads((folder / "sorting.json").read_text("utf-8"))["made"]
    assert made["seeds"] == [5]
    assert made["command"] == f"allyouneed reproduce sorting --quick --out {folder} --seed 5"


def test_wrong_use(command: Callable[..., Any]) -> None:
    status, _, err = command("reproduce", "sortin")
    assert status == 2
    assert 'Did you mean "sorting"?' in err
    status, _, err = command("reproduce", "--quick")
    assert status == 2
    assert err.startswith("Name an experiment to run: bottleneck, ")


def test_a_missing_corpus(command: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = command("reproduce", "order", "--out", tmp_path, "--corpora", tmp_path / "none")
    assert status == 1
    assert "name the folder of the corpora by --corpora" in err
