"""Killed at any moment and started again: the same model, bit for bit. One process or two: the same model."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toy import LAYERS, free_port, stop_before, toy_recipe, train_as_rank

from allyouneed.training import read_recipe, train
from allyouneed.training.loop import Trainer, UpdateResult
from allyouneed.training.state import Progress

# Processes are forked from one that holds the package already: most of a short training would be its imports.
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._dynamo", "allyouneed.training.run"])  # torch's optimizers import the first


def start(recipe: Path, out: Path, ranks: int) -> list[ForkServerProcess]:
    port = free_port()
    started = [PROCESSES.Process(target=train_as_rank, args=(recipe, out, rank, ranks, port)) for rank in range(ranks)]
    for process in started:
        process.start()
    return started


def kill(processes: list[ForkServerProcess]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


def finish(processes: list[ForkServerProcess]) -> float:
    began = time.monotonic()
    for process in processes:
        process.join(timeout=120)
        assert process.exitcode == 0
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("task", "ranks", "kills", "ema_decay"),
    [("translation", 1, 10, 0.0), ("translation", 2, 10, 0.0), ("language", 1, 3, 0.9), ("translation", 2, 3, 0.9)],
)
def test_killed_at_random_moments_ends_the_same(
    tmp_path: Path, task: str, ranks: int, kills: int, ema_decay: float
) -> None:
    recipe = toy_recipe(tmp_path, task=task, updates=100, ema_decay=ema_decay)
    seconds = finish(start(recipe, tmp_path / "calm", ranks))
    draw = random.Random()  # other moments every time: the equality must hold for all of them
    midway = 0
    for _ in range(kills):
        processes = start(recipe, tmp_path / "stormy", ranks)
        time.sleep(draw.uniform(0.1, 1.0) * seconds)
        kill(processes)
        midway += any((tmp_path / "stormy" / "checkpoints").glob("update-*"))
    finish(start(recipe, tmp_path / "stormy", ranks))
    assert midway
    calm, stormy = (tmp_path / name / "model.safetensors" for name in ("calm", "stormy"))
    assert calm.read_bytes() == stormy.read_bytes()
    metrics = [(tmp_path / name / "metrics.jsonl").read_text().count("\n") for name in ("calm", "stormy")]
    assert metrics[0] == metrics[1] == 7  # every 15 of 100 updates, and the last


@pytest.mark.parametrize(("task", "ema_decay"), [("translation", 0.0), ("language", 0.0), ("language", 0.9)])
def test_two_processes_make_the_model_of_one(tmp_path: Path, task: str, ema_decay: float) -> None:
    recipe = toy_recipe(tmp_path, task=task, ema_decay=ema_decay)
    for ranks in (1, 2):
        finish(start(recipe, tmp_path / str(ranks), ranks))
    assert_same_model(tmp_path / "1", tmp_path / "2")


def test_experts_without_a_token_move_alike(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, task="language", updates=20)
    few = {"d_ff = 64": "d_ff = 64\nn_experts = 16\nexperts_per_token = 1", "max_tokens = 60": "max_tokens = 5"}
    text = recipe.read_text("utf-8").replace("batch_tokens = 120", "batch_tokens = 30")
    for usual, own in few.items():
        text = text.replace(usual, own)
    recipe.write_text(text, "utf-8")
    for ranks in (1, 2):
        finish(start(recipe, tmp_path / str(ranks), ranks))
    assert_same_model(tmp_path / "1", tmp_path / "2")


def test_torchrun_makes_the_model_of_one_process(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, updates=20)
    finish(start(recipe, tmp_path / "1", ranks=1))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = ["-m", "allyouneed", "train", str(recipe), "--out", str(tmp_path / "2")]
    subprocess.run([*launcher, *command], check=True, timeout=120)
    assert_same_model(tmp_path / "1", tmp_path / "2")


def assert_same_model(one: Path, two: Path) -> None:
    first, second = (load_file(folder / "model.safetensors") for folder in (one, two))
    assert first.keys() == second.keys()
    for name, weights in first.items():
        torch.testing.assert_close(weights, second[name], atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.parametrize(("task", "ema_decay"), [*((task, 0.0) for task in sorted(LAYERS)), ("translation", 0.9)])
def test_stopped_and_started_again_draws_the_same(
    tmp_path: Path, task: str, ema_decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = read_recipe(toy_recipe(tmp_path, task=task, updates=11, ema_decay=ema_decay))
    train(recipe, tmp_path / "calm")
    stop_before(7, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "stopped")
    monkeypatch.undo()
    train(recipe, tmp_path / "stopped")
    calm, stopped_run = (tmp_path / name / "model.safetensors" for name in ("calm", "stopped"))
    assert calm.read_bytes() == stopped_run.read_bytes()


@pytest.fixture
def minded() -> Generator[None]:
    """Interrupts count, wherever this runs: a shell starts what runs in its background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("minded")
@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
def test_an_interrupt_waits_for_a_checkpoint(
    tmp_path: Path, ema_decay: float, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    recipe = read_recipe(toy_recipe(tmp_path, updates=11, ema_decay=ema_decay))
    train(recipe, tmp_path / "calm")
    update = Trainer.update

    def interrupted(times: int) -> None:
        def during(trainer: Trainer, progress: Progress) -> UpdateResult:
            if progress.update == 6:
                for _ in range(times):
                    signal.raise_signal(signal.SIGINT)
            return update(trainer, progress)

        monkeypatch.setattr(Trainer, "update", during)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tmp_path / f"stopped {times}")
        monkeypatch.undo()

    for times, saved in ((1, 7), (2, 4)):  # the second Ctrl-C does not wait, and every fourth update was saved before
        interrupted(times)
        folder = tmp_path / f"stopped {times}"
        assert [path.name for path in (folder / "checkpoints").iterdir()] == [f"update-{saved:08d}"]
        assert "stopping with a checkpoint after this update" in capfd.readouterr().err
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        train(recipe, folder)
        calm, stopped = (run / "model.safetensors" for run in (tmp_path / "calm", folder))
        assert calm.read_bytes() == stopped.read_bytes()
