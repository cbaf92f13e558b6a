"""What all experiments share: going on, seeds, equal budgets, and what is said of a result."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from allyouneed.errors import InputError, UsageError
from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, quick_budget
from allyouneed.reproduce.figure import draw
from allyouneed.reproduce.frame import reproduce
from allyouneed.reproduce.registry import EXPERIMENTS, experiment
from allyouneed.reproduce.result import RESULTS, Cited, Made, Result, Row, TrainedArm, stored
from allyouneed.reproduce.table import cells, how, markdown, shown, spread

MADE = Made(
    date="2020-01-02",
    command="allyouneed reproduce toy",
    quick=False,
    seeds=[1, 2],
    updates=[1000, 2000],
    minutes=3.5,
    machine="x86_64, 2 cores, 1 thread",
    torch="2.6",
    arms=[TrainedArm(name="a", seed=1, parameters=5, updates=1000, minutes=1.5)],
)
TOY = Result(
    experiment="toy",
    title="A toy",
    note="Toys are counted.",
    keys=["kind", "size"],
    made=MADE,
    paper=[
        Cited(what="toys", value=3.0, source="Nobody 1900, table 1"),
        Cited(what="x", value=1, source="y", confirmed=True),
    ],
    rows=[
        {"kind": kind, "size": size, "loss": loss + seed / 10, "seed": seed}
        for seed in (1, 2)
        for kind, size, loss in (("a|b", 1, 1.0), ("a|b", 2, 0.5), ("c", 1, 2.0))
    ],
)


class Sorted(Experiment):
    """A sorter of two numbers; `broken` is measured wrong."""

    name = "sorted"
    title = "Sorting two numbers"
    note = "It sorts."
    paper = ()
    keys = ("model",)
    charts = (Chart("bars", x="model", y="loss"),)
    seeds = (1, 2)
    broken = False

    def arms(self, setting: Setting) -> list[Arm]:
        return [Arm("a sorter", "sort", (*quick_budget(64), "model.d_model=8", "data.numbers=2", "data.dev=10"))]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        if self.broken and setting.seed == 2:
            raise InputError("stopped on the way")
        return [{"model": name, "loss": arm.validate()["loss"]} for name, arm in trained.items()]


def test_a_run_that_was_stopped_goes_on_and_trains_nothing_again(tmp_path: Path) -> None:
    broken = Sorted()
    broken.broken = True
    with pytest.raises(InputError, match="stopped on the way"):
        reproduce(broken, tmp_path / "a")
    assert not (tmp_path / "a" / "sorted.json").exists()
    weights = sorted((tmp_path / "a" / "arms").glob("*/model.safetensors"))
    assert [path.parent.name for path in weights] == ["a-sorter-1", "a-sorter-2"]
    before = [path.stat().st_mtime_ns for path in weights]
    gone_on = reproduce(Sorted(), tmp_path / "a")
    assert [path.stat().st_mtime_ns for path in weights] == before
    assert gone_on.rows == reproduce(Sorted(), tmp_path / "b").rows
    assert [row["seed"] for row in gone_on.rows] == [1, 2]
    assert gone_on.made.updates == [12, 12]


def test_seeds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"seeds 3, 3 name one twice"):
        reproduce(Sorted(), tmp_path, seeds=[3, 3])
    assert reproduce(Sorted(), tmp_path, seeds=[3]).made.seeds == [3]


def test_an_unknown_experiment_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'no experiment "head", but bottleneck, .*Did you mean "heads"\?'):
        experiment("head")


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """A folder with a little of the corpus that full runs read."""
    for name in ("lm-en.dev.txt", "lm-en.txt.zst"):
        text = "Every one of the old sailors saw the ship. Nobody else was there that morning.\n\n" * 20
        if name.endswith(".zst"):
            import zstandard

            (tmp_path / name).write_bytes(zstandard.compress(text.encode()))
        else:
            (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_arms_of_a_full_run_have_one_budget(name: str, corpora: Path) -> None:
    arms = EXPERIMENTS[name].arms(Setting(1, False, corpora / "run", corpora))
    recipes = [arm.read(7) for arm in arms]
    budgets = {(r.training.updates, r.training.batch_tokens, r.training.accumulate) for r in recipes}
    assert len(budgets) == 1
    assert {recipe.seed for recipe in recipes} == {7}
    assert len({arm.name for arm in arms}) == len(arms)


def test_a_full_run_says_which_corpus_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no .*lm-en\.txt\.zst: name the folder of the corpora by --corpora"):
        EXPERIMENTS["positions"].arms(Setting(1, False, tmp_path, tmp_path / "none"))


def test_table() -> None:
    head, lines = cells(TOY)
    assert head == ["kind", "size", "loss"]
    assert lines == [
        ["a|b", "1", "1.150 (1.100 to 1.200)"],
        ["a|b", "2", "0.650 (0.600 to 0.700)"],
        ["c", "1", "2.150 (2.100 to 2.200)"],
    ]
    page = markdown(TOY)
    assert "| a\\|b | 2 | 0.650 (0.600 to 0.700) |" in page
    assert "| toys | 3 | Nobody 1900, table 1 (unconfirmed) |" in page
    assert "| x | 1 | y |" in page


def test_how_it_was_made() -> None:
    assert how(MADE) == (
        "Made on 2020-01-02 by `allyouneed reproduce toy`: seeds 1, 2, 1,000 to 2,000 updates a model, 1 models in 3.5 "
        "minutes of training (x86_64, 2 cores, 1 thread, torch 2.6)."
    )
    one = MADE.model_copy(update={"seeds": [4], "updates": [9, 9], "quick": True})
    assert "seed 4, 9 updates a model" in how(one)
    assert how(MADE.model_copy(update={"remark": "By night."})).endswith("torch 2.6). By night.")
    assert how(one).endswith("A quick run: it shows that all works, and its numbers mean nothing.")


@pytest.mark.parametrize(
    ("value", "text"), [(3, "3"), ("three", "three"), (0.12345, "0.123"), (12.345, "12.35"), (123.45, "123.5")]
)
def test_digits(value: str | int | float, text: str) -> None:
    assert shown(value) == text


def test_spread_of_what_some_rows_lack() -> None:
    assert spread([]) == "-"
    assert spread(["x", "x"]) == "x"
    assert spread([2.0]) == "2.000"


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_figures(kind: str) -> None:
    chart = Chart("bars" if kind == "bars" else "lines", x="size", y="loss", by=("kind",), unit="nats")
    assert draw(chart, TOY, ".png").startswith(b"\x89PNG")
    drawn = draw(chart, TOY, ".svg")
    assert drawn == draw(chart, TOY, ".svg")
    for text in (b"A toy", b"loss (nats)", b">size<", b">kind<", b">c<"):
        assert text in drawn
    assert drawn != draw(replace(chart, by=()), TOY, ".svg")


def test_stored_results_are_those_of_full_runs() -> None:
    assert stored("no such experiment") is None
    for path in RESULTS.glob("*.json"):
        result = stored(path.stem)
        assert result is not None
        assert path.stem in EXPERIMENTS
        assert not result.made.quick
        assert result.keys == list(EXPERIMENTS[path.stem].keys)
        assert {row["seed"] for row in result.rows} == {*result.made.seeds}
