"""The training loop: one update after another, each a pure function of the recipe, the seed and its number."""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import nn

from allyouneed.errors import InputError
from allyouneed.tasks.task import Plan, Task
from allyouneed.training.average import RunningAverage
from allyouneed.training.loss import negative_log_likelihood, smoothed_cross_entropy
from allyouneed.training.optimizers import make_optimizer
from allyouneed.training.parallel import Ranks
from allyouneed.training.recipe import Training
from allyouneed.training.schedules import falling, inverse_square_root
from allyouneed.training.state import Progress


@dataclass(frozen=True)
class UpdateResult:
    """What one update measured, over all its real target tokens."""

    loss: float  # label-smoothed, nats a token
    likelihood: float  # plain negative log-likelihood, nats a token
    tokens: int
    gradient_norm: float
    rate: float


class Trainer:
    """Model, optimiser and data of a run; `update` moves them one step on."""

    def __init__(self, model: nn.Module, task: Task, settings: Training, *, seed: int, ranks: Ranks) -> None:
        self.model, self.task, self.settings, self.seed, self.ranks = (
            model.to(ranks.device),
            task,
            settings,
            seed,
            ranks,
        )
        self.parameters = list(model.parameters())
        self.optimizer = make_optimizer(settings, self.model)
        # The one that validates and writes is the only one that needs it.
        averaged = settings.ema_decay > 0 and ranks.first
        self.average = RunningAverage(self.model, settings.ema_decay) if averaged else None
        self.measure = partial(smoothed_cross_entropy, smoothing=settings.label_smoothing)
        self._epoch = 0
        self._plans = task.batches(settings.batch_tokens, seed, 0)

    def update(self, progress: Progress) -> UpdateResult:
        """One optimiser step. `progress` is moved on in place; resuming from it replays the same steps."""
        number = progress.update + 1
        plans = [self._next_plan(progress) for _ in range(self.settings.accumulate)]
        tokens = sum(map(self.task.target_tokens, plans))
        self.model.train()
        sums = [0.0, 0.0]
        for index in range(self.ranks.rank, len(plans), self.ranks.world):
            torch.manual_seed(hash((self.seed, number, index)) & (2**63 - 1))
            with self.precision():
                draw = np.random.default_rng([self.seed, number, index])
                batch = self.task.batch(plans[index], draw).to(self.ranks.device)
                losses = self.task.loss(self.model, batch, self.measure)
            (losses[0] / tokens).backward()
            sums = [total + float(loss.detach()) for total, loss in zip(sums, losses, strict=True)]
        self.ranks.sum_gradients(self.parameters)
        loss, likelihood = self.ranks.sum(*sums)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.settings.clip_norm))
        if not math.isfinite(norm):
            raise overflow(number, self._first_overflow())
        rate = self.rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        # The fused step does not count as a change in place, and whoever keeps packed weights asks for such changes.
        torch.autograd.graph.increment_version(self.parameters)
        self.optimizer.zero_grad()
        if self.average is not None:
            self.average.follow(number)
        progress.update = number
        progress.tokens += tokens
        return UpdateResult(loss / tokens, likelihood / tokens, tokens, norm, rate)

    def rate(self, number: int) -> float:
        """The learning rate of an update."""
        s = self.settings
        peak, warmup, updates = s.peak_rate, s.warmup, s.updates
        if s.schedule == "inverse-sqrt":
            return inverse_square_root(number, peak=peak, warmup=warmup, cooldown=s.cooldown, updates=updates)
        return falling(number, schedule=s.schedule, peak=peak, warmup=warmup, updates=updates, final=s.final_share)

    def precision(self) -> AbstractContextManager[object]:
        """Products in bfloat16 where the recipe says so; weights, sums and the optimiser stay in float32."""
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.ranks.device.type, dtype=torch.bfloat16)

    def try_largest_batch(self) -> None:
        """Runs the largest batch forward and backward, so that memory fails in the first seconds or never."""
        largest = max(self._plans, key=self.task.padded_tokens)
        torch.manual_seed(self.seed)
        self.model.train()
        try:
            with self.precision():
                batch = self.task.batch(largest, np.random.default_rng(self.seed)).to(self.ranks.device)
                loss, _ = self.task.loss(self.model, batch, self.measure)
            loss.backward()
        except (MemoryError, RuntimeError) as error:
            if "memory" not in str(error).lower() and not isinstance(error, MemoryError):
                raise
            raise InputError(
                f"The largest batch ({self.task.padded_tokens(largest):,} tokens) does not fit into "
                "memory: lower training.batch_tokens."
            ) from error
        self.optimizer.zero_grad()

    def averaged(self) -> AbstractContextManager[None]:
        """Inside, the model has its averaged weights, where the recipe asks for an average."""
        return nullcontext() if self.average is None else self.average.in_place()

    def validate(self) -> dict[str, float]:
        """The task's measures with the model as it is."""
        self.model.eval()
        with self.precision():
            return self.task.validate(
                self.model,
                negative_log_likelihood,
                max_tokens=2 * self.settings.batch_tokens,
                sentences=self.settings.validate_bleu,
            )

    def _next_plan(self, progress: Progress) -> Plan:
        if progress.epoch != self._epoch:
            self._plans = self.task.batches(self.settings.batch_tokens, self.seed, progress.epoch)
            self._epoch = progress.epoch
        if progress.batches not in (0, len(self._plans)):
            raise InputError(
                f"The training text is not what this run began with: an epoch had {progress.batches:,} batches and has "
                f"{len(self._plans):,} now. Put it back, or take another --out folder."
            )
        progress.batches = len(self._plans)
        plan = self._plans[progress.position]
        progress.position += 1
        if progress.position == len(self._plans):
            progress.epoch, progress.position, progress.batches = progress.epoch + 1, 0, 0
        return plan

    def _first_overflow(self) -> str:
        """The first tensor, in the model's order, whose weights or gradient overflowed."""
        for name, parameter in self.model.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                return f"{name} (shape {list(parameter.shape)})"
            if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                return f"the gradient of {name} (shape {list(parameter.shape)})"
        return "the gradient's norm"


def overflow(update: int, what: str) -> InputError:
    """What ends a run whose numbers grew beyond what can be written."""
    return InputError(
        f"Update {update}: {what} is not a number. The last checkpoint is kept: lower training.peak_rate, or train in "
        "float32."
    )
