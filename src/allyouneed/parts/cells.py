"""What one token does to a recurrent state: gates say how much of it changes (LSTM: Hochreiter & Schmidhuber 1997 with
the forget gate of Gers 2000; GRU: Cho 2014).

The equations are those of torch's own layers, so weights can be moved either way. σ is the logistic function; what the
token itself says, W x + b, is `given`, and what the state before it says, U h + d, is `told`:

    LSTM    i, f, g, o = given + told        c' = σ(f) c + σ(i) tanh(g)         h' = σ(o) tanh(c')
    GRU     r = σ(given_r + told_r)          n = tanh(given_n + r told_n)
            z = σ(given_z + told_z)          h' = (1 - z) n + z h

In Cho's own GRU the reset gate stands before the product, n = tanh(given_n + U_n (r h)); behind it, all that the state
is multiplied with stands in one matrix.

A `Tape` goes over a text and back. What going back needs of the gates is made for all tokens at once, so that a token
costs a few sums there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Cell = Literal["lstm", "gru"]
GATES: dict[Cell, int] = {"lstm": 4, "gru": 3}


class Past(NamedTuple):
    """What a layer remembers: the state that it shows, `hidden` [R, H], and in an LSTM the `cell` behind it [R, H]."""

    hidden: Tensor
    cell: Tensor | None = None

    def select(self, rows: Tensor) -> "Past":
        """Row i of the new one is row `rows[i]` of this one."""
        return Past(self.hidden[rows], None if self.cell is None else self.cell[rows])

    def where(self, real: Tensor, other: "Past") -> "Past":
        """What it is where `real` [R, 1] is True, and the other elsewhere."""
        cell = self.cell if self.cell is None or other.cell is None else self.cell.where(real, other.cell)
        return Past(self.hidden.where(real, other.hidden), cell)


def naive_lstm_step(gates: Tensor, past: Past, weight: Tensor, bias: Tensor) -> Past:
    """One token of an LSTM: gates [R, 4H], weight [4H, H], bias [4H] -> what is remembered after it."""
    assert past.cell is not None
    i, f, g, o = (gates + past.hidden @ weight.T + bias).chunk(4, -1)
    cell = f.sigmoid() * past.cell + i.sigmoid() * g.tanh()
    return Past(o.sigmoid() * cell.tanh(), cell)


def naive_gru_step(gates: Tensor, past: Past, weight: Tensor, bias: Tensor) -> Past:
    """One token of a GRU: gates [R, 3H], weight [3H, H], bias [3H] -> what is remembered after it."""
    given_r, given_z, given_n = gates.chunk(3, -1)
    r, z, n = (past.hidden @ weight.T + bias).chunk(3, -1)
    reset, update = (given_r + r).sigmoid(), (given_z + z).sigmoid()
    return Past((1 - update) * (given_n + reset * n).tanh() + update * past.hidden)


NaiveStep = Callable[[Tensor, Past, Tensor, Tensor], Past]
NAIVE_STEPS: dict[Cell, NaiveStep] = {"lstm": naive_lstm_step, "gru": naive_gru_step}

# Gradients behind a gate, from those in front of it and what the gate shows: grad σ (1 - σ), and grad (1 - tanh²).
by_sigmoid, by_tanh = torch.ops.aten.sigmoid_backward.default, torch.ops.aten.tanh_backward.default


class Tape(ABC):
    """The states [T + 1, B, H] of one layer over T tokens, the one before them first, and what it takes to go back.

    Time comes first, so that what belongs to one token lies together. `real` [T, B, 1] is False at padding, which
    changes no state; None: all tokens are real.
    """

    shared: int  # how many columns of what is given and of what is told are only added up
    gates: Tensor  # [T, B, 3H or 4H], as they opened

    def __init__(self, length: int, hidden: Tensor, real: Tensor | None) -> None:
        self.real = real
        self.hiddens = hidden.new_empty(length + 1, *hidden.shape)
        self.hiddens[0] = hidden

    @abstractmethod
    def advance(self, t: int, given: Tensor, told: Tensor) -> None:
        """Makes the state after token t of what the token says, `given` [B, 3H or 4H], which may lie in `gates[t]`, and
        of what the state before it says, `told` = U h + d.
        """

    @abstractmethod
    def turn(self, last_cell: Tensor | None) -> None:
        """Makes ready for going back. `last_cell` is the gradient of the last cell."""

    @abstractmethod
    def retreat(self, t: int, grad: Tensor, given: Tensor, told: Tensor) -> Tensor:
        """From the gradient of the state after token t [B, H] to that of the state before it, but for what comes
        through U h. The gradient of what was given is written into `given` [B, 3H or 4H]. What was told has the same
        one in its first `shared` columns, and that of its others is written into `told`.
        """


class LstmTape(Tape):
    """The cells [T + 1, B, H] stand behind the states."""

    def __init__(self, length: int, hidden: Tensor, cell: Tensor, real: Tensor | None) -> None:
        super().__init__(length, hidden, real)
        self.cells, self.shown = torch.empty_like(self.hiddens), torch.empty_like(self.hiddens[1:])
        self.gates = hidden.new_empty(length, len(hidden), 4 * hidden.shape[1])
        self.cells[0] = cell
        self.shared = 4 * hidden.shape[1]

    def advance(self, t: int, given: Tensor, told: Tensor) -> None:
        """c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c')."""
        width = self.hiddens.shape[2]
        gates = torch.add(given, told, out=self.gates[t])
        gates[:, : 2 * width].sigmoid_()
        gates[:, 2 * width : 3 * width].tanh_()
        gates[:, 3 * width :].sigmoid_()
        i, f, g, o = gates.chunk(4, -1)
        cell = torch.mul(f, self.cells[t], out=self.cells[t + 1]).addcmul_(i, g)
        hidden = torch.mul(o, torch.tanh(cell, out=self.shown[t]), out=self.hiddens[t + 1])
        if self.real is not None:
            torch.where(self.real[t], cell, self.cells[t], out=cell)
            torch.where(self.real[t], hidden, self.hiddens[t], out=hidden)

    def turn(self, last_cell: Tensor | None) -> None:
        """All but the last factor of every gate's gradient."""
        i, f, g, o = self.gates.chunk(4, -1)
        self.to_output = by_sigmoid(self.shown, o)
        self.to_cell = by_tanh(o, self.shown)
        self.to_gates = torch.stack((by_sigmoid(g, i), by_sigmoid(self.cells[:-1], f), by_tanh(i, g)), 2)
        self.forget, self.stays = f, None
        self.cell_grad = torch.zeros_like(self.cells[0]) if last_cell is None else last_cell.clone()
        if self.real is not None:
            self.to_output, self.to_cell = self.to_output * self.real, self.to_cell * self.real
            self.to_gates = self.to_gates * self.real[:, :, None]
            self.forget = f.where(self.real, 1.0)
            self.stays = (~self.real).to(f.dtype)

    def retreat(self, t: int, grad: Tensor, given: Tensor, told: Tensor) -> Tensor:
        """The cell's own gradient is kept beside that of the state."""
        cell = self.cell_grad.addcmul_(grad, self.to_cell[t])
        by_gate = given.unflatten(1, (4, -1))
        torch.mul(cell[:, None], self.to_gates[t], out=by_gate[:, :3])
        torch.mul(grad, self.to_output[t], out=by_gate[:, 3])
        cell.mul_(self.forget[t])
        return torch.zeros_like(grad) if self.stays is None else grad * self.stays[t]


class GruTape(Tape):
    """All gradients of a token's gates are multiples of its state's."""

    def __init__(self, length: int, hidden: Tensor, real: Tensor | None) -> None:
        super().__init__(length, hidden, real)
        self.padding = None if real is None else ~real
        self.gates = hidden.new_empty(length, len(hidden), 3 * hidden.shape[1])
        self.inner = torch.empty_like(self.hiddens[1:])  # U_n h + d_n
        self.shared = 2 * hidden.shape[1]

    def advance(self, t: int, given: Tensor, told: Tensor) -> None:
        """n = tanh(given_n + r told_n), h' = (1 - z) n + z h."""
        width = self.hiddens.shape[2]
        gates = self.gates[t]
        torch.add(given[:, : 2 * width], told[:, : 2 * width], out=gates[:, : 2 * width]).sigmoid_()
        r, z, n = gates.chunk(3, -1)
        if self.padding is not None:
            z.masked_fill_(self.padding[t], 1.0)  # lets the state pass, and its gradient
        self.inner[t] = told[:, 2 * width :]
        torch.addcmul(given[:, 2 * width :], r, self.inner[t], out=n).tanh_()
        torch.lerp(n, self.hiddens[t], z, out=self.hiddens[t + 1])

    def turn(self, last_cell: Tensor | None) -> None:
        """The multiples."""
        r, self.update, n = self.gates.chunk(3, -1)
        to_n = by_tanh(1 - self.update, n)
        to_z = by_sigmoid(self.hiddens[:-1] - n, self.update)
        self.to_gates = torch.stack((by_sigmoid(to_n * self.inner, r), to_z, to_n), 2)  # [T, B, 3, H]
        self.to_inner = to_n * r

    def retreat(self, t: int, grad: Tensor, given: Tensor, told: Tensor) -> Tensor:
        """What is told reaches n through the reset gate, what is given without it."""
        torch.mul(grad[:, None], self.to_gates[t], out=given.unflatten(1, (3, -1)))
        torch.mul(grad, self.to_inner[t], out=told)
        return grad * self.update[t]


def tape_of(length: int, hidden: Tensor, behind: Tensor | None, real: Tensor | None) -> Tape:
    """An LSTM's tape where there is a cell behind the state [B, H] before the first token, and a GRU's otherwise."""
    return GruTape(length, hidden, real) if behind is None else LstmTape(length, hidden, behind, real)
