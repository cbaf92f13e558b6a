"""A phrase-structure tree, and how it is written in brackets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

DEEPEST = 200  # brackets in brackets; trees of real sentences have a few dozen at most
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}  # the treebanks' way to write a bracket that is a word
BRACKET = re.compile(r"[()]")


@dataclass(frozen=True, slots=True)
class Tree:
    """A constituent with a label and its parts, or one `word` under its tag, which then is the label.

    `(NP (DT the) (NN mouse))` is `Tree("NP", (Tree("DT", word="the"), Tree("NN", word="mouse")))`.
    """

    label: str
    parts: tuple["Tree", ...] = ()
    word: str | None = None

    def leaves(self) -> Iterator["Tree"]:
        """The words with their tags, in order."""
        if self.word is not None:
            yield self
        for part in self.parts:
            yield from part.leaves()

    @property
    def words(self) -> list[str]:
        """The words in order."""
        return [leaf.word for leaf in self.leaves() if leaf.word is not None]

    def __str__(self) -> str:
        if self.word is not None:
            return f"({self.label} {BRACKET.sub(lambda found: ESCAPES[found[0]], self.word)})"
        return f"({' '.join([self.label, *map(str, self.parts)])})"


def leaf(tag: str, word: str) -> Tree:
    """A word under its tag."""
    return Tree(tag, word=word)


def indented(tree: Tree, margin: int = 0) -> str:
    """The tree in brackets over several lines, as treebanks print it: a part with parts of its own begins a line."""
    if all(part.word is not None for part in tree.parts):
        return str(tree)
    head = f"({tree.label}"
    simple = " ".join([head, *(str(part) for part in tree.parts[:1] if part.word is not None)])
    rest = tree.parts[simple != head :]
    lines = [" " * (margin + 2) + indented(part, margin + 2) for part in rest]
    return "\n".join([simple, *lines]) + ")"
