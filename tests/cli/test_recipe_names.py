"""Which recipe `train` takes for a name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allyouneed.cli.train import SHIPPED, recipe_file

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
