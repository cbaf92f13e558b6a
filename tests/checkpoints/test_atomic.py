import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_failure_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "a.txt").write_text("old", "utf-8")

    def write_and_stumble() -> None:
        with staged_folder(folder) as staging:
            (staging / "a.txt").write_text("new", "utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_stumble()
    assert contents(folder) == {"a.txt": b"old"}
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path) -> None:
    left = tmp_path / ".run.saving"
    left.mkdir()
    (left / "half.bin").write_bytes(b"half")
    with staged_folder(tmp_path / "run") as staging:
        (staging / "a.txt").write_text("new", "utf-8")
    assert contents(tmp_path / "run") == {"a.txt": b"new"}
    assert not left.exists()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fills_up_while_saving(
    monkeypatch: pytest.MonkeyPatch, model: Transformer, tokenizer: Tokenizer, model_folder: Path, call: str
) -> None:
    before = contents(model_folder)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(
        InputError, match=r"Cannot save .*model: no space is left on the disk; nothing there was changed"
    ):
        save_model(model_folder, model, tokenizer, card="# New\n")
    monkeypatch.undo()
    assert contents(model_folder) == before
    assert sorted(path.name for path in model_folder.parent.iterdir()) == ["model"]
    load_model(model_folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("this system has no mount command")
    if mounted.returncode:
        pytest.skip("no small file system may be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_disk_that_is_really_full(small_disk: Path, model: Transformer, tokenizer: Tokenizer) -> None:
    folder = small_disk / "model"
    save_model(folder, model, tokenizer, card="# Old\n")
    before = contents(folder)
    filler = small_disk / "filler"
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    filler.write_bytes(bytes(max(0, free - 3 * 4096)))
    for place in (folder, small_disk / "other"):
        with pytest.raises(InputError, match="no space is left on the disk; nothing there was changed"):
            save_model(place, model, tokenizer, card="# New\n")
    assert contents(folder) == before
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "model"]
    load_model(folder)
