"""A memory that is read and written by weightings, and how a weighting is found (Graves 2014, section 3).

The memory has N slots of W numbers. A head looks at all of them at once, each with a weight; its weights are nowhere
negative and add to 1. They are found in four stages, and each stage is such a weighting:

    content       wᶜ(i) = softmaxᵢ(β K(k, M(i)))              where does something like the key stand? (5), (6)
    interpolated  wᵍ(i) = g wᶜ(i) + (1 - g) wₜ₋₁(i)           there, or where the head was? (7)
    shifted       w̃(i) = Σⱼ wᵍ(j) s(i - j), around the end    and how far from there? (8)
    sharpened     w(i) = w̃(i)^γ / Σⱼ w̃(j)^γ                   what the shift blurred is made sharp again (9)

The numbers in brackets are the paper's equations. The first stage is attention with one query; the others are what a
head on a tape does.

**Zeros.** A slot that holds nothing is like no key: lengths in the cosine are √(|x|² + ε²), so that values and
gradients stay finite where a vector is 0. The power is taken in the logarithm, where it is a softmax of γ log w̃: no
power of a small weight underflows before it is divided, and γ may be 100.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Similarity = Literal["cosine", "dot"]

EMPTY = 1e-4  # ε: a vector much shorter than this is like nothing
SMALLEST = 1e-30  # a weight that is not told from 0


class Directions(NamedTuple):
    """What a controller tells H heads: the key k [B, H, W] and its strength β ≥ 0 [B, H, 1], the gate g of 0 to 1
    [B, H, 1], weights s of the shifts [B, H, S], from -(S - 1)/2 to (S - 1)/2 slots, and the power γ ≥ 1 [B, H, 1].
    """

    key: Tensor
    strength: Tensor
    gate: Tensor
    shifts: Tensor
    power: Tensor


class Addresses(NamedTuple):
    """The weightings of H heads after each stage, all [B, H, N]. The last is the one that is used."""

    content: Tensor
    interpolated: Tensor
    shifted: Tensor
    sharpened: Tensor


def length(x: Tensor) -> Tensor:
    """√(|x|² + ε²) over the last dimension, which stays: [..., W] -> [..., 1]."""
    return (x.square().sum(-1, keepdim=True) + EMPTY**2).sqrt()


def cosine(memory: Tensor, key: Tensor) -> Tensor:
    """k · M(i) / (|k| |M(i)|) (equation 6): memory [B, N, W], key [B, H, W] -> [B, H, N]."""
    return key @ memory.mT / (length(key) * length(memory).mT)


def dot(memory: Tensor, key: Tensor) -> Tensor:
    """k · M(i) / √W, the score of a Transformer's attention: memory [B, N, W], key [B, H, W] -> [B, H, N]."""
    return key @ memory.mT / key.shape[-1] ** 0.5


SIMILARITIES: Mapping[Similarity, Callable[[Tensor, Tensor], Tensor]] = {"cosine": cosine, "dot": dot}


def by_content(memory: Tensor, key: Tensor, strength: Tensor, similarity: Similarity = "cosine") -> Tensor:
    """softmax(β K(k, M(i))) (equation 5): memory [B, N, W], key [B, H, W], strength [B, H, 1] -> [B, H, N]."""
    return (strength * SIMILARITIES[similarity](memory, key)).softmax(-1)


def interpolate(content: Tensor, before: Tensor, gate: Tensor) -> Tensor:
    """g wᶜ + (1 - g) wₜ₋₁ (equation 7): weightings [B, H, N], gate [B, H, 1] -> [B, H, N]."""
    return before.lerp(content, gate)


def naive_shift(weights: Tensor, shifts: Tensor) -> Tensor:
    """w̃(i) = Σⱼ wᵍ(j) s(i - j), all numbers modulo N (equation 8), term by term: as `shift`."""
    slots, reach = weights.shape[-1], shifts.shape[-1] // 2
    shifted = torch.zeros_like(weights)
    for i in range(slots):
        for step in range(-reach, reach + 1):
            shifted[..., i] += weights[..., (i - step) % slots] * shifts[..., step + reach]
    return shifted


def shift(weights: Tensor, shifts: Tensor) -> Tensor:
    """The same, with a sum for each step instead of each slot: [B, H, N] and [B, H, S] -> [B, H, N]."""
    slots, steps = weights.shape[-1], shifts.shape[-1]
    around = ring(weights, steps)
    shifted = around[..., :slots] * shifts[..., -1:]
    for start in range(1, steps):
        step = steps - 1 - start
        shifted = torch.addcmul(shifted, around[..., start : start + slots], shifts[..., step : step + 1])
    return shifted


def ring(weights: Tensor, steps: int) -> Tensor:
    """Weights [..., N] with as many from the other end on each side as an odd number of steps reaches."""
    slots, reach = weights.shape[-1], steps // 2
    return torch.cat((weights[..., slots - reach :], weights, weights[..., :reach]), -1)


def naive_sharpen(weights: Tensor, power: Tensor) -> Tensor:
    """w̃(i)^γ / Σⱼ w̃(j)^γ as it is written (equation 9): as `sharpen`, where nothing underflows."""
    raised = weights**power
    return raised / raised.sum(-1, keepdim=True)


def sharpen(weights: Tensor, power: Tensor) -> Tensor:
    """The same as softmax(γ log w̃): [B, H, N] and [B, H, 1] -> [B, H, N]. Weights that are all 0 become even."""
    return (power * weights.clamp_min(SMALLEST).log()).softmax(-1)


def address(
    memory: Tensor,
    directions: Directions,
    before: Tensor,
    *,
    similarity: Similarity = "cosine",
    by_location: bool = True,
) -> Addresses:
    """All four stages: memory [B, N, W], what the heads are told, and their last weighting [B, H, N].

    Without `by_location` a head goes where the content sends it, and the other three stages let that pass.
    """
    content = by_content(memory, directions.key, directions.strength, similarity)
    if not by_location:
        return Addresses(content, content, content, content)
    interpolated = interpolate(content, before, directions.gate)
    shifted = shift(interpolated, directions.shifts)
    return Addresses(content, interpolated, shifted, sharpen(shifted, directions.power))


def read(memory: Tensor, weights: Tensor) -> Tensor:
    """Σᵢ w(i) M(i) (equation 2): memory [B, N, W], weights [B, H, N] -> [B, H, W]."""
    return weights @ memory


def write(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """M(i) ∏ₕ (1 - wₕ(i) eₕ) + Σₕ wₕ(i) aₕ (equations 3 and 4): all heads erase, then all add, so their order is none.

    memory [B, N, W], weights [B, H, N], erase (0 to 1) and add [B, H, W] -> the new memory [B, N, W].
    """
    for head in range(weights.shape[1]):
        memory = torch.addcmul(memory, memory, weights[:, head, :, None] * erase[:, head, None], value=-1)
    for head in range(weights.shape[1]):
        memory = torch.addcmul(memory, weights[:, head, :, None], add[:, head, None])
    return memory
