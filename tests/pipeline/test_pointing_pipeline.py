"""A loaded model that points: answers, their distributions, what they are beside the exact ones, and pictures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.errors import UsageError
from allyouneed.models.pointer import PointerConfig, PointerNetwork
from allyouneed.pipeline import Pointer, PointError, Translator, load
from allyouneed.tasks.pointing.geometry import area, convex_hull


def loaded(folder: Path, **fields: Any) -> Pointer:
    torch.manual_seed(1)
    model = PointerNetwork(PointerConfig.from_fields({"d_model": 16, "first_weights": "scaled", **fields}))
    save_model(folder, model, None)
    return load(folder, Pointer)


def sets_of(*sizes: int) -> list[Any]:
    draw = np.random.default_rng(2)
    return [draw.random((size, 2)).tolist() for size in sizes]


@pytest.mark.parametrize(
    "fields", [{}, {"output": "plain", "max_points": 12}, {"problem": "tour"}, {"problem": "triangulation"}]
)
def test_an_answer_says_all_about_itself(tmp_path: Path, fields: dict[str, Any]) -> None:
    if fields.get("problem") == "triangulation":
        pytest.importorskip("scipy")
    pipe = loaded(tmp_path / "model", **fields)
    (points,) = sets_of(8)
    found = pipe.point(points)
    assert set(found.indices) <= set(range(8))
    assert found.distributions.shape == (len(found.indices) + 1, 9)
    assert found.distributions.sum(1) == pytest.approx(1, abs=1e-5)
    chosen = found.distributions[np.arange(len(found.indices) + 1), [*found.indices, 8]]
    assert np.log(chosen.astype(float)).sum() == pytest.approx(found.logprob, abs=1e-4)
    if found.problem != "triangulation":  # which this model never ends of itself
        assert (chosen == found.distributions.max(1)).all()  # written greedily
    assert not found.scaled


def test_area_is_the_shoelaces(tmp_path: Path) -> None:
    pipe = loaded(tmp_path / "model")
    found = [pipe.point(points) for points in sets_of(*range(4, 12))]
    valid = [one for one in found if one.verdict is not None and one.verdict.valid]
    assert valid
    for one in found:
        points = one.points.tolist()
        hull = convex_hull(points)
        assert one.answer == hull
        assert one.exact == (one.verdict is not None and one.verdict.valid and one.ratio == 1.0)
        expected = abs(area(points, one.indices)) / area(points, hull) if one in valid else 0.0
        assert one.area_ratio == pytest.approx(expected)


@pytest.mark.parametrize("beam", [1, 3])
def test_many_sets_are_answered_as_one_by_one(tmp_path: Path, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = loaded(tmp_path / "model")
    sets = sets_of(6, 3, 9, 4, 7)
    alone = [pipe.point(points, beam=beam) for points in sets]
    monkeypatch.setattr("allyouneed.pipeline.pointing.COLUMNS", 16 * beam)  # several batches
    told: list[int] = []
    together = pipe.point_all(sets, beam=beam, on_progress=told.append)
    assert told[-1] == 5
    assert len(told) > 1
    for one, other in zip(alone, together, strict=True):
        assert one.indices == other.indices
        assert one.distributions == pytest.approx(other.distributions, abs=1e-5)


def test_other_frames_are_scaled_and_change_nothing(tmp_path: Path) -> None:
    pipe = loaded(tmp_path / "model")
    square = np.array([(0.0, 0.0), (1.0, 0.25), (0.5, 1.0), (0.25, 0.5), (0.75, 0.5)])
    found, moved = pipe.point(square.tolist()), pipe.point((square * 500 - 20).tolist())
    assert moved.scaled
    assert moved.indices == found.indices
    assert moved.area_ratio == pytest.approx(found.area_ratio)
    assert moved.distributions == pytest.approx(found.distributions, abs=1e-5)


@pytest.mark.parametrize(
    ("fields", "points", "error"),
    [
        ({}, [(0.1, 0.2), (0.3, 0.4)], "Set 2 has 2 points, and a hull needs 3 or more"),
        ({}, [(0.1, 0.2), (0.3, 0.4), (0.1, 0.2)], r"Set 2, point 2 is \(0\.1, 0\.2\), which point 0 of its set is"),
        ({}, [(0.1, 0.1), (0.2, 0.2), (0.4, 0.4)], "Set 2 has all its points on one line"),
        ({}, [(0.1, 0.1), (0.2, float("nan")), (0.4, 0.4)], r"Set 2, point 1 is \(0\.2, nan\): both coordinates"),
        ({"problem": "tour"}, [(0.1, 0.1)], "Set 2 has 1 point, and a tour needs 2 or more"),
        (
            {"output": "plain", "max_points": 5},
            [(0.1, 0.1), (0.2, 0.3), (0.4, 0.4), (0.5, 0.1), (0.6, 0.6), (0.9, 0.2)],
            "Set 2 has 6 points, and this model names 5 positions at most",
        ),
    ],
)
def test_sets_without_an_answer_are_named(
    tmp_path: Path, fields: dict[str, Any], points: list[tuple[float, float]], error: str
) -> None:
    pipe = loaded(tmp_path / "model", **fields)
    with pytest.raises(PointError, match=error):
        pipe.point_all([sets_of(4)[0], points])


def test_a_tour_of_very_many_cities_has_no_exact_answer(tmp_path: Path) -> None:
    found = loaded(tmp_path / "model", problem="tour").point(sets_of(61)[0])
    assert sorted(found.indices) == list(range(61))
    assert found.answer is found.verdict is found.exact is found.ratio is None


@pytest.mark.parametrize("suffix", [".png", ".svg", ".json"])
def test_an_answer_is_saved(tmp_path: Path, suffix: str) -> None:
    found = loaded(tmp_path / "model").point(sets_of(6)[0])
    path, again = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    found.save(path)
    found.save(again)
    assert path.read_bytes() == again.read_bytes()
    if suffix == ".json":
        assert json.loads(path.read_text())["indices"] == found.indices
    else:
        assert path.read_bytes()[:4] == (b"\x89PNG" if suffix == ".png" else b"<?xm")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    found = loaded(tmp_path / "model").point(sets_of(6)[0])
    with pytest.raises(UsageError, match=r"one of \.png, \.svg and \.json"):
        found.save(tmp_path / "one.pdf")


def test_a_model_that_points_is_no_translator(tmp_path: Path) -> None:
    loaded(tmp_path / "model")
    with pytest.raises(UsageError, match="is a model that points at points, and this needs"):
        load(tmp_path / "model", Translator)


def test_shipped_models_answer_as_their_cards_say() -> None:
    """The pointer network is right about more sets of ten points than not, and better than both that name positions."""
    sets = sets_of(*[10] * 60)
    right = {
        name: sum(one.exact is True for one in load(f"zoo:{name}", Pointer).point_all(sets))
        for name in ("hull", "hull-attention", "hull-lstm")
    }
    assert right["hull"] > 30
    assert right["hull"] > max(right["hull-attention"], right["hull-lstm"])
