"""A recurrent layer that looks at a source before each token, over a whole text at once (Bahdanau 2015, section A.2.2).

What is found is part of a token's input, and what is asked comes from the state before it, so nothing of this can be
made outside the loop but the products with the tokens themselves. As in `parts/recurrent.py` all gradients of weights
are left for one product each at the end; what is inside the score's tanh is made again on the way back, where it
serves for three sums.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from allyouneed.parts.additive import AdditiveAttention
from allyouneed.parts.cells import LstmTape, Past, Tape, tape_of
from allyouneed.parts.recurrent import RecurrentLayer


class Sight(NamedTuple):
    """What is looked at: keys [B, S, A] and values [B, S, M]; `keep` [B, S] says which may be looked at (None: all)."""

    keys: Tensor
    values: Tensor
    keep: Tensor | None


def naive_attentive_scan(
    layer: RecurrentLayer, attention: AdditiveAttention, context: Tensor, given: Tensor, past: Past, sight: Sight
) -> tuple[Tensor, Tensor]:
    """Token after token, as it is defined; takes and gives what `attentive_scan` does."""
    states, found = list[Tensor](), list[Tensor]()
    for t in range(given.shape[1]):
        found.append(attention(past.hidden[:, None], sight.keys, sight.values, sight.keep)[:, 0])
        past = layer.step_from(given[:, t] + found[-1] @ context.T, past)
        states.append(past.hidden)
    return torch.stack(states, 1), torch.stack(found, 1)


def attentive_scan(
    layer: RecurrentLayer, attention: AdditiveAttention, context: Tensor, given: Tensor, past: Past, sight: Sight
) -> tuple[Tensor, Tensor]:
    """States [B, T, H] of a layer over the input products `given` [B, T, 3H or 4H] of a text, and what was found before
    each token, [B, T, M], which goes in through the weights `context` [3H or 4H, M].
    """
    keys, values, keep = sight
    blocked = None
    if keep is not None:
        empty = ~keep.any(1, keepdim=True)  # who may look nowhere finds nothing
        blocked, values = ~(keep | empty), values.masked_fill(empty[:, :, None], 0.0)
    with torch.autocast(given.device.type, enabled=False):
        told = torch.cat((layer.recurrent_weight, attention.query.weight))
        inputs = (given.transpose(0, 1), past.hidden, past.cell, keys, values)
        floats = [None if x is None else x.to(told.dtype) for x in inputs]
        states, found = _Scan.apply(*floats, blocked, told, layer.recurrent_bias, context, attention.direction)
    return states.transpose(0, 1), found.transpose(0, 1)


class _Scan(torch.autograd.Function):
    """`told` [3H or 4H + A, H] makes of a state what it says to the gates and what it asks. Time comes first."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Tensor,
        hidden: Tensor,
        cell: Tensor | None,
        keys: Tensor,
        values: Tensor,
        blocked: Tensor | None,
        told: Tensor,
        bias: Tensor,
        context: Tensor,
        direction: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """-> states [T, B, H] and what was found [T, B, M]."""
        length, width = len(given), len(bias)
        tape = tape_of(length, hidden, cell, None)
        weights = given.new_empty(length, *keys.shape[:2])
        found = given.new_empty(length, len(keys), values.shape[2])
        queries = given.new_empty(length, len(keys), len(direction))
        turned, in_context, inside = told.t().contiguous(), context.t().contiguous(), torch.empty_like(keys)
        for t in range(length):
            both = tape.hiddens[t] @ turned
            queries[t] = both[:, width:]
            scores = torch.add(keys, queries[t][:, None], out=inside).tanh_() @ direction
            scores = scores if blocked is None else scores.masked_fill_(blocked, -torch.inf)
            torch.softmax(scores, -1, out=weights[t])
            torch.bmm(weights[t][:, None], values, out=found[t][:, None])
            gates = torch.addmm(given[t], found[t], in_context, out=tape.gates[t])
            tape.advance(t, gates, both[:, :width].add_(bias))
        ctx.tape = tape
        ctx.save_for_backward(keys, values, told, context, direction, weights, queries, found)
        return tape.hiddens[1:], found

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        """The same tokens from the last to the first. The direction v stands outside the sums that need it once."""
        tape: Tape = ctx.tape
        keys, values, told, context, direction, weights, queries, found = ctx.saved_tensors
        upstream, grad_found = grad_outputs[0], grad_outputs[1].clone()
        tape.turn(None)
        width = len(context) - tape.shared  # of what is told apart; behind it stands what is asked
        shared, apart = told.tensor_split((tape.shared,))
        grad_given = upstream.new_empty(*upstream.shape[:2], len(context))
        grad_told = upstream.new_empty(*upstream.shape[:2], len(apart))
        grad_keys, grad_direction = torch.zeros_like(keys), torch.zeros_like(direction)
        inside, grad = torch.empty_like(keys), torch.zeros_like(tape.hiddens[0])
        for t in range(len(grad_given) - 1, -1, -1):
            rest = tape.retreat(t, grad + upstream[t], grad_given[t], grad_told[t, :, :width])
            grad_found[t].addmm_(grad_given[t], context)
            seen = torch.bmm(grad_found[t][:, None], values.transpose(1, 2))[:, 0].mul_(weights[t])
            scores = seen.sub_(weights[t] * seen.sum(1, keepdim=True))  # [B, S]
            torch.add(keys, queries[t][:, None], out=inside).tanh_()
            grad_direction.addmv_(inside.flatten(0, 1).t(), scores.flatten())
            # The scores times 1 - tanh², in one pass.
            slope = torch.ops.aten.tanh_backward.grad_input(scores[:, :, None], inside, grad_input=inside)
            grad_keys += slope
            torch.mul(slope.sum(1), direction, out=grad_told[t, :, width:])
            grad = rest.addmm_(grad_given[t, :, : tape.shared], shared).addmm_(grad_told[t], apart)
        states, by_given = tape.hiddens[:-1].flatten(0, 1), grad_given.flatten(0, 1).t()
        parts = [by_given[: tape.shared], grad_told.flatten(0, 1).t()]
        return (
            grad_given,
            grad,
            tape.cell_grad if isinstance(tape, LstmTape) else None,
            grad_keys.mul_(direction),
            torch.bmm(weights.permute(1, 2, 0), grad_found.transpose(0, 1)),
            None,
            torch.cat([part @ states for part in parts]),
            torch.cat([part.sum(1) for part in parts])[: len(context)],
            by_given @ found.flatten(0, 1),
            grad_direction,
        )
