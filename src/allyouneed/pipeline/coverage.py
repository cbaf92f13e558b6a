"""The coverage penalty: of the translations that a search found, those that leave nothing out come first (Wu 2016,
section 7).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import UsageError

MOST = 10.0
# A weight may be so small that it is 0 in float32. Its source token then costs this logarithm instead of all there is.
LEAST = torch.finfo(torch.float32).tiny


def coverage(weights: Tensor) -> Tensor:
    """What stands beside β in Wu's equation 14: Σᵢ log min(Σⱼ pᵢⱼ, 1), for the attention pᵢⱼ [..., T, S] that target
    token j gives to source token i -> [...].

    It is 0 where each source token was given a whole look or more, and the lower, the less some were looked at.
    """
    return weights.sum(-2).clamp(LEAST, 1).log().sum(-1)


def by_coverage(found: Sequence[Hypothesis], covered: Sequence[float], penalty: float) -> list[Hypothesis]:
    """Hypotheses by log-probability / length penalty + penalty * coverage, best first; this becomes their score."""
    scored = [replace(one, score=one.score + penalty * own) for one, own in zip(found, covered, strict=True)]
    return sorted(scored, key=lambda one: -one.score)


def check_penalty(penalty: float, beam: int) -> None:
    """Refuses a penalty that is none, and a beam that leaves nothing to rank."""
    if not (math.isfinite(penalty) and 0 <= penalty <= MOST):
        raise UsageError(f"coverage_penalty {penalty:g}: 0 (none) to {MOST:g} is needed.")
    if penalty and beam < 2:
        raise UsageError("coverage_penalty ranks what a beam found, and greedy search finds one text: widen beam.")
