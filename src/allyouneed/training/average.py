"""A running average of the weights: what is validated and kept in place of the weights of the last update, which still
move with every batch (Polyak and Juditsky 1992; with a decay, as Marian smooths its translators).
"""

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class RunningAverage:
    """One copy of a model's weights, moved towards them after each update, however many batches that took."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = dict(model.named_parameters())
        self.weights: dict[str, Tensor] = {
            name: parameter.detach().clone() for name, parameter in self.parameters.items()
        }

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """average <- kept * average + (1 - kept) * weights, where kept = min(decay, (1 + n) / (10 + n)) after update n.

        In the beginning the second term is the smaller one: the random weights of the start are soon forgotten, and
        what the average holds is on average a tenth of the run old (the rule of TensorFlow's
        `ExponentialMovingAverage` and of Marian's `--exponential-smoothing`). Later it is 1 / (1 - decay) updates old.
        """
        kept = min(self.decay, (1 + update) / (10 + update))
        for name, parameter in self.parameters.items():
            self.weights[name].lerp_(parameter, 1 - kept)

    @contextmanager
    def in_place(self) -> Generator[None]:
        """Inside, the model's weights are the average; afterwards they are what they were, to the bit."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        """One tensor at a time, so that no third copy of the weights is needed."""
        for name, parameter in self.parameters.items():
            kept = parameter.clone()
            parameter.copy_(self.weights[name])
            self.weights[name].copy_(kept)
