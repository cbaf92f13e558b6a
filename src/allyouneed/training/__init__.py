"""From a recipe to a trained model: the same for every task."""
