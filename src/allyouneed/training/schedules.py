"""The learning rate as a function of the update."""

import math
from typing import Literal

Schedule = Literal["inverse-sqrt", "linear", "cosine"]


def inverse_square_root(update: int, *, peak: float, warmup: int, cooldown: int = 0, updates: int = 0) -> float:
    """Rises linearly to `peak` over `warmup` updates, then falls as 1/√update (Vaswani 2017, equation 3, where the peak
    is 1/√(D · warmup)); over the last `cooldown` of `updates`, or all of them, it falls on linearly to 0.
    """
    cooldown = min(cooldown, updates)
    rate = peak * min(update / warmup, math.sqrt(warmup / max(update, 1)))
    if cooldown and update > updates - cooldown:
        rate *= max(0, updates - update + 1) / (cooldown + 1)
    return rate


def falling(update: int, *, schedule: Schedule, peak: float, warmup: int, updates: int, final: float) -> float:
    """Rises linearly to `peak` over `warmup` updates, then falls to the share `final` of it at the last of `updates`,
    in a straight line or along half a cosine (Loshchilov 2017, equation 5).
    """
    if update <= warmup:
        return peak * update / warmup
    done = min((update - warmup) / max(updates - warmup, 1), 1.0)
    left = 1 - done if schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    return peak * (final + (1 - final) * left)
