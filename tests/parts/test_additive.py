"""Additive attention against its definition: scores, weights, all gradients, and a layer that looks at every step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from allyouneed.parts import additive
from allyouneed.parts.additive import AdditiveAttention, additive_scores, masked_softmax, naive_additive_scores
from allyouneed.parts.attentive import Sight, attentive_scan, naive_attentive_scan
from allyouneed.parts.cells import GATES, Cell, Past
from allyouneed.parts.recurrent import RecurrentLayer


def random(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


@settings(deadline=None, max_examples=40)
@given(
    batch=st.integers(1, 3),
    queries=st.integers(1, 6),
    keys=st.integers(1, 6),
    width=st.integers(1, 4),
    held=st.integers(1, 100),
    seed=st.integers(0, 1000),
)
def test_scores_are_the_definition_with_all_gradients(
    batch: int, queries: int, keys: int, width: int, held: int, seed: int
) -> None:
    tensors = [
        random(batch, queries, width, seed=seed),
        random(batch, keys, width, seed=seed + 1),
        random(width, seed=seed + 2),
    ]
    results: list[list[Tensor]] = []
    for function in (additive_scores, naive_additive_scores):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(additive, "HELD", held)
            scores = function(*tensors)
            results.append([scores, *torch.autograd.grad(scores, tensors, scores.detach().cos())])
            with torch.no_grad():
                torch.testing.assert_close(function(*tensors), scores)
    for fast, naive in zip(*results, strict=True):
        torch.testing.assert_close(fast, naive, atol=1e-9, rtol=1e-9)


def test_the_score_by_hand() -> None:
    attention = AdditiveAttention(1, 1, 2)
    with torch.no_grad():
        attention.query.weight.copy_(torch.tensor([[1.0], [0.0]]))
        attention.key.weight.copy_(torch.tensor([[0.0], [2.0]]))
        attention.key.bias.copy_(torch.tensor([0.5, 0.0]))
        attention.direction.copy_(torch.tensor([3.0, -1.0]))
    query, memory = torch.tensor([[[0.25]]]), torch.tensor([[[1.0], [-1.0]]])
    scores = attention.scores(query, attention.keys(memory))
    first = 3 * torch.tensor(0.75).tanh() - torch.tensor(2.0).tanh()
    second = 3 * torch.tensor(0.75).tanh() - torch.tensor(-2.0).tanh()
    torch.testing.assert_close(scores[0, 0], torch.stack((first, second)))


def test_rows_add_to_one_and_padding_is_not_seen() -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(4, 6, 5)
    x, memory = torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    keep = torch.tensor([[True] * 5, [False, True, True, False, False]])
    weights = attention.weights(x, attention.keys(memory), keep)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    assert float(weights[1, :, [0, 3, 4]].detach().abs().max()) == 0
    alone = attention.weights(x[1:], attention.keys(memory[1:, 1:3]))
    torch.testing.assert_close(weights[1:, :, 1:3], alone)


def test_who_may_look_nowhere_finds_nothing_with_finite_gradients() -> None:
    scores = torch.randn(2, 3, 4, requires_grad=True)
    keep = torch.tensor([[False] * 4, [True] * 4])
    weights = masked_softmax(scores, keep)
    assert float(weights[0].detach().abs().max()) == 0
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert bool(gradient.isfinite().all())
    assert float(gradient[0].abs().max()) == 0


@settings(deadline=None, max_examples=30)
@given(
    cell=st.sampled_from(("lstm", "gru")),
    batch=st.integers(1, 3),
    length=st.integers(1, 5),
    source=st.integers(1, 5),
    padded=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_a_layer_that_looks_is_its_definition_with_all_gradients(
    cell: Cell, batch: int, length: int, source: int, padded: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    width, d_memory, d_attention = 3, 5, 4
    rows = GATES[cell] * width
    layer, attention = RecurrentLayer(cell, 2, width).double(), AdditiveAttention(width, d_memory, d_attention).double()
    past = Past(random(batch, width, seed=1), random(batch, width, seed=2) if cell == "lstm" else None)
    given_, context = random(batch, length, rows, seed=seed), random(rows, d_memory, seed=seed + 1)
    keys, values = random(batch, source, d_attention, seed=seed + 2), random(batch, source, d_memory, seed=seed + 3)
    keep = torch.rand(batch, source) > 0.5 if padded else None  # some may look nowhere
    weights = [layer.recurrent_weight, layer.recurrent_bias, attention.query.weight, attention.direction]
    tensors = [x for x in (given_, context, *past, keys, values, *weights) if x is not None]
    results: list[list[Tensor]] = []
    for function in (attentive_scan, naive_attentive_scan):
        outputs = function(layer, attention, context, given_, past, Sight(keys, values, keep))
        upstream = [x.detach().cos() for x in outputs]
        results.append([*outputs, *torch.autograd.grad(outputs, tensors, upstream)])
    for fast, naive in zip(*results, strict=True):
        torch.testing.assert_close(fast, naive, atol=1e-9, rtol=1e-9)
