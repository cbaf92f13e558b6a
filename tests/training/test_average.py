"""Whole runs with a running average of the weights: what is kept, what resumes, what is refused, and what it costs."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from toy import tiny, toy_recipe, toy_text

from allyouneed.checkpoints.averaging import mean_weights
from allyouneed.errors import InputError, UsageError
from allyouneed.models.presets import configure, count_parameters
from allyouneed.training import memory, read_recipe, train
from allyouneed.training.beginning import config_of
from allyouneed.training.recipe import Recipe

ONE_OF_A_KIND = ["en-fr", "lm-en", "mlm-en", "mamba-en", "rnnsearch-en-fr", "hull", "copy", "sort"]


def last_checkpoint(run: Path, part: str) -> dict[str, Tensor]:
    """The weights of the last update ("model") or their average ("average"), as the run's checkpoint holds them."""
    [path] = (run / "checkpoints").glob("update-*/state.safetensors")
    return {name.split(".", 1)[1]: tensor for name, tensor in load_file(path).items() if name.startswith(f"{part}.")}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_any_model_of_any_task_is_kept_as_its_average(tmp_path: Path, name: str) -> None:
    toy_text(tmp_path)
    path = Path(str(files("allyouneed") / "recipes" / f"{name}.toml"))
    overrides = [*tiny(path, tmp_path), "training.updates=3", "training.ema_decay=0.5"]
    run = train(read_recipe(path, overrides), tmp_path / "run")
    kept, average = load_file(run / "model.safetensors"), last_checkpoint(run, "average")
    assert average
    assert same(average, kept)
    assert not same(last_checkpoint(run, "model"), kept)
    assert "running average of the weights with decay 0.5, " in (run / "README.md").read_text("utf-8")


def test_the_validated_averages_are_averaged_at_the_end(tmp_path: Path) -> None:
    run = train(read_recipe(toy_recipe(tmp_path, updates=30, ema_decay=0.8)), tmp_path / "run")
    snapshots = [load_file(run / "snapshots" / f"update-000000{update}.safetensors") for update in (15, 30)]
    assert same(last_checkpoint(run, "average"), snapshots[1])
    kept, card = load_file(run / "model.safetensors"), (run / "README.md").read_text("utf-8")
    mean = "Kept: average of updates 15, 30." in card
    assert mean or "Kept: update 30." in card
    assert same(kept, mean_weights(snapshots) if mean else snapshots[1])
    losses = [json.loads(line)["validation_loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    plain = train(read_recipe(toy_recipe(tmp_path, updates=30)), tmp_path / "plain")
    others = [json.loads(line)["validation_loss"] for line in (plain / "metrics.jsonl").read_text().splitlines()]
    assert losses[0] != others[0]
    assert losses[1] != others[1]


def test_runs_from_before_there_was_an_average_go_on(tmp_path: Path) -> None:
    calm = train(read_recipe(toy_recipe(tmp_path, updates=12)), tmp_path / "calm")
    run = train(read_recipe(toy_recipe(tmp_path, updates=8)), tmp_path / "run")
    written = (run / "recipe.toml").read_text("utf-8").splitlines(keepends=True)
    (run / "recipe.toml").write_text("".join(line for line in written if not line.startswith("ema_decay")), "utf-8")
    assert not last_checkpoint(run, "average")
    with pytest.raises(UsageError, match=r"differs in training\.ema_decay: take another --out folder"):
        train(read_recipe(toy_recipe(tmp_path, updates=12, ema_decay=0.9)), run)
    train(read_recipe(toy_recipe(tmp_path, updates=12)), run)
    assert same(last_checkpoint(run, "model"), last_checkpoint(calm, "model"))


def test_a_checkpoint_without_its_average_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(read_recipe(toy_recipe(tmp_path, updates=4)), tmp_path / "run")

    def no_check(recipe: Recipe, out: Path) -> None:
        """As if the folder's recipe had asked for an average."""

    monkeypatch.setattr("allyouneed.training.run.check_same_recipe", no_check)
    with pytest.raises(InputError, match=r"update-00000004 cannot be read \('average\..*delete its folder"):
        train(read_recipe(toy_recipe(tmp_path, updates=8, ema_decay=0.9)), run)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("1.0", "1.0: input should be less than 1"),
        ("-0.1", "-0.1: input should be greater than or equal to 0"),
        ("'no'", "'no': input should be a valid number"),
    ],
)
def test_decays_that_are_none(tmp_path: Path, value: str, why: str) -> None:
    with pytest.raises(UsageError, match=f'"training.ema_decay" = {why}'):
        read_recipe(toy_recipe(tmp_path), [f"training.ema_decay={value}"])


def test_the_average_is_counted_as_one_more_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for config in (configure("transformer-tiny", vocab_size=320), configure("rnnsearch-small", vocab_size=320)):
        plain, averaged = (memory.training_bytes(config, 120, averaged=averaged) for averaged in (False, True))
        assert averaged - plain == 4 * count_parameters(config)
    recipe = toy_recipe(tmp_path, updates=1)
    needed = memory.training_bytes(config_of(read_recipe(recipe)), 120, averaged=False)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed)
    with pytest.raises(InputError, match=r"lower training\.batch_tokens"):
        train(read_recipe(recipe, ["training.ema_decay=0.5"]), tmp_path / "averaged")
    train(read_recipe(recipe), tmp_path / "plain")
