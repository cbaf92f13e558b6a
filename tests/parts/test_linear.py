"""Fast forms that stand beside torch's own or beside a definition: the same values, and the same gradients."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from allyouneed.parts import feedforward
from allyouneed.parts import linear as room
from allyouneed.parts.feedforward import ACTIVATIONS, BLOCK, Activation, Gate, naive_gate
from allyouneed.parts.linear import ENOUGH, Linear, linear
from allyouneed.parts.norms import RMSNorm, naive_rms_norm
from allyouneed.parts.positions import Rotary, RotaryLayout, naive_rotate, rotate


def same(fast: Callable[..., Tensor], naive: Callable[..., Tensor], *inputs: Tensor, error: float = 1e-9) -> None:
    """Compares the values, and the gradients of all inputs."""
    results: list[list[Tensor]] = []
    for function in (fast, naive):
        leaves = [x.clone().requires_grad_() for x in inputs]
        value = function(*leaves)
        pull = torch.randn(value.shape, generator=torch.Generator().manual_seed(5)).to(value)
        results.append([value, *torch.autograd.grad((value * pull).sum(), leaves)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, atol=error, rtol=error)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("shape", [(64, 128), (4, 16, 128), (4, 2, 8, 128)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_large_product_is_torchs_product(shape: tuple[int, ...], biased: bool) -> None:
    x, weight, bias = (
        draw(*size, seed=seed, dtype=torch.float32) for seed, size in enumerate((shape, (256, 128), (256,)))
    )
    assert x.numel() * len(weight) >= ENOUGH
    given = (x, weight, bias) if biased else (x, weight)
    same(linear, functional.linear, *given, error=2e-4)
    with torch.no_grad():
        torch.testing.assert_close(linear(*given), functional.linear(*given), atol=2e-5, rtol=1e-5)


def test_only_large_products_in_float32_on_the_processor_are_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []

    def noted(x: Tensor, weight: Tensor, bias: Tensor | None, then: str = "none") -> Tensor:
        called.append(x.numel())
        return functional.linear(x, weight, bias)

    monkeypatch.setattr(room, "onednn_linear", noted)
    weight = torch.zeros(256, 128)
    for x in (torch.zeros(63, 128), torch.zeros(64, 128).double(), torch.zeros(128)):
        linear(x, weight.to(x.dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(torch.zeros(64, 128), weight).dtype == torch.bfloat16
    assert not called
    linear(torch.zeros(64, 128), weight)
    assert called == [64 * 128]


def test_the_layer_has_torchs_names_and_a_frozen_part_gets_no_gradient() -> None:
    layer = Linear(128, 256)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    layer.weight.requires_grad_(False)
    x = draw(64, 128, dtype=torch.float32)
    layer(x).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((256,), 64.0))


def test_rms_norm_is_its_definition() -> None:
    norm = RMSNorm(8, eps=1e-2)
    x, weight = draw(3, 5, 8), draw(8, seed=1)

    def fast(x: Tensor, weight: Tensor) -> Tensor:
        return torch.func.functional_call(norm, {"weight": weight}, (x,))

    same(fast, partial(naive_rms_norm, epsilon=1e-2), x, weight)
    with torch.no_grad():
        torch.testing.assert_close(fast(x, weight), naive_rms_norm(x, weight, 1e-2))


@pytest.mark.parametrize("layout", ["halves", "pairs"])
@pytest.mark.parametrize("width", [8, 6])
def test_turning_is_its_definition(layout: RotaryLayout, width: int) -> None:
    cosine, sine = (x.double() for x in Rotary(width).turn(torch.arange(5)))
    x = draw(2, 3, 5, 8)
    exact = (cosine, sine)
    same(partial(rotate, turn=exact, layout=layout), partial(naive_rotate, turn=exact, layout=layout), x)
    half = x.bfloat16()
    turn = (cosine.float(), sine.float())
    torch.testing.assert_close(rotate(half, turn, layout), naive_rotate(half, turn, layout), atol=0, rtol=0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("block", [16, BLOCK])
def test_the_gate_is_its_definition(activation: Activation, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedforward, "BLOCK", block)

    def fast(gate: Tensor, inner: Tensor) -> Tensor:
        return Gate.apply(gate, inner, activation)

    same(fast, partial(naive_gate, activation=activation), draw(2, 3, 8), draw(2, 3, 8, seed=1))


def curvature(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of the squared gradient of a sum over what a function gives."""
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(slope.square().sum(), x)[0]


def test_large_products_and_turns_have_gradients_of_gradients() -> None:
    x, weight = draw(64, 128, dtype=torch.float32) / 10, draw(256, 128, seed=1, dtype=torch.float32) / 10
    assert x.numel() * len(weight) >= ENOUGH
    found, expected = (curvature(partial(product, weight=weight), x) for product in (linear, functional.linear))
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=1e-4)
    cosine, sine = (part.double() for part in Rotary(6).turn(torch.arange(5)))
    ways = (partial(turn, turn=(cosine, sine), layout="pairs") for turn in (rotate, naive_rotate))
    found, expected = (curvature(lambda x, way=way: way(x).exp(), draw(2, 3, 5, 8)) for way in ways)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("part", ["norm", "gate"])
def test_others_say_that_they_have_none(part: str) -> None:
    x = draw(3, 8, dtype=torch.float32).requires_grad_()
    out = RMSNorm(8, eps=1e-2)(x) if part == "norm" else Gate.apply(x, x, "silu")
    (slope,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        slope.sum().backward()


def test_a_norm_of_one_vector_and_of_none_has_gradients() -> None:
    for shape in ((8,), (0, 8)):
        same(RMSNorm(8, eps=1e-2).double(), partial(naive_rms_norm, weight=torch.ones(8), epsilon=1e-2), draw(*shape))


@pytest.mark.filterwarnings("ignore")
def test_torchs_compiler_sees_products_and_turns_that_it_knows() -> None:
    x, weight = draw(64, 128, dtype=torch.float32), draw(256, 128, seed=1, dtype=torch.float32)
    torch.testing.assert_close(torch.compile(linear)(x, weight), linear(x, weight), atol=2e-5, rtol=1e-5)
    turn = Rotary(8).turn(torch.arange(12))

    def both(queries: Tensor, keys: Tensor) -> tuple[Tensor, ...]:
        heads = (x.unflatten(-1, (-1, 8)).transpose(1, 2) for x in (queries, keys))
        return tuple(rotate(x, turn, "halves") for x in heads)

    given = draw(2, 12, 32, dtype=torch.float32), draw(2, 12, 16, seed=1, dtype=torch.float32)
    for found, expected in zip(torch.compile(both, backend="aot_eager")(*given), both(*given), strict=True):
        torch.testing.assert_close(found, expected)
