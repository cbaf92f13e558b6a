"""Recurrent layers: they read a text token by token, and what they show of it is a state (cells: `parts/cells.py`).

**Speed.** Nothing that does not need the state is done inside the loop over tokens: the input products of a whole text
are one product, and backward leaves the gradient of the state's weights for one product at the end.

**Padding.** Where `keep` is False a token moves no state, whichever way the text is read.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from allyouneed.parts.cells import GATES, NAIVE_STEPS, Cell, LstmTape, Tape, tape_of
from allyouneed.parts.cells import Past as Past  # part of this room's interface, too
from allyouneed.parts.dropout import Dropout
from allyouneed.parts.linear import Linear

Initialisation = Literal["uniform", "orthogonal"]


def naive_scan(
    cell: Cell, gates: Tensor, past: Past, keep: Tensor | None, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Past]:
    """Token after token, as it is defined; takes and gives what `scan` does."""
    outputs: list[Tensor] = []
    for t in range(gates.shape[1]):
        new = NAIVE_STEPS[cell](gates[:, t], past, weight, bias)
        past = new if keep is None else new.where(keep[:, t, None], past)
        outputs.append(past.hidden)
    return torch.stack(outputs, 1), past


def scan(
    cell: Cell, gates: Tensor, past: Past, keep: Tensor | None, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Past]:
    """The state after each token of a text, and what is remembered after the last one.

    gates [B, T, 3H or 4H], keep [B, T] or None where all tokens are real -> states [B, T, H].
    """
    if gates.shape[1] == 1 and keep is None:
        past = NAIVE_STEPS[cell](gates[:, 0], past, weight, bias)
        return past.hidden[:, None], past
    real = None if keep is None else keep.T[:, :, None]
    states, last = _Scan.apply(gates.transpose(0, 1), real, *past, weight, bias)
    return states.transpose(0, 1), Past(states[-1], last)


class _Scan(torch.autograd.Function):
    """One product of states with U a token, there and back; the gradient of U is one product in the end."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Tensor,
        real: Tensor | None,
        hidden: Tensor,
        behind: Tensor | None,
        weight: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """given [T, B, 3H or 4H], real [T, B, 1], hidden and behind [B, H] -> states [T, B, H] and the last cell."""
        tape = tape_of(len(given), hidden, behind, real)
        turned = weight.t().contiguous()
        for t in range(len(given)):
            tape.advance(t, given[t], torch.addmm(bias, tape.hiddens[t], turned))
        ctx.tape = tape
        ctx.save_for_backward(weight)
        return tape.hiddens[1:], tape.cells[-1] if isinstance(tape, LstmTape) else None

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        """The same tokens from the last to the first."""
        tape: Tape = ctx.tape
        (weight,) = ctx.saved_tensors
        upstream, last_cell = grad_outputs
        tape.turn(last_cell)
        given, told = (upstream.new_empty(*upstream.shape[:2], n) for n in (len(weight), len(weight) - tape.shared))
        shared, apart = weight.tensor_split((tape.shared,))
        grad = torch.zeros_like(tape.hiddens[0])
        for t in range(len(given) - 1, -1, -1):
            rest = tape.retreat(t, grad + upstream[t], given[t], told[t])
            grad = rest.addmm_(given[t, :, : tape.shared], shared).addmm_(told[t], apart)
        states = tape.hiddens[:-1].flatten(0, 1)
        parts = [given[:, :, : tape.shared].flatten(0, 1), told.flatten(0, 1)]
        by_weight, by_bias = torch.cat([part.t() @ states for part in parts]), torch.cat([x.sum(0) for x in parts])
        behind = tape.cell_grad if isinstance(tape, LstmTape) else None
        return given, None, grad, behind, by_weight, by_bias


class RecurrentLayer(nn.Module):
    """One layer that reads a text in one direction. It has a token's input products from `input`, and the rest from
    `recurrent_weight` and `recurrent_bias`, which torch calls weight_ih, bias_ih, weight_hh and bias_hh.
    """

    def __init__(self, cell: Cell, d_input: int, d_hidden: int, *, reverse: bool = False) -> None:
        super().__init__()
        self.cell: Cell = cell
        self.d_hidden, self.reverse = d_hidden, reverse
        self.input = Linear(d_input, GATES[cell] * d_hidden)
        self.recurrent_weight = nn.Parameter(torch.empty(GATES[cell] * d_hidden, d_hidden))
        self.recurrent_bias = nn.Parameter(torch.empty(GATES[cell] * d_hidden))
        initialise(self, "uniform")

    def at_rest(self, rows: int) -> Past:
        """Nothing read yet."""
        nothing = self.recurrent_bias.new_zeros(rows, self.d_hidden)
        return Past(nothing, nothing if self.cell == "lstm" else None)

    def step(self, x: Tensor, past: Past) -> Past:
        """One token a row: x [R, D] -> what is remembered after it, whose `hidden` is the layer's output [R, H]."""
        return self.step_from(self.input(x), past)

    def step_from(self, gates: Tensor, past: Past) -> Past:
        """The same from the token's input products [R, 3H or 4H]."""
        return NAIVE_STEPS[self.cell](gates, past, self.recurrent_weight, self.recurrent_bias)

    def forward(self, x: Tensor, past: Past | None = None, keep: Tensor | None = None) -> tuple[Tensor, Past]:
        """x [B, T, D] -> states [B, T, H], and what is remembered after the last token that was read: the first one of
        the text where the layer reads in reverse. `keep` [B, T] is True at real tokens.
        """
        if not self.reverse:
            return self.run(self.inputs(x), past, keep)
        states, past = self.run(self.inputs(x.flip(1)), past, None if keep is None else keep.flip(1))
        return states.flip(1), past

    def inputs(self, x: Tensor) -> Tensor:
        """The input products of a text: x [B, T, D] -> [B, T, 3H or 4H]. In memory time comes first, as a scan goes."""
        return self.input(x.transpose(0, 1).contiguous()).transpose(0, 1)

    def run(self, gates: Tensor, past: Past | None = None, keep: Tensor | None = None) -> tuple[Tensor, Past]:
        """`forward` from the input products [B, T, 3H or 4H], in the order in which the tokens are read."""
        past = self.at_rest(len(gates)) if past is None else past
        with torch.autocast(gates.device.type, enabled=False):
            gates = gates.to(self.recurrent_weight.dtype)
            return scan(self.cell, gates, past, keep, self.recurrent_weight, self.recurrent_bias)


class RecurrentStack(nn.Module):
    """Layers one above the other, each in one direction or in both, with dropout between them.

    What is remembered is a list, as torch orders it: layer by layer, and of each layer forward before backward.
    """

    def __init__(
        self,
        cell: Cell,
        d_input: int,
        d_hidden: int,
        *,
        n_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_layers, self.directions = n_layers, 2 if bidirectional else 1
        self.dropout = Dropout(dropout)
        widths = [d_input] + [self.directions * d_hidden] * (n_layers - 1)
        self.layers = nn.ModuleList(
            RecurrentLayer(cell, width, d_hidden, reverse=reverse)
            for width in widths
            for reverse in (False, True)[: self.directions]
        )

    @property
    def all_layers(self) -> list[RecurrentLayer]:
        """The layers, in the order of what they remember."""
        return [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]

    def at_rest(self, rows: int) -> list[Past]:
        """Nothing read yet."""
        return [layer.at_rest(rows) for layer in self.all_layers]

    def forward(
        self, x: Tensor, pasts: list[Past] | None = None, keep: Tensor | None = None
    ) -> tuple[Tensor, list[Past]]:
        """x [B, T, D] -> the top layer's states [B, T, H], or [B, T, 2H] with both directions side by side, and what
        each layer remembers. `keep` [B, T] is True at real tokens.
        """
        pasts = self.at_rest(len(x)) if pasts is None else pasts
        after: list[Past] = []
        for depth in range(self.n_layers):
            here = slice(depth * self.directions, (depth + 1) * self.directions)
            x = self.dropout(x) if depth else x
            read = [layer(x, past, keep) for layer, past in zip(self.all_layers[here], pasts[here], strict=True)]
            x = torch.cat([states for states, _ in read], -1) if self.directions > 1 else read[0][0]
            after += [past for _, past in read]
        return x, after

    def step(self, x: Tensor, pasts: list[Past]) -> tuple[Tensor, list[Past]]:
        """One token a row, of a stack that reads in one direction: x [R, D] -> the top layer's state [R, H]."""
        after: list[Past] = []
        for depth, (layer, past) in enumerate(zip(self.all_layers, pasts, strict=True)):
            x = self.dropout(x) if depth else x
            after.append(layer.step(x, past))
            x = after[-1].hidden
        return x, after


def initialise(module: nn.Module, how: Initialisation) -> None:
    """First weights of everything in a module.

    "uniform": all between -0.08 and 0.08 (Sutskever 2014, section 3.4). "orthogonal": the recurrent matrix of each gate
    is orthogonal, so that a state keeps its length; other matrices are normal with deviation 0.01, biases 0 (Bahdanau
    2015, section B.1).
    """
    for name, parameter in module.named_parameters():
        if how == "uniform":
            nn.init.uniform_(parameter, -0.08, 0.08)
        elif parameter.dim() < 2:
            nn.init.zeros_(parameter)
        elif name.endswith("recurrent_weight"):
            for gate in parameter.detach().split(parameter.shape[1]):
                nn.init.orthogonal_(gate)
        else:
            nn.init.normal_(parameter, std=0.01)
