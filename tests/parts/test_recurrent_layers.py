"""Recurrent layers against their definition, token by token, and against torch's own with the same weights."""

from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from allyouneed.parts.cells import GATES, Cell, Past
from allyouneed.parts.maxout import maxout
from allyouneed.parts.recurrent import RecurrentLayer, RecurrentStack, initialise, naive_scan, scan

CELLS: tuple[Cell, ...] = ("lstm", "gru")


@settings(deadline=None, max_examples=40)
@given(
    cell=st.sampled_from(CELLS),
    batch=st.integers(1, 3),
    length=st.integers(1, 7),
    width=st.integers(1, 5),
    padded=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_scan_is_the_recurrence_with_all_gradients(
    cell: Cell, batch: int, length: int, width: int, padded: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    rows = GATES[cell] * width
    gates, weight, bias = draw(batch, length, rows), draw(rows, width), draw(rows)
    past = Past(draw(batch, width), draw(batch, width) if cell == "lstm" else None)
    keep = torch.rand(batch, length, generator=generator) > 0.4 if padded else None
    tensors = [x for x in (gates, *past, weight, bias) if x is not None]
    results: list[list[Tensor]] = []
    for function in (scan, naive_scan):
        states, last = function(cell, gates, past, keep, weight, bias)
        outputs = [x for x in (states, *last) if x is not None]
        upstream = [x.detach().cos() for x in outputs]
        results.append([*outputs, *torch.autograd.grad(outputs, tensors, upstream)])
    for fast, naive in zip(*results, strict=True):
        torch.testing.assert_close(fast, naive, atol=1e-9, rtol=1e-9)


def their_names(depth: int, reverse: bool) -> dict[str, str]:
    """The names in torch's own layers of the tensors of one of ours."""
    ending = f"l{depth}{'_reverse' if reverse else ''}"
    return {
        "input.weight": f"weight_ih_{ending}",
        "input.bias": f"bias_ih_{ending}",
        "recurrent_weight": f"weight_hh_{ending}",
        "recurrent_bias": f"bias_hh_{ending}",
    }


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_stack_is_torch_s_own_with_the_same_weights(cell: Cell, bidirectional: bool) -> None:
    torch.manual_seed(0)
    ours = RecurrentStack(cell, 6, 5, n_layers=3, bidirectional=bidirectional)
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    theirs = kind(6, 5, num_layers=3, bidirectional=bidirectional, batch_first=True)
    weights = dict(theirs.named_parameters())
    directions = 2 if bidirectional else 1
    for number, layer in enumerate(ours.all_layers):
        names = their_names(number // directions, reverse=number % directions == 1)
        layer.load_state_dict({name: weights[their] for name, their in names.items()})
    x = torch.randn(4, 9, 6)
    lengths = torch.tensor([9, 4, 1, 6])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, last = theirs(packed)
    wanted, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    keep = torch.arange(9) < lengths[:, None]
    states, pasts = ours(x, None, keep)
    torch.testing.assert_close(states[keep], wanted[keep])
    hidden = last[0] if isinstance(last, tuple) else last
    torch.testing.assert_close(torch.stack([past.hidden for past in pasts]), hidden)
    if isinstance(last, tuple):
        cells = [past.cell for past in pasts if past.cell is not None]
        torch.testing.assert_close(torch.stack(cells), last[1])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_moves_nothing(cell: Cell, side: Literal["left", "right"]) -> None:
    torch.manual_seed(1)
    stack = RecurrentStack(cell, 4, 3, n_layers=2, bidirectional=True)
    x = torch.randn(2, 5, 4)
    alone, pasts = stack(x)
    noise = torch.full((2, 3, 4), 7.0)
    padded = torch.cat((noise, x) if side == "left" else (x, noise), 1)
    real = slice(3, 8) if side == "left" else slice(0, 5)
    keep = torch.zeros(2, 8, dtype=torch.bool)
    keep[:, real] = True
    states, after = stack(padded, None, keep)
    torch.testing.assert_close(states[:, real], alone)
    for one, other in zip(pasts, after, strict=True):
        torch.testing.assert_close(one.hidden, other.hidden)


@pytest.mark.parametrize("cell", CELLS)
def test_steps_are_the_whole_text_and_parts_go_on(cell: Cell) -> None:
    torch.manual_seed(2)
    stack = RecurrentStack(cell, 4, 3, n_layers=2)
    x = torch.randn(2, 6, 4)
    whole, last = stack(x)
    first, pasts = stack(x[:, :2])
    second, pasts = stack(x[:, 2:4], pasts)
    outputs = [first, second]
    for t in (4, 5):
        state, pasts = stack.step(x[:, t], pasts)
        outputs.append(state[:, None])
    torch.testing.assert_close(torch.cat(outputs, 1), whole)
    torch.testing.assert_close(pasts[1].hidden, last[1].hidden)


def test_a_row_is_chosen_with_its_cell() -> None:
    past = Past(torch.arange(6.0).view(3, 2), -torch.arange(6.0).view(3, 2))
    chosen = past.select(torch.tensor([2, 2, 0]))
    assert chosen.hidden[:, 0].tolist() == [4.0, 4.0, 0.0]
    assert chosen.cell is not None
    assert chosen.cell[:, 0].tolist() == [-4.0, -4.0, 0.0]


def test_first_weights_are_as_named() -> None:
    torch.manual_seed(3)
    layer = RecurrentLayer("gru", 5, 8)
    assert max(float(parameter.detach().abs().max()) for parameter in layer.parameters()) <= 0.08
    initialise(layer, "orthogonal")
    for gate in layer.recurrent_weight.detach().split(8):
        torch.testing.assert_close(gate @ gate.T, torch.eye(8), atol=1e-5, rtol=0)
    assert float(layer.recurrent_bias.detach().abs().max()) == 0
    assert 0.005 < float(layer.input.weight.detach().std()) < 0.02


def test_dropout_stands_between_layers_only() -> None:
    torch.manual_seed(4)
    x = torch.randn(2, 4, 3)
    one = RecurrentStack("gru", 3, 3, dropout=0.9)
    torch.testing.assert_close(one(x)[0], one.eval()(x)[0])
    two = RecurrentStack("gru", 3, 3, n_layers=2, dropout=0.9)
    assert not torch.allclose(two(x)[0], two.eval()(x)[0])


def test_of_two_neighbours_the_larger_goes_on() -> None:
    assert maxout(torch.tensor([[1.0, 3.0, -2.0, -5.0]])).tolist() == [[3.0, -2.0]]
