"""Rotary positions: what they promise, and each scaling against another implementation or its formula."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from allyouneed.parts.positions import Rotary, RotaryLayout, positions_within, rotate, sinusoids, sinusoids_in_halves

LAYOUTS: list[RotaryLayout] = ["halves", "pairs"]


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def turned(x: Tensor, position: int, rotary: Rotary) -> Tensor:
    """One head's vector [K] at a position."""
    return rotate(x.view(1, 1, 1, -1), rotary.turn(torch.tensor([position])), rotary.layout).flatten()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_score_depends_on_the_distance_alone(layout: RotaryLayout) -> None:
    rotary = Rotary(8, layout=layout)
    query, key = heads(8), heads(8, seed=1)
    scores = [float(turned(query, 5 + shift, rotary) @ turned(key, 2 + shift, rotary)) for shift in (0, 1, 40, 300)]
    assert scores == pytest.approx([scores[0]] * 4, abs=2e-4)
    assert float(turned(query, 5, rotary) @ turned(key, 3, rotary)) != pytest.approx(scores[0], abs=1e-2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_turning_keeps_lengths_and_leaves_position_zero_alone(layout: RotaryLayout) -> None:
    rotary = Rotary(8, layout=layout)
    x = heads(8)
    torch.testing.assert_close(turned(x, 0, rotary), x)
    assert float(turned(x, 77, rotary).norm()) == pytest.approx(float(x.norm()), rel=1e-5)


def test_pairs_turn_as_in_the_paper() -> None:
    x, position = heads(6), 3
    expected = torch.empty(6)
    for pair in range(3):
        angle = position * 10_000 ** (-2 * pair / 6)
        left, right = float(x[2 * pair]), float(x[2 * pair + 1])
        expected[2 * pair] = left * math.cos(angle) - right * math.sin(angle)
        expected[2 * pair + 1] = left * math.sin(angle) + right * math.cos(angle)
    torch.testing.assert_close(turned(x, position, Rotary(6, layout="pairs")), expected)


def test_the_layouts_are_a_permutation_of_each_other() -> None:
    x = heads(1, 2, 5, 8)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # where "halves" looks for what "pairs" keeps side by side
    turn = Rotary(8).turn(torch.arange(5))
    torch.testing.assert_close(rotate(x[..., order], turn, "halves"), rotate(x, turn, "pairs")[..., order])


def test_halves_are_the_other_implementations() -> None:
    query, key = heads(2, 3, 5, 8), heads(2, 3, 5, 8, seed=1)
    turn = Rotary(8).turn(torch.arange(5))
    whole = [torch.cat((part, part), -1)[None] for part in turn]
    theirs: tuple[Tensor, Tensor] = apply_rotary_pos_emb(query, key, whole[0], whole[1])
    torch.testing.assert_close(rotate(query, turn, "halves"), theirs[0])
    torch.testing.assert_close(rotate(key, turn, "halves"), theirs[1])


def test_a_share_of_a_head_is_turned_and_the_rest_is_left() -> None:
    x = heads(1, 2, 5, 8)
    turn = Rotary(4).turn(torch.arange(5))
    out = rotate(x, turn, "halves")
    assert torch.equal(out[..., 4:], x[..., 4:])
    torch.testing.assert_close(out[..., :4], rotate(x[..., :4], turn, "halves"))


SCALED: dict[str, tuple[Rotary, dict[str, Any]]] = {
    "linear": (Rotary(64, scaling="linear", factor=4.0), {"rope_type": "linear", "factor": 4.0}),
    "llama3": (
        Rotary(64, base=500_000.0, scaling="llama3", factor=8.0, trained_length=8192, low=1.0, high=4.0),
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    "yarn": (
        Rotary(64, scaling="yarn", factor=16.0, trained_length=4096, low=1.0, high=32.0),
        {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096},
    ),
    "yarn with its numbers given": (
        Rotary(64, scaling="yarn", factor=4.0, trained_length=2048, low=2.0, high=16.0, attention=0.75),
        {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "beta_slow": 2.0,
            "beta_fast": 16.0,
            "attention_factor": 0.75,
        },
    ),
}


@pytest.mark.parametrize("name", SCALED)
def test_scalings_are_the_other_implementations(name: str) -> None:
    rotary, parameters = SCALED[name]
    config = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        head_dim=64,
        max_position_embeddings=65_536,
        rope_parameters={"rope_theta": rotary.base, **parameters},
    )
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, torch.device("cpu"))
    torch.testing.assert_close(rotary.frequencies().float(), frequencies, atol=0, rtol=2e-6)
    assert rotary.magnitude == pytest.approx(magnitude)
    cosine, sine = rotary.turn(torch.tensor([0, 3]))
    assert float(cosine[0, 0]) == pytest.approx(magnitude)
    assert float(sine[1, 0]) == pytest.approx(magnitude * math.sin(3 * float(frequencies[0])), abs=1e-6)


def test_a_raised_base_slows_the_slowest_pair_by_the_factor_and_the_fastest_by_nothing() -> None:
    plain, slowed = Rotary(16).frequencies(), Rotary(16, scaling="ntk", factor=4.0).frequencies()
    assert float(slowed[0] / plain[0]) == pytest.approx(1.0)
    assert float(slowed[-1] / plain[-1]) == pytest.approx(1 / 4)
    base = 10_000 * 4 ** (16 / 14)
    expected = [base ** (-2 * pair / 16) for pair in range(8)]
    assert slowed.tolist() == pytest.approx(expected)


def test_scaled_positions_keep_fast_pairs_and_slow_slow_ones() -> None:
    for rotary in (SCALED["llama3"][0], SCALED["yarn"][0]):
        change = rotary.frequencies() / replace(rotary, scaling="none").frequencies()
        assert float(change[0]) == 1.0
        assert float(change[-1]) == pytest.approx(1 / rotary.factor)
        assert bool((change.diff() <= 1e-12).all())


def test_sines_before_cosines_are_the_same_numbers() -> None:
    plain, halves = sinusoids(9, 8), sinusoids_in_halves(9, 8)
    torch.testing.assert_close(halves[:, :4], plain[:, 0::2])
    torch.testing.assert_close(halves[:, 4:], plain[:, 1::2])


def test_positions_begin_again_with_each_document() -> None:
    documents = torch.tensor([[4, 4, 4, 2, 2, 7], [1, 0, 0, 0, 1, 1]])
    assert positions_within(documents).tolist() == [[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 0, 1]]
