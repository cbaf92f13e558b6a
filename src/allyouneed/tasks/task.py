"""What the training loop knows of a kind of work, and nothing more: how it batches, measures and describes itself."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from allyouneed.errors import InputError
from allyouneed.models.interface import TextModel

Report = Callable[[str], None]
Loss = Callable[[Tensor, Tensor, Tensor | None, Tensor], tuple[Tensor, Tensor]]
Plan = Any  # a batch before it is made: only its task looks inside
Made = Any  # a made batch: besides its task, all that is known of it is `to(device)`


class Section(BaseModel):
    """A part of a recipe: unknown keys are refused, as are numbers without end, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Data(Section):
    """What the examples of a task are made from. Each task has fields of its own."""

    def origins(self) -> list[str]:
        """Where the training examples come from, a phrase each, for the model card."""
        return []


class TokenData(Data):
    """Examples that are text."""

    root: str = Field(default=".", description="folder that file names are relative to")
    max_tokens: Annotated[int, Field(gt=1)] = Field(default=150, description="longest text in tokens")


class Task(ABC):
    """One kind of work with its examples, ready for training.

    An epoch is a list of plans, fixed by a seed and the epoch's number. `batch` makes a plan's tensors, with random
    draws, if the task has any, from the generator that it is given: the same generator gives the same batch.
    """

    line: ClassVar[Any]  # what its models read and write: the stacks of those for text
    data: ClassVar[type[Data]]
    title: ClassVar[str]  # a model of this task, for its card
    measures: ClassVar[str]  # what `validate` measures, in a sentence or two for the card
    tokenizer: Any  # a Vocabulary; None where the examples are no text

    @classmethod
    @abstractmethod
    def prepare(cls, data: Any, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Task":
        """Makes everything ready from `data`, an instance of the class that `cls.data` names.

        What takes long is kept in `folder` and taken up from there the next time.
        """

    @abstractmethod
    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Plan]:
        """The plans of one epoch in order, each of at most `max_tokens` padded tokens."""

    @abstractmethod
    def batch(self, plan: Plan, draw: np.random.Generator) -> Made:
        """The tensors of a plan."""

    @abstractmethod
    def padded_tokens(self, plan: Plan) -> int:
        """How large the batch of a plan is."""

    @abstractmethod
    def target_tokens(self, plan: Plan) -> int:
        """How many tokens of it are predicted: what its loss is divided by."""

    @abstractmethod
    def loss(self, model: Any, batch: Made, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the predicted tokens."""

    @abstractmethod
    def validate(self, model: Any, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Measures by name on the validation examples, "loss" (nats a token) among them, in batches of `max_tokens`, or
        of one example where that is longer.

        What is measured on written text takes the first `sentences` of them.
        """

    @abstractmethod
    def size(self) -> str:
        """How many examples there are, in a phrase."""


def loss_a_token(total: float, tokens: float) -> dict[str, float]:
    """Loss (nats) and perplexity a token, the second as far as it says anything: of a model that learns nothing it may
    be beyond what is a float.
    """
    return {"loss": total / tokens, "perplexity": math.exp(min(total / tokens, 80))}


def check_batch(longest: int, batch_tokens: int) -> None:
    """Refuses batches that have no room for the longest example."""
    if longest > batch_tokens:
        raise InputError(
            f"The longest training example has {longest:,} tokens, and a batch training.batch_tokens = "
            f"{batch_tokens:,}: raise this, or lower data.max_tokens."
        )


def token_loss(model: TextModel, states: Tensor, gold: Tensor, measure: Loss) -> tuple[Tensor, Tensor]:
    """Smoothed and plain loss of states [N, D] that predict `gold` [N], summed; in training with what the model itself
    adds to its loss.
    """
    smoothed, likelihood = measure(*model.features(states), gold)
    if model.training:
        smoothed = smoothed + model.extra_loss() * len(gold)
    return smoothed, likelihood
