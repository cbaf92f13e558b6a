"""The trees of everyday sentences: true to the text, to the order of the sentences, and to what was meant."""

import pytest

from allyouneed.errors import UsageError
from allyouneed.text.everyday import sentences
from allyouneed.text.everyday.lexicon import adverbials as entries
from allyouneed.text.everyday.trees import trees
from allyouneed.text.everyday.trees.words import adverbials
from allyouneed.text.trees.reader import trees_of
from allyouneed.text.trees.tree import Tree
from allyouneed.text.trees.words import words_of

COUNT = 1500
TAGS = "CC CD DT EX IN JJ JJR MD NN NNP NNPS NNS PRP PRP$ RB RBR RP TO UH VB VBD VBG VBN VBP VBZ WDT WP WRB . ,"


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, Tree]]:
    texts = (text for (text,) in sentences(seed=7, count=COUNT, split="train", languages=("en",)))
    return list(zip(texts, trees(seed=7, count=COUNT, split="train"), strict=True))


def nodes(tree: Tree) -> list[Tree]:
    return [tree, *(node for part in tree.parts for node in nodes(part))]


def test_the_words_are_those_of_the_text(pairs: list[tuple[str, Tree]]) -> None:
    for text, tree in pairs:
        assert tree.words == words_of(text)


def test_other_splits_are_held_out_as_the_sentences_are() -> None:
    for split in ("dev", "test"):
        texts = [text for (text,) in sentences(seed=1, count=50, split=split, languages=("en",))]
        assert [tree.words for tree in trees(seed=1, count=50, split=split)] == [words_of(text) for text in texts]
    with pytest.raises(UsageError, match='no split "tests"'):
        trees(seed=1, count=1, split="tests")


def test_labels_and_tags_are_those_of_the_treebank(pairs: list[tuple[str, Tree]]) -> None:
    found = [node for _, tree in pairs for node in nodes(tree)]
    phrases = {node.label for node in found if node.word is None}
    tags = {node.label for node in found if node.word is not None}
    assert phrases == set("S NP VP PP SBAR ADJP ADVP PRT INTJ SQ SBARQ WHNP WHADVP WHADJP".split())
    assert tags == set(TAGS.split())
    for node in found:
        assert (node.word is None) == bool(node.parts)
        assert node.label != "VP" or any(part.label[0] in "VMT" for part in node.parts), node


def test_every_adverbial_has_its_tree() -> None:
    assert set(adverbials()) == {entry.en for group in entries().values() for entry in group}


CHECKED = """
(S (NP (PRP You)) (VP (VBP rest) (SBAR (WHADVP (WRB when)) (S (NP (PRP you)) (VP (VBP are) (ADJP (JJ sick)))))) (. .))
(S (NP (DT The) (NN report)) (VP (MD will) (VP (VB be) (VP (VBN saved) (PP (IN at) (NP (NN noon)))))) (. .))
(SBARQ (WHNP (WP Who)) (SQ (VP (VBD invited) (NP (PRP$ her) (NN friend)))) (. ?))
(SBARQ (WHNP (WHADJP (WRB How) (JJ many)) (NNS articles))
  (SQ (VBD did) (NP (PRP$ our) (NN uncle)) (VP (VB translate))) (. ?))
"""


def test_some_trees_that_were_checked_by_eye() -> None:
    made = set(trees(seed=3, count=2500, split="train"))
    for found in trees_of(CHECKED.splitlines(), "here"):
        assert found.tree in made
