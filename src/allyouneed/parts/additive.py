"""Additive attention: how well a query fits a key is learned by a small network (Bahdanau 2015, 3.1 and A.1.2).

    score(query, key) = v · tanh(W query + U key)

U key does not depend on who asks, so it is made once for a whole text (`AdditiveAttention.keys`). A row of scores is
also what a pointer network points with (Vinyals 2015, equation 3).
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from allyouneed.parts.linear import Linear

HELD = 2**18  # numbers inside tanh at a time: what stays in the cache


def naive_additive_scores(query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """The definition: v · tanh(W q + U k) of every query with every key, both projected already.

    query [B, T, A], keys [B, S, A], direction v [A] -> [B, T, S].
    """
    return (query[:, :, None] + keys[:, None]).tanh() @ direction


def additive_scores(query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """The same, a few queries at a time: what is inside tanh is B · T · S · A numbers, and backward makes it again."""
    if torch.is_grad_enabled() and (query.requires_grad or keys.requires_grad or direction.requires_grad):
        return _Scores.apply(query, keys, direction)
    return torch.cat([naive_additive_scores(query[:, part], keys, direction) for part in _parts(query, keys)], 1)


def masked_softmax(scores: Tensor, keep: Tensor | None) -> Tensor:
    """scores [B, T, S] -> weights whose rows add to 1, with 0 where `keep` [B, S] is False. A row that may look nowhere
    gives zeros.
    """
    if keep is None:
        return scores.softmax(-1)
    blocked = ~keep[:, None]
    empty = blocked.all(-1, keepdim=True)
    # All scores of an empty row are blocked, so its NaN is in no gradient.
    return scores.masked_fill(blocked, -math.inf).softmax(-1).masked_fill(empty, 0.0)


class AdditiveAttention(nn.Module):
    """One lookup by learned scores: queries of width `d_query` look at keys that were made from `d_memory`."""

    n_heads = 1

    def __init__(self, d_query: int, d_memory: int, d_attention: int) -> None:
        super().__init__()
        self.query = Linear(d_query, d_attention, bias=False)
        self.key = Linear(d_memory, d_attention)
        self.direction = nn.Parameter(torch.empty(d_attention))
        nn.init.uniform_(self.direction, -(d_attention**-0.5), d_attention**-0.5)

    def keys(self, memory: Tensor) -> Tensor:
        """What all queries are compared with: [B, S, M] -> [B, S, A]. Once for a text."""
        return self.key(memory)

    def scores(self, x: Tensor, keys: Tensor) -> Tensor:
        """How well each key fits, before anything is masked: x [B, T, Q], keys [B, S, A] -> [B, T, S]."""
        return additive_scores(self.query(x), keys, self.direction)

    def weights(self, x: Tensor, keys: Tensor, keep: Tensor | None = None) -> Tensor:
        """How much each query looks at each key: x [B, T, Q], keys [B, S, A], keep [B, S] -> [B, T, S]."""
        return masked_softmax(self.scores(x, keys), keep)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, keep: Tensor | None = None) -> Tensor:
        """What the queries find: x [B, T, Q], keys [B, S, A], values [B, S, M], keep [B, S] -> [B, T, M]."""
        return self.weights(x, keys, keep) @ values


def _parts(query: Tensor, keys: Tensor) -> list[slice]:
    """The queries [B, T, A] in runs whose tanh are at most `HELD` numbers, where single queries are not more."""
    size = max(1, HELD // max(keys.numel(), 1))
    return [slice(start, start + size) for start in range(0, query.shape[1], size)]


class _Scores(torch.autograd.Function):
    """∂v = Σ g tanh, and the rest is g v (1 - tanh²), summed over keys for the query and over queries for the keys."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
        """Keeps what comes in, and nothing of what is inside tanh."""
        ctx.save_for_backward(query, keys, direction)
        return torch.cat([naive_additive_scores(query[:, part], keys, direction) for part in _parts(query, keys)], 1)

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """In the same runs of queries."""
        query, keys, direction = ctx.saved_tensors
        grad_query, grad_keys = torch.empty_like(query), torch.zeros_like(keys)
        grad_direction = torch.zeros_like(direction)
        for part in _parts(query, keys):
            upstream = grad_outputs[0][:, part]  # [B, T', S]
            inside = (query[:, part, None] + keys[:, None]).tanh_()  # [B, T', S, A]
            grad_direction += upstream.flatten() @ inside.flatten(0, 2)
            slope = inside.square_().neg_().add_(1).mul_(upstream[..., None])  # without v, which every sum shares
            grad_query[:, part] = slope.sum(2)
            grad_keys += slope.sum(1)
        return grad_query * direction, grad_keys * direction, grad_direction
