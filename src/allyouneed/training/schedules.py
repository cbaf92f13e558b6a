"""The learning rate as a function of the update."""

import math


def inverse_square_root(update: int, *, peak: float, warmup: int, cooldown: int = 0, updates: int = 0) -> float:
    """Rises linearly to `peak` over `warmup` updates, then falls as 1/√update (Vaswani 2017, equation 3, whose factor
    D^-0.5 is here given as the peak itself); over the last `cooldown` of `updates` it falls on linearly to 0.
    """
    rate = peak * min(update / warmup, math.sqrt(warmup / max(update, 1)))
    if cooldown and update > updates - cooldown:
        rate *= max(0, updates - update + 1) / (cooldown + 1)
    return rate
