"""Algorithms on bits: what is drawn is what a reader would find, and what is measured is what was written."""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from allyouneed import training
from allyouneed.errors import UsageError
from allyouneed.models.presets import PRESETS, build
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig
from allyouneed.tasks.bits.episodes import (
    BitData,
    CopyData,
    NgramData,
    PrioritySortData,
    RecallData,
    RepeatCopyData,
    largest,
)
from allyouneed.tasks.bits.task import BitBatch, BitTask, Copy, Ngrams, Recall, RepeatCopy
from allyouneed.tasks.registry import TASKS
from allyouneed.training.loss import negative_log_likelihood, smoothed_cross_entropy

RECIPES = Path(training.__file__).parents[1] / "recipes"
KINDS: list[BitData] = [CopyData(), RepeatCopyData(), RecallData(), PrioritySortData(), NgramData()]


def drawing(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("data", KINDS, ids=lambda data: type(data).__name__)
def test_episodes_have_the_shape_that_they_say(data: BitData) -> None:
    for size in [*data.sizes()[:3], *data.sizes()[-2:], *data.larger()[:1]]:
        made, (steps, answers) = data.draw(size, 3, drawing()), data.shape(size)
        assert made.inputs.shape == (3, steps, data.channels[0])
        assert made.asked.shape == (3, answers, data.channels[1])
        assert set(np.unique(made.asked)) <= {0, 1}
        if not isinstance(data, NgramData):
            assert not made.inputs[:, steps - answers + (0 if answers < steps else 1) :].any(), "it is told the answer"
        again = data.draw(size, 3, drawing())
        assert np.array_equal(made.inputs, again.inputs)
        assert not np.array_equal(made.asked, data.draw(size, 3, drawing(1)).asked)


def test_copying_asks_for_what_stood_before_the_mark() -> None:
    made = CopyData().draw((5,), 2, drawing())
    assert np.array_equal(made.inputs[:, :5, :8], made.asked)
    assert np.array_equal(made.inputs[:, :, 8], [[0] * 5 + [1] + [0] * 5] * 2)
    assert not made.inputs[:, 6:].any()


def test_repeating_asks_for_it_so_many_times_and_for_an_end() -> None:
    data = RepeatCopyData()
    made = data.draw((2, 3), 4, drawing())
    bits = made.inputs[:, :2, :8]
    assert np.array_equal(made.asked[:, :6, :8], np.concatenate([bits] * 3, 1))
    assert made.asked[:, :, 8].tolist() == [[0] * 6 + [1]] * 4
    assert not made.asked[:, 6, :8].any()
    told = [data.normal(times) for times in range(1, 11)]
    assert np.mean(told) == pytest.approx(0)
    assert np.var(told) == pytest.approx(1)
    assert float(made.inputs[0, 2, 8]) == pytest.approx(told[2])


def test_recall_asks_for_what_followed_the_item_that_is_shown_again() -> None:
    data = RecallData()
    made = data.draw((4,), 30, drawing())
    asked_for = set[int]()
    for inputs, answer in zip(made.inputs, made.asked, strict=True):
        assert np.flatnonzero(inputs[:, 6]).tolist() == [0, 4, 8, 12]
        assert np.flatnonzero(inputs[:, 7]).tolist() == [16, 20]
        items = [inputs[start : start + 3, :6] for start in (1, 5, 9, 13)]
        which = [number for number, item in enumerate(items) if np.array_equal(item, inputs[17:20, :6])]
        assert which
        assert any(np.array_equal(items[number + 1], answer) for number in which if number < 3)
        asked_for.add(which[0])
    assert asked_for == {0, 1, 2}


def test_sorting_asks_for_the_highest_first() -> None:
    made = PrioritySortData().draw((20,), 3, drawing())
    for inputs, answer in zip(made.inputs, made.asked, strict=True):
        numbers = inputs[:20, 8]
        assert -1 <= numbers.min() < -0.5
        assert 0.5 < numbers.max() <= 1
        expected = sorted(range(20), key=lambda row: -float(numbers[row]))[:16]
        assert np.array_equal(answer, inputs[expected, :8])
        assert np.flatnonzero(inputs[:, 9]).tolist() == [20]


def test_the_next_bit_hangs_on_the_last_five() -> None:
    data = NgramData(length=3000)
    made = data.draw((3000,), 2, drawing())
    bits = made.asked[:, :, 0].astype(int)
    assert np.array_equal(made.inputs[:, 1:, 0], bits[:, :-1])
    assert not made.inputs[:, 0].any()
    shares: dict[tuple[int, ...], list[int]] = {}
    for place in range(5, 3000):
        shares.setdefault(tuple(bits[0, place - 5 : place]), []).append(bits[0, place])
    often = [float(np.mean(next_bits)) for next_bits in shares.values() if len(next_bits) > 40]
    assert len(often) > 3
    assert max(often) - min(often) > 0.4


def test_the_best_predictor_pays_what_counting_costs() -> None:
    data = NgramData(length=12)
    asked = data.draw((12,), 1, drawing(3)).asked
    bits = asked[0, :, 0].astype(int).tolist()
    cost, seen = 5.0, dict[tuple[int, ...], list[int]]()
    for place in range(5, 12):
        before = seen.setdefault(tuple(bits[place - 5 : place]), [])
        cost -= math.log2((before.count(bits[place]) + 0.5) / (len(before) + 1))
        before.append(bits[place])
    assert data.best_bits(asked) == pytest.approx(cost)


def test_the_best_predictor_pays_what_the_paper_says() -> None:
    """About 133 bits for 200 (figure 13)."""
    data = NgramData()
    assert data.best_bits(data.draw((200,), 500, drawing()).asked) == pytest.approx(133, abs=2)


def test_batches_are_as_large_as_the_longest_allows() -> None:
    task = Copy(CopyData(max_length=4))
    plans = task.batches(40, seed=1, epoch=0)
    assert {plan.rows for plan in plans} == {4}
    assert {plan.size for plan in plans} == {(1,), (2,), (3,), (4,)}
    plan = next(plan for plan in plans if plan.size == (3,))
    assert (task.padded_tokens(plan), task.target_tokens(plan)) == (4 * 7, 4 * 3 * 8)
    assert plans == task.batches(40, seed=1, epoch=0)
    assert plans != task.batches(40, seed=1, epoch=1)
    assert plans != task.batches(40, seed=2, epoch=0)
    with pytest.raises(UsageError, match=r"training\.batch_tokens = 8 holds no episode of 9 steps"):
        task.batches(8, seed=1, epoch=0)


def test_episodes_grow() -> None:
    task = RepeatCopy(RepeatCopyData(max_length=3, max_times=3, growth=1500))
    steps = [task.settings.shape(plan.size)[0] for epoch in (0, 1) for plan in task.batches(100, seed=1, epoch=epoch)]
    longest = [max(steps[start : start + 100]) for start in range(0, 2000, 100)]
    assert longest == sorted(longest)
    assert longest[0] < 5
    assert longest[12] < longest[-1] == largest(task.settings, task.settings.sizes())
    at_once = Copy(CopyData()).batches(100, seed=1, epoch=0)
    assert max(plan.size for plan in at_once[:60]) == (20,)


class Oracle:
    """Writes what was asked, but for the bits that it gets wrong."""

    def __init__(self, asked: Tensor, wrong: int) -> None:
        self.asked, self.wrong = asked, wrong
        self.config = TuringConfig()

    def __call__(self, inputs: Tensor) -> Tensor:
        logits = (self.asked * 2 - 1).clone()
        logits.flatten()[: self.wrong] *= -1
        return torch.cat((torch.full_like(inputs[:, : len(inputs[0]) - self.asked.shape[1], :8], 9), logits), 1)


def test_a_bit_costs_what_the_logistic_function_says() -> None:
    task = Copy(CopyData())
    batch = task.batch(task.batches(200, 1, 0)[0], drawing())
    loss, likelihood = task.loss(Oracle(batch.asked, wrong=3), batch, negative_log_likelihood)
    right, wrong = math.log1p(math.exp(-1)), math.log1p(math.exp(1))
    assert float(likelihood) == pytest.approx((batch.asked.numel() - 3) * right + 3 * wrong, rel=1e-5)
    assert float(loss) == pytest.approx(float(likelihood))
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        Oracle(batch.asked, 3)(batch.inputs)[:, -batch.asked.shape[1] :], batch.asked, reduction="sum"
    )
    assert float(likelihood) == pytest.approx(float(expected), rel=1e-5)


def test_smoothing_pulls_bits_towards_even_odds() -> None:
    task = Copy(CopyData())
    batch = task.batch(task.batches(200, 1, 0)[0], drawing())

    def measure(states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> tuple[Tensor, Tensor]:
        return smoothed_cross_entropy(states, weight, bias, targets, 0.2)

    loss, _ = task.loss(Oracle(batch.asked, 0), batch, measure)
    right, wrong = math.log1p(math.exp(-1)), math.log1p(math.exp(1))
    assert float(loss) == pytest.approx(batch.asked.numel() * (0.9 * right + 0.1 * wrong), rel=1e-5)


def machine(task: BitTask) -> NeuralTuringMachine:
    torch.manual_seed(0)
    inputs, outputs = task.settings.channels
    return NeuralTuringMachine(TuringConfig(inputs, outputs, d_controller=8, n_slots=6, d_slot=4)).eval()


@torch.no_grad()
def test_what_is_measured_is_what_was_written() -> None:
    task = Copy(CopyData(bits=3, min_length=2, max_length=3, beyond=(5,), dev=4))
    model = machine(task)
    found = task.validate(model, negative_log_likelihood, max_tokens=100, sentences=0)
    wrong, loss, count = dict[int, int](), 0.0, 0
    for length in (2, 3, 5):
        batch = task.dev((length,))
        logits = model(batch.inputs)[:, -length:]
        wrong[length] = int(((logits > 0).float() != batch.asked).sum())
        if length < 5:
            loss += float(torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.asked, reduction="sum"))
            count += batch.asked.numel()
    assert list(found) == ["loss", "bits", "wrong", "wrong 3", "wrong 5"]
    assert found["loss"] == pytest.approx(loss / count, rel=1e-5)
    assert found["bits"] == pytest.approx(loss / math.log(2) / 8, rel=1e-5)
    assert found["wrong"] == pytest.approx((wrong[2] + wrong[3]) / 8)
    assert (found["wrong 3"], found["wrong 5"]) == (wrong[3] / 4, wrong[5] / 4)
    assert found == task.validate(model, negative_log_likelihood, max_tokens=100, sentences=0)


def test_counting_is_measured_beside_the_best_that_can_be_done() -> None:
    task = Ngrams(NgramData(length=20, dev=50))
    found = task.validate(machine(task), negative_log_likelihood, max_tokens=100, sentences=0)
    assert 10 < found["best bits"] < found["bits"] < 25


def test_a_model_of_other_channels_is_refused() -> None:
    task = Recall(RecallData())
    batch = BitBatch(torch.zeros(1, 12, 8), torch.zeros(1, 3, 6))
    with pytest.raises(UsageError, match=r"model\.n_inputs = 9: this task needs 8\."):
        task.loss(NeuralTuringMachine(TuringConfig()), batch, negative_log_likelihood)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (CopyData, {"min_length": 5, "max_length": 4}, "min_length 5 is more than max_length 4"),
        (PrioritySortData, {"highest": 21}, "highest 21 is more than rows 20"),
        (RecallData, {"min_items": 7}, "min_items 7 is more than max_items 6"),
    ],
)
def test_data_that_cannot_be_are_refused(kind: type[BitData], fields: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**fields)


@pytest.mark.parametrize(
    "name", ["copy", "repeat-copy", "associative-recall", "priority-sort", "n-grams"], ids=lambda name: name
)
def test_recipes_fit_their_presets(name: str) -> None:
    for path in (RECIPES / f"{name}.toml", RECIPES / "full" / f"{name}.toml"):
        recipe = training.read_recipe(path)
        assert recipe.task == name
        assert isinstance(recipe.data, BitData)
        own: dict[str, Any] = dict(recipe.model.model_extra or {})
        config: Any = build(recipe.model.preset, **own).config
        assert (config.n_inputs, config.n_outputs) == recipe.data.channels
        assert issubclass(TASKS[name], BitTask)
        assert recipe.model.preset in PRESETS


def test_the_recipe_trains(tmp_path: Path) -> None:
    short = ["training.updates=4", "training.validate_every=2", "training.batch_tokens=60", "training.warmup=1"]
    small = ["model.n_slots=8", "model.d_controller=12", "data.max_length=3", "data.beyond=[4]", "data.dev=3"]
    out = training.train(training.read_recipe(RECIPES / "copy.toml", [*short, *small]), tmp_path / "run")
    card = (out / "README.md").read_text("utf-8")
    assert "Neural Turing Machine (Graves 2014)" in card
    assert "| wrong 4 | " in card
    assert tomllib.loads((out / "recipe.toml").read_text("utf-8"))["task"] == "copy"
    assert not (out / "tokenizer.json").exists()
