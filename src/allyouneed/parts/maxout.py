"""Maxout: of every two neighbours the larger one goes on (Goodfellow 2013)."""

from torch import Tensor


def maxout(x: Tensor) -> Tensor:
    """[..., 2M] -> [..., M] (Bahdanau 2015, section A.2.2)."""
    return x.unflatten(-1, (-1, 2)).amax(-1)
