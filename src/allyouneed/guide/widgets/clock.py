"""How long a computation takes on this machine, one measurement at a time, and how large what it makes is."""

from collections.abc import Callable
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

REPEATS, ENOUGH = 5, 0.5  # runs, or seconds after which there are no more
LAST = 3  # points of a curve that tell how it goes on
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
    """The slope of the line through the last three points of a curve on logarithmic axes, by least squares: 1 doubles
    with the size, 2 quadruples.
    """
    x, y = (np.log(values[-LAST:]) for values in (sizes, times))
    return float(np.polyfit(x, y, 1)[0])


class Largest(TorchDispatchMode):
    """While it is open, notes the bytes of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operation as it is."""
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, Tensor):
                self.bytes = max(self.bytes, one.untyped_storage().nbytes())
        return made
