"""Mixture of experts: many feed-forward networks, of which each token uses a few (Shazeer 2017)."""

from typing import Any

import torch
from torch import Tensor, nn

from allyouneed.parts.feedforward import Activation, FeedForward


def route(logits: Tensor, per_token: int) -> tuple[Tensor, Tensor]:
    """The `per_token` best experts of each token and their shares, which add to 1: logits [N, E] -> two [N, k].

    softmax(KeepTopK(logits)) (Shazeer 2017, equations 3 to 5, without noise).
    """
    best, experts = logits.topk(per_token)
    return best.softmax(-1), experts


def balance_loss(logits: Tensor, experts: Tensor) -> Tensor:
    """E · Σ fᵢ Pᵢ: 1 when every expert gets its share of tokens and of probability (Fedus 2022, equations 4 to 6).

    `logits` [N, E] of the router, `experts` [N, k] that were chosen. fᵢ is the share of choices that fell on expert i
    and Pᵢ the mean probability that the router gives it.
    """
    n_experts = logits.shape[-1]
    chosen = torch.bincount(experts.flatten(), minlength=n_experts).to(logits.dtype) / experts.numel()
    return n_experts * (chosen * logits.softmax(-1).mean(0)).sum()


class Experts(nn.Module):
    """Each token goes through its `per_token` best experts, weighted by the router. No expert has a capacity, so no
    token is ever dropped, and a token's result does not depend on the others.

    `balance` is the balance loss of the last pass in training, to be added to the loss.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        n_experts: int,
        per_token: int,
        bias: bool = True,
        activation: Activation = "relu",
        gated: bool = False,
    ) -> None:
        super().__init__()
        self.per_token = per_token
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(
            FeedForward(d_model, d_ff, bias=bias, activation=activation, gated=gated) for _ in range(n_experts)
        )
        self.balance: Tensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle takes: not the last pass, whose graph belongs to it."""
        return {**self.__dict__, "balance": None}

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        tokens = x.flatten(0, -2)  # [N, D]
        logits = self.router(tokens).float()  # [N, E]
        shares, chosen = route(logits, self.per_token)  # [N, k]
        self.balance = balance_loss(logits, chosen) if self.training else None
        mixed = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            rows, places = (chosen == number).nonzero(as_tuple=True)
            if len(rows):
                share = shares[rows, places, None].to(tokens.dtype)
                mixed = mixed.index_add(0, rows, (expert(tokens[rows]) * share).to(tokens.dtype))
        return mixed.view_as(x)
