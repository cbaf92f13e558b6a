"""What an experiment is: arms that are trained alike but for one thing, and a measurement."""

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from allyouneed.checkpoints.native import load_model
from allyouneed.models.presets import count
from allyouneed.reproduce.result import Cited, Row, TrainedArm
from allyouneed.tasks.registry import TASKS
from allyouneed.tasks.task import Task
from allyouneed.training.loss import negative_log_likelihood
from allyouneed.training.recipe import Recipe, parse_recipe, read_recipe

RECIPES = Path(__file__).parents[1] / "recipes"


@dataclass(frozen=True)
class Arm:
    """One model of an experiment: a recipe that ships, and settings that replace its own (`key.path=value`)."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()

    def read(self, seed: int) -> Recipe:
        """The whole recipe."""
        return read_recipe(RECIPES / f"{self.recipe}.toml", [*self.overrides, f"seed={seed}"])


@dataclass(frozen=True)
class Setting:
    """Under what an experiment is run."""

    seed: int
    quick: bool  # seconds instead of minutes: it shows that all works, and its numbers mean nothing
    folder: Path  # where the experiment may write
    corpora: Path  # where text is looked for

    def choose(self, full: int, quick: int) -> int:
        """A size of the full run, or of the quick one."""
        return quick if self.quick else full


def budget(setting: Setting, *, updates: int, batch_tokens: int) -> tuple[str, ...]:
    """Overrides that give a model its share of training: what is equal within an experiment stands here once.

    Small models gain nothing from bfloat16, and are compared as the last update leaves them, after a cool-down.
    """
    if setting.quick:
        return quick_budget()
    return (
        f"training.updates={updates}",
        f"training.warmup={updates // 6}",
        f"training.cooldown={updates // 3}",
        f"training.batch_tokens={batch_tokens}",
        f"training.validate_every={updates // 4}",
        f"training.checkpoint_every={updates // 8}",
        *ALIKE,
    )


def quick_budget(batch_tokens: int = 256) -> tuple[str, ...]:
    """Overrides of a quick run: a few updates."""
    return (
        "training.updates=12",
        "training.warmup=2",
        "training.cooldown=4",
        f"training.batch_tokens={batch_tokens}",
        "training.validate_every=12",
        "training.checkpoint_every=12",
        *ALIKE,
    )


ALIKE = (
    "training.accumulate=1",
    "training.average=1",
    "training.validate_bleu=0",
    'training.precision="float32"',
)


@dataclass(frozen=True)
class Trained:
    """An arm after its training."""

    arm: Arm
    seed: int
    folder: Path

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe that it was trained by."""
        path = self.folder / "recipe.toml"
        return parse_recipe(tomllib.loads(path.read_text("utf-8")), str(path))

    @cached_property
    def model(self) -> nn.Module:
        """The model, in evaluation mode."""
        return load_model(self.folder).model

    @cached_property
    def task(self) -> Task:
        """Its examples."""
        return TASKS[self.recipe.task].prepare(
            self.recipe.data,
            vocab_size=self.recipe.tokenizer.vocab_size,
            seed=self.recipe.seed,
            folder=self.folder,
            report=lambda message: None,
        )

    def validate(self, sentences: int = 0) -> dict[str, float]:
        """The task's measures on its validation examples; those on written text take the first `sentences`."""
        tokens = 2 * self.recipe.training.batch_tokens
        model: Any = self.model
        return self.task.validate(model, negative_log_likelihood, max_tokens=tokens, sentences=sentences)

    @property
    def facts(self) -> TrainedArm:
        """What it took to train."""
        last = json.loads((self.folder / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
        return TrainedArm(
            name=self.arm.name,
            seed=self.seed,
            parameters=count(self.model),
            updates=last["update"],
            minutes=round(last["seconds"] / 60, 2),
        )


@dataclass(frozen=True)
class Chart:
    """What the figure draws: `y` against `x`, one line or group of bars for each value of the columns `by`."""

    kind: Literal["lines", "bars"]
    x: str
    y: str
    by: tuple[str, ...] = ()
    unit: str = ""  # of y
    logarithmic: bool = False  # the x axis


class Experiment(ABC):
    """One experiment of a paper."""

    name: ClassVar[str]
    title: ClassVar[str]  # what it asks
    note: ClassVar[str]  # on what it is measured, and how
    paper: ClassVar[tuple[Cited, ...]]
    keys: ClassVar[tuple[str, ...]]  # columns that tell rows apart, beside the seed
    charts: ClassVar[tuple[Chart, ...]]
    seeds: ClassVar[tuple[int, ...]] = (1,)

    @abstractmethod
    def arms(self, setting: Setting) -> list[Arm]:
        """The models to train, all with one seed."""

    @abstractmethod
    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """One line a measurement: the columns of `keys`, and what was measured."""
