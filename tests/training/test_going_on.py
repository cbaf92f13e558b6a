"""Runs that are taken up again with other settings or other text, or whose numbers overflow at the end."""

import errno
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import stop_before, toy_recipe

from allyouneed.errors import InputError, UsageError
from allyouneed.training import read_recipe, train
from allyouneed.training.interrupts import held_back
from allyouneed.training.lock import held
from allyouneed.training.loop import Trainer
from allyouneed.training.recipe import Recipe


def recipe_of(folder: Path, **training: object) -> Recipe:
    settings = {"updates": 12, "validate_every": 3, "validate_bleu": 0, "average": 1, **training}
    return read_recipe(toy_recipe(folder), [f"training.{name}={value}" for name, value in settings.items()])


def stop(recipe: Recipe, out: Path, update: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_before(update, patch)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, out)


@pytest.mark.parametrize(("optimizer", "momentum"), [("sgd", 0.0), ("sgd", 0.9), ("adadelta", 0.0), ("rmsprop", 0.9)])
def test_each_optimizer_goes_on_as_it_would_have(tmp_path: Path, optimizer: str, momentum: float) -> None:
    recipe = recipe_of(tmp_path, optimizer=f'"{optimizer}"', momentum=momentum, checkpoint_every=4, updates=7)
    train(recipe, tmp_path / "calm")
    stop(recipe, tmp_path / "run", 5)
    train(recipe, tmp_path / "run")
    calm, run = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("calm", "run"))
    assert calm == run


def test_an_average_of_more_models_takes_those_that_were_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def steady(trainer: Trainer) -> dict[str, float]:
        """No model is better than another."""
        return {"loss": 1.0}

    monkeypatch.setattr(Trainer, "validate", steady)
    train(recipe_of(tmp_path), tmp_path / "run")
    train(recipe_of(tmp_path, updates=18, average=5), tmp_path / "run")
    assert "kept: average of updates 12, 15, 18 " in capfd.readouterr().err


def test_fewer_updates_than_are_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stop(recipe_of(tmp_path, checkpoint_every=2, validate_every=6), tmp_path / "run", 5)
    with pytest.raises(UsageError, match=r"run has 4 updates and no validated model: raise training\.updates\."):
        train(recipe_of(tmp_path, updates=3, validate_every=6), tmp_path / "run")
    stop(recipe_of(tmp_path, checkpoint_every=2, validate_every=6), tmp_path / "run", 9)
    train(recipe_of(tmp_path, updates=7, validate_every=6), tmp_path / "run")
    assert "kept: average of updates 6 " in capfd.readouterr().err


def test_other_text_than_the_run_began_with(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path)
    train(recipe, tmp_path / "calm")
    stop(recipe, tmp_path / "run", 9)
    path = tmp_path / "train.tsv"
    text = path.read_text("utf-8")
    for other in (text[: len(text) // 4].rpartition("\n")[0], text + text):
        path.write_text(other, "utf-8")
        with pytest.raises(InputError, match=r"not what this run began with: an epoch had \d+ batches and has \d+ now"):
            train(recipe, tmp_path / "run")
    path.write_text(text, "utf-8")
    train(recipe, tmp_path / "run")
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (
        tmp_path / "calm" / "model.safetensors"
    ).read_bytes()


def test_a_second_training_of_a_folder_writes_nothing(tmp_path: Path) -> None:
    run = train(recipe_of(tmp_path), tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with held(run), pytest.raises(InputError, match="Another training is writing to"):
        train(recipe_of(tmp_path, updates=99), run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_disk_that_knows_no_locks_is_not_called_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("allyouneed.training.lock.take", refuse)
    with pytest.raises(OSError, match="No locks available"):
        train(recipe_of(tmp_path), tmp_path / "run")


def test_a_run_out_of_patience_says_so_and_changes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recipe = recipe_of(tmp_path, updates=60, validate_every=2, patience=1, peak_rate=3.0)
    run = train(recipe, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*.safetensors")}
    train(recipe, run)
    assert "already trained 4 of 60 updates; raise training.patience to go on" in capfd.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*.safetensors")} == before


def test_an_interrupt_while_a_line_is_printed_is_remembered() -> None:
    def printing(message: str) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with held_back(printing) as stopped:
            assert not stopped()
            signal.raise_signal(signal.SIGINT)
            assert stopped()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def failing_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets a validation, counted from 1, come to no number."""
    validate, calls = Trainer.validate, list[int]()

    def patch(call: int) -> None:
        def failing(trainer: Trainer) -> dict[str, float]:
            calls.append(1)
            return validate(trainer) | ({"loss": float("nan")} if len(calls) == call else {})

        monkeypatch.setattr(Trainer, "validate", failing)

    return patch


def test_a_model_that_overflowed_is_not_kept(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, updates=1, warmup=1, peak_rate=1e30)
    with pytest.raises(InputError, match=r"Update 1: the validation loss is not a number\. The last checkpoint"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_an_average_that_is_no_number_is_not_kept(
    tmp_path: Path, failing_at: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    failing_at(5)  # after those at updates 3, 6, 9 and 12
    train(recipe_of(tmp_path, average=2), tmp_path / "run")
    assert "kept: update 12  validation: loss" in capfd.readouterr().err
