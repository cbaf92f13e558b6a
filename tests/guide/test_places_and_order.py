import math
from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.order_blind import matched, outputs
from allyouneed.parts.relative import alibi_slopes
from allyouneed.pipeline import Translator


def ask(models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS["positions"].answer(inputs, models)


def test_table_has_the_papers_values(models: Models) -> None:
    cells = np.array(ask(models)["cells"])
    assert cells.shape == (64, 100)
    wanted = {(0, 0): 0, (0, 1): 1, (1, 0): 0.8415, (1, 1): 0.5403, (10, 6): -0.8798, (10, 7): -0.4754}
    for (position, dimension), value in wanted.items():
        assert cells[dimension, position] == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(("i", "wanted"), [(6, 14.90), (0, 6.283), (62, 47117), (7, 14.90)])
def test_wavelengths_grow_by_one_ratio(models: Models, i: int, wanted: float) -> None:
    assert ask(models, i=i)["wavelength"] == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
@pytest.mark.parametrize(("i", "k"), [(0, 1), (6, 5), (62, -50), (30, 50)])
def test_shift_is_a_turn_and_products_know_the_distance_alone(models: Models, kind: str, i: int, k: int) -> None:
    result = ask(models, kind=kind, i=i, k=k)
    assert result["residual"] < 1e-6
    assert result["spread"] < 1e-4
    (a, b), (c, d) = result["rotation"]
    assert a * d - b * c == pytest.approx(1, abs=1e-4)
    angle = k / 10_000 ** (2 * (i // 2) / 64)
    assert (a, b) == pytest.approx((math.cos(angle), math.sin(angle)), abs=1e-5)


def test_learned_products_depend_on_the_place(models: Models) -> None:
    result = ask(models, kind="learned")
    assert not result["own"]
    assert result["spread"] > 0.1
    assert "wavelength" not in result


def test_rotary_numbers_are_the_models_own(models: Models) -> None:
    assert ask(models, kind="rotary", model="zoo:lm-en")["own"]
    assert not ask(models, kind="rotary")["own"]
    assert ask(models, model="zoo:lm-en")["scheme"] == "rotary"


def test_alibi_falls_linearly_and_t5_counts_buckets(models: Models) -> None:
    slopes = ask(models, kind="alibi", i=2)
    assert np.array(slopes["cells"])[2] == pytest.approx(-alibi_slopes(8)[2].item() * np.arange(100), rel=1e-4)
    buckets = ask(models, kind="t5")
    assert buckets["buckets"][:16] == list(range(16))
    assert np.array(buckets["cells"]).sum(0).tolist() == [1.0] * 100
    assert buckets["buckets"] == sorted(buckets["buckets"])


def test_dimension_and_position_are_brought_within_the_table(models: Models) -> None:
    result = ask(models, i=127, p=199, d=8, length=20)
    assert result["used"] == {"i": 7, "p": 19} == result["limits"]


@pytest.mark.parametrize("own", ["zoo:en-fr", "zoo:mlm-en"])
def test_without_positions_another_order_gives_the_same_outputs(models: Models, own: str) -> None:
    result = WIDGETS["order-blind"].answer({"first": "The cat sat.", "second": "sat. The cat", "model": own}, models)
    if sorted(map(str, result["tokens"])) == sorted(map(str, result["others"])):
        assert result["without"] < 1e-5
        assert result["with"] > 0.01
        assert result["largest"] == result["without"]


def test_positions_are_back_afterwards(models: Models, pipe: Translator) -> None:
    ids = pipe.tokenizer.encode("cat mat cat")
    before = outputs(pipe.model, ids, positions=True)
    silent = outputs(pipe.model, ids, positions=False)
    assert (before - silent).abs().max() > 0.01
    assert torch.equal(outputs(pipe.model, ids, positions=True), before)


def test_like_tokens_are_matched_in_order() -> None:
    assert matched([5, 7, 5], [7, 5, 5]) == [1, 0, 2]


def test_other_words_are_refused(models: Models) -> None:
    with pytest.raises(FigureError, match="not made of the same tokens"):
        WIDGETS["order-blind"].answer({"second": "the dog slept"}, models)
