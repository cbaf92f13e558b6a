"""Killed at any moment and started again: the same model, bit for bit. One process or two: the same model."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toy import LAYERS, toy_recipe

from allyouneed.training import read_recipe, train
from allyouneed.training.loop import Trainer, UpdateResult
from allyouneed.training.state import Progress

RUN = """
import sys, torch
from pathlib import Path
from allyouneed.training.recipe import read_recipe
from allyouneed.training.run import train
torch.set_num_threads(1)
train(read_recipe(Path(sys.argv[1]), sys.argv[3:]), Path(sys.argv[2]))
"""


def start(recipe: Path, out: Path, *overrides: str, ranks: int = 1) -> subprocess.Popen[bytes]:
    script = recipe.parent / "run.py"
    script.write_text(RUN, "utf-8")
    launcher = [sys.executable]
    if ranks > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*launcher, str(script), str(recipe), str(out), *overrides]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def family(pid: int) -> list[int]:
    """A process and all that it started: a launcher gives each of its ranks a session of its own."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for thread in threads for child in thread.read_text("ascii").split()]
    return [pid, *(member for child in children for member in family(child))]


def kill(process: subprocess.Popen[bytes]) -> None:
    for member in family(process.pid):
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)
    process.wait()


def finish(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    assert process.wait(timeout=120) == 0
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("task", "ranks", "kills"), [("translation", 1, 10), ("translation", 2, 10), ("language", 1, 3)]
)
def test_killed_at_random_moments_ends_the_same(tmp_path: Path, task: str, ranks: int, kills: int) -> None:
    recipe = toy_recipe(tmp_path, task=task, updates=200)
    seconds = finish(start(recipe, tmp_path / "calm", ranks=ranks))
    draw = random.Random()  # other moments every time: the equality must hold for all of them
    midway = 0
    for _ in range(kills):
        process = start(recipe, tmp_path / "stormy", ranks=ranks)
        time.sleep(draw.uniform(0.3, 1.0) * seconds)
        kill(process)
        midway += any((tmp_path / "stormy" / "checkpoints").glob("update-*"))
    finish(start(recipe, tmp_path / "stormy", ranks=ranks))
    assert midway
    calm, stormy = (tmp_path / name / "model.safetensors" for name in ("calm", "stormy"))
    assert calm.read_bytes() == stormy.read_bytes()
    metrics = [(tmp_path / name / "metrics.jsonl").read_text().count("\n") for name in ("calm", "stormy")]
    assert metrics[0] == metrics[1] == 14  # every 15 of 200 updates, and the last


@pytest.mark.parametrize("task", ["translation", "language"])
def test_two_processes_make_the_model_of_one(tmp_path: Path, task: str) -> None:
    recipe = toy_recipe(tmp_path, task=task)
    for ranks in (1, 2):
        finish(start(recipe, tmp_path / str(ranks), ranks=ranks))
    one, two = (load_file(tmp_path / str(ranks) / "model.safetensors") for ranks in (1, 2))
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.parametrize("task", sorted(LAYERS))
def test_stopped_and_started_again_draws_the_same(tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = read_recipe(toy_recipe(tmp_path, task=task, updates=11))
    train(recipe, tmp_path / "calm")
    update = Trainer.update

    def stopped(trainer: Trainer, progress: Progress) -> UpdateResult:
        if progress.update == 7:
            raise KeyboardInterrupt
        return update(trainer, progress)

    monkeypatch.setattr(Trainer, "update", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "stopped")
    monkeypatch.undo()
    train(recipe, tmp_path / "stopped")
    calm, stopped_run = (tmp_path / name / "model.safetensors" for name in ("calm", "stopped"))
    assert calm.read_bytes() == stopped_run.read_bytes()
