"""Figures that show what the package's own experiments found, from a stored result and without one."""

from pathlib import Path
from typing import Any

import pytest

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.positions import claims
from allyouneed.reproduce import result as results
from allyouneed.reproduce.result import Made, Result, Row

MEASURED = {"loss", "BLEU", "perplexity"}
ORDERS = ("natural", "reversed", "three words reversed", "fixed shuffle")


def keep(folder: Path, name: str, rows: list[Row], seeds: int = 2) -> None:
    """Stores a result of two seeds, the second of which measured 2 more."""
    every: list[Row] = [
        {key: float(value) + 2 * seed if key in MEASURED else value for key, value in row.items()}
        for seed in range(seeds)
        for row in rows
    ]
    made = Made(
        date="2020-01-01",
        command="",
        quick=False,
        seeds=[1, 2],
        updates=[500, 500],
        minutes=3,
        machine="",
        torch="",
        arms=[],
    )
    kept = Result(experiment=name, title="", note="", keys=[], made=made, paper=[], rows=every)
    (folder / f"{name}.json").write_text(kept.model_dump_json(), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    return tmp_path


def ask(name: str, models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


def test_heads_show_the_models_trained_with_each(models: Models, folder: Path) -> None:
    assert ask("heads", models)["trained"]["made"] is None
    keep(folder, "heads", [{"heads": heads, "loss": 3.0 - heads / 8, "BLEU": 10.0 + heads} for heads in (1, 2, 4)])
    result = ask("heads", models)
    found = result["trained"]
    assert found["heads"] == [1, 2, 4]
    assert found["loss"] == [3.875, 3.75, 3.5]  # the mean of both seeds
    assert found["bleu"] == [12, 13, 15]
    assert found["made"] == {"seeds": 2, "updates": 500, "minutes": 3}
    assert [(one["heads"], one["value"]) for one in found["cited"]] == [
        (1, 24.9),
        (4, 25.5),
        (8, 25.8),
        (16, 25.8),
        (32, 25.4),
    ]
    claim = result["claims"][-1]
    assert (claim["word"], claim["value"], claim["holds"]) == ("4", 0.375, True)


def test_positions_show_what_reads_on(models: Models, folder: Path) -> None:
    assert ask("positions", models)["beyond"] == {"tokens": [], "curves": {}, "made": None}
    rows: list[Row] = [
        {"positions": name, "tokens read": tokens, "loss": 1.0 + rise * tokens}
        for name, rise in (("learned", 0.01), ("T5 bias", 0.0), ("ALiBi", -0.01))
        for tokens in (64, 128)
    ]
    keep(folder, "positions", rows)
    result = ask("positions", models)
    assert result["beyond"]["tokens"] == [64, 128]
    assert result["beyond"]["curves"]["learned"] == pytest.approx([2.64, 3.28])
    assert set(result["beyond"]["curves"]) == {"learned", "t5", "alibi"}
    assert {claim["word"]: claim["value"] for claim in result["claims"]} == {"alibi": -0.64, "learned": 0.64}
    assert all(claim["holds"] for claim in result["claims"])


def test_claims_of_positions_may_fail() -> None:
    assert [claim["holds"] for claim in claims({"alibi": [1.0, 1.1], "learned": [1.0, 0.9]})] == [False, False]
    assert claims({"rotary": [1.0, 2.0]}) == []


def test_order_shows_four_perplexities_of_each_model(models: Models, folder: Path) -> None:
    assert ask("order", models)["perplexities"] == {}
    rows: list[Row] = [
        {"text": text, "model": model, "order": order, "perplexity": level + step * place}
        for text, level in (("English prose", 80.0), ("Penn Treebank", 500.0))
        for model, step in (("LSTM", 10.0), ("Transformer", 5.0))
        for place, order in enumerate(ORDERS)
    ]
    keep(folder, "order", rows)
    result = ask("order", models)
    assert result["perplexities"]["LSTM"] == dict(zip(ORDERS, (81, 91, 101, 111), strict=True))
    assert result["perplexities"]["Transformer"]["fixed shuffle"] == 96
    assert [claim["holds"] for claim in result["claims"]] == [True, True, True]
    assert result["claims"][-1]["value"] == 15
