"""How well the brackets of two trees agree, counted as by the program EVALB with its parameters COLLINS.prm.

A constituent is its label and the words that it spans. Constituents are compared as multisets, so that two of one label
over the same words count twice. What the parameters say:

- words with the tags , : `` '' and . are taken out first, in both trees where the first one has these tags;
  constituents that span nothing then are gone;
- tags are not counted, and neither is the bracket around a sentence (TOP, or one without a label);
- what follows a hyphen or an equals sign in a label does not count;
- ADVP and PRT are one label.

The numbers of a corpus are those of all its brackets together.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from allyouneed.errors import InputError
from allyouneed.text.trees.reader import TOP, TRACE, bare
from allyouneed.text.trees.tree import Tree

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
UNCOUNTED = PUNCTUATION | {"", TOP, TRACE}
SAME = {"PRT": "ADVP"}

Span = tuple[str, int, int]


@dataclass(frozen=True)
class Agreement:
    """Brackets of true trees, of guessed ones and those that are in both; sentences, and those with no difference."""

    true: int = 0
    guessed: int = 0
    matched: int = 0
    sentences: int = 0
    exact: int = 0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(
            self.true + other.true,
            self.guessed + other.guessed,
            self.matched + other.matched,
            self.sentences + other.sentences,
            self.exact + other.exact,
        )

    @property
    def precision(self) -> float:
        """The share of the guessed brackets that are true."""
        return self.matched / self.guessed if self.guessed else 0.0

    @property
    def recall(self) -> float:
        """The share of the true brackets that were guessed."""
        return self.matched / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.guessed + self.true
        return 2 * self.matched / both if both else 0.0

    @property
    def exact_match(self) -> float:
        """The share of the sentences all of whose brackets are right."""
        return self.exact / self.sentences if self.sentences else 0.0


def agreement(pairs: Iterable[tuple[Tree, Tree]]) -> Agreement:
    """Of pairs of a true tree and a guessed one. Raises InputError for a pair that does not have the same words."""
    return sum((compare(true, guessed) for true, guessed in pairs), Agreement())


def compare(true: Tree, guessed: Tree) -> Agreement:
    """Of one sentence. Raises InputError where the trees do not have the same words."""
    if true.words != guessed.words:
        one, other = next(
            pair
            for pair in zip([*true.words, "(the end)"], [*guessed.words, "(the end)"], strict=False)
            if pair[0] != pair[1]
        )
        raise InputError(f'two trees of one sentence must have the same words, but one has "{one}" for "{other}".')
    dropped = [bare(leaf.label) in PUNCTUATION | {TRACE} for leaf in true.leaves()]
    spans = [Counter(constituents(tree, dropped)) for tree in (true, guessed)]
    matched = (spans[0] & spans[1]).total()
    counts = [found.total() for found in spans]
    return Agreement(counts[0], counts[1], matched, 1, int(matched == counts[0] == counts[1]))


def constituents(tree: Tree, dropped: list[bool]) -> list[Span]:
    """The constituents that count, each a label and where it begins and ends among the words that are not dropped."""
    found: list[Span] = []
    word = kept = 0

    def visit(node: Tree) -> None:
        nonlocal word, kept
        if node.word is not None:
            kept += not dropped[word]
            word += 1
            return
        place, start = len(found), kept
        for part in node.parts:
            visit(part)
        label = bare(node.label)
        if kept > start and label not in UNCOUNTED:
            found.insert(place, (SAME.get(label, label), start, kept))

    visit(tree)
    return found
