"""Read, process, write: the order of a set is nothing to it, and stepping is the same as all steps together."""

import pytest
import torch
from torch import Tensor

from allyouneed.models.sets import ReadProcessWrite, SetConfig


def model(steps: int = 4, glimpses: int = 1, inputs: int = 1) -> ReadProcessWrite:
    torch.manual_seed(0)
    made = ReadProcessWrite(SetConfig(inputs, d_model=16, process_steps=steps, glimpses=glimpses)).eval()
    with torch.no_grad():  # larger weights, so that what is likely depends on what was read
        for parameter in made.parameters():
            parameter.mul_(1.5)
    return made


def numbers(sets: int = 5, size: int = 7, inputs: int = 1) -> Tensor:
    return torch.rand(sets, size, inputs, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("glimpses", [0, 2])
@torch.no_grad()
def test_permuting_a_set_changes_nothing(steps: int, glimpses: int) -> None:
    made, given = model(steps, glimpses), numbers()
    order = torch.randperm(7, generator=torch.Generator().manual_seed(2))
    memory, other = made.encode(given), made.encode(given[:, order])
    assert float((memory.summary - other.summary).abs().max()) < 1e-5
    assert float((memory.looks[:, :, order] - other.looks).abs().max() if steps else 0) < 1e-5
    one, two = made.point(memory), made.point(other)
    assert torch.equal(order[two.order], one.order)
    assert float((one.chances[:, :, order] - two.chances).abs().max()) < 1e-5


@torch.no_grad()
def test_without_processing_all_sets_begin_alike_and_with_it_they_do_not() -> None:
    for steps, alike in ((0, True), (1, False)):
        summary = model(steps).encode(numbers()).summary
        assert (float((summary[0] - summary[1]).abs().max()) == 0) is alike


@pytest.mark.parametrize("glimpses", [0, 1, 2])
@torch.no_grad()
def test_steps_are_those_of_all_together(glimpses: int) -> None:
    made, given = model(glimpses=glimpses), numbers()
    order = torch.rand(5, 7, generator=torch.Generator().manual_seed(3)).argsort(1)
    state, found = made.start(made.encode(given)), list[Tensor]()
    for chosen in order.T:
        logits, state = made.step(state)
        found.append(logits)
        state = made.follow(chosen, state)
    torch.testing.assert_close(torch.stack(found, 1), made(given, order), rtol=1e-5, atol=1e-5)
    assert bool(state.taken.all())


@torch.no_grad()
def test_a_set_alone_is_answered_as_among_others() -> None:
    made, given = model(), numbers()
    together, alone = made.point(made.encode(given)), made.point(made.encode(given[2:3]))
    assert torch.equal(together.order[2:3], alone.order)
    torch.testing.assert_close(together.chances[2:3], alone.chances, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_elements_may_be_written_twice_unless_each_may_but_once() -> None:
    made, given = model(), numbers()
    free = made.point(made.encode(given))
    for step, logits in enumerate(made(given, free.order).unbind(1)):
        assert torch.equal(logits.argmax(-1), free.order[:, step])
        torch.testing.assert_close(free.chances[:, step], logits.softmax(-1), rtol=1e-5, atol=1e-6)
    assert not torch.equal(free.order.sort(1).values, torch.arange(7).expand(5, 7))
    found = made.point(made.encode(given), once=True)
    assert torch.equal(found.order.sort(1).values, torch.arange(7).expand(5, 7))
    torch.testing.assert_close(found.chances.sum(-1), torch.ones(5, 7))
    first = made(given, found.order)[:, 0]
    torch.testing.assert_close(found.chances[:, 0], first.softmax(-1))
    for step in range(7):
        taken = found.chances[:, step].gather(1, found.order[:, :step])
        assert float(taken.sum()) == 0


@torch.no_grad()
def test_selected_rows_go_on_as_the_rows_they_come_from() -> None:
    made = model()
    _, state = made.step(made.start(made.encode(numbers())))
    state = made.follow(torch.tensor([0, 1, 2, 3, 4]), state)
    rows = torch.tensor([3, 3, 0])
    chosen = state.select(rows)
    assert (state.rows, chosen.rows) == (5, 3)
    assert torch.equal(chosen.taken, state.taken[rows])
    torch.testing.assert_close(made.step(chosen)[0], made.step(state)[0][rows])


@torch.no_grad()
def test_processing_reads_by_the_equations_of_the_paper() -> None:
    made = model(steps=2)
    elements = made.reader(numbers())
    query, cell, found = (torch.zeros(5, 16) for _ in range(3))
    weights = torch.zeros(5, 7)
    lstm = torch.nn.LSTMCell(16, 16)
    layer = made.processor
    lstm.load_state_dict(
        {
            "weight_ih": layer.input.weight,
            "bias_ih": layer.input.bias,
            "weight_hh": layer.recurrent_weight,
            "bias_hh": layer.recurrent_bias,
        }
    )
    for _ in range(2):
        query, cell = lstm(found, (query, cell))
        weights = torch.einsum("bd,bsd->bs", query, elements).softmax(-1)
        found = torch.einsum("bs,bsd->bd", weights, elements)
    memory = made.encode(numbers())
    torch.testing.assert_close(memory.summary, torch.cat((query, found), -1))
    torch.testing.assert_close(memory.looks[:, -1], weights)


def test_every_weight_has_a_gradient() -> None:
    made, given = model(), numbers()
    order = given[:, :, 0].argsort(1)
    made(given, order).log_softmax(-1).gather(2, order[:, :, None]).sum().backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().max()) > 0, name


def test_elements_may_be_more_than_one_number() -> None:
    made = model(inputs=3)
    found = made.point(made.encode(numbers(inputs=3)))
    assert found.order.shape == (5, 7)


def test_configs_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="process_steps = -1: at least 0"):
        SetConfig(process_steps=-1)
    with pytest.raises(ValueError, match="d_model = 0: at least 1"):
        SetConfig(d_model=0)
