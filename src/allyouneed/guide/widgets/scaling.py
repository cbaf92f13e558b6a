"""Why the scores are divided by √d_k: without it the softmax saturates and its gradient vanishes."""

from functools import lru_cache
from typing import Any, Literal, get_args

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.measures import entropy_bits, softmax_jacobian
from allyouneed.parts.attention import attention_scores, attention_weights

Width = Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
WIDTHS: tuple[int, ...] = get_args(Width)
MOST_KEYS = 32
REPEATS = 500
PRODUCTS = 10_000


class ScalingInputs(Inputs):
    """One random query against `n` random keys, all components of mean 0 and variance 1."""

    d_k: Width = 64
    scale: bool = True
    n: int = Field(8, ge=2, le=MOST_KEYS)
    seed: int = Field(3, ge=0, le=9999)


@lru_cache(maxsize=2)
def draws(seed: int) -> tuple[Tensor, Tensor]:
    """Queries [R, 1, 1, d] and the most keys [R, 1, n, d] at the largest width: fewer keys are the first of these, and
    a smaller width the first components, so that a slider draws nothing anew.
    """
    random = torch.Generator().manual_seed(seed)
    query = torch.randn(REPEATS, 1, 1, WIDTHS[-1], generator=random)
    return query, torch.randn(REPEATS, 1, MOST_KEYS, WIDTHS[-1], generator=random)


@lru_cache(maxsize=64)
def product_variance(seed: int, d_k: int) -> float:
    """The variance of q·k measured over 10,000 independent pairs."""
    random = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, PRODUCTS, d_k, generator=random)
    return (query * key).sum(-1).var().item()


def measures(weights: Tensor) -> dict[str, Tensor]:
    """Largest weight, entropy and the size of ∂w/∂s, each [...] for weights [..., n]."""
    return {
        "max": weights.amax(-1),
        "entropy": entropy_bits(weights),
        "jacobian": softmax_jacobian(weights).flatten(-2).norm(dim=-1),
    }


def compute(inputs: ScalingInputs, models: Models) -> dict[str, Any]:
    """Scores, weights and their sharpness at d_k, and the weights at every other width of the same draw."""
    query, key = draws(inputs.seed)
    scale = None if inputs.scale else 1.0

    def at(width: int, repeats: int = 1) -> tuple[Tensor, Tensor]:
        return query[:repeats, ..., :width], key[:repeats, :, : inputs.n, :width]

    scores = attention_scores(*at(inputs.d_k), scale=scale)[0, 0, 0]
    weights = attention_weights(*at(inputs.d_k), scale=scale)[0, 0, 0]
    typical = attention_weights(*at(inputs.d_k, REPEATS), scale=scale)[:, 0, 0]
    strip = torch.stack([attention_weights(*at(width), scale=scale)[0, 0, 0] for width in WIDTHS], dim=1)
    return {
        "scores": scores,
        "weights": weights,
        "measures": {name: value.item() for name, value in measures(weights).items()},
        "typical": {name: value.mean().item() for name, value in measures(typical).items()},
        "variance": product_variance(inputs.seed, inputs.d_k),
        "repeats": REPEATS,
        "products": PRODUCTS,
        "widths": WIDTHS,
        "strip": strip,
    }


WIDGET = Widget(ScalingInputs, compute, (attention_scores, attention_weights, softmax_jacobian, entropy_bits))
