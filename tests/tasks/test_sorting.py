"""Sorting by pointing: what is drawn is sorted, and what is measured is what was pointed at."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from allyouneed import training
from allyouneed.errors import UsageError
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.tasks.sorting import Sorting, SortingData, draw_sets, measure_pointers, taken_before
from allyouneed.training.loss import negative_log_likelihood

RECIPES = Path(training.__file__).parents[1] / "recipes"


def test_the_order_is_that_of_the_numbers() -> None:
    batch = draw_sets(4, 6, np.random.default_rng(0))
    assert batch.numbers.shape == (4, 6, 1)
    assert 0 <= float(batch.numbers.min()) < float(batch.numbers.max()) < 1
    for numbers, order in zip(batch.numbers[:, :, 0].tolist(), batch.order.tolist(), strict=True):
        assert [numbers[place] for place in order] == sorted(numbers)
    again = draw_sets(4, 6, np.random.default_rng(0))
    assert torch.equal(batch.numbers, again.numbers)


def test_batches_fill_the_budget() -> None:
    task = Sorting(SortingData(numbers=6))
    plans = task.batches(40, 1, 0)
    assert set(plans) == {6}
    assert (task.padded_tokens(6), task.target_tokens(6)) == (36, 36)
    with pytest.raises(UsageError, match=r"training\.batch_tokens = 5 holds no set of 6 numbers"):
        task.batches(5, 1, 0)


def test_the_loss_is_the_cross_entropy_of_the_pointers() -> None:
    logits, order = torch.randn(3, 5, 5), torch.rand(3, 5).argsort(1)
    found = measure_pointers(logits, order, negative_log_likelihood)[1]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), order.flatten(), reduction="sum")
    torch.testing.assert_close(found, expected)


def test_what_stands_earlier_is_taken() -> None:
    assert taken_before(torch.tensor([[2, 0, 1]])).int().tolist() == [[[0, 0, 0], [0, 0, 1], [1, 0, 1]]]


class Pointing:
    """Points at what is asked, but for a set in which the second pointer goes back to the first element."""

    def __init__(self, sets: int) -> None:
        self.config, self.sets = SetConfig(), sets

    def parameters(self) -> Iterator[Tensor]:
        return iter([torch.zeros(1)])

    def __call__(self, numbers: Tensor, order: Tensor) -> Tensor:
        logits = torch.nn.functional.one_hot(order, order.shape[1]) * 5.0
        for row, places in enumerate(numbers[:, :, 0]):
            if float(places[0]) < 0.5:
                logits[row, 1] = torch.nn.functional.one_hot(order[row, 0], order.shape[1]) * 9.0
                logits[row, 1, order[row, 1]] = 1.0
        return logits


def test_sets_are_right_where_all_their_pointers_are() -> None:
    task = Sorting(SortingData(numbers=4, dev=30))
    found = task.validate(Pointing(30), negative_log_likelihood, max_tokens=40, sentences=0)  # pyright: ignore[reportArgumentType]
    wrong = int((task.dev.numbers[:, 0, 0] < 0.5).sum())
    assert 0 < wrong < 30
    assert found["pointers"] == pytest.approx(1 - wrong / 120)
    assert found["sorted"] == pytest.approx(1 - wrong / 30)
    assert found["sorted once"] == 1
    right = math.log(math.exp(5) + 3) - 5
    missed = math.log(math.exp(9) + math.exp(1) + 2) - 1
    assert found["loss"] == pytest.approx(((120 - wrong) * right + wrong * missed) / 120, rel=1e-4)


@torch.no_grad()
def test_measures_are_those_of_what_the_model_writes() -> None:
    torch.manual_seed(4)
    model, task = ReadProcessWrite(SetConfig(d_model=8)).eval(), Sorting(SortingData(numbers=2, dev=200))
    for parameter in model.parameters():
        parameter.mul_(8)
    found = task.validate(model, negative_log_likelihood, max_tokens=90, sentences=0)
    for once, name in ((False, "sorted"), (True, "sorted once")):
        written = model.point(model.encode(task.dev.numbers), once=once).order
        assert found[name] == pytest.approx(float((written == task.dev.order).all(1).float().mean()))
    assert 0 < found["sorted"] < found["sorted once"] < 1


def test_elements_of_more_numbers_are_refused() -> None:
    task = Sorting(SortingData())
    model = ReadProcessWrite(SetConfig(n_inputs=2, d_model=4))
    with pytest.raises(UsageError, match=r"model\.n_inputs = 2: elements of this task are 1 number each"):
        task.loss(model, task.batch(2, np.random.default_rng(0)), negative_log_likelihood)


@pytest.mark.parametrize("name", ["sort", "full/sort"])
def test_recipes_name_a_model_of_sets(name: str) -> None:
    recipe = training.read_recipe(RECIPES / f"{name}.toml")
    assert recipe.task == "sorting"
    assert recipe.model.preset.startswith("sets-")


def test_the_recipe_trains(tmp_path: Path) -> None:
    short = ["training.updates=4", "training.validate_every=2", "training.batch_tokens=60", "training.warmup=1"]
    small = ["model.d_model=8", "data.numbers=4", "data.dev=10"]
    out = training.train(training.read_recipe(RECIPES / "sort.toml", [*short, *small]), tmp_path / "run")
    card = (out / "README.md").read_text("utf-8")
    assert "Read, process, write (Vinyals 2016)" in card
    assert "| sorted once | " in card
