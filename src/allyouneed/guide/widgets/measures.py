"""Numbers that say how sharp a row of attention weights is."""

import torch
from torch import Tensor


def entropy_bits(weights: Tensor) -> Tensor:
    """-Σ w log2 w over the last axis, with 0 log 0 = 0: from 0 for a single choice to log2 n for an even mix."""
    return torch.special.entr(weights).sum(-1) / torch.log(torch.tensor(2.0))


def softmax_jacobian(weights: Tensor) -> Tensor:
    """∂w/∂s of w = softmax(s), which is diag(w) - w wᵀ. [..., n] -> [..., n, n]."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
