"""The Neural Turing Machine (Graves 2014): a small network with a memory beside it, and heads to read and write it."""

import math
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from allyouneed.parts.addressing import Similarity
from allyouneed.parts.recurrent import Past, RecurrentStack
from allyouneed.parts.tape import Tape, Turn, naive_turn, turn

ControllerKind = Literal["lstm", "feedforward"]
WORDS = {"controller": get_args(ControllerKind), "similarity": get_args(Similarity)}
BLANK = 1e-6  # what stands in the memory at first: nearly nothing, everywhere the same
# First biases of what the controller says, so that the memory is a tape before anything is learned: heads go on from
# where they are rather than by content, and stay narrow; those that write step on to the next slot, so firmly that
# those that read must learn to come to them; and those that read would rather stand still.
GATE, POWER, STEP, STAND = -2.0, 1.0, 4.0, 1.0
FIRST_SLOT = 5.0  # where heads begin, in the logarithm


@dataclass(frozen=True)
class TuringConfig:
    """Every number of a Neural Turing Machine. The defaults are the paper's for copying (its table 2)."""

    n_inputs: int = 9  # numbers that come in at a step
    n_outputs: int = 8  # bits that go out at a step
    controller: ControllerKind = "lstm"
    d_controller: int = 100
    n_controller_layers: int = 1
    n_slots: int = 128  # N
    d_slot: int = 20  # W
    n_read_heads: int = 1
    n_write_heads: int = 1
    n_shifts: int = 3  # slots that a head may go at a step: as many to each side, and none
    similarity: Similarity = "cosine"
    by_location: bool = True  # False: heads go by content alone

    def __post_init__(self) -> None:
        """Refuses what no machine can be."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ValueError(f"{field.name} = {value}: at least 1 is needed")
        if self.n_shifts % 2 == 0 or self.n_shifts > self.n_slots:
            raise ValueError(f"n_shifts = {self.n_shifts}: an odd number up to n_slots = {self.n_slots} is needed")
        if self.controller == "feedforward" and self.n_controller_layers > 1:
            raise ValueError(f"n_controller_layers = {self.n_controller_layers}: a feed-forward controller has one")

    @property
    def n_heads(self) -> int:
        """H: those that read, and then those that write."""
        return self.n_read_heads + self.n_write_heads

    @property
    def tape(self) -> Tape:
        """What is fixed of the memory and its heads."""
        return Tape(
            self.n_read_heads, self.n_write_heads, self.d_slot, self.n_shifts, self.similarity, self.by_location
        )

    @property
    def line(self) -> Literal["bits"]:
        """What it reads and writes."""
        return "bits"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "TuringConfig":
        """The config of JSON values. Raises ValueError for a word that a setting does not know."""
        for name, allowed in WORDS.items():
            if values.get(name, allowed[0]) not in allowed:
                raise ValueError(f"{name} = {values[name]!r} is none of {', '.join(allowed)}")
        return cls(**values)


class State(NamedTuple):
    """What is there between two steps: the memory [B, N, W], the heads' weightings [B, H, N], what was read
    [B, R, W], and what the controller itself remembers.
    """

    memory: Tensor
    weights: Tensor
    reads: Tensor
    controller: list[Past]


class Controller(nn.Module):
    """What decides: an LSTM, or one layer without memory of its own (section 3.4)."""

    def __init__(self, config: TuringConfig) -> None:
        super().__init__()
        width, depth = config.d_controller, config.n_controller_layers
        seen = config.n_inputs + config.n_read_heads * config.d_slot
        if config.controller == "lstm":
            self.recurrent = RecurrentStack("lstm", seen, width, n_layers=depth)
            self.first = nn.Parameter(torch.empty(depth, 2, width))
            nn.init.normal_(self.first, std=0.1)
            for layer in self.recurrent.all_layers:
                spread(layer.input.weight)
                for gate in layer.recurrent_weight.detach().split(width):
                    nn.init.orthogonal_(gate)
                nn.init.zeros_(layer.input.bias)
                nn.init.zeros_(layer.recurrent_bias)
                nn.init.ones_(layer.recurrent_bias[width : 2 * width])  # it remembers before it learns to forget
        else:
            self.recurrent = None
            self.layer = nn.Linear(seen, width)
            spread(self.layer.weight)

    def start(self, rows: int) -> list[Past]:
        """What it remembers before the first step, which it learns."""
        if self.recurrent is None:
            return []
        return [Past(*part.tanh().expand(-1, rows, -1)) for part in self.first[:, :, None]]

    def forward(self, seen: Tensor, pasts: list[Past]) -> tuple[Tensor, list[Past]]:
        """What comes in and was read last [B, I + R · W] -> what is made of it [B, D], and what is remembered."""
        if self.recurrent is None:
            return self.layer(seen).tanh(), []
        return self.recurrent.step(seen, pasts)


class NeuralTuringMachine(nn.Module):
    """Reads numbers, writes bits. Nothing in it depends on how many steps there are."""

    def __init__(self, config: TuringConfig) -> None:
        super().__init__()
        self.config = config
        self.controller = Controller(config)
        self.orders = nn.Linear(config.d_controller, sum(config.tape.spoken))
        self.output = nn.Linear(config.d_controller + config.n_read_heads * config.d_slot, config.n_outputs)
        self.first_reads = nn.Parameter(torch.empty(config.n_read_heads, config.d_slot))
        self.first_weights = nn.Parameter(torch.empty(config.n_heads, config.n_slots))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """First weights. Where heads stand and what they have read before the first step is learned, as is what the
        controller remembers; the memory always begins with one small number everywhere (Collier 2018, section 4).
        """
        nn.init.normal_(self.first_reads, std=0.1)
        nn.init.zeros_(self.first_weights)
        nn.init.constant_(self.first_weights[:, 0], FIRST_SLOT)
        for layer in (self.orders, self.output):
            spread(layer.weight)
        tape, heads = self.config.tape, self.config.n_heads
        _, shares, amounts, shifts = self.orders.bias.detach().split(tape.spoken)
        nn.init.constant_(shares[:heads], GATE)
        nn.init.constant_(amounts[heads:], POWER)
        if tape.shifts > 1:
            shifts, middle = shifts.view(heads, -1), tape.shifts // 2
            nn.init.constant_(shifts[: tape.readers, middle], STAND)
            nn.init.constant_(shifts[tape.readers :, middle + 1], STEP)

    def altered(self, **changes: Any) -> "NeuralTuringMachine":
        """The same weights at work by other rules of the config, such as `similarity` or `by_location`."""
        other = copy(self)
        other.config = replace(self.config, **changes)
        return other

    def start(self, rows: int) -> State:
        """Before the first step."""
        config = self.config
        return State(
            self.first_reads.new_full((1, 1, 1), BLANK).expand(rows, config.n_slots, config.d_slot),
            self.first_weights.softmax(-1).expand(rows, -1, -1),
            self.first_reads.tanh().expand(rows, -1, -1),
            self.controller.start(rows),
        )

    def decide(self, inputs: Tensor, state: State) -> tuple[Tensor, list[Past]]:
        """inputs [B, I] and what was read last -> the controller's state [B, D], and what it remembers."""
        return self.controller(torch.cat((inputs, state.reads.flatten(1)), 1), state.controller)

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """inputs [B, I] -> what the output is made of [B, D + R · W], and the new state."""
        hidden, remembered = self.decide(inputs, state)
        memory, weights, reads = turn(self.orders(hidden), state.memory, state.weights, self.config.tape)
        return torch.cat((hidden, reads.flatten(1)), 1), State(memory, weights, reads, remembered)

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs [B, T, I] -> the logit of each bit after each step [B, T, O]."""
        state, seen = self.start(len(inputs)), list[Tensor]()
        for now in inputs.unbind(1):
            output, state = self.step(now, state)
            seen.append(output)
        return self.output(torch.stack(seen, 1))

    @torch.no_grad()
    def trace(self, inputs: Tensor) -> tuple[Tensor, Turn]:
        """The same, and all that happened: what `naive_turn` says of each step, with a dimension T behind B."""
        state, seen, turns = self.start(len(inputs)), list[Tensor](), list[Turn]()
        for now in inputs.unbind(1):
            hidden, remembered = self.decide(now, state)
            made = naive_turn(self.orders(hidden), state.memory, state.weights, self.config.tape)
            state = State(made.memory, made.addresses.sharpened, made.reads, remembered)
            seen.append(torch.cat((hidden, made.reads.flatten(1)), 1))
            turns.append(made)
        return self.output(torch.stack(seen, 1)), stacked(turns)


def spread(weight: Tensor) -> None:
    """First weights [out, in] that bring numbers of size 1 to numbers of size 1."""
    bound = math.sqrt(3 / weight.shape[1])
    nn.init.uniform_(weight, -bound, bound)


def stacked(moments: list[Any]) -> Any:
    """Tuples of tensors [B, ...], alike and nested, as one such tuple of tensors [B, T, ...]."""
    first = moments[0]
    if isinstance(first, Tensor):
        return torch.stack(moments, 1)
    return type(first)(*(stacked([moment[i] for moment in moments]) for i in range(len(first))))
