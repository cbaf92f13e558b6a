"""One turn of a machine with a tape: what a controller says, in one row of numbers, moves heads over a memory, and they
read and write (Graves 2014, section 3). The stages of the addressing are in `addressing`.

`naive_turn` is the definition. A turn is some thirty small sums, and torch's gradients of it are a hundred more, each
dearer than the arithmetic in it: `turn` makes the same numbers, and all gradients in one go.

**Gradients.** With w, w̃, wᵍ, wᶜ the weightings, c the similarities, and g upstream of each in turn:

    write        da = w G        de = -w (G M)        dw = a G - e (G M)        dM = G (1 - w e)
    read         dw += r M       dM += w r
    sharpen      with t = w (dw - Σ w dw):            dγ = Σ t log w̃           dw̃ = t γ / w̃
    shift        ds(d) = Σᵢ dw̃(i) wᵍ(i - d)           dwᵍ = dw̃, shifted back
    interpolate  dg = Σ dwᵍ (wᶜ - wₜ₋₁)               dwᶜ = g dwᵍ              dwₜ₋₁ = (1 - g) dwᵍ
    content      with t = wᶜ (dwᶜ - Σ wᶜ dwᶜ):        dβ = Σ t c               dc = β t
    cosine       with d = dc / (|k| |M|):             dk = d M - k Σ dc c / |k|²       dM += d k - M Σ dc c / |M|²

where G is upstream of the written memory and r of what was read; a softmax and what brings the controller's numbers
into range have their usual slopes.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from allyouneed.parts.addressing import (
    SMALLEST,
    Addresses,
    Directions,
    Similarity,
    address,
    length,
    read,
    ring,
    shift,
    write,
)


class Tape(NamedTuple):
    """What is fixed: how many heads read (R) and write, how wide a slot is (W), how many shifts there are (S), and the
    rules of the addressing.
    """

    readers: int
    writers: int
    width: int
    shifts: int
    similarity: Similarity = "cosine"
    by_location: bool = True

    @property
    def heads(self) -> int:
        """H: those that read, and then those that write."""
        return self.readers + self.writers

    @property
    def spoken(self) -> tuple[int, int, int, int]:
        """How many numbers of a kind a controller says: rows, shares, amounts, and shifts."""
        heads = self.heads
        return (heads + self.writers) * self.width, heads + self.writers * self.width, 2 * heads, heads * self.shifts


class Orders(NamedTuple):
    """What the controller says, in range: where heads go, and what those that write erase and add [B, writers, W]."""

    directions: Directions
    erase: Tensor
    add: Tensor


class Turn(NamedTuple):
    """All that happens in a turn: the memory after it [B, N, W], weightings [B, H, N] after each stage, what was said,
    and what was read [B, R, W].
    """

    memory: Tensor
    addresses: Addresses
    orders: Orders
    reads: Tensor


def orders_of(said: Tensor, tape: Tape) -> Orders:
    """Numbers without bounds [B, P] in range: keys and additions from -1 to 1, gates and erasures from 0 to 1,
    strengths from 0 and powers from 1 up, and weights of shifts that add to 1.
    """
    rows, shares, amounts, shifts = said.split(tape.spoken, -1)
    rows = rows.tanh().unflatten(-1, (-1, tape.width))
    shares = shares.sigmoid()
    amounts = softplus(amounts).unflatten(-1, (2, tape.heads, 1))
    directions = Directions(
        key=rows[:, : tape.heads],
        strength=amounts[:, 0],
        gate=shares[:, : tape.heads, None],
        shifts=shifts.unflatten(-1, (tape.heads, tape.shifts)).softmax(-1),
        power=1 + amounts[:, 1],
    )
    return Orders(directions, shares[:, tape.heads :].unflatten(-1, (-1, tape.width)), rows[:, tape.heads :])


def naive_turn(said: Tensor, memory: Tensor, before: Tensor, tape: Tape) -> Turn:
    """Heads are moved, then read what was there, then write.

    said [B, P], memory [B, N, W], the last weightings [B, H, N].
    """
    orders = orders_of(said, tape)
    addresses = address(memory, orders.directions, before, similarity=tape.similarity, by_location=tape.by_location)
    weights = addresses.sharpened
    reads = read(memory, weights[:, : tape.readers])
    after = write(memory, weights[:, tape.readers :], orders.erase, orders.add)
    return Turn(after, addresses, orders, reads)


def turn(said: Tensor, memory: Tensor, before: Tensor, tape: Tape) -> tuple[Tensor, Tensor, Tensor]:
    """The same turn: the memory after it [B, N, W], the weightings [B, H, N], and what was read [B, R, W]."""
    if torch.is_grad_enabled() and tape.by_location:
        return _Turn.apply(said, memory, before, tape)
    made = naive_turn(said, memory, before, tape)
    return made.memory, made.addresses.sharpened, made.reads


class _Turn(torch.autograd.Function):
    """The naive turn, with gradients of its own."""

    @staticmethod
    def forward(ctx: Any, said: Tensor, memory: Tensor, before: Tensor, tape: Tape) -> tuple[Tensor, Tensor, Tensor]:
        """Keeps the stages."""
        made = naive_turn(said, memory, before, tape)
        ctx.tape = tape
        ctx.save_for_backward(memory, before, *made.addresses, *made.orders.directions, *made.orders[1:])
        return made.memory, made.addresses.sharpened, made.reads

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        """From the writing back to the controller's numbers."""
        memory, before, *saved = ctx.saved_tensors
        addresses, directions, (erase, add) = Addresses(*saved[:4]), Directions(*saved[4:9]), saved[9:]
        tape, weights = ctx.tape, addresses.sharpened
        upstream, d_weights, d_reads = grad_outputs
        reading, writing = weights[:, : tape.readers], weights[:, tape.readers :]

        d_add = writing @ upstream
        d_written, d_erase, d_memory = _erasing(upstream, memory, writing, erase)
        d_written.baddbmm_(add, upstream.mT)
        d_weights = d_weights + torch.cat((d_reads @ memory.mT, d_written), 1)
        d_directions, d_before, looked = _addressing(d_weights, (memory, before, addresses, directions), tape)
        seen, d_seen = torch.cat((reading, looked.direct), 1), torch.cat((d_reads, directions.key), 1)
        d_memory.baddbmm_(seen.mT, d_seen)
        if looked.along is not None:
            d_memory.addcmul_(memory, looked.along, value=-1)
        # Slopes of what brought the controller's numbers into range.
        rows, d_rows = torch.cat((directions.key, add), 1), torch.cat((d_directions.key, d_add), 1)
        shares = torch.cat((directions.gate.flatten(1), erase.flatten(1)), 1)
        d_shares = torch.cat((d_directions.gate.flatten(1), d_erase.flatten(1)), 1)
        amounts = torch.cat((directions.strength, directions.power - 1), 1).flatten(1)
        d_amounts = torch.cat((d_directions.strength, d_directions.power), 1).flatten(1)
        d_said = (
            (d_rows * (1 - rows * rows)).flatten(1),
            d_shares * shares * (1 - shares),
            d_amounts * -torch.expm1(-amounts),
            _through_softmax(d_directions.shifts, directions.shifts).flatten(1),
        )
        return torch.cat(d_said, 1), d_memory, d_before, None


def _erasing(upstream: Tensor, memory: Tensor, weights: Tensor, erase: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of M ∏ₕ (1 - wₕ eₕ): the gradients of the weightings, the erasures and the memory."""
    erased, layers = [memory], [weights[:, head, :, None] * erase[:, head, None] for head in range(erase.shape[1])]
    for layer in layers[:-1]:
        erased.append(torch.addcmul(erased[-1], erased[-1], layer, value=-1))
    d_weights, d_erase = torch.empty_like(weights), torch.empty_like(erase)
    for head in range(erase.shape[1] - 1, -1, -1):
        change, one = upstream * erased[head], slice(head, head + 1)  # [B, N, W]
        d_weights[:, one] = (erase[:, one] @ change.mT).neg_()
        d_erase[:, one] = (weights[:, one] @ change).neg_()
        upstream = torch.addcmul(upstream, upstream, layers[head], value=-1)
    return d_weights, d_erase, upstream


class _Looked(NamedTuple):
    """What the content asks of the memory's gradient: `direct` [B, H, N] times the keys, less `along` [B, N, 1] times
    the memory itself.
    """

    direct: Tensor
    along: Tensor | None


def _addressing(
    d_weights: Tensor, made: tuple[Tensor, Tensor, Addresses, Directions], tape: Tape
) -> tuple[Directions, Tensor, _Looked]:
    """Of the four stages: the gradients of what was said, of the last weightings, and what there is of the memory's."""
    memory, before, addresses, (key, strength, gate, shifts, power) = made
    slope = _through_softmax(d_weights, addresses.sharpened)
    shifted = addresses.shifted.clamp_min(SMALLEST)
    d_power = (slope * shifted.log()).sum(-1, keepdim=True)
    d_shifted = (slope * power / shifted).masked_fill_(addresses.shifted < SMALLEST, 0.0)

    d_interpolated = shift(d_shifted, shifts.flip(-1))
    windows = ring(addresses.interpolated, shifts.shape[-1]).unfold(-1, before.shape[-1], 1)  # [B, H, S, N]
    d_shifts = (windows @ d_shifted[..., None]).squeeze(-1).flip(-1)

    d_gate = (d_interpolated * (addresses.content - before)).sum(-1, keepdim=True)
    d_content = d_interpolated * gate
    d_before = d_interpolated - d_content

    slope = _through_softmax(d_content, addresses.content)
    alike, d_alike = key @ memory.mT, slope * strength
    if tape.similarity == "dot":
        scale = key.shape[-1] ** -0.5
        alike, looked = alike * scale, _Looked(d_alike * scale, None)
        d_key = looked.direct @ memory
    else:
        own, theirs = length(key), length(memory)
        lengths = own * theirs.mT
        alike = alike / lengths
        along = d_alike * alike
        looked = _Looked(d_alike / lengths, along.sum(1).unsqueeze(-1) / theirs.square())
        d_key = looked.direct @ memory - key * (along.sum(-1, keepdim=True) / own.square())
    d_strength = (slope * alike).sum(-1, keepdim=True)
    return Directions(d_key, d_strength, d_gate, d_shifts, d_power), d_before, looked


def _through_softmax(upstream: Tensor, weights: Tensor) -> Tensor:
    """The gradient of what a softmax was made of: w (g - Σ w g)."""
    return weights * (upstream - (weights * upstream).sum(-1, keepdim=True))
