"""Read, process, write: a model of sets, to which the order of its inputs is nothing (Vinyals 2016, section 4).

Each element is read alone. Then an LSTM without inputs looks at all of them, again and again, and what it has seen in
the end says what the set is; a sum over elements has no order, so neither has that. Then a pointer network writes
elements, one after another, by pointing at them.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from allyouneed.parts.additive import AdditiveAttention
from allyouneed.parts.linear import Linear
from allyouneed.parts.recurrent import Past, RecurrentLayer


@dataclass(frozen=True)
class SetConfig:
    """Every number of a read-process-write model. How wide those of the paper were is not said there."""

    n_inputs: int = 1  # numbers of an element
    d_model: int = 128  # D
    process_steps: int = 5  # P: how often the set is looked at before anything is written; 0 is without that
    glimpses: int = 1  # lookups before each pointer

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        for name, least in (("n_inputs", 1), ("d_model", 1), ("process_steps", 0), ("glimpses", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} = {getattr(self, name)}: at least {least} is needed")

    @property
    def line(self) -> Literal["set"]:
        """What it reads."""
        return "set"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "SetConfig":
        """The config of JSON values."""
        return cls(**values)


class SetMemory(NamedTuple):
    """A set that was read and processed: its elements [B, S, D]; what each lookup compares them by [B, S, D], that of
    the pointer last; q*, what the processing made of the set [B, 2D]; and where it looked [B, P, S].
    """

    elements: Tensor
    keys: tuple[Tensor, ...]
    summary: Tensor
    looks: Tensor

    def select(self, rows: Tensor) -> "SetMemory":
        """Row i of the new one is row `rows[i]` of this one."""
        keys = tuple(keys[rows] for keys in self.keys)
        return SetMemory(self.elements[rows], keys, self.summary[rows], self.looks[rows])


class SetState(NamedTuple):
    """Some elements are written, one row a set: what the writer remembers, what it is given next [R, D], and which
    elements are taken [R, S].
    """

    memory: SetMemory
    past: Past
    given: Tensor
    taken: Tensor

    @property
    def rows(self) -> int:
        """Sets, or several answers to each."""
        return len(self.taken)

    def select(self, rows: Tensor) -> "SetState":
        """Row i of the new state goes on from row `rows[i]` of this one."""
        return SetState(self.memory.select(rows), self.past.select(rows), self.given[rows], self.taken[rows])


class Pointed(NamedTuple):
    """An answer: elements in the order in which they were pointed at [B, S], and each time the chances that they all
    had [B, S, S].
    """

    order: Tensor
    chances: Tensor


class ReadProcessWrite(nn.Module):
    """Reads a set, and points at its elements."""

    def __init__(self, config: SetConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.reader = nn.Sequential(Linear(config.n_inputs, width), nn.ReLU(), Linear(width, width))
        # What the LSTM evolves is a query and what it found: the second half comes in where inputs do.
        self.processor = RecurrentLayer("lstm", width, width)
        self.opening = Linear(2 * width, 2 * width)  # from there to where the writer begins
        self.writer = RecurrentLayer("lstm", width, width)
        self.beginning = nn.Parameter(torch.zeros(width))  # what it is given where no element was written yet
        queries = [width] + [2 * width] * config.glimpses
        self.lookups = nn.ModuleList(AdditiveAttention(query, width, width) for query in queries)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """First weights of the LSTMs as is usual for their width, their forget gates open."""
        width = self.config.d_model
        for layer in (self.processor, self.writer):
            for parameter in layer.parameters():
                nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)
            nn.init.ones_(layer.recurrent_bias[width : 2 * width])

    def encode(self, numbers: Tensor) -> SetMemory:
        """numbers [B, S, I] -> the set, read and processed."""
        elements = self.reader(numbers)
        past, found = self.processor.at_rest(len(elements)), torch.zeros_like(elements[:, 0])
        looks = list[Tensor]()
        for _ in range(self.config.process_steps):
            past = self.processor.step(found, past)  # equation 3
            looks.append((elements @ past.hidden[:, :, None]).squeeze(2).softmax(-1))  # 4 and 5
            found = (looks[-1][:, None] @ elements).squeeze(1)  # 6
        summary = torch.cat((past.hidden, found), -1)  # 7
        keys = tuple(lookup.keys(elements) for lookup in self.all_lookups)
        seen = torch.stack(looks, 1) if looks else elements.new_zeros(len(elements), 0, elements.shape[1])
        return SetMemory(elements, keys, summary, seen)

    def start(self, memory: SetMemory) -> SetState:
        """Nothing written yet."""
        hidden, cell = self.opening(memory.summary).chunk(2, -1)
        taken = torch.zeros(memory.elements.shape[:2], dtype=torch.bool, device=hidden.device)
        return SetState(memory, Past(hidden.tanh(), cell), self.beginning.expand(len(hidden), -1), taken)

    def scores(self, states: Tensor, memory: SetMemory) -> Tensor:
        """How much each state of the writer points at each element: [B, T, D] -> [B, T, S]."""
        query = states
        for lookup, keys in zip(self.all_lookups[:-1], memory.keys[:-1], strict=True):
            query = torch.cat((states, lookup(query, keys, memory.elements)), -1)
        return self.all_lookups[-1].scores(query, memory.keys[-1])

    def step(self, state: SetState) -> tuple[Tensor, SetState]:
        """Logits [R, S] of the next element. `follow` says which one it is."""
        past = self.writer.step(state.given, state.past)
        scores = self.scores(past.hidden[:, None], state.memory)[:, 0]
        return scores, SetState(state.memory, past, state.given, state.taken)

    def follow(self, chosen: Tensor, state: SetState) -> SetState:
        """After `step`: the elements [R] that were written."""
        rows = torch.arange(state.rows, device=chosen.device)
        taken = state.taken.index_put((rows, chosen), torch.ones_like(chosen, dtype=torch.bool))
        return SetState(state.memory, state.past, state.memory.elements[rows, chosen], taken)

    def forward(self, numbers: Tensor, order: Tensor) -> Tensor:
        """numbers [B, S, I] and the elements that were written [B, T] -> logits of each of them [B, T, S].

        All steps are made together; the logits are those of `step`.
        """
        memory = self.encode(numbers)
        state = self.start(memory)
        written = memory.elements.take_along_dim(order[:, :-1, None], 1)
        states, _ = self.writer(torch.cat((state.given[:, None], written), 1), state.past)
        return self.scores(states, memory)

    @torch.no_grad()
    def point(self, memory: SetMemory, *, once: bool = False) -> Pointed:
        """Writes as many elements as there are, each time the likeliest; with `once`, the likeliest of those that are
        left. The model itself is free to point at one twice: that it does not is a thing it must learn.
        """
        state, order, chances = self.start(memory), list[Tensor](), list[Tensor]()
        for _ in range(memory.elements.shape[1]):
            scores, state = self.step(state)
            if once:
                scores = scores.masked_fill(state.taken, -torch.inf)
            order.append(scores.argmax(-1))
            chances.append(scores.softmax(-1))
            state = self.follow(order[-1], state)
        return Pointed(torch.stack(order, 1), torch.stack(chances, 1))

    @property
    def all_lookups(self) -> list[AdditiveAttention]:
        """The glimpses in their order, and then the pointer."""
        return [lookup for lookup in self.lookups if isinstance(lookup, AdditiveAttention)]
