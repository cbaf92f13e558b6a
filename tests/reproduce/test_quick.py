"""Every experiment as a quick run: all of it works, and its table, figures and numbers are whole."""

import math
from pathlib import Path

import pytest

from allyouneed.reproduce.experiment import Setting
from allyouneed.reproduce.frame import reproduce
from allyouneed.reproduce.registry import EXPERIMENTS
from allyouneed.reproduce.result import Result
from allyouneed.reproduce.table import measures


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_run(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    result = reproduce(experiment, tmp_path, quick=True, command="a command")

    groups = [tuple(row[key] for key in experiment.keys) for row in result.rows]
    assert groups
    assert len({*groups}) == len(groups), "one row for each of the keys"
    for measure in measures(result):
        values = [row[measure] for row in result.rows if measure in row]
        assert all(isinstance(value, int | float) and math.isfinite(value) for value in values), measure
    for chart in experiment.charts:
        assert all(chart.x in row for row in result.rows)
        assert any(chart.y in row for row in result.rows)

    numbers = [""] if len(experiment.charts) == 1 else [f"-{i + 1}" for i in range(len(experiment.charts))]
    figures = [f"{name}{number}{suffix}" for number in numbers for suffix in (".png", ".svg")]
    files = {path.name for path in tmp_path.iterdir()}
    assert {f"{name}.json", f"{name}.md", *figures} <= files
    assert Result.model_validate_json((tmp_path / f"{name}.json").read_bytes()) == result
    page = (tmp_path / f"{name}.md").read_text("utf-8")
    assert experiment.title in page
    assert "its numbers mean nothing" in page

    seed = experiment.seeds[0]
    assert result.made.quick
    assert result.made.seeds == [seed]
    arms = experiment.arms(Setting(seed, True, tmp_path, tmp_path / "nowhere"))
    assert [arm.name for arm in result.made.arms] == [arm.name for arm in arms]
    assert all(arm.seed == seed and arm.parameters > 0 for arm in result.made.arms)
