"""Addressing: each stage is its formula and a weighting; nothing overflows where a vector is 0 or a power is 100."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from allyouneed.parts.addressing import (
    Addresses,
    Directions,
    Similarity,
    address,
    by_content,
    interpolate,
    naive_sharpen,
    naive_shift,
    read,
    sharpen,
    shift,
    write,
)

B, H, N, W = 3, 2, 7, 4


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def weighting(*shape: int, seed: int = 1) -> Tensor:
    return drawn(*shape, seed=seed).softmax(-1)


def directions(shifts: int = 3) -> Directions:
    return Directions(
        key=drawn(B, H, W, seed=2),
        strength=drawn(B, H, 1, seed=3).exp(),
        gate=drawn(B, H, 1, seed=4).sigmoid(),
        shifts=weighting(B, H, shifts, seed=5),
        power=1 + drawn(B, H, 1, seed=6).exp(),
    )


def test_content_is_a_softmax_of_cosines() -> None:
    memory, key, strength = drawn(B, N, W), drawn(B, H, W, seed=2), drawn(B, H, 1, seed=3).exp()
    found = by_content(memory, key, strength)
    for b in range(B):
        for h in range(H):
            raised = []
            for i in range(N):
                k, m = key[b, h].tolist(), memory[b, i].tolist()
                product = sum(one * other for one, other in zip(k, m, strict=True))
                raised.append(math.exp(float(strength[b, h]) * product / (math.hypot(*k) * math.hypot(*m))))
            for i in range(N):
                assert float(found[b, h, i]) == pytest.approx(raised[i] / sum(raised), rel=1e-6)


def test_dot_is_the_attention_of_a_transformer() -> None:
    memory, key = drawn(B, N, W), drawn(B, H, W, seed=2)
    found = by_content(memory, key, torch.ones(B, H, 1), "dot") @ memory
    expected = torch.nn.functional.scaled_dot_product_attention(key, memory, memory)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_shift_is_a_circular_convolution(steps: int) -> None:
    weights, shifts = weighting(B, H, N), weighting(B, H, steps, seed=5)
    torch.testing.assert_close(shift(weights, shifts), naive_shift(weights, shifts))


def test_a_shift_by_one_goes_to_the_next_slot_and_around_the_end() -> None:
    here, forward = torch.eye(N)[None], torch.tensor([[[0.0, 0.0, 1.0]]]).expand(1, N, 3)
    assert torch.equal(shift(here, forward)[0], torch.eye(N).roll(1, 1))
    assert torch.equal(shift(here, forward.flip(-1))[0], torch.eye(N).roll(-1, 1))


def test_sharpening_is_a_power_and_a_division() -> None:
    weights, power = weighting(B, H, N), directions().power
    torch.testing.assert_close(sharpen(weights, power), naive_sharpen(weights, power))


def test_a_power_beyond_float32_still_finds_the_largest() -> None:
    weights = torch.full((1, 1, 128), 1 / 128)
    weights[0, 0, 5] *= 2
    assert naive_sharpen(weights, torch.tensor(100.0)).isnan().any()
    assert float(sharpen(weights, torch.tensor(100.0))[0, 0, 5]) == 1


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_every_stage_is_a_weighting(similarity: Similarity) -> None:
    found = address(drawn(B, N, W), directions(), weighting(B, H, N, seed=9), similarity=similarity)
    assert found._fields == ("content", "interpolated", "shifted", "sharpened")
    for stage in found:
        assert bool((stage >= 0).all())
        torch.testing.assert_close(stage.sum(-1), torch.ones(B, H, dtype=torch.float64))


def test_stages_follow_one_another() -> None:
    memory, told, before = drawn(B, N, W), directions(), weighting(B, H, N, seed=9)
    found = address(memory, told, before)
    torch.testing.assert_close(found.content, by_content(memory, told.key, told.strength))
    torch.testing.assert_close(found.interpolated, told.gate * found.content + (1 - told.gate) * before)
    torch.testing.assert_close(found.shifted, naive_shift(found.interpolated, told.shifts))
    torch.testing.assert_close(found.sharpened, naive_sharpen(found.shifted, told.power))


def test_by_content_alone_the_other_stages_do_nothing() -> None:
    memory, told = drawn(B, N, W), directions()
    found = address(memory, told, weighting(B, H, N), by_location=False)
    assert all(torch.equal(stage, found.content) for stage in found)
    torch.testing.assert_close(found.content, by_content(memory, told.key, told.strength))


@pytest.mark.parametrize("gate", [0.0, 1.0])
def test_the_gate_chooses_between_content_and_where_the_head_was(gate: float) -> None:
    content, before = weighting(B, H, N), weighting(B, H, N, seed=2)
    found = interpolate(content, before, torch.full((B, H, 1), gate, dtype=torch.float64))
    torch.testing.assert_close(found, content if gate else before)


def extreme(memory: Tensor, key: Tensor, before: Tensor, power: float) -> list[Tensor]:
    """All inputs of `address` as float32 leaves."""
    told = directions()
    inputs = (memory, key, told.strength, told.gate, told.shifts, torch.full((B, H, 1), power), before)
    return [one.detach().float().clone().requires_grad_() for one in inputs]


@pytest.mark.parametrize("power", [1.0, 100.0])
@pytest.mark.parametrize("empty", ["memory", "key", "before", "all"])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_zeros_and_large_powers_keep_values_and_gradients_finite(
    power: float, empty: str, similarity: Similarity
) -> None:
    def zero(name: str, value: Tensor) -> Tensor:
        return value * 0 if empty in (name, "all") else value

    leaves = extreme(
        zero("memory", drawn(B, N, W)), zero("key", drawn(B, H, W)), zero("before", weighting(B, H, N)), power
    )
    memory, key, strength, gate, shifts, sharpness, before = leaves
    found = address(memory, Directions(key, strength, gate, shifts, sharpness), before, similarity=similarity)
    for stage in found:
        assert bool(stage.isfinite().all())
    (found.sharpened * torch.arange(N)).sum().backward()
    for leaf in leaves:
        assert leaf.grad is not None
        assert bool(leaf.grad.isfinite().all())


def test_a_weight_of_exactly_0_has_a_finite_gradient_under_any_power() -> None:
    for power in (1.0, 2.0, 100.0):
        weights = torch.tensor([[[0.0, 0.25, 0.75]]], requires_grad=True)
        sharpness = torch.full((1, 1, 1), power, requires_grad=True)
        (sharpen(weights, sharpness) * torch.tensor([3.0, 2.0, 1.0])).sum().backward()
        assert weights.grad is not None
        assert sharpness.grad is not None
        assert bool(weights.grad.isfinite().all())
        assert bool(sharpness.grad.isfinite().all())


def test_reading_is_a_weighted_sum_of_slots() -> None:
    memory, weights = drawn(B, N, W), weighting(B, H, N)
    expected = sum(weights[:, :, i, None] * memory[:, None, i] for i in range(N))
    torch.testing.assert_close(read(memory, weights), expected)


def test_writing_erases_by_all_heads_and_then_adds() -> None:
    memory, weights = drawn(B, N, W), weighting(B, H, N)
    erase, add = drawn(B, H, W, seed=4).sigmoid(), drawn(B, H, W, seed=5)
    expected = memory.clone()
    for i in range(N):
        for h in range(H):
            expected[:, i] *= 1 - weights[:, h, i, None] * erase[:, h]
        for h in range(H):
            expected[:, i] += weights[:, h, i, None] * add[:, h]
    torch.testing.assert_close(write(memory, weights, erase, add), expected)


def test_a_sharp_head_replaces_a_slot_and_leaves_the_others() -> None:
    memory, head = drawn(1, N, W), torch.eye(N, dtype=torch.float64)[None, 2:3]
    new = drawn(1, 1, W, seed=8)
    after = write(memory, head, torch.ones(1, 1, W, dtype=torch.float64), new)
    torch.testing.assert_close(after[0, 2], new[0, 0])
    others = [i for i in range(N) if i != 2]
    assert torch.equal(after[0, others], memory[0, others])
    torch.testing.assert_close(read(after, head), new)


def test_stages_are_named_tuples_of_one_shape() -> None:
    found = address(drawn(B, N, W), directions(5), weighting(B, H, N))
    assert isinstance(found, Addresses)
    assert {tuple(stage.shape) for stage in found} == {(B, H, N)}


Stage = Callable[[Tensor, Tensor], Tensor]


@pytest.mark.parametrize(
    ("fast", "naive", "told"),
    [(sharpen, naive_sharpen, directions().power), (shift, naive_shift, directions().shifts)],
    ids=["sharpen", "shift"],
)
def test_gradients_are_those_of_the_definition(fast: Stage, naive: Stage, told: Tensor) -> None:
    found: list[tuple[Tensor, ...]] = []
    for form in (fast, naive):
        weights = weighting(B, H, N).requires_grad_()
        other = told.clone().requires_grad_()
        found.append(torch.autograd.grad((form(weights, other) * drawn(B, H, N, seed=7)).sum(), (weights, other)))
    torch.testing.assert_close(found[0], found[1])
