"""Which recipe `train` takes for a name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allyouneed.cli.train import SHIPPED, folder_for, recipe_file, what_follows

Command = Callable[..., Any]


def test_files_come_before_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recipe_file("lm-en") == SHIPPED / "lm-en.toml"
    assert recipe_file("full/bert-base") == SHIPPED / "full" / "bert-base.toml"
    (tmp_path / "lm-en").write_text("", "utf-8")
    assert recipe_file("lm-en") == Path("lm-en")


def test_an_unknown_name_lists_what_there_is(command: Command) -> None:
    status, out, err = command("train", "lm-eng")
    assert (status, out) == (2, "")
    assert err.startswith('There is no recipe "lm-eng", but associative-recall, copy, delaunay, denoise-en, ')
    assert err.endswith('or a file. Did you mean "lm-en"?\n')
    assert err.count("\n") == 1


def test_the_recipe_of_a_run_goes_on_with_it(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    assert folder_for(Path("mine/first.toml")) == Path("runs/first")
    assert folder_for(run / "recipe.toml") == Path("runs/recipe")
    for sign in (".lock", "checkpoints"):
        (run / sign).mkdir(parents=True)
        assert folder_for(run / "recipe.toml") == run
        (run / sign).rmdir()
    assert folder_for(run / "recipe.toml") == Path("runs/recipe")
    assert folder_for(run / "other.toml") == Path("runs/other")


def test_a_stopped_run_says_whether_it_will_go_on(tmp_path: Path) -> None:
    anew = f" before the first checkpoint in {tmp_path} (training.checkpoint_every): the same command begins anew"
    assert what_follows(tmp_path) == anew  # as when the text is made ready
    (tmp_path / "checkpoints").mkdir()
    assert what_follows(tmp_path) == anew
    (tmp_path / "checkpoints" / "update-00000500").mkdir()
    assert what_follows(tmp_path) == f": the same command goes on from the last checkpoint in {tmp_path}"
