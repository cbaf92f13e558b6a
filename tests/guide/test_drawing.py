"""Readers who ask at the same time do not draw each other's random numbers."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.drawing import drawn
from allyouneed.guide.widgets.encoder_layer import fresh, fresh_config
from allyouneed.guide.widgets.path_length import largest, measured
from allyouneed.models.transformer import Transformer

PIECES = [
    {"snippet": snippet, "form": form, "heads": 2, "seed": 9}
    for snippet, form in product(["attention", "mask", "heads", "positions"], ["plain", "fast"])
]


def test_what_is_drawn_belongs_to_its_seed_whoever_draws_meanwhile() -> None:
    def numbers(seed: int) -> list[float]:
        with drawn(seed):
            return [float(torch.rand(())) for _ in range(300)]

    expected = [numbers(seed) for seed in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as readers:
            assert list(readers.map(numbers, range(8))) == expected
    finally:
        sys.setswitchinterval(interval)


def test_a_fresh_model_is_the_same_for_all_who_ask_at_once() -> None:
    kinds: list[tuple[str, Any]] = [("post", "relu"), ("pre", "relu"), ("post", "gelu"), ("pre", "swiglu")]

    def weights(kind: tuple[str, Any]) -> torch.Tensor:
        return torch.cat([weight.flatten() for weight in fresh.__wrapped__(*kind).parameters()])

    with ThreadPoolExecutor(4) as readers:
        found = list(readers.map(weights, kinds))
    with drawn(1):
        first = Transformer(fresh_config(*kinds[0]))
    assert torch.equal(found[0], torch.cat([weight.detach().flatten() for weight in first.parameters()]))
    assert all(torch.equal(one, weights(kind)) for one, kind in zip(found, kinds, strict=True))


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        *(("code", piece) for piece in PIECES),
        ("encoder-layer", {"block": "post", "activation": "gelu"}),
        ("path-length", {}),
        ("cost", {}),
        ("positions", {}),
    ],
)
def test_a_figure_leaves_the_numbers_of_others_alone(name: str, inputs: dict[str, Any], models: Models) -> None:
    for kept in (fresh, measured, largest):
        kept.cache_clear()
    before = torch.get_rng_state()
    WIDGETS[name].answer(inputs, models)
    assert torch.equal(torch.get_rng_state(), before)
