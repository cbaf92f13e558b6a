"""Whole runs on a toy corpus: what they write, what they say, and what they refuse."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError
from toy import LAYERS, toy_recipe

from allyouneed.checkpoints.native import load_model
from allyouneed.errors import InputError, UsageError
from allyouneed.training import memory, read_recipe, run, train
from allyouneed.training.lock import held


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("finished")
    recipe = toy_recipe(folder)
    return recipe, train(read_recipe(recipe), folder / "run")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_a_model_folder(finished: tuple[Path, Path]) -> None:
    _, out = finished
    saved = load_model(out)
    assert saved.tokenizer.vocab_size == saved.config.vocab_size == 320
    assert f"{sum(p.numel() for p in saved.model.parameters()):,} parameters" in (out / "README.md").read_text()
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [record["update"] for record in records] == [15, 30, 45, 60]
    assert records[-1]["validation_loss"] < records[0]["validation_loss"] < 6
    assert {"train_loss", "rate", "gradient_norm", "target_tokens", "validation_bleu"} <= records[0].keys()
    assert list((out / "tensorboard").glob("events.out.tfevents.*"))


def test_a_finished_run_says_so_and_changes_nothing(
    finished: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    recipe, out = finished
    before = snapshot(out)
    assert train(read_recipe(str(recipe)), str(out)) == out  # names as a notebook gives them
    assert "already trained 60 of 60 updates; raise training.updates to go on" in capfd.readouterr().err
    assert snapshot(out) == before


def test_going_on_with_more_updates(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recipe = toy_recipe(tmp_path, updates=8)
    train(read_recipe(recipe), tmp_path / "run")
    train(read_recipe(recipe, ["training.updates=12"]), tmp_path / "run")
    assert "going on from update 8" in capfd.readouterr().err
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])["update"] == 12


def test_one_training_a_folder(finished: tuple[Path, Path]) -> None:
    recipe, out = finished
    with held(out), pytest.raises(InputError, match=r"Another training is writing to .*run: wait for it"):
        train(read_recipe(recipe), out)
    train(read_recipe(recipe), out)


def test_another_recipe_needs_another_folder(finished: tuple[Path, Path]) -> None:
    recipe, out = finished
    with pytest.raises(UsageError, match=r"differs in seed, training.peak_rate: take another --out folder"):
        train(read_recipe(recipe, ["seed=9", "training.peak_rate=1e-4"]), out)


def test_more_memory_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000_000)
    with pytest.raises(
        InputError, match=r"needs about 0\.0 GB of memory and 0\.0 GB are free: lower training\.batch_tokens"
    ):
        train(read_recipe(toy_recipe(tmp_path)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_long_pairs_are_listed_with_file_and_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recipe = toy_recipe(tmp_path, updates=2)
    with (tmp_path / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("cat " * 25_000 + "\tCAT\n")  # 100,000 characters
    train(read_recipe(recipe), tmp_path / "run")
    assert f"left out 1 pair longer than 60 tokens (first: {tmp_path}/train.tsv, line 401" in capfd.readouterr().err
    assert (tmp_path / "run" / "too-long.txt").read_text() == f"{tmp_path}/train.tsv, line 401: 25001 tokens\n"


def test_text_that_is_all_too_long(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path)
    with pytest.raises(InputError, match=r"No training pair is at most 2 tokens long: raise data\.max_tokens"):
        train(read_recipe(recipe, ["data.max_tokens=2"]), tmp_path / "run")


@pytest.mark.parametrize("task", LAYERS)
def test_only_training_text_must_fit_into_a_batch(tmp_path: Path, task: str) -> None:
    path = toy_recipe(tmp_path, task=task, updates=1)
    for name, between in (("train.tsv", "\n"), ("train.txt", "\n\n")):
        lines = (tmp_path / name).read_text("utf-8").splitlines()
        (tmp_path / name).write_text(between.join(line for line in lines if 0 < len(line) < 60), "utf-8")
    for name, end in (("dev.tsv", "\tCAT\n"), ("dev.txt", "\n")):
        (tmp_path / name).write_text("the cat sees the dog " * 7 + end, "utf-8")
    settings = ["data.max_tokens=250", "training.validate_bleu=0"]
    train(read_recipe(path, [*settings, "training.batch_tokens=36"]), tmp_path / "run")
    with pytest.raises(
        InputError, match=r"The longest training example has \d\d tokens, and a batch training\.batch_t"
    ):
        train(read_recipe(path, [*settings, "training.batch_tokens=9"]), tmp_path / "other")


def test_numbers_that_overflow_are_named(tmp_path: Path) -> None:
    recipe = read_recipe(toy_recipe(tmp_path), ["training.peak_rate=1e38", "training.warmup=1"])
    with pytest.raises(
        InputError, match=r"Update \d+: .*(embedding|encoder|decoder).* is not a number\. The last checkpoint"
    ):
        train(recipe, tmp_path / "run")


@pytest.mark.parametrize(
    ("room", "call", "place"),
    [("training.state", 2, "update-00000008"), ("training.run", 1, "snapshots"), ("tasks.stored", 1, "cache")],
)
def test_a_full_disk_leaves_the_last_checkpoint_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str, call: int, place: str
) -> None:
    settings = ["training.validate_every=6", "training.validate_bleu=0"]
    recipe = read_recipe(toy_recipe(tmp_path, updates=12), settings)
    calls = 0
    save: Any = import_module(f"allyouneed.{room}").save_file

    def full(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
        save(*arguments)

    monkeypatch.setattr(f"allyouneed.{room}.save_file", full)
    with pytest.raises(InputError, match=rf"Cannot save .*{place}: no space is left on the disk; nothing there was"):
        train(recipe, tmp_path / "run")
    left = [path.name for path in (tmp_path / "run").glob("checkpoints/*")]
    assert left == ([] if place == "cache" else ["update-00000004"])
    assert not list(tmp_path.rglob("*.saving"))
    monkeypatch.undo()
    train(recipe, tmp_path / "run")
    train(recipe, tmp_path / "calm")
    interrupted, calm = (tmp_path / name / "model.safetensors" for name in ("run", "calm"))
    assert interrupted.read_bytes() == calm.read_bytes()


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    recipe = read_recipe(toy_recipe(tmp_path, updates=4))
    train(recipe, tmp_path / "run")
    path = tmp_path / "run" / "checkpoints" / "update-00000004" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"checkpoint .*update-00000004.* is damaged.*delete its folder"):
        train(recipe, tmp_path / "run")


def test_patience_ends_a_run_early(tmp_path: Path) -> None:
    settings = {"patience": 1, "peak_rate": 3.0, "validate_every": 2, "validate_bleu": 0}
    train(read_recipe(toy_recipe(tmp_path), [f"training.{k}={v}" for k, v in settings.items()]), tmp_path / "run")
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["update"] < 60


def test_too_many_processes_for_the_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(UsageError, match=r"3 processes share .* only 2: set training.accumulate to 3"):
        run.train(read_recipe(toy_recipe(tmp_path)), tmp_path / "run")


def test_cards_say_what_the_task_is(tmp_path: Path) -> None:
    train(read_recipe(toy_recipe(tmp_path, task="language", updates=2)), tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text("utf-8")
    assert "A language model, trained by the task `language`" in card
    assert "1 decoder layers, width 32" in card
    assert "80 training and 6 validation documents" in card
    assert "- `train.txt`\n" in card
    assert "| bits_per_byte |" in card
    assert "bleu" not in card.lower()
    saved = load_model(tmp_path / "run")
    assert saved.config.line == "decoder"
    assert saved.tokenizer.prefix == (1,)


def test_a_model_without_the_stacks_of_the_task(tmp_path: Path) -> None:
    recipe = read_recipe(toy_recipe(tmp_path, task="masked"), ["model.n_decoder_layers=1"])
    with pytest.raises(
        UsageError,
        match=r'task "masked" trains an encoder alone, and model\.preset "transformer-tiny" is an encoder with',
    ):
        train(recipe, tmp_path / "run")


def test_another_task_needs_another_folder(tmp_path: Path) -> None:
    train(read_recipe(toy_recipe(tmp_path, task="language", updates=2)), tmp_path / "run")
    with pytest.raises(
        UsageError, match=r"differs in task, data\.train, .*model\.n_encoder_layers: take another --out"
    ):
        train(read_recipe(toy_recipe(tmp_path, updates=2)), tmp_path / "run")


def test_more_updates_may_be_asked_of_any_task(tmp_path: Path) -> None:
    for updates in (2, 4):
        train(read_recipe(toy_recipe(tmp_path, task="masked", updates=updates)), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])["update"] == 4
