"""Phrase-structure trees: bracketed files, trees as sequences of signs, and how well brackets agree."""

from allyouneed.text.trees.tree import Tree

__all__ = ["Tree"]
