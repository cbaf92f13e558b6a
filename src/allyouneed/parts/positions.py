"""Where a token stands, added to what it is."""

import math

import torch
from torch import Tensor


def sinusoids(length: int, d_model: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)) -> [length, D] (Vaswani 2017, section
    3.5).

    Computed in log space and float64, so that far positions keep their digits; returned as float32.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))
    angle = position * frequency  # [length, D/2]
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :d_model].float()


def real_positions(keep: Tensor) -> Tensor:
    """Positions counted over real tokens only, so that padding on either side moves nothing: keep [B, S] -> [B, S]."""
    return (keep.long().cumsum(-1) - 1).clamp_min(0)
