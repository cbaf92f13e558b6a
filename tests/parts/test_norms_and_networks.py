"""Norms, activations, the gated network, and the mixture of experts, each against its formula."""

import math
import pickle
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from allyouneed.parts.experts import Experts, balance_loss, route
from allyouneed.parts.feedforward import ACTIVATIONS, Activation, FeedForward
from allyouneed.parts.norms import norm


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def experts(*, n_experts: int = 4, per_token: int = 2) -> Experts:
    torch.manual_seed(1)
    return Experts(6, 10, n_experts=n_experts, per_token=per_token, bias=False, activation="silu", gated=True).double()


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    x = numbers(3, 5, 8)
    rms = norm("rms", 8, 1e-3).double()
    rms.weight.data.copy_(numbers(8, seed=1))
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * rms.weight
    torch.testing.assert_close(rms(x), expected)
    assert [name for name, _ in rms.named_parameters()] == ["weight"]


def test_layer_norm_centres_and_shifts() -> None:
    x = numbers(3, 5, 8)
    layer = norm("layer", 8, 1e-3).double()
    assert isinstance(layer, nn.LayerNorm)
    layer.weight.data.copy_(numbers(8, seed=1))
    layer.bias.data.copy_(numbers(8, seed=2))
    centred = x - x.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt() * layer.weight + layer.bias
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize(
    ("name", "at_one", "at_minus_two", "theirs"),
    [
        ("relu", 1.0, 0.0, "relu"),
        ("gelu", 0.841345, -0.045500, "gelu"),
        ("gelu-tanh", 0.841192, -0.045402, "gelu_new"),
        ("silu", 0.731059, -0.238406, "silu"),
    ],
)
def test_activations(name: Activation, at_one: float, at_minus_two: float, theirs: str) -> None:
    ours = ACTIVATIONS[name](torch.tensor([1.0, -2.0]))
    assert ours.tolist() == pytest.approx([at_one, at_minus_two], abs=2e-6)
    x = torch.linspace(-5, 5, 101)
    torch.testing.assert_close(ACTIVATIONS[name](x), ACT2FN[theirs](x), atol=2e-6, rtol=0)


def test_gelus_are_their_formulas() -> None:
    x = numbers(100)
    torch.testing.assert_close(ACTIVATIONS["gelu"](x), x * (1 + torch.erf(x / math.sqrt(2))) / 2)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    torch.testing.assert_close(ACTIVATIONS["gelu-tanh"](x), x * (1 + inner.tanh()) / 2)


def test_the_gate_is_what_is_activated() -> None:
    torch.manual_seed(0)
    network = FeedForward(6, 10, activation="silu", gated=True).double()
    assert network.gate is not None
    x = numbers(2, 3, 6)
    gate = x @ network.gate.weight.T + network.gate.bias
    inner = x @ network.inner.weight.T + network.inner.bias
    expected = (gate * gate.sigmoid() * inner) @ network.outer.weight.T + network.outer.bias
    torch.testing.assert_close(network(x), expected)


def test_without_a_gate() -> None:
    torch.manual_seed(0)
    network = FeedForward(6, 10, bias=False).double()
    x = numbers(2, 3, 6)
    torch.testing.assert_close(network(x), (x @ network.inner.weight.T).clamp_min(0) @ network.outer.weight.T)
    assert len(list(network.parameters())) == 2


def test_routing_is_a_softmax_over_the_best() -> None:
    logits = numbers(7, 5)
    shares, chosen = route(logits, 2)
    for row, share, experts_of_row in zip(logits, shares, chosen, strict=True):
        kept = torch.full_like(row, -math.inf)
        best = row.argsort(descending=True)[:2]
        kept[best] = row[best]
        whole = kept.softmax(-1)
        assert set(experts_of_row.tolist()) == set(best.tolist())
        torch.testing.assert_close(share, whole[experts_of_row])


def test_one_expert_a_token_takes_all() -> None:
    shares, chosen = route(numbers(7, 5), 1)
    assert torch.equal(shares, torch.ones(7, 1, dtype=torch.float64))
    assert torch.equal(chosen[:, 0], numbers(7, 5).argmax(1))


def test_dispatch_is_a_loop_over_tokens() -> None:
    mixture = experts()
    x = numbers(2, 5, 6)
    expected = torch.zeros_like(x)
    for batch in range(2):
        for position in range(5):
            token = x[batch, position]
            logits = mixture.router(token)
            best = logits.argsort(descending=True)[:2]
            for share, number in zip(logits[best].softmax(-1), best.tolist(), strict=True):
                expected[batch, position] += share * mixture.experts[number](token)
    # The router's choice is made in float32.
    torch.testing.assert_close(mixture(x), expected, atol=1e-6, rtol=1e-6)


def test_a_tokens_result_does_not_depend_on_the_others() -> None:
    mixture = experts()
    x = numbers(4, 8, 6)
    together = mixture(x)
    crowd = x[0, 0].expand(1, 30, 6)  # all of them want the same experts
    torch.testing.assert_close(mixture(crowd)[0, 17], together[0, 0], atol=1e-12, rtol=0)
    torch.testing.assert_close(mixture(x[2:3, 3:4])[0, 0], together[2, 3], atol=1e-12, rtol=0)


def test_gradients_reach_the_router_and_every_chosen_expert() -> None:
    mixture = experts(n_experts=3).train()
    mixture(numbers(4, 8, 6)).sum().backward()
    assert mixture.router.weight.grad is not None
    assert float(mixture.router.weight.grad.abs().max()) > 1e-3
    for parameter in mixture.experts.parameters():
        assert parameter.grad is not None
        assert float(parameter.grad.abs().max()) > 0


def test_an_even_router_has_balance_one_and_a_greedy_one_more() -> None:
    even = torch.zeros(4, 4)
    assert float(balance_loss(even, torch.arange(4)[:, None])) == pytest.approx(1.0)
    crowded = torch.zeros(6, 4)
    crowded[:, 2] = 50.0
    assert float(balance_loss(crowded, torch.full((6, 1), 2))) == pytest.approx(4.0)
    # Two choices a token: each counts as one.
    pairs = torch.tensor([[0, 1], [2, 3]])
    assert float(balance_loss(torch.zeros(2, 4), pairs)) == pytest.approx(1.0)


def test_balance_is_kept_in_training_alone_and_moves_the_router() -> None:
    mixture = experts()
    mixture.eval()(numbers(2, 5, 6))
    assert mixture.balance is None
    mixture.train()(numbers(2, 5, 6))
    assert mixture.balance is not None
    (gradient,) = torch.autograd.grad(mixture.balance, mixture.router.weight)
    assert float(gradient.abs().max()) > 0


def test_experts_are_copied_after_a_pass_in_training() -> None:
    mixture = experts().train()
    x = numbers(2, 5, 6)
    out = mixture(x)
    for copied in (deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
        assert copied.balance is None
        assert torch.equal(copied(x), out)
    assert mixture.balance is not None
