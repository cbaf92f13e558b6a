"""Networks whose answer is a row of their own inputs: pointer networks, and what came before them (Vinyals 2015).

An LSTM reads points in the plane, one after another; a second LSTM names some of them, again one after another, until
it names the end. What differs is how a point is named:

    pointer      u_j = v · tanh(W1 e_j + W2 d): the scores of a lookup over the states e_j of the points are themselves
                 the answer (section 2.3), so any number of points will do
    attention    the lookup gives a mixture of the states, and a table with a row for each position names the point
                 (section 2.2)
    plain        the same table, and no lookup (section 2.1)

An answer is written in tokens: 0 is the end, and the beginning; 1 to S are the points in their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from allyouneed.models.pointer_rules import Problem, Written, may_follow
from allyouneed.parts.additive import AdditiveAttention
from allyouneed.parts.linear import Linear
from allyouneed.parts.recurrent import Past, RecurrentStack, initialise

Output = Literal["pointer", "attention", "plain"]
FirstWeights = Literal["uniform", "scaled"]
WORDS = {"problem": get_args(Problem), "output": get_args(Output), "first_weights": get_args(FirstWeights)}
END = 0


@dataclass(frozen=True)
class PointerConfig:
    """Every number of a pointer network. The defaults are the larger one of Vinyals 2015, section 4.1."""

    problem: Problem = "hull"  # what it answers
    output: Output = "pointer"  # how it names a point
    d_model: int = 512  # width of a state
    d_attention: int | None = None  # width inside a lookup; None: d_model
    n_layers: int = 1  # of each LSTM
    bidirectional: bool = False  # the points are read in both directions, with half the width for each
    glimpses: int = 0  # lookups before a pointer points, each added to what it points with (Vinyals 2016, section 4.1)
    constrained: bool = True  # whether what no answer can hold has no chance
    first_weights: FirstWeights = "uniform"  # all within 0.08 of 0, or each as wide as what comes in
    max_points: int | None = None  # how many positions have a name; None: pointers need none

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        for name in ("d_model", "d_attention", "n_layers", "max_points"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} = {value}: at least 1 is needed")
        if self.glimpses < 0:
            raise ValueError(f"glimpses = {self.glimpses}: 0 or more are needed")
        if self.bidirectional and self.d_model % 2:
            raise ValueError(f"d_model = {self.d_model}: two directions share it, so it must be even")
        if self.output == "pointer" and self.max_points is not None:
            raise ValueError("max_points belongs to an output by position: a pointer has no bound")
        if self.output != "pointer" and self.max_points is None:
            raise ValueError(f'output = "{self.output}" needs max_points, the number of positions that have a name')
        if self.output != "pointer" and self.glimpses:
            raise ValueError(f'glimpses = {self.glimpses}: only an output "pointer" has them')

    @property
    def line(self) -> Literal["points"]:
        """What it reads: points in the plane."""
        return "points"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "PointerConfig":
        """The config of JSON values. Raises ValueError for a word that a setting does not know."""
        for name, allowed in WORDS.items():
            if values.get(name, allowed[0]) not in allowed:
                raise ValueError(f"{name} = {values[name]!r} is none of {', '.join(allowed)}")
        return cls(**values)


@dataclass(frozen=True)
class PointMemory:
    """What was read of B sets of points. Column 0 is the end, the others are the points."""

    columns: Tensor  # [B, S + 1, D]: what stands for each
    keys: tuple[Tensor, ...]  # each [B, S + 1, A]: the same, as each lookup compares it
    named: Tensor  # [B, S + 1, 2]: what the second LSTM is fed after each
    keep: Tensor  # [B, S + 1]: which are there
    pasts: list[Past]  # what the first LSTM remembers at its end

    def select(self, sets: Tensor) -> "PointMemory":
        """The memory of some of the sets."""
        keys = tuple(key[sets] for key in self.keys)
        pasts = [past.select(sets) for past in self.pasts]
        return PointMemory(self.columns[sets], keys, self.named[sets], self.keep[sets], pasts)


@dataclass(frozen=True)
class PointerState:
    """One row a hypothesis; those of one set stand side by side and share its memory."""

    memory: PointMemory
    pasts: list[Past]
    written: Written
    found: Tensor | None  # [R, D]: what the last lookup found, where the LSTM is fed with it

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return len(self.written.last)

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.written.last.device

    def select(self, rows: Tensor) -> "PointerState":
        """Row i of the new state goes on from row `rows[i]` of this one; the kept sets have equally many rows."""
        sets = (rows // (self.rows // len(self.memory.keep))).unique_consecutive()
        memory = self.memory if len(sets) == len(self.memory.keep) else self.memory.select(sets)
        found = None if self.found is None else self.found[rows]
        return PointerState(memory, [past.select(rows) for past in self.pasts], self.written.select(rows), found)


class PointerNetwork(nn.Module):
    """Reads points, names some of them."""

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        self.config = config
        width, inner = config.d_model, config.d_attention or config.d_model
        each = width // 2 if config.bidirectional else width
        self.encoder = RecurrentStack("lstm", 2, each, n_layers=config.n_layers, bidirectional=config.bidirectional)
        fed = {"pointer": 2, "attention": 2 * width, "plain": width}[config.output]
        self.decoder = RecurrentStack("lstm", fed, width, n_layers=config.n_layers)
        lookups = {"pointer": 1 + config.glimpses, "attention": 1, "plain": 0}[config.output]
        self.lookups = nn.ModuleList(AdditiveAttention(width, width, inner) for _ in range(lookups))
        if config.output == "pointer":
            self.beginning = nn.Parameter(torch.empty(2))  # what is fed where no point was named yet
            self.end = nn.Parameter(torch.empty(width))  # what stands for the end, as states do for points
        else:
            names = 1 + (config.max_points or 0)
            self.embedding = nn.Embedding(names, width)
            self.output = Linear(width if config.output == "plain" else 2 * width, names)
        initialise(self, "uniform")
        if config.first_weights == "scaled":
            scale(self)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def encode(self, points: Tensor, keep: Tensor | None = None) -> PointMemory:
        """points [B, S, 2] -> what the second LSTM is given of them. `keep` [B, S] is True at points that are there,
        which stand before those that are not. Raises ValueError for more points than have names.
        """
        most = self.config.max_points
        if most is not None and points.shape[1] > most:
            raise ValueError(f"{points.shape[1]} points, and this model has names for {most} positions")
        states, pasts = self.encoder(points, None, keep)
        there = points.new_ones(points.shape[:2], dtype=torch.bool) if keep is None else keep
        there = torch.cat((torch.ones_like(there[:, :1]), there), 1)
        if self.config.bidirectional:
            pasts = [both(*pasts[layer : layer + 2]) for layer in range(0, len(pasts), 2)]
        if self.config.output == "pointer":
            columns = torch.cat((self.end.expand(len(points), 1, -1), states), 1)
            named = torch.cat((self.beginning.expand(len(points), 1, -1), points), 1)
        else:  # the end has a name, and nothing to be looked at
            columns = torch.cat((torch.zeros_like(states[:, :1]), states), 1)
            named = torch.cat((torch.zeros_like(points[:, :1]), points), 1)
        keys = tuple(lookup.keys(columns) for lookup in self.all_lookups())
        return PointMemory(columns, keys, named, there, pasts)

    def decode(self, target: Tensor, memory: PointMemory) -> Tensor:
        """The logits [B, T, S + 1] of each token of whole answers [B, T], by all that stands before it. After the end
        of a shorter one any token may stand.
        """
        given = torch.cat((torch.full_like(target[:, :1], END), target[:, :-1]), 1)
        if self.config.output == "attention":  # what a lookup found is fed into the next step
            state, steps = self.start(memory), list[Tensor]()
            for tokens in given.unbind(1):
                logits, state = self.step(tokens, state)
                steps.append(logits)
            return torch.stack(steps, 1)
        states, _ = self.decoder(self._fed(given, memory), memory.pasts)
        written = Written.before(given, memory.keep.shape[1])
        return self._logits(states, self._find(states, memory), memory, written)

    def forward(self, points: Tensor, target: Tensor, keep: Tensor | None = None) -> Tensor:
        """points [B, S, 2], answers [B, T] -> the logits [B, T, S + 1] of each of their tokens."""
        return self.decode(target, self.encode(points, keep))

    def start(self, memory: PointMemory, *, sentences: int = 1) -> PointerState:
        """Nothing named yet: one row a set."""
        rows, columns = memory.keep.shape
        written = Written.nothing(rows, columns, memory.keep.device)
        found = torch.zeros_like(memory.columns[:, 0]) if self.config.output == "attention" else None
        return PointerState(memory, memory.pasts, written, found)

    def step(self, tokens: Tensor, state: PointerState) -> tuple[Tensor, PointerState]:
        """Appends tokens [R], at first those of the beginning -> the logits [R, S + 1] of what follows, and the new
        state.
        """
        memory, sets = state.memory, len(state.memory.keep)
        x = self._fed(tokens.view(sets, -1), memory).flatten(0, 1)
        states, pasts = self.decoder.step(x if state.found is None else torch.cat((x, state.found), 1), state.pasts)
        written = state.written.add(tokens[:, None])
        states = states.view(sets, -1, self.config.d_model)
        found = self._find(states, memory)
        logits = self._logits(states, found, memory, written.folded(sets)).flatten(0, 1)
        fed_on = None if state.found is None else found.flatten(0, 1)
        return logits, PointerState(memory, pasts, written, fed_on)

    def _fed(self, tokens: Tensor, memory: PointMemory) -> Tensor:
        """What the second LSTM is fed after tokens [B, T]: the points themselves, or their positions' embeddings."""
        if self.config.output != "pointer":
            return self.embedding(tokens)
        return memory.named.gather(1, tokens[..., None].expand(-1, -1, 2))

    def _find(self, states: Tensor, memory: PointMemory) -> Tensor:
        """What is added to states [B, T, D], or stands beside them, from lookups: [B, T, D]."""
        if self.config.output == "attention":
            there = memory.keep.clone()
            there[:, END] = False
            return self.all_lookups()[0](states, memory.keys[0], memory.columns, there)
        found = torch.zeros_like(states)
        for lookup, keys in zip(self.all_lookups()[1:], memory.keys[1:], strict=True):
            found = found + lookup(states + found, keys, memory.columns, memory.keep)
        return found

    def _logits(self, states: Tensor, found: Tensor, memory: PointMemory, written: Written) -> Tensor:
        """States and what was found for them, both [B, T, D] -> [B, T, S + 1]."""
        columns = memory.keep.shape[1]
        if self.config.output == "pointer":
            scores = self.all_lookups()[0].scores(states + found, memory.keys[0])
        else:
            scores = self.output(states if self.config.output == "plain" else torch.cat((states, found), -1))
            scores = scores[..., :columns]
        constrained = self.config.constrained
        allowed = may_follow(self.config.problem, written, memory.keep) if constrained else memory.keep[:, None]
        return scores.masked_fill(~allowed, -torch.inf)

    def all_lookups(self) -> Sequence[AdditiveAttention]:
        """The lookup that points or mixes, and the glimpses."""
        return [lookup for lookup in self.lookups if isinstance(lookup, AdditiveAttention)]


@torch.no_grad()
def scale(model: PointerNetwork) -> None:
    """First weights by which points change states from the start: two coordinates are few inputs, and weights of 0.08
    leave their differences next to nothing. Recurrent matrices are orthogonal, gates begin by remembering, and points
    in the middle of the unit square move nothing.
    """
    for layer in (*model.encoder.all_layers, *model.decoder.all_layers):
        inputs, width = layer.input.weight.shape[1], layer.d_hidden
        reach = 2 * (3 / inputs) ** 0.5 if inputs == 2 else inputs**-0.5
        nn.init.uniform_(layer.input.weight, -reach, reach)
        for gate in layer.recurrent_weight.split(width):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(layer.recurrent_bias)
        nn.init.zeros_(layer.input.bias)
        layer.input.bias[width : 2 * width] = 1.0  # the gate that forgets
        if inputs == 2:
            layer.input.bias.sub_(layer.input.weight.sum(1) / 2)
    for lookup in model.all_lookups():
        for matrix in (lookup.query.weight, lookup.key.weight):
            nn.init.xavier_uniform_(matrix)
        nn.init.uniform_(lookup.direction, -(len(lookup.direction) ** -0.5), len(lookup.direction) ** -0.5)


def both(forward: Past, backward: Past) -> Past:
    """What two directions remember, side by side."""
    cells = [cell for cell in (forward.cell, backward.cell) if cell is not None]
    return Past(torch.cat((forward.hidden, backward.hidden), 1), torch.cat(cells, 1))
