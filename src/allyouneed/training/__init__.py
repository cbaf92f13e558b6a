"""From a recipe to a trained model: the same for every task."""

from allyouneed.training.recipe import Recipe, parse_recipe, read_recipe
from allyouneed.training.run import train

__all__ = ["Recipe", "parse_recipe", "read_recipe", "train"]
