"""The Neural Turing Machine: a trace changes nothing, weightings are weightings, and first gradients are finite."""

from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.models.presets import PRESETS, build, configure
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig
from allyouneed.parts.tape import Turn

CONFIGS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "two layers": {"n_controller_layers": 2},
    "feed-forward": {"controller": "feedforward"},
    "many heads": {"n_read_heads": 3, "n_write_heads": 2, "n_shifts": 5},
    "dot": {"similarity": "dot"},
    "content": {"by_location": False},
}


def machine(**changes: Any) -> NeuralTuringMachine:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"n_inputs": 4, "n_outputs": 3, "d_controller": 8, "n_slots": 9, "d_slot": 5}
    return NeuralTuringMachine(TuringConfig(**(sizes | changes)))


def inputs(rows: int = 2, steps: int = 6) -> Tensor:
    return torch.rand(rows, steps, 4, generator=torch.Generator().manual_seed(1))


def turns_of(model: NeuralTuringMachine, given: Tensor) -> Turn:
    return model.trace(given)[1]


@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_a_trace_changes_nothing_and_leaves_nothing_out(changes: dict[str, Any]) -> None:
    model = machine(**changes)
    logits, turns = model.trace(inputs())
    assert torch.equal(model(inputs()), logits)
    with torch.no_grad():
        assert torch.equal(model(inputs()), logits)
    config = model.config
    assert logits.shape == (2, 6, 3)
    assert turns.memory.shape == (2, 6, 9, 5)
    assert turns.reads.shape == (2, 6, config.n_read_heads, 5)
    assert turns.orders.directions.shifts.shape == (2, 6, config.n_heads, config.n_shifts)
    assert turns.orders.erase.shape == (2, 6, config.n_write_heads, 5)


@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_weightings_add_to_1_at_every_stage_of_every_step(changes: dict[str, Any]) -> None:
    turns = turns_of(machine(**changes), inputs(steps=20))
    for stage in turns.addresses:
        assert float(stage.min()) >= 0
        torch.testing.assert_close(stage.sum(-1), torch.ones(stage.shape[:-1]))


def test_what_is_read_was_written_before() -> None:
    model = machine()
    turns = turns_of(model, inputs())
    for step in range(1, 6):
        expected = turns.addresses.sharpened[:, step, :1] @ turns.memory[:, step - 1]
        torch.testing.assert_close(turns.reads[:, step], expected)


def test_rows_do_not_meet_and_a_later_step_moves_no_earlier_one() -> None:
    model, given = machine(), inputs()
    together = model(given)
    torch.testing.assert_close(model(given[1:]), together[1:])
    other = given.clone()
    other[:, 4:] += 1
    assert torch.equal(model(other)[:, :4], together[:, :4])
    assert not torch.equal(model(other)[:, 4:], together[:, 4:])


@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_every_weight_has_a_finite_gradient(changes: dict[str, Any]) -> None:
    model = machine(**changes)
    model(inputs()).square().sum().backward()
    unused = {"first_weights"} if changes.get("by_location") is False else set[str]()
    for name, parameter in model.named_parameters():
        if name not in unused:
            assert parameter.grad is not None, name
            assert bool(parameter.grad.isfinite().all()), name
            assert float(parameter.grad.abs().max()) > 0, name


def test_a_long_run_at_the_sizes_of_the_paper_stays_finite() -> None:
    torch.manual_seed(3)
    model = build("ntm-copy")
    given = torch.randint(0, 2, (1, 60, 9)).float()
    model(given).square().mean().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert bool(parameter.grad.isfinite().all())


@pytest.mark.parametrize("controller", ["lstm", "feedforward"])
def test_before_anything_is_learned_the_memory_is_a_tape(controller: str) -> None:
    torch.manual_seed(1)
    model: Any = build("ntm-copy", controller=controller)
    weights = turns_of(model, torch.randint(0, 2, (3, 20, 9)).float()).addresses.sharpened
    assert weights[:, :, 1].argmax(-1).tolist() == [list(range(1, 21))] * 3
    assert int(weights[:, 0, 0].argmax(-1).max()) == 0
    assert float(weights.max(-1).values.min()) > 0.4


def test_other_rules_work_on_the_same_weights() -> None:
    model = machine()
    other = model.altered(similarity="dot")
    assert other.first_reads is model.first_reads
    assert model.config.similarity == "cosine"
    assert not torch.equal(other(inputs()), model(inputs()))
    assert torch.equal(other.altered(similarity="cosine")(inputs()), model(inputs()))
    alone = turns_of(model.altered(by_location=False), inputs()).addresses
    assert torch.equal(alone.sharpened, alone.content)


def test_configs_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="n_shifts = 4: an odd number up to n_slots = 128"):
        TuringConfig(n_shifts=4)
    with pytest.raises(ValueError, match="n_shifts = 5: an odd number up to n_slots = 3"):
        TuringConfig(n_shifts=5, n_slots=3)
    with pytest.raises(ValueError, match="n_read_heads = 0: at least 1"):
        TuringConfig(n_read_heads=0)
    with pytest.raises(ValueError, match="n_controller_layers = 2: a feed-forward controller has one"):
        TuringConfig(controller="feedforward", n_controller_layers=2)
    with pytest.raises(ValueError, match="controller = 'gru' is none of lstm, feedforward"):
        TuringConfig.from_fields({"controller": "gru"})
    with pytest.raises(ValueError, match="similarity = 'dots' is none of cosine, dot"):
        TuringConfig.from_fields({"similarity": "dots"})
    with pytest.raises(UsageError, match=r'no setting "n_slot"\. Did you mean "n_slots"\?'):
        configure("ntm-copy", n_slot=3)


def test_presets_have_the_sizes_of_the_paper() -> None:
    machines: dict[str, Any] = {name: configure(name) for name in PRESETS if name.startswith("ntm")}
    assert all((config.n_slots, config.d_slot) == (128, 20) for config in machines.values())
    heads = {name: config.n_read_heads for name, config in machines.items() if config.n_read_heads > 1}
    assert heads == {"ntm-priority-sort": 5, "ntm-forward-recall": 4, "ntm-forward-priority-sort": 8}
    wide = {name: config.d_controller for name, config in machines.items() if config.d_controller != 100}
    assert wide == {"ntm-forward-recall": 256, "ntm-forward-priority-sort": 512}
    assert machines["ntm-priority-sort"].n_controller_layers == 2
