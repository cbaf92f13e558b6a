"""What a training begins with: a new model of the recipe's numbers, or one that is there already, to be trained on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.conversion import read_model
from allyouneed.checkpoints.native import TOKENIZER
from allyouneed.checkpoints.places import place_of
from allyouneed.errors import UsageError
from allyouneed.models.architectures import assemble
from allyouneed.models.presets import configure, settings_of
from allyouneed.models.transformer import TransformerConfig
from allyouneed.text.vocabulary import Vocabulary
from allyouneed.training.recipe import Recipe


@dataclass(frozen=True)
class Beginning:
    """A model's numbers, and where they are another model's, its weights and its tokenizer."""

    config: TransformerConfig  # or one of another class, where the model is of another kind
    trained: nn.Module | None = None
    tokenizer: Vocabulary | None = None

    def model(self) -> nn.Module:
        """The model before its first update."""
        model = assemble(self.config)
        if self.trained is not None:
            model.load_state_dict(self.trained.state_dict())  # copied: a file's own memory must not be trained in
        return model

    def vocab_size(self, recipe: Recipe) -> int:
        """Pieces of the tokenizer."""
        return recipe.tokenizer.vocab_size if self.tokenizer is None else self.tokenizer.vocab_size

    def put_tokenizer(self, folder: Path) -> None:
        """Lays another model's tokenizer where a run looks for its own."""
        if self.tokenizer is not None:
            with staged_folder(folder) as staging:
                self.tokenizer.save(staging / TOKENIZER)


def beginning(recipe: Recipe, out: Path) -> Beginning:
    """What the recipe of the run in `out` begins with. Raises UsageError where its model cannot be trained on."""
    start = recipe.model.start
    if start is None:
        return Beginning(config_of(recipe))
    place = place_of(start)
    if place.resolve() == out.resolve():
        raise UsageError(f'model.start "{start}" is the folder of this run itself: name another one with --out.')
    saved = read_model(place)
    own: dict[str, Any] = recipe.model.model_extra or {}
    lacking = [name for name in own if not hasattr(saved.config, name)]
    if lacking:
        raise UsageError(f'model.start "{start}" is a model without {" and ".join(lacking)}.')
    return Beginning(replace(saved.config, **own), saved.model, saved.tokenizer)


def config_of(recipe: Recipe) -> TransformerConfig:
    """The config that a recipe describes by a preset, or one of another class where that is for another kind of
    model.
    """
    own = recipe.model.model_extra or {}
    sized = "vocab_size" in settings_of(recipe.model.preset)
    return configure(recipe.model.preset, **(own | {"vocab_size": recipe.tokenizer.vocab_size} if sized else own))
