"""The selective state space: a memory of constant size that decides, token by token, what to keep (Gu & Dao 2023).

Each of F channels has N numbers of state. A token's step Δ says how much time passes in a channel; the state decays by
exp(Δ A) with the rates A < 0, Δ B x is written into it, and C reads from it (section 2, equations 2 and 4, with Euler's
rule for B as in the authors' code; Δ, B and C come from the token: algorithm 2):

    hₜ = exp(Δₜ A) hₜ₋₁ + Δₜ Bₜ xₜ        yₜ = Cₜ hₜ

A long step forgets and takes the token in, a short one passes over it (section 3.5.2).

**Memory.** All states of a text are T · N · F numbers, N times as many as what goes in and comes out. The scan goes
through the text in chunks: the states of one chunk are made, read, and thrown away; only the state before each chunk is
kept. Backward makes a chunk's states once more, from the last chunk to the first (as in section 3.3.2).

**Gradients.** With dyₜ upstream, the gradient of a state collects what its own output and the next state say,

    gₜ = Cₜ dyₜ + exp(Δₜ₊₁ A) gₜ₊₁

which is the same recurrence run backward; and then, summed over the dimensions that the left side lacks,

    dCₜ = hₜ dyₜ      dBₜ = gₜ Δₜ xₜ      d(Δₜ xₜ) = gₜ Bₜ      dΔₜ = eₜ A + d(Δₜ xₜ) xₜ      dA = eₜ Δₜ

where eₜ = gₜ hₜ₋₁ exp(Δₜ A) is the gradient of the exponent.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from allyouneed.parts.fused_scan import fused_scan, suits

CHUNK_NUMBERS = 2**18  # numbers in the states of a chunk: a few such arrays stay in the cache
SHORTEST, LONGEST = 16, 256  # tokens of a chunk: its first state is kept, so short ones cost memory


class Selection(NamedTuple):
    """What a text tells the state space, token by token: the steps Δ [B, T, F], what is written through B [B, T, N],
    what is read through C [B, T, N], and the rates A [N, F], which do not depend on the text.
    """

    steps: Tensor
    rates: Tensor
    write: Tensor
    read: Tensor


def naive_selective_scan(
    inputs: Tensor, selection: Selection, state: Tensor | None = None, begins: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The recurrence word for word, one token after the other; takes and gives what `selective_scan` does."""
    steps, rates, write, read = selection
    state = _at_rest(inputs, rates) if state is None else state
    outputs: list[Tensor] = []
    for t in range(inputs.shape[1]):
        decay = (steps[:, t, None] * rates).exp()  # [B, N, F]
        if begins is not None:
            decay = decay * ~begins[:, t, None, None]
        state = decay * state + write[:, t, :, None] * (steps * inputs)[:, t, None]
        outputs.append((read[:, t, :, None] * state).sum(1))
    return torch.stack(outputs, 1), state


def selective_scan(
    inputs: Tensor, selection: Selection, state: Tensor | None = None, begins: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """What is read from the state after each token, and the state after the last one.

    inputs [B, T, F] -> outputs [B, T, F] and the state [B, N, F]. `state` [B, N, F] is what an earlier part of the text
    left. Where `begins` [B, T] is True another text begins, and what was before is forgotten. Half-width numbers are
    worked on in the width of the rates: a state's rounding errors would add up over a text.

    On a GPU the authors' own extension does the work where it is installed and can: it knows no state before a text, no
    second text in a row, and no gradient of the last state.
    """
    with torch.autocast(inputs.device.type, enabled=False):
        inputs, *others = (x.to(selection.rates.dtype) for x in (inputs, *selection))
        selection = Selection(*others)
        if inputs.shape[1] == 1:
            return naive_selective_scan(inputs, selection, state, begins)
        if state is None and begins is None and suits(inputs):
            return fused_scan(inputs, *selection)
        state = _at_rest(inputs, selection.rates) if state is None else state
        return _Scan.apply(inputs, *selection, state, begins)


def causal_convolution(window: Tensor, weight: Tensor, bias: Tensor | None, positions: Tensor | None = None) -> Tensor:
    """Each channel's weighted sum over the last W tokens, itself included (section 3.4).

    window [B, W - 1 + T, F] holds T tokens after the W - 1 before them, weight [F, W], bias [F] -> [B, T, F]. Where
    several texts follow each other, `positions` [B, T] count from 0 in each, and none reaches into the one before it.
    """
    width = weight.shape[1]
    length = window.shape[1] - width + 1
    mixed = torch.zeros_like(window[:, :1]) if bias is None else bias
    for tap in range(width):
        seen = window[:, tap : tap + length]
        if positions is not None and tap < width - 1:
            seen = seen * (positions >= width - 1 - tap)[:, :, None]
        mixed = torch.addcmul(mixed, seen, weight[:, tap])
    return mixed


def _at_rest(inputs: Tensor, rates: Tensor) -> Tensor:
    return rates.new_zeros(len(inputs), *rates.shape)


class _Scan(torch.autograd.Function):
    """Inside, time comes first, so that the states of one token lie together: [T, B, N, F]."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        steps: Tensor,
        rates: Tensor,
        write: Tensor,
        read: Tensor,
        state: Tensor,
        begins: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        text = _Text.of(inputs, steps, rates, write, begins)
        outputs = torch.empty_like(inputs)
        before: list[Tensor] = []
        for chunk in text.chunks():
            before.append(state)
            _, states = text.states(chunk, state)
            outputs[:, chunk] = _sum_of_states(read[:, chunk], states)
            state = states[-1].clone()
        ctx.save_for_backward(inputs, steps, rates, write, read, begins, torch.stack(before))
        return outputs, state

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        upstream, d_state = grad_outputs  # [B, T, F], [B, N, F]
        inputs, steps, rates, write, read, begins, before = ctx.saved_tensors
        text = _Text.of(inputs, steps, rates, write, begins)
        d_inputs, d_steps = torch.empty_like(inputs), torch.empty_like(steps)
        d_write, d_read = torch.empty_like(write), torch.empty_like(read)
        d_rates = torch.zeros_like(rates)
        for number, chunk in reversed(list(enumerate(text.chunks()))):
            decay, states = text.states(chunk, before[number])
            own = upstream[:, chunk].transpose(0, 1)  # [T', B, F]
            d_read[:, chunk] = _sum_of_channels(states, own)
            gradients = read[:, chunk].transpose(0, 1)[..., None] * own[:, :, None]  # g
            gradients[-1] += d_state
            _accumulate(decay, gradients, backward=True)
            d_state = decay[0] * gradients[0]
            d_write[:, chunk] = _sum_of_channels(gradients, text.inflow[:, chunk].transpose(0, 1))
            d_inflow = _sum_of_states(write[:, chunk], gradients)
            exponents = decay.mul_(gradients)  # e
            exponents[0] *= before[number]
            exponents[1:] *= states[:-1]
            own_steps = steps[:, chunk].transpose(0, 1)[:, :, None]
            d_rates += torch.mul(exponents, own_steps, out=states).sum((0, 1))
            d_exponents = exponents.mul_(rates).sum(2).transpose(0, 1)
            d_inputs[:, chunk] = d_inflow * steps[:, chunk]
            d_steps[:, chunk] = d_inflow * inputs[:, chunk] + d_exponents
        return d_inputs, d_steps, d_rates, d_write, d_read, d_state, None


class _Text(NamedTuple):
    """What both passes make the states of a chunk from."""

    steps: Tensor  # [B, T, F]
    inflow: Tensor  # Δ x
    rates: Tensor
    write: Tensor
    begins: Tensor | None

    @classmethod
    def of(cls, inputs: Tensor, steps: Tensor, rates: Tensor, write: Tensor, begins: Tensor | None) -> "_Text":
        return cls(steps, steps * inputs, rates, write, begins)

    def chunks(self) -> list[slice]:
        batch, length, _ = self.steps.shape
        chunk = min(max(CHUNK_NUMBERS // (batch * self.rates.numel()), SHORTEST), LONGEST)
        return [slice(start, min(start + chunk, length)) for start in range(0, length, chunk)]

    def states(self, chunk: slice, state: Tensor) -> tuple[Tensor, Tensor]:
        """The decays before, and the states after, each token of a chunk: [T', B, N, F] each."""
        steps, inflow, write = (x[:, chunk].transpose(0, 1) for x in (self.steps, self.inflow, self.write))
        decay = (steps[:, :, None] * self.rates).exp_()
        if self.begins is not None:
            decay *= ~self.begins[:, chunk].T[:, :, None, None]
        states = write[..., None] * inflow[:, :, None]
        states[0].addcmul_(decay[0], state)
        _accumulate(decay, states, backward=False)
        return decay, states


def _accumulate(decay: Tensor, states: Tensor, *, backward: bool) -> None:
    """In place: states[t] += decay[t] · states[t - 1], from the first to the last; or backward, from the last to the
    first, states[t] += decay[t + 1] · states[t + 1]. All [T', B, N, F].
    """
    if states.device.type == "cpu":
        sums, factors = states.unbind(0), decay.unbind(0)
        if backward:
            for t in range(len(sums) - 2, -1, -1):
                sums[t].addcmul_(factors[t + 1], sums[t + 1])
        else:
            for t in range(1, len(sums)):
                sums[t].addcmul_(factors[t], sums[t - 1])
    else:
        accumulate_by_doubling(decay, states, backward=backward)


def accumulate_by_doubling(decay: Tensor, states: Tensor, *, backward: bool) -> None:
    """The same in log₂ T' rounds, for devices on which many small operations are slow: after a round of shift s, each
    state holds what 2 s tokens contributed (Hillis & Steele 1986).
    """
    shift = 1
    factors = decay.roll(-1, 0) if backward else decay
    while shift < len(states):
        early, late = slice(None, -shift), slice(shift, None)
        here, there = (early, late) if backward else (late, early)
        states[here] += factors[here] * states[there]
        product = factors[here] * factors[there]
        factors = torch.cat((product, factors[-shift:]) if backward else (factors[:shift], product))
        shift *= 2


def _sum_of_states(weights: Tensor, states: Tensor) -> Tensor:
    """weights [B, T', N], states [T', B, N, F] -> [B, T', F]."""
    return (weights.transpose(0, 1)[:, :, None] @ states)[:, :, 0].transpose(0, 1)


def _sum_of_channels(states: Tensor, channels: Tensor) -> Tensor:
    """states [T', B, N, F], channels [T', B, F] -> [B, T', N]."""
    return (states @ channels[..., None])[..., 0].transpose(0, 1)
