"""Random weights that are the same for every reader."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock

import torch

ONE = RLock()


@contextmanager
def drawn(seed: int) -> Generator[None]:
    """Within it torch draws from this seed. It has one state for all threads, and modules take their weights from it:
    so one reader at a time, or they would draw each other's numbers.
    """
    with ONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
