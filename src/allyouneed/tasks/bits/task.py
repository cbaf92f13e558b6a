"""Small algorithms on bits as tasks of training: each is what `episodes` draws, and all are measured alike."""

from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.tasks.bits.episodes import (
    BitData,
    CopyData,
    Episodes,
    NgramData,
    PrioritySortData,
    RecallData,
    RepeatCopyData,
    Size,
    largest,
    named,
)
from allyouneed.tasks.task import Loss, Report, Task

EPOCH = 1000  # batches


class Plan(NamedTuple):
    """A batch before it is drawn: how many episodes of which size."""

    rows: int
    size: Size


@dataclass(frozen=True)
class BitBatch:
    """Episodes as tensors: what comes in [B, T, I], and what is asked after the last A steps [B, A, O]."""

    inputs: Tensor
    asked: Tensor

    def to(self, device: torch.device) -> "BitBatch":
        """The same batch on a device."""
        return BitBatch(self.inputs.to(device), self.asked.to(device))

    def logits(self, model: Any) -> Tensor:
        """What the model says where something is asked, [B, A, O]."""
        return model(self.inputs)[:, -self.asked.shape[1] :]


class BitTask(Task):
    """Episodes without end."""

    line = "bits"
    tokenizer = None
    measures = (
        "The loss is in nats a bit; `bits` is the same as the cost of a whole episode in bits, and `wrong` how many "
        "bits of an episode are wrong when each is written as what is likelier. These are means over all sizes that "
        "were trained on; `wrong N` is for size N alone, the largest of those and larger ones."
    )

    def __init__(self, settings: BitData) -> None:
        self.settings = settings

    @classmethod
    def prepare(cls, data: BitData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "BitTask":
        """There is nothing to make: episodes are drawn when they are wanted."""
        return cls(data)

    def size(self) -> str:
        """What is drawn, and how many episodes there are for validation."""
        sizes = self.settings.sizes()
        return f"episodes of {len(sizes)} size{'s' * (len(sizes) > 1)}, {self.settings.dev:,} of each for validation"

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Plan]:
        """Batches of as many episodes, each batch of a random size among those that it may be of by then."""
        sizes = sorted(self.settings.sizes(), key=self.settings.shape)
        longest = largest(self.settings, sizes)
        rows = max_tokens // longest
        if not rows:
            raise UsageError(f"training.batch_tokens = {max_tokens} holds no episode of {longest} steps.")
        grown = (epoch * EPOCH + np.arange(EPOCH) + 1) / max(self.settings.growth, 1)
        allowed = np.ceil(len(sizes) * np.minimum(grown, 1)).astype(int)
        chosen = np.random.default_rng([seed, epoch]).integers(0, allowed)
        return [Plan(rows, sizes[number]) for number in chosen]

    def batch(self, plan: Plan, draw: np.random.Generator) -> BitBatch:
        """New episodes."""
        return tensors(self.settings.draw(plan.size, plan.rows, draw))

    def padded_tokens(self, plan: Plan) -> int:
        """Episodes times their steps."""
        return plan.rows * self.settings.shape(plan.size)[0]

    def target_tokens(self, plan: Plan) -> int:
        """All bits that are asked."""
        return plan.rows * self.settings.shape(plan.size)[1] * self.settings.channels[1]

    def loss(self, model: Any, batch: BitBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the bits. A bit is a choice between two: 0 has the logit 0."""
        check_channels(model.config, self.settings)
        return measure_bits(batch.logits(model), batch.asked, measure)

    @torch.no_grad()
    def validate(self, model: Any, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss, cost and wrong bits, and the wrong bits of large sizes."""
        check_channels(model.config, self.settings)
        own, rows = self.settings.sizes(), self.settings.dev
        loss, count, found = 0.0, 0, dict[Size, float]()
        for size in [*own, *self.settings.larger()]:
            batch = self.dev(size).to(next(model.parameters()).device)
            logits = batch.logits(model)
            found[size] = float(wrong_bits(logits, batch.asked)) / rows
            if size in own:
                loss += float(measure_bits(logits, batch.asked, measure)[1])
                count += batch.asked.numel()
        measures = {
            "loss": loss / count,
            "bits": loss / log(2) / (rows * len(own)),
            "wrong": sum(found[size] for size in own) / len(own),
        }
        measures |= {f"wrong {named(size)}": found[size] for size in [own[-1], *self.settings.larger()]}
        if isinstance(self.settings, NgramData):
            measures["best bits"] = self.settings.best_bits(self.dev(own[0]).asked.numpy())
        return measures

    def dev(self, size: Size) -> BitBatch:
        """The episodes of one size to validate on, always the same."""
        return tensors(self.settings.draw(size, self.settings.dev, np.random.default_rng([0, *size])))


class Copy(BitTask):
    """Write what was shown."""

    data = CopyData
    title = "A machine that copies rows of bits"


class RepeatCopy(BitTask):
    """Write what was shown, so many times."""

    data = RepeatCopyData
    title = "A machine that copies rows of bits so many times"


class Recall(BitTask):
    """Write what came after the item that is shown again."""

    data = RecallData
    title = "A machine that recalls what came next"


class PrioritySort(BitTask):
    """Write what was shown, by the numbers that came with it."""

    data = PrioritySortData
    title = "A machine that sorts rows of bits"


class Ngrams(BitTask):
    """Say which bit is next, by what followed the last five before."""

    data = NgramData
    title = "A machine that counts what follows what"


def tensors(episodes: Episodes) -> BitBatch:
    """Episodes as tensors."""
    return BitBatch(torch.from_numpy(episodes.inputs), torch.from_numpy(episodes.asked))


def measure_bits(logits: Tensor, asked: Tensor, measure: Loss) -> tuple[Tensor, Tensor]:
    """Smoothed and plain loss of logits of bits [...] by the bits themselves [...], summed."""
    choices = torch.tensor([[0.0], [1.0]], device=logits.device)  # two words, of which the logit is the second's
    return measure(logits.reshape(-1, 1), choices, None, asked.reshape(-1).long())


def wrong_bits(logits: Tensor, asked: Tensor) -> Tensor:
    """How many bits are wrong, when each is written as what is likelier."""
    return ((logits > 0) != (asked > 0.5)).sum()


def check_channels(config: Any, settings: BitData) -> None:
    """Refuses a model with too few or too many inputs or outputs."""
    for name, wanted in zip(("n_inputs", "n_outputs"), settings.channels, strict=True):
        there = getattr(config, name)
        if there != wanted:
            raise UsageError(f"model.{name} = {there}: this task needs {wanted}.")
