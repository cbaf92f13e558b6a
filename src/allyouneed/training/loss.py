"""Cross-entropy with label smoothing over a large vocabulary, without ever holding all logits."""

from typing import Any

import torch
from torch import Tensor

from allyouneed.parts.linear import linear

ROWS = 512  # rows of logits at a time: large enough for the product, small enough for the cache


def naive_smoothed_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> Tensor:
    """The definition: the sum over positions of (1 - ε)·(-log p(target)) + ε·mean(-log p) (Szegedy 2016, section 7).

    states [N, D], weight [V, D], bias [V] or None, targets [N] -> a scalar, in nats.
    """
    logits = states @ weight.T if bias is None else states @ weight.T + bias
    logprobs = logits.log_softmax(-1)  # [N, V]
    gold = logprobs.gather(1, targets[:, None]).squeeze(1)
    return -((1 - smoothing) * gold + smoothing * logprobs.mean(-1)).sum()


class SmoothedCrossEntropy(torch.autograd.Function):
    """The same sum, and beside it the plain negative log-likelihood, in blocks of rows.

    The gradients are made in the forward pass, while a block's logits are at hand: of each row softmax minus the
    smoothed target. What is the same in all rows, or only scales one, is left to products that have no vocabulary.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """As `smoothed_cross_entropy`."""
        device = states.device.type
        half = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        states, low, low_bias = states.to(half), weight.to(half), None if bias is None else bias.to(half)
        mean = weight.mean(0)
        mean_logits = states.float() @ mean + (0.0 if bias is None else bias.mean())
        grad_states, grad_weight = torch.empty_like(states), torch.zeros_like(weight)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        total, likelihood = torch.zeros((), device=device), torch.zeros((), device=device)
        for start in range(0, len(states), ROWS):
            rows = slice(start, start + ROWS)
            block, gold = states[rows], targets[rows, None]
            logits = linear(block, low, low_bias).float()  # [rows, V], and each pass over them is made in place
            right, largest = logits.gather(1, gold), logits.amax(1, keepdim=True)
            odds = logits.sub_(largest).exp_()
            mass = odds.sum(1, keepdim=True)
            norm = mass.log() + largest
            likelihood += (norm - right).sum()
            total += (norm - (1 - smoothing) * right).sum() - smoothing * mean_logits[rows].sum()
            error = odds.scatter_add_(1, gold, (smoothing - 1) * mass)  # times `mass`, but for the smoothing's share
            if grad_bias is not None:
                grad_bias += error.T @ (1 / mass[:, 0])
            error = error.to(half)
            grad_states[rows] = linear(error, low.T) / mass
            grad_weight += error.T @ (block / mass).to(half)
        if smoothing:
            grad_states -= smoothing * mean
            grad_weight -= smoothing / len(weight) * states.float().sum(0)
            if grad_bias is not None:
                grad_bias -= smoothing / len(weight) * len(states)
        ctx.save_for_backward(grad_states, grad_weight, grad_bias)
        ctx.mark_non_differentiable(likelihood)
        return total, likelihood

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        """Scales the gradients that the forward pass made."""
        grads = (None if grad is None else grad * grad_outputs[0] for grad in ctx.saved_tensors)
        return *grads, None, None


def smoothed_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Smoothed cross-entropy and plain negative log-likelihood, both summed over positions, in nats.

    states [N, D], weight [V, D], bias [V] or None, targets [N]; the logits are states Wᵀ + b.
    """
    return SmoothedCrossEntropy.apply(states, weight, bias, targets, smoothing)


def negative_log_likelihood(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The plain sum alone, in both places: what a validation measures, which makes no gradients."""
    total = torch.zeros((), device=states.device)
    for start in range(0, len(states), ROWS):
        rows = slice(start, start + ROWS)
        logits = linear(states[rows], weight, bias).float()
        total += (logits.logsumexp(1) - logits.gather(1, targets[rows, None])[:, 0]).sum()
    return total, total
