"""Following pointers: a task whose answers need few or many steps, so that it shows what depth is for.

A text is a row of places, named A, B, C … from the left. Each place holds the name of another place, or a value, in
small letters. What is asked at each place is the value at the end of its chain:

    B e A B      the first place says B, which holds e; the third says A, which says B; the fourth says B
    e e e e

How many names must be followed is the depth of a place, from 0 up.
"""

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import linear

from allyouneed.errors import UsageError
from allyouneed.models.layers import halting_weights
from allyouneed.models.transformer import Transformer
from allyouneed.tasks.task import Loss, Report, Task, TokenData, token_loss
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer

Numbers = npt.NDArray[np.int64]

NAMES, VALUES = string.ascii_uppercase, string.ascii_lowercase
RESERVED = 260  # ids of a tokenizer before its characters: marks and bytes
EPOCH = 1000  # batches


class DepthData(TokenData):
    """Texts that are drawn, new ones for each batch."""

    places: Annotated[int, Field(ge=2, le=len(NAMES))] = Field(default=20, description="places in a text")
    values: Annotated[int, Field(ge=2, le=len(VALUES))] = Field(default=8, description="values that a place may hold")
    max_depth: Annotated[int, Field(ge=1)] = Field(default=8, description="most names that lead to a value")
    dev_texts: Annotated[int, Field(gt=0)] = Field(default=500, description="texts to validate on")

    def origins(self) -> list[str]:
        """A phrase for the model card."""
        return [f"chains of up to {self.max_depth} pointers among {self.places} places, drawn anew for each batch"]


@dataclass(frozen=True)
class Chains:
    """N texts: what each place holds, where its chain ends, and how many names lead there, each [N, places]."""

    content: Numbers  # the number of a place, or `places` and the number of a value
    answer: Numbers  # the number of a value
    depth: Numbers


def draw_chains(texts: int, data: DepthData, draw: np.random.Generator) -> Chains:
    """Random texts. Places get their content in random order, and point at one of the two before them in that order, so
    that deep chains are as common as shallow ones; one in eight begins a chain with a value.
    """
    rows = np.arange(texts)
    order = np.argsort(draw.random((texts, data.places)), axis=1)
    content, answer, depth = (np.zeros((texts, data.places), np.int64) for _ in range(3))
    for step in range(data.places):
        here = order[:, step]
        there = order[rows, np.maximum(step - 1 - draw.integers(0, 2, texts), 0)]
        value = draw.integers(0, data.values, texts)
        first = (draw.random(texts) < 1 / 8) | (depth[rows, there] == data.max_depth) | (here == there)
        content[rows, here] = np.where(first, data.places + value, there)
        answer[rows, here] = np.where(first, value, answer[rows, there])
        depth[rows, here] = np.where(first, 0, depth[rows, there] + 1)
    return Chains(content, answer, depth)


@dataclass(frozen=True)
class DepthBatch:
    """Texts between BOS and EOS, and what is asked of them."""

    tokens: Tensor  # [B, places + 2]
    gold: Tensor  # [B · places]
    depth: Tensor  # [B · places]

    def to(self, device: torch.device) -> "DepthBatch":
        """The same batch on a device."""
        return DepthBatch(self.tokens.to(device), self.gold.to(device), self.depth.to(device))

    def states(self, model: Transformer) -> Tensor:
        """The states of all places, [B · places, D]."""
        return model.encode(self.tokens).states[:, 1:-1].flatten(0, 1)


class Depth(Task):
    """Chains of pointers, without end."""

    line = "encoder"
    data = DepthData
    title = "A model that follows pointers"
    measures = (
        "The loss is in nats a place; `accuracy` is the share of places with the right value, `texts` that of texts "
        "with all of them right, and `depth N` the accuracy at places N pointers away from their value. Where the "
        "model halts, `steps N` is the mean number of steps that it takes there."
    )

    def __init__(self, tokenizer: Tokenizer, settings: DepthData) -> None:
        self.tokenizer, self.settings = tokenizer, settings
        names, values = words(settings)
        self.ids = np.array([tokenizer.encode(word)[0] for word in names + values])
        self.dev = draw_chains(settings.dev_texts, settings, np.random.default_rng(0))

    @classmethod
    def prepare(cls, data: DepthData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Depth":
        """A tokenizer with a piece for each name and value; texts are drawn when they are wanted."""
        names, values = words(data)
        needed = RESERVED + 1 + 2 * (len(names) + len(values))  # each with a space before it and without, and the space
        if vocab_size != needed:
            raise UsageError(
                f"tokenizer.vocab_size = {vocab_size}: {data.places} places and {data.values} values need {needed}."
            )
        row = data.places + 2
        if data.max_tokens < row:
            raise UsageError(
                f"data.max_tokens = {data.max_tokens}: {data.places} places are {row} tokens with their marks."
            )
        text = " ".join(names + values)
        return cls(Tokenizer.train([text], vocab_size=vocab_size).for_line(cls.line), data)

    def size(self) -> str:
        """How many texts there are."""
        return f"texts of {self.settings.places} places, and {self.settings.dev_texts:,} of them for validation"

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[int]:
        """How many texts each batch of an epoch has."""
        row = self.settings.places + 2
        if max_tokens < row:
            raise UsageError(f"training.batch_tokens = {max_tokens} holds no text of {row} tokens.")
        return [max_tokens // row] * EPOCH

    def batch(self, plan: int, draw: np.random.Generator) -> DepthBatch:
        """New texts."""
        return self.tensors(draw_chains(plan, self.settings, draw))

    def padded_tokens(self, plan: int) -> int:
        """Texts times their length."""
        return plan * (self.settings.places + 2)

    def target_tokens(self, plan: int) -> int:
        """All places: each has a value at the end of its chain."""
        return plan * self.settings.places

    def loss(self, model: Transformer, batch: DepthBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the places."""
        return token_loss(model, batch.states(model), batch.gold, measure)

    @torch.no_grad()
    def validate(self, model: Transformer, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss, accuracy by depth and, where the model halts, steps by depth."""
        rows = max(max_tokens // (self.settings.places + 2), 1)
        parts = [
            self._measure(model, measure, slice(start, start + rows)) for start in range(0, len(self.dev.depth), rows)
        ]
        loss, right, steps = (torch.cat(part) for part in zip(*parts, strict=True))
        depth = torch.from_numpy(self.dev.depth)
        right, steps = right.view_as(depth), steps.view(*depth.shape)
        measures = {
            "loss": float(loss.sum()) / depth.numel(),
            "accuracy": float(right.float().mean()),
            "texts": float(right.all(1).float().mean()),
        }
        there = depth.unique().tolist()
        measures |= {f"depth {number}": float(right[depth == number].float().mean()) for number in there}
        if model.config.halting:
            measures |= {f"steps {number}": float(steps[depth == number].mean()) for number in there}
        return measures

    def _measure(self, model: Transformer, measure: Loss, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Some validation texts: their loss [1], which places are right and how many steps each took, both [N]."""
        chains = Chains(self.dev.content[rows], self.dev.answer[rows], self.dev.depth[rows])
        batch = self.tensors(chains).to(model.embedding.weight.device)
        states, steps = with_steps(model, batch)
        _, likelihood = token_loss(model, states, batch.gold, measure)
        right = linear(*model.features(states)).argmax(-1) == batch.gold
        return likelihood[None].cpu(), right.cpu(), steps.cpu()

    def tensors(self, chains: Chains) -> DepthBatch:
        """Texts as the model sees them."""
        tokens = np.full((len(chains.content), self.settings.places + 2), EOS, np.int64)
        tokens[:, 0] = BOS
        tokens[:, 1:-1] = self.ids[chains.content]
        gold = self.ids[self.settings.places + chains.answer]
        return DepthBatch(*map(torch.from_numpy, (tokens, gold.flatten(), chains.depth.flatten())))

    def text(self, chains: Chains) -> list[tuple[str, str]]:
        """Each text, and its answers, as a reader sees them."""
        names, values = words(self.settings)
        shown = names + values
        return [
            (" ".join(shown[item] for item in content), " ".join(values[item] for item in answer))
            for content, answer in zip(chains.content, chains.answer, strict=True)
        ]


def with_steps(model: Transformer, batch: DepthBatch) -> tuple[Tensor, Tensor]:
    """The states of all places [N, D], and how many steps each took [N]."""
    probabilities: list[Tensor] = []
    halt = model.encoder.halt
    if halt is None:
        return batch.states(model), torch.full_like(batch.gold, len(model.encoder), dtype=torch.float32)
    handle = halt.register_forward_hook(lambda _module, _inputs, output: probabilities.append(output.sigmoid()))
    try:
        states = batch.states(model)
    finally:
        handle.remove()
    weights, _ = halting_weights(torch.cat(probabilities, -1), model.config.halting_threshold)
    return states, (weights > 0).sum(-1)[:, 1:-1].flatten().float()


def words(data: DepthData) -> tuple[list[str], list[str]]:
    """What stands in a text: names of places, and values."""
    return list(NAMES[: data.places]), list(VALUES[: data.values])
