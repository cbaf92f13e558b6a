"""One layer again and again, each position for as long as it needs."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from allyouneed.models.layers import Look, halting_weights
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.experts import Experts
from allyouneed.parts.positions import sinusoids

UNIVERSAL = TransformerConfig(
    vocab_size=40,
    d_model=16,
    n_heads=4,
    d_ff=24,
    n_encoder_layers=4,
    n_decoder_layers=0,
    max_length=32,
    positions="coordinates",
    shared_depth=True,
    halting=True,
    ponder_weight=0.5,
    dropout=0.0,
)


def naive_halting(probabilities: list[float], threshold: float) -> tuple[list[float], float]:
    """One position: the weights of its steps, and its ponder cost, step by step (Graves 2016, section 2)."""
    weights, spent = [0.0] * len(probabilities), 0.0
    for step, probability in enumerate(probabilities):
        if spent + probability >= threshold or step == len(probabilities) - 1:
            weights[step] = 1 - spent
            return weights, step + 1 + weights[step]
        weights[step] = probability
        spent += probability
    raise AssertionError("unreachable")


def tokens(rows: int = 2) -> Tensor:
    return torch.randint(4, 40, (rows, 6), generator=torch.Generator().manual_seed(1))


def universal(config: TransformerConfig = UNIVERSAL) -> Transformer:
    torch.manual_seed(0)
    return Transformer(config)


def test_halting_is_a_loop_over_positions_and_steps() -> None:
    probabilities = torch.rand(50, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights, cost = halting_weights(probabilities, 0.9)
    for row, mine, price in zip(probabilities, weights, cost, strict=True):
        expected, expected_cost = naive_halting(row.tolist(), 0.9)
        assert mine.tolist() == pytest.approx(expected, abs=1e-12)
        assert float(price) == pytest.approx(expected_cost)
    torch.testing.assert_close(weights.sum(-1), torch.ones(50, dtype=torch.float64))
    assert len({int((row > 0).sum()) for row in weights}) > 2  # the rows stop at unlike steps


def test_halting_by_hand() -> None:
    weights, cost = halting_weights(torch.tensor([[0.5, 0.3, 0.4, 0.9], [0.995, 0.2, 0.2, 0.2], [0.1] * 4]), 0.99)
    assert weights.flatten().tolist() == pytest.approx([0.5, 0.3, 0.2, 0, 1, 0, 0, 0, 0.1, 0.1, 0.1, 0.7])
    assert cost.tolist() == pytest.approx([3.2, 2, 4.7])


def test_the_ponder_cost_has_a_gradient_and_lets_positions_stop_sooner() -> None:
    logits = torch.full((1, 5), -2.0, requires_grad=True)
    _, cost = halting_weights(logits.sigmoid(), 0.99)
    (gradient,) = torch.autograd.grad(cost.sum(), logits)
    assert bool((gradient[0, :4] < 0).all())  # more probability now costs less in the end


@torch.no_grad()
def test_the_model_mixes_its_steps_by_their_weights() -> None:
    """The definition: x ← layer(x + position + step) (Dehghani 2018, equations 4 to 6), and a mean over the steps."""
    model = universal().eval()
    halt = model.encoder.halt
    assert halt is not None
    halt.weight.normal_(std=3)
    text = tokens(1)
    x = model.embedding(text) * 4
    states: list[Tensor] = []
    for step in range(4):
        x = model.encoder[0](x + sinusoids(6, 16) + sinusoids(4, 16)[step], Look())
        states.append(x)
    mixed = torch.zeros(6, 16)
    for position in range(6):
        probabilities = [float(halt(state[0, position]).sigmoid()) for state in states]
        weights, _ = naive_halting(probabilities, 0.99)
        mixed[position] = torch.stack([w * state[0, position] for w, state in zip(weights, states, strict=True)]).sum(0)
    torch.testing.assert_close(model.encode(text).states[0], mixed, atol=1e-5, rtol=1e-5)


def test_one_layer_serves_every_step() -> None:
    model = universal()
    assert len(model.encoder) == 4
    assert all(layer is model.encoder[0] for layer in model.encoder)
    deeper = universal(replace(UNIVERSAL, n_encoder_layers=9))
    assert sum(p.numel() for p in deeper.parameters()) == sum(p.numel() for p in model.parameters())
    deeper.load_state_dict(model.state_dict())


def test_pondering_is_paid_for_in_training_alone() -> None:
    model = universal().train()
    model(tokens())
    cost = model.encoder.ponder
    assert cost is not None
    assert float(torch.as_tensor(model.extra_loss()).detach()) == pytest.approx(0.5 * float(cost))
    assert 2 <= float(cost) <= 5  # between one step and a whole rest, and four and a whole rest
    extra = model.extra_loss()
    assert isinstance(extra, Tensor)
    extra.backward()
    assert deepcopy(model).encoder.ponder is None
    assert model.encoder.halt is not None
    assert model.encoder.halt.weight.grad is not None
    assert float(model.encoder.halt.weight.grad.abs().max()) > 0
    model.eval()(tokens())
    assert model.encoder.ponder is None
    assert model.extra_loss() == 0


def test_balance_is_paid_for_in_training_alone() -> None:
    config = TransformerConfig(
        vocab_size=40,
        d_model=16,
        n_heads=4,
        d_ff=24,
        n_encoder_layers=0,
        n_decoder_layers=2,
        n_experts=4,
        balance_weight=0.3,
        dropout=0.0,
    )
    model = universal(config).train()
    model(tokens())
    balances = [float(part.balance) for part in model.modules() if isinstance(part, Experts) and part.balance]
    assert len(balances) == 2
    assert float(model.extra_loss()) == pytest.approx(0.3 * sum(balances) / 2)
    model.eval()(tokens())
    assert model.extra_loss() == 0
