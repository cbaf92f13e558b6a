"""Bracketed files, such as the Penn Treebank's `.mrg`: one tree over one line or many, or many trees in a line.

    ( (S
        (NP-SBJ (DT The) (NN mouse))
        (VP (VBD ate) (NP (DT the) (NN cheese)))
        (. .)))

The outermost bracket may go without a label. Each word stands alone in a bracket, behind its tag.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from allyouneed.errors import InputError
from allyouneed.text.corpus import read_lines
from allyouneed.text.trees.tree import DEEPEST, Tree

SIGN = re.compile(r"[()]|[^\s()]+")
TRACE = "-NONE-"
TOPS = frozenset({"", "TOP", "ROOT", "S1"})  # what treebanks and parsers call the bracket around a sentence
TOP = "TOP"


class Found(NamedTuple):
    """A tree and where it begins: its file, and the line from 1."""

    tree: Tree
    file: str
    line: int


def read_trees(path: str | Path) -> Iterator[Found]:
    """The trees of a UTF-8 file, plain, .gz or .zst, exactly as they stand there.

    Raises InputError, with file and line, for brackets that do not match, a bracket without a label or with nothing in
    it, text outside of brackets, and a file without a tree.
    """
    return trees_of(read_lines(path), f'"{path}"')


def trees_of(lines: Iterable[str], name: str) -> Iterator[Found]:
    """The trees of some lines. `name` stands in the messages, which are those of `read_trees`."""
    open_: list[_Open] = []
    found = False
    for number, line in enumerate(lines, 1):
        for sign in SIGN.findall(line):
            place = f"{name}, line {number}"
            if sign == "(":
                if len(open_) == DEEPEST:
                    raise InputError(f"{place}: more than {DEEPEST} brackets in brackets.")
                open_.append(_Open(number))
            elif not open_:
                what = (
                    "a closing bracket that no bracket opens" if sign == ")" else f'"{sign}" stands outside of brackets'
                )
                raise InputError(f"{place}: {what}.")
            elif sign == ")":
                closed = open_.pop().close(place, outermost=not open_)
                if open_:
                    open_[-1].add(closed.tree, place)
                else:
                    found = True
                    yield Found(closed.tree, name.strip('"'), closed.line)
            else:
                open_[-1].say(sign, place)
    if open_:
        raise InputError(f"{name}, line {open_[-1].line}: a bracket that is never closed.")
    if not found:
        raise InputError(f"{name} holds no tree.")


class _Closed(NamedTuple):
    tree: Tree
    line: int


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    line: int
    label: str | None = None
    word: str | None = None
    parts: list[Tree] = field(default_factory=list[Tree])

    def say(self, sign: str, place: str) -> None:
        """Takes a label or, after it, a word."""
        if self.parts:
            raise InputError(
                f'{place}: "{sign}" stands beside brackets: a word has a bracket of its own, with its tag.'
            )
        if self.label is None:
            self.label = sign
        elif self.word is None:
            self.word = sign
        else:
            raise InputError(f'{place}: "{self.label} {self.word} {sign}": a bracket holds one word behind its tag.')

    def add(self, part: Tree, place: str) -> None:
        """Takes a part."""
        if self.word is not None:
            raise InputError(
                f'{place}: "{self.word}" stands beside brackets: a word has a bracket of its own, with its tag.'
            )
        self.parts.append(part)

    def close(self, place: str, *, outermost: bool) -> _Closed:
        """The tree of the bracket."""
        if self.word is None and not self.parts:
            what = "nothing in it" if self.label is None else f'nothing behind "{self.label}"'
            raise InputError(f"{place}: a bracket with {what}.")
        if self.label is None and not outermost:
            raise InputError(f"{place}: it closes a bracket without a label, which only the outermost may be.")
        return _Closed(Tree(self.label or "", tuple(self.parts), self.word), self.line)


def prepared(tree: Tree) -> Tree | None:
    """The tree as parsers learn it and are measured on: without traces and what they leave empty, without functions and
    numbers behind the labels (NP-SBJ-1 is NP), and without an empty bracket around the sentence.

    None where no word is left.
    """
    kept = _kept(tree)
    while kept is not None and kept.word is None and kept.label in TOPS:
        if len(kept.parts) != 1:
            return Tree(TOP, kept.parts)
        kept = kept.parts[0]
    return kept


def _kept(tree: Tree) -> Tree | None:
    if tree.word is not None:
        return None if tree.label == TRACE else Tree(bare(tree.label), word=tree.word)
    parts = tuple(part for part in map(_kept, tree.parts) if part is not None)
    return Tree(bare(tree.label), parts) if parts else None


def bare(label: str) -> str:
    """A label without what follows a hyphen or an equals sign; -LRB- and its like, which begin with one, stay."""
    return label[:1] + re.split("[-=]", label[1:], maxsplit=1)[0] if not label.startswith("-") else label
