"""The task that teaches to point: what is drawn, what is learned, what is measured, and that it all is the seed's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.checkpoints.native import load_model
from allyouneed.errors import UsageError
from allyouneed.models.pointer import PointerConfig, PointerNetwork
from allyouneed.tasks.pointing.geometry import convex_hull
from allyouneed.tasks.pointing.questions import answers
from allyouneed.tasks.pointing.task import PointData, Pointing, draw_sets, longest_answer, tensors, write
from allyouneed.training.loss import negative_log_likelihood
from allyouneed.training.recipe import parse_recipe
from allyouneed.training.run import train


def task_of(**fields: Any) -> Pointing:
    values: dict[str, Any] = {"min_points": 4, "max_points": 9, "dev_sizes": (4, 6), "dev_sets": 5}
    data = PointData(**values | fields)
    return Pointing.prepare(data, vocab_size=0, seed=1, folder=Path(), report=lambda text: None)


def small(**fields: Any) -> PointerNetwork:
    torch.manual_seed(0)
    return PointerNetwork(PointerConfig.from_fields({"d_model": 16, **fields}))


def test_batches_are_the_seeds_and_within_their_room() -> None:
    task = task_of()
    plans = task.batches(60, 3, 1)
    assert plans == task.batches(60, 3, 1)
    assert plans != task.batches(60, 3, 2)
    assert {size for _, size in plans} == set(range(4, 10))
    assert all(task.padded_tokens(plan) <= 60 for plan in plans)
    one, again, other = (task.batch((3, 5), np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.points, again.points)
    assert torch.equal(one.target, again.target)
    assert not torch.equal(one.points, other.points)


def test_the_largest_sets_grow() -> None:
    task = task_of(growth=5)
    largest = [max(size for _, size in task.batches(60, 1, epoch)) for epoch in range(6)]
    assert largest == [5, 6, 7, 8, 9, 9]


@pytest.mark.parametrize("problem", ["hull", "tour", "triangulation"])
def test_a_batch_holds_the_exact_answers(problem: Any) -> None:
    if problem == "triangulation":
        pytest.importorskip("scipy")
    batch = task_of(problem=problem).batch((6, 7), np.random.default_rng(0))
    exact = answers(problem, batch.points.numpy())
    for row, target, real in zip(exact, batch.target, batch.real, strict=True):
        assert target[real].tolist() == [*(number + 1 for number in row), 0]
        assert len(row) < longest_answer(problem, 7)
    assert batch.points.shape == (6, 7, 2)
    assert float(batch.points.min()) >= 0
    assert float(batch.points.max()) < 1


@pytest.mark.parametrize("problem", ["hull", "tour", "triangulation"])
def test_exact_answers_have_a_chance(problem: Any) -> None:
    """What the model holds to be impossible is never the answer."""
    if problem == "triangulation":
        pytest.importorskip("scipy")
    task, model = task_of(problem=problem), small(problem=problem)
    loss, likelihood = task.loss(model, task.batch((40, 8), np.random.default_rng(5)), negative_log_likelihood)
    assert torch.isfinite(loss)
    assert torch.equal(loss.detach(), likelihood)


def test_the_loss_is_that_of_whole_answers() -> None:
    sets = draw_sets(3, 5, np.random.default_rng(1))
    rows = [convex_hull(points) for points in sets.tolist()]
    assert len(set(map(len, rows))) > 1  # so that some are padded
    model, task = small().eval(), task_of()
    together = float(task.loss(model, tensors(sets, rows), negative_log_likelihood)[1])
    alone = [
        float(task.loss(model, tensors(sets[i : i + 1], rows[i : i + 1]), negative_log_likelihood)[1]) for i in range(3)
    ]
    assert together == pytest.approx(sum(alone), rel=1e-5)


def test_measures_tell_right_from_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = task_of(), small().eval()
    measures = task.validate(model, negative_log_likelihood, max_tokens=20, sentences=5)
    assert set(measures) >= {"loss", "exact 4", "valid 4", "exact 6", "valid 6"}
    assert measures["exact 6"] < 1
    exact = iter([row for _, rows in task.dev for row in rows])

    def told(model: PointerNetwork, points: torch.Tensor) -> list[list[int]]:
        return [next(exact) for _ in range(len(points))]

    monkeypatch.setattr("allyouneed.tasks.pointing.task.write", told)
    best = task.validate(model, negative_log_likelihood, max_tokens=20, sentences=5)
    assert best["exact 4"] == best["exact 6"] == best["valid 6"] == best["area 4"] == 1
    assert best["loss"] == measures["loss"]
    assert set(task.validate(model, negative_log_likelihood, max_tokens=20, sentences=0)) == {"loss"}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"min_points": 2}, 'data.min_points = 2: the problem "hull" needs 3 points or more'),
        ({"dev_sizes": (5, 1)}, 'data.dev_sizes = 1: the problem "hull" needs 3 points or more'),
        ({"max_points": 3}, "data.max_points = 3 is less than data.min_points = 4"),
    ],
)
def test_data_that_cannot_be(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        task_of(**fields)


def test_batches_without_room_are_refused() -> None:
    with pytest.raises(UsageError, match=r"training\.batch_tokens = 8 holds no set of 9 points"):
        task_of().batches(8, 1, 0)


def test_model_and_data_must_ask_the_same() -> None:
    task = task_of(problem="tour")
    with pytest.raises(UsageError, match=r'data\.problem = "tour" and model\.problem = "hull" must be one'):
        task.loss(small(), task.batch((2, 4), np.random.default_rng(0)), negative_log_likelihood)


RECIPE: dict[str, Any] = {
    "task": "pointing",
    "model": {"preset": "pointer-small", "d_model": 24, "d_attention": 24},
    "training": {
        "updates": 400,
        "batch_tokens": 144,
        "peak_rate": 1e-2,
        "warmup": 10,
        "cooldown": 50,
        "label_smoothing": 0.0,
        "clip_norm": 2.0,
        "validate_every": 75,
        "checkpoint_every": 150,
        "average": 1,
    },
    "data": {"min_points": 3, "max_points": 3, "dev_sizes": [3], "dev_sets": 100},
}


def test_training_learns_the_way_around_a_triangle(tmp_path: Path) -> None:
    """Of three points the hull has all: what is learned is which way round is counter-clockwise."""
    train(parse_recipe(RECIPE, "recipe"), tmp_path / "run")
    saved = load_model(tmp_path / "run")
    sets = draw_sets(200, 3, np.random.default_rng(77))
    model: Any = saved.model
    written = write(model, torch.from_numpy(sets))
    right = sum(row == convex_hull(points) for row, points in zip(written, sets.tolist(), strict=True))
    assert right > 135  # half of them would be by chance
    assert "Pointer network (Vinyals 2015)" in (tmp_path / "run" / "README.md").read_text()
    assert saved.tokenizer is None


def test_a_training_that_stopped_goes_on_bit_for_bit(tmp_path: Path) -> None:
    short = {**RECIPE, "training": {**RECIPE["training"], "updates": 12, "checkpoint_every": 4, "cooldown": 2}}
    train(parse_recipe(short, "recipe"), tmp_path / "whole")
    first = {**short, "training": {**short["training"], "updates": 6, "cooldown": 0}}
    train(parse_recipe(first, "recipe"), tmp_path / "stopped")
    longer = {**short, "training": {**short["training"]}}
    train(parse_recipe(longer, "recipe"), tmp_path / "stopped")
    whole, stopped = (load_model(tmp_path / name).model.state_dict() for name in ("whole", "stopped"))
    assert all(torch.equal(whole[name], stopped[name]) for name in whole)
