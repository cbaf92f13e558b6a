"""Five ways to compute the same attention: which of them can, which is the fastest, and why.

| backend | memory | what it is |
|---|---|---|
| `naive` | T · S | the definition, word for word |
| `tiled` | T + S | FlashAttention's algorithm, in plain torch |
| `fused` | T + S, and T · S for a mask or bias | torch's own kernel |
| `sparse` | what the mask opens | the kernel, on each block of queries and the keys that the mask opens to it |
| `flex` | T + S, once compiled | torch's flex-attention |

Each honours every argument, or refuses it in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor

from allyouneed.errors import UsageError, nearest
from allyouneed.parts.masks import CAUSAL, Mask

Backend = Literal["naive", "tiled", "fused", "sparse", "flex"]

SHORT = 1024 * 1024  # pairs of a query and a key below which nothing beats one call of the kernel
SPARSE = 0.6  # share of a mask's blocks below which gathering their keys is faster than masking the others
SURVEY_SIZE = 128  # of the blocks that this share is counted in
LARGE_MASK = 2**24  # pairs of which a dense mask, as the kernel needs it, takes many megabytes a sentence


@dataclass(frozen=True)
class Request:
    """What an attention is asked for, apart from the numbers themselves."""

    queries: int
    keys: int
    device: torch.device
    mask: Mask | None
    bias: bool
    dropout: float
    gradients: bool
    bias_gradient: bool

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask | None = None,
        *,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Request:
        """The request that a call of `attend` with these arguments makes. Raises TypeError for what is no mask."""
        if not (mask is None or isinstance(mask, Mask)):  # pyright: ignore[reportUnnecessaryIsInstance]
            wanted = "explicit() makes one of a matrix of booleans" if isinstance(mask, Tensor) else "such as causal()"
            raise TypeError(f"The mask is a {type(mask).__name__}, and a Mask of parts.masks is needed: {wanted}.")
        bias_gradient = torch.is_grad_enabled() and bias is not None and bias.requires_grad
        gradients = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
        return cls(
            query.shape[-2],
            key.shape[-2],
            query.device,
            mask,
            bias is not None,
            dropout,
            gradients or bias_gradient,
            bias_gradient,
        )

    @property
    def pairs(self) -> int:
        """How many scores there are for a head."""
        return self.queries * self.keys

    @property
    def plain(self) -> bool:
        """Does the kernel know who may look at whom without a matrix?"""
        return not self.bias and (self.mask is None or (self.mask is CAUSAL and self.queries == self.keys))

    @property
    def fused_holds_weights(self) -> bool:
        """Does torch fall back to a form that holds all weights? On a CPU its kernel cannot drop weights, nor give a
        bias its gradient.
        """
        return self.device.type == "cpu" and (self.dropout > 0 or self.bias_gradient)


@dataclass(frozen=True)
class Choice:
    """Which backend computes an attention, why that one, and why not the ones that cannot."""

    backend: Backend
    why: str
    refused: dict[Backend, str]

    def __str__(self) -> str:
        lines = [f"{self.backend}: {self.why}."]
        return "\n".join(lines + [f"Not {backend}: {why}." for backend, why in self.refused.items()])


def refusal(backend: Backend, request: Request) -> str | None:
    """Why a backend cannot do what is asked for; None if it can."""
    if backend == "sparse" and request.mask is None:
        return "it leaves out what a mask forbids, and there is no mask"
    if backend == "flex" and request.dropout:
        return "it cannot drop weights"
    if backend == "flex" and request.gradients and request.device.type == "cpu":
        return "it has no backward pass on a CPU"
    return None


def choose(request: Request) -> tuple[Backend, str]:
    """The fastest backend that honours the whole request, and why."""
    if request.pairs < SHORT:
        return "fused", f"{request.queries} queries and {request.keys} keys are few: one call of the kernel is fastest"
    # A mask that was given as a matrix is not searched for empty blocks: that takes longer than it saves.
    if request.mask is not None and request.mask is not CAUSAL and request.mask.matrix is None:
        blocks = request.mask.blocks(request.queries, request.keys, SURVEY_SIZE, request.device)
        if blocks.share < SPARSE:
            return "sparse", f"the mask leaves {blocks.share:.1%} of the blocks, and only those are computed"
    if request.fused_holds_weights:
        what = "drop weights" if request.dropout else "give a bias its gradient"
        return "tiled", f"torch's kernel cannot {what} on a CPU, and would hold all {request.pairs:,} weights a head"
    if not request.plain and not request.bias and request.pairs > LARGE_MASK:
        return "tiled", f"torch's kernel would need the mask as a matrix of {request.pairs:,} numbers"
    return "fused", "torch's kernel honours all that is asked, and nothing is faster"


def explain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Choice:
    """Which backend `attend` would take for these arguments by itself, why, and which ones refuse them."""
    request = Request.of(query, key, value, mask, bias=bias, dropout=dropout)
    reasons = ((name, refusal(name, request)) for name in get_args(Backend))
    return Choice(*choose(request), {name: reason for name, reason in reasons if reason is not None})


def pick(backend: Backend | Literal["auto"], request: Request) -> Backend:
    """The backend that is asked for, or the chosen one. Raises UsageError where it cannot do what is asked."""
    if backend == "auto":
        return choose(request)[0]
    if backend not in get_args(Backend):
        allowed = ("auto", *get_args(Backend))
        raise UsageError(f'There is no backend "{backend}"; there are {", ".join(allowed)}.{nearest(backend, allowed)}')
    reason = refusal(backend, request)
    if reason is not None:
        raise UsageError(f'The backend "{backend}" cannot do this: {reason}.')
    return backend


def flex_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Attention through torch's flex-attention: compiled on an accelerator; on a CPU its plain form, which holds the
    weights.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K]. `bias` broadcasts to [B, H, T, S].
    """
    # It loads torch's compiler, which takes seconds.
    from torch.nn.attention.flex_attention import flex_attention

    queries, keys = query.shape[-2], key.shape[-2]
    function: Any = flex_attention if query.device.type == "cpu" else torch.compile(flex_attention)
    if not torch.is_grad_enabled():
        query, key, value = query.detach(), key.detach(), value.detach()
    whole = None if bias is None else bias.expand(len(query), query.shape[1], queries, keys)

    def add_bias(score: Tensor, sentence: Tensor, head: Tensor, position: Tensor, key_position: Tensor) -> Tensor:
        assert whole is not None
        return score + whole[sentence, head, position, key_position]

    mixed = function(
        query,
        key,
        value,
        score_mod=None if whole is None else add_bias,
        block_mask=None if mask is None else mask.flex(queries, keys, device=query.device),
        scale=scale,
        enable_gqa=key.shape[1] != query.shape[1],
    )
    return cast(Tensor, mixed)
