"""How long a computation takes on this machine, one measurement at a time."""

import math
from collections.abc import Callable
from threading import Lock
from time import perf_counter

REPEATS, ENOUGH = 3, 0.1  # runs, or seconds after which there are no more
ONE_AT_A_TIME = Lock()


def seconds(work: Callable[[], object]) -> float:
    """The shortest of a few runs after one that warms up."""
    with ONE_AT_A_TIME:
        work()
        times: list[float] = []
        while len(times) < REPEATS and sum(times) < ENOUGH:
            start = perf_counter()
            work()
            times.append(perf_counter() - start)
    return min(times)


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope between the last two points of a curve on logarithmic axes: 1 doubles with the size, 2 quadruples."""
    return math.log(times[-1] / times[-2]) / math.log(sizes[-1] / sizes[-2])
