"""English sentences of the everyday grammar as phrase-structure trees, with the labels and tags of the Penn Treebank.

A tree is built from the abstract sentence that the text is made from, so it is the true one. Its words in order are
`words_of` the text. What belongs to a verb stands in the phrase of that verb: objects, adverbials and clauses that
begin with because, when, while, if and that. Clauses with and, but and so stand side by side.
"""

from collections.abc import Iterator
from random import Random

from allyouneed.text.everyday import SPLITS, check, drawn
from allyouneed.text.everyday.trees.sentences import tree_of
from allyouneed.text.trees.tree import Tree

__all__ = ["tree_of", "trees"]


def trees(*, seed: int, count: int, split: str) -> Iterator[Tree]:
    """The trees of `allyouneed.text.everyday.sentences(seed=seed, count=count, split=split, languages=("en",))`, in the
    same order. Raises UsageError for a split that doesn't exist.
    """
    check(split, SPLITS, "split")
    return (tree_of(abstract) for abstract, _ in drawn(Random(f"{seed} {split}"), count, split, ("en",)))
