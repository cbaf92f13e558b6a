"""Trees as sequences of signs, for models that write text: without the words, which the reader of the sentence knows.

Depth-first, as in "Grammar as a Foreign Language" (Vinyals 2015, section 2.2): brackets open and close with their
label, and XX stands for a word with its tag.

    (S (NP (DT The) (NN mouse)) (VP (VBD ate) (NP (DT the) (NN cheese))) (. .))
    (S (NP XX XX )NP (VP XX (NP XX XX )NP )VP XX )S

Breadth-first, level by level: the label of the whole, then the parts of each constituent in the order in which the
constituents themselves were named, a / before each. A part is XX or a label. There are as many / as constituents.

    S / NP VP XX / XX XX / XX NP / XX XX

Both say the same, and `rebuild` reads both back. What a model writes may say no tree, or a tree of another number of
words: then it is mended.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from allyouneed.errors import InputError
from allyouneed.text.trees.tree import DEEPEST, Tree

Order = Literal["depth-first", "breadth-first"]
WORD, LEVEL = "XX", "/"
WHOLE = "S"  # the label of a whole that has none


def linearise(tree: Tree, order: Order) -> str:
    """The signs of a tree, with spaces between them. Raises InputError for a label that is itself a sign."""
    signs = _depth_first(tree) if order == "depth-first" else _breadth_first(tree)
    return " ".join(signs)


def _depth_first(tree: Tree) -> Iterable[str]:
    if tree.word is not None:
        yield WORD
        return
    yield f"({tree.label}"
    for part in tree.parts:
        yield from _depth_first(part)
    yield f"){tree.label}"


def _breadth_first(tree: Tree) -> Iterable[str]:
    yield _named(tree)
    waiting = deque([tree])
    while waiting:
        here = waiting.popleft()
        if here.word is not None:
            continue
        yield LEVEL
        for part in here.parts:
            yield _named(part)
            waiting.append(part)


def _named(tree: Tree) -> str:
    if tree.word is not None:
        return WORD
    if tree.label in (WORD, LEVEL):
        raise InputError(f'a constituent cannot be called "{tree.label}": that is a sign of the breadth-first order.')
    return tree.label


class Rebuilt(NamedTuple):
    """A tree over a sentence, and how many signs had to be added, dropped or changed for it."""

    tree: Tree
    repairs: int


def rebuild(signs: str, words: Sequence[str], order: Order) -> Rebuilt:
    """The tree that signs say, over the words; their tags are not known, so that each is XX.

    Mended, and counted one by one, are:

    - depth-first: a closing bracket closes the last open one of its label and all those within it, which lacked their
      own; if none is open it is dropped. What is still open at the end is closed.
    - breadth-first: what stands after the first label and before the first / is dropped, and so is a / with its parts
      when every constituent has had its own.
    - both: what is no sign is dropped, and a bracket deeper than 200. XX beyond the number of words are dropped, the
      last ones; words beyond the number of XX become the last parts of the whole. Constituents without words are
      dropped. If several trees are left, or one word among several, they become the parts of an S.

    Raises InputError where there are no words.
    """
    if not words:
        raise InputError("a tree needs at least one word.")
    draft = _Draft()
    (_read_depth_first if order == "depth-first" else _read_breadth_first)(signs.split(), draft)
    return draft.over(words)


@dataclass
class _Node:
    """A constituent under way. A part that is None is a word."""

    label: str
    depth: int
    parts: list["_Node | None"] = field(default_factory=list["_Node | None"])


@dataclass
class _Draft:
    """What the signs said so far: the wholes, and the number of repairs."""

    root: _Node = field(default_factory=lambda: _Node("", 0))
    repairs: int = 0

    def add(self, parent: _Node, label: str) -> _Node | None:
        """A new constituent, or None where it would be too deep."""
        if parent.depth == DEEPEST:
            self.repairs += 1
            return None
        node = _Node(label, parent.depth + 1)
        parent.parts.append(node)
        return node

    def over(self, words: Sequence[str]) -> Rebuilt:
        """The tree over the words."""
        left = deque(words)
        tops = self._parts(self.root, left)
        if left:
            self.repairs += len(left)
            rest = [Tree(WORD, word=word) for word in left]
            if len(tops) == 1 and tops[0].word is None:
                tops = [Tree(tops[0].label, (*tops[0].parts, *rest))]
            else:
                tops += rest
        if len(tops) == 1:
            return Rebuilt(tops[0], self.repairs)
        return Rebuilt(Tree(WHOLE, tuple(tops)), self.repairs + 1)

    def _parts(self, node: _Node, left: deque[str]) -> list[Tree]:
        found: list[Tree] = []
        for part in node.parts:
            if part is not None:
                inner = self._parts(part, left)
                if inner:
                    found.append(Tree(part.label, tuple(inner)))
                self.repairs += not inner
            elif left:
                found.append(Tree(WORD, word=left.popleft()))
            else:
                self.repairs += 1
        return found


def _read_depth_first(signs: Sequence[str], draft: _Draft) -> None:
    open_ = [draft.root]
    for sign in signs:
        if sign == WORD:
            open_[-1].parts.append(None)
        elif sign.startswith("(") and len(sign) > 1:
            node = draft.add(open_[-1], sign[1:])
            open_ += [node] if node else []
        elif sign.startswith(")") and sign[1:] in (node.label for node in open_[1:]):
            while open_.pop().label != sign[1:]:
                draft.repairs += 1
        else:
            draft.repairs += 1
    draft.repairs += len(open_) - 1


def _read_breadth_first(signs: Sequence[str], draft: _Draft) -> None:
    here: _Node | None = draft.root
    waiting: deque[_Node] = deque()
    for sign in signs:
        if sign == LEVEL:
            here = waiting.popleft() if waiting else None
            draft.repairs += here is None
        elif here is None or (here is draft.root and here.parts):
            draft.repairs += 1
        elif sign == WORD:
            here.parts.append(None)
        else:
            node = draft.add(here, sign)
            waiting += [node] if node else []
    draft.repairs += len(waiting)
