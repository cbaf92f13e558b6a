"""A turn of a machine with a tape: gradients of its own, and they are those of the definition."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from allyouneed.parts.tape import Tape, naive_turn, orders_of, turn

TAPES = [
    Tape(1, 1, 5, 3),
    Tape(2, 3, 4, 5),
    Tape(1, 1, 5, 3, "dot"),
    Tape(1, 2, 4, 1),
    Tape(2, 1, 3, 3, by_location=False),
    Tape(1, 1, 3, 3, "dot", by_location=False),
]
B, N = 2, 7


class Given(NamedTuple):
    said: Tensor
    memory: Tensor
    before: Tensor


def given(tape: Tape, dtype: torch.dtype = torch.float64) -> Given:
    torch.manual_seed(0)
    said = 2 * torch.randn(B, sum(tape.spoken), dtype=dtype)
    memory, before = torch.randn(B, N, tape.width, dtype=dtype), torch.randn(B, tape.heads, N, dtype=dtype).softmax(-1)
    return Given(*(one.requires_grad_() for one in (said, memory, before)))


@pytest.mark.parametrize("tape", TAPES, ids=str)
def test_a_turn_and_all_its_gradients_are_those_of_the_definition(tape: Tape) -> None:
    mine, theirs = given(tape), given(tape)
    made = naive_turn(*theirs, tape)
    expected, found = (made.memory, made.addresses.sharpened, made.reads), turn(*mine, tape)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)
    upstream = [torch.randn_like(one) for one in expected]
    gradients = torch.autograd.grad(found, mine, upstream, materialize_grads=True)
    wanted = torch.autograd.grad(expected, theirs, upstream, materialize_grads=True)
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("used", [0, 1, 2])
def test_outputs_that_nothing_depends_on_have_no_part_in_the_gradient(used: int) -> None:
    tape = TAPES[0]
    mine, theirs = given(tape), given(tape)
    made = naive_turn(*theirs, tape)
    found, expected = turn(*mine, tape)[used], (made.memory, made.addresses.sharpened, made.reads)[used]
    weights = torch.randn_like(found)
    gradients = torch.autograd.grad((found * weights).sum(), mine)
    wanted = torch.autograd.grad((expected * weights).sum(), theirs, materialize_grads=True)
    for one, other in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_are_those_of_differences() -> None:
    tape = Tape(1, 2, 3, 3)

    def made(said: Tensor, memory: Tensor, before: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return turn(said, memory, before, tape)

    assert torch.autograd.gradcheck(made, tuple(given(tape)))


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_zeros_and_a_large_power_keep_gradients_finite(similarity: str) -> None:
    tape = Tape(1, 1, 5, 3, "cosine" if similarity == "cosine" else "dot")
    said, memory, before = given(tape, torch.float32)
    with torch.no_grad():
        memory.zero_()
        before.zero_()
        before[0, :, 2] = 1
        said[:, : 3 * tape.width] = 0  # keys and additions
        powers = sum(tape.spoken[:2]) + tape.heads
        said[:, powers : powers + tape.heads] = 99
    assert float(orders_of(said.detach(), tape).directions.power.min()) == 100
    outputs = turn(said, memory, before, tape)
    assert all(bool(one.isfinite().all()) for one in outputs)
    for gradient in torch.autograd.grad([one.square().sum() + one.sum() for one in outputs], (said, memory, before)):
        assert bool(gradient.isfinite().all())


def test_what_the_controller_says_is_brought_into_range() -> None:
    tape = Tape(2, 1, 4, 3)
    orders = orders_of(torch.randn(50, sum(tape.spoken)) * 5, tape)
    told = orders.directions
    assert told.key.shape == (50, 3, 4)
    assert orders.erase.shape == orders.add.shape == (50, 1, 4)
    assert told.strength.shape == told.gate.shape == told.power.shape == (50, 3, 1)
    assert told.shifts.shape == (50, 3, 3)
    assert float(told.power.min()) >= 1
    assert float(told.strength.min()) >= 0
    for share in (told.gate, orders.erase):
        assert 0 <= float(share.min()) <= float(share.max()) <= 1
    for row in (told.key, orders.add):
        assert -1 <= float(row.min()) < 0 < float(row.max()) <= 1
    torch.testing.assert_close(told.shifts.sum(-1), torch.ones(50, 3))


def test_heads_read_what_was_there_before_they_write() -> None:
    tape = Tape(1, 1, 5, 3)
    made = naive_turn(*given(tape), tape)
    memory = given(tape).memory
    torch.testing.assert_close(made.reads, made.addresses.sharpened[:, :1] @ memory)
