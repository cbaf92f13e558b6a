"""Trees: read and refused with file and line, turned into signs and back, mended, and compared as EVALB compares."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.text.trees.brackets import agreement, compare
from allyouneed.text.trees.linear import Order, linearise, rebuild
from allyouneed.text.trees.reader import prepared, read_trees, trees_of
from allyouneed.text.trees.tree import Tree, indented, leaf
from allyouneed.text.trees.words import words_of

ORDERS: tuple[Order, ...] = ("depth-first", "breadth-first")
MOUSE = "(S (NP (DT The) (NN mouse)) (VP (VBD ate) (NP (DT the) (NN cheese))) (. .))"
TREEBANK = """
( (S
    (NP-SBJ-1 (DT The) (NN mouse))
    (VP (VBD ate)
      (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB live)))))
    (. .)))
"""


def tree(text: str) -> Tree:
    [found] = trees_of(text.split("\n"), "here")
    return found.tree


def untagged(it: Tree) -> Tree:
    return leaf("XX", it.word) if it.word is not None else Tree(it.label, tuple(map(untagged, it.parts)))


words = st.sampled_from(["mouse", "the", ".", "a)"]).map(lambda word: leaf("NN", word))
labels = st.sampled_from(["S", "NP", "VP", "XY", "-LRB-"])
trees = st.recursive(
    words, lambda inner: st.builds(Tree, labels, st.lists(inner, min_size=1, max_size=4).map(tuple)), max_leaves=20
)


def test_a_tree_over_several_lines_is_read_and_prepared() -> None:
    raw = tree(TREEBANK)
    assert raw.label == ""
    assert str(raw).startswith("( (S (NP-SBJ-1 (DT The)")
    assert str(prepared(raw)) == "(S (NP (DT The) (NN mouse)) (VP (VBD ate) (S (VP (TO to) (VP (VB live))))) (. .))"


def test_trees_of_a_file_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "two.mrg"
    path.write_text(f"\n{MOUSE} {MOUSE}\n(NP\n (NN cheese))\n", "utf-8")
    found = list(read_trees(path))
    assert [one.line for one in found] == [2, 2, 3]
    assert {one.file for one in found} == {str(path)}
    assert str(found[0].tree) == MOUSE


def test_preparing_keeps_bracket_words_and_unwraps_the_top() -> None:
    assert prepared(tree("(ROOT (S=2 (-LRB- -LRB-) (NN-X a)))")) == tree("(S (-LRB- -LRB-) (NN a))")
    assert prepared(tree("( (S (NN a)) (. .))")) == tree("(TOP (S (NN a)) (. .))")
    assert prepared(tree("(S (NP (-NONE- *)))")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a)\n(NN b)", r"here, line 1: a bracket that is never closed\.$"),
        ("(S (NN a))\n)", r"here, line 2: a closing bracket that no bracket opens\.$"),
        ("(S (NN a))\nand", r'here, line 2: "and" stands outside of brackets\.$'),
        ("(S\n((NN a)))", r"here, line 2: it closes a bracket without a label, which only the outermost may be\.$"),
        ("(S ())", r"here, line 1: a bracket with nothing in it\.$"),
        ("(S\n(NP))", r'here, line 2: a bracket with nothing behind "NP"\.$'),
        ("(NP the (NN a))", r'here, line 1: "the" stands beside brackets: a word has a bracket of its own'),
        ("(NP (NN a) the)", r'here, line 1: "the" stands beside brackets: a word has a bracket of its own'),
        ("(NN a b)", r'here, line 1: "NN a b": a bracket holds one word behind its tag\.$'),
        ("\n", r"^here holds no tree\.$"),
        ("(S " * 201, r"here, line 1: more than 200 brackets in brackets\.$"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(trees_of(text.split("\n"), "here"))


def test_signs_are_those_of_the_papers() -> None:
    assert linearise(tree(MOUSE), "depth-first") == "(S (NP XX XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    assert linearise(tree(MOUSE), "breadth-first") == "S / NP VP XX / XX XX / XX NP / XX XX"


@settings(deadline=None)
@pytest.mark.parametrize("order", ORDERS)
@given(it=trees)
def test_signs_and_words_are_the_tree_again(order: Order, it: Tree) -> None:
    assert rebuild(linearise(it, order), it.words, order) == (untagged(it), 0)


@settings(deadline=None)
@given(it=trees)
def test_brackets_read_back(it: Tree) -> None:
    escaped = str(it).replace("a)", "a-RRB-") if "a)" in str(it) else str(it)
    for text in (escaped, indented(it)):
        assert str(tree(text)) == str(it)


def test_the_breadth_first_order_refuses_labels_that_are_signs() -> None:
    with pytest.raises(InputError, match=r'a constituent cannot be called "XX": that is a sign'):
        linearise(Tree("XX", (leaf("NN", "a"),)), "breadth-first")


@pytest.mark.parametrize(
    ("signs", "count", "mended", "repairs"),
    [
        ("(S (NP XX", 1, "(S (NP (XX 0)))", 2),  # never closed
        ("(S (NP XX (PP XX )S", 2, "(S (NP (XX 0) (PP (XX 1))))", 2),  # closed within
        ("(S (NP XX (PP XX )NP XX )S", 3, "(S (NP (XX 0) (PP (XX 1))) (XX 2))", 1),
        ("(S XX )NP )S", 1, "(S (XX 0))", 1),  # closes nothing
        ("(S XX )S )S", 1, "(S (XX 0))", 1),
        ("(S XX XX XX )S", 2, "(S (XX 0) (XX 1))", 1),  # too many words
        ("(S (NP XX )NP )S", 3, "(S (NP (XX 0)) (XX 1) (XX 2))", 2),  # too few
        ("(S XX (NP )NP )S", 1, "(S (XX 0))", 1),  # a constituent of nothing
        ("(S XX )S (NP XX )NP", 2, "(S (S (XX 0)) (NP (XX 1)))", 1),  # two trees
        ("what ( (S XX )S )", 1, "(S (XX 0))", 3),  # no signs
        ("", 2, "(S (XX 0) (XX 1))", 3),
    ],
)
def test_depth_first_signs_are_mended(signs: str, count: int, mended: str, repairs: int) -> None:
    assert_mended(signs, count, mended, repairs, "depth-first")


@pytest.mark.parametrize(
    ("signs", "count", "mended", "repairs"),
    [
        ("S / NP XX", 1, "(S (XX 0))", 2),  # what NP holds is missing, so that it is gone
        ("S / NP / XX / XX", 1, "(S (NP (XX 0)))", 2),  # one level too many, and what is in it
        ("S VP / XX", 1, "(S (XX 0))", 1),  # two labels of the whole
        ("S / XX XX", 3, "(S (XX 0) (XX 1) (XX 2))", 1),
        ("/ XX", 1, "(XX 0)", 3),  # a word alone
    ],
)
def test_breadth_first_signs_are_mended(signs: str, count: int, mended: str, repairs: int) -> None:
    assert_mended(signs, count, mended, repairs, "breadth-first")


def assert_mended(signs: str, count: int, mended: str, repairs: int, order: Order) -> None:
    found = rebuild(signs, [str(number) for number in range(count)], order)
    assert (str(found.tree), found.repairs) == (mended, repairs)


@pytest.mark.parametrize("order", ORDERS)
def test_any_signs_become_a_tree_over_the_words(order: Order) -> None:
    chance = random.Random(3)
    vocabulary = ["(S", "(NP", ")S", ")NP", "XX", "/", "NP", "(", "?", "S"]
    for _ in range(300):
        signs = [chance.choice(vocabulary) for _ in range(chance.randint(0, 30))]
        found = rebuild(" ".join(signs), ["a", "b", "c"], order)
        assert found.tree.words == ["a", "b", "c"]
        assert rebuild(linearise(found.tree, order), ["a", "b", "c"], order) == (found.tree, 0)


def test_signs_deeper_than_any_tree_do_no_harm() -> None:
    found = rebuild("(S " * 5000 + "XX", ["a"], "depth-first")
    assert found.tree.words == ["a"]
    assert found.repairs == 5000  # 4,800 are dropped, and 200 closed


def test_no_tree_stands_over_nothing() -> None:
    with pytest.raises(InputError, match="at least one word"):
        rebuild("(S )S", [], "depth-first")


# Counted by hand. True: S 0-5, NP 0-2, VP 2-5, NP 3-5. Guessed: S 0-5, NP 0-2, VP 2-5, VP 3-5, NP 4-5.
TRUE = "(S (NP (DT the) (NN mouse)) (VP (VBD ate) (NP (DT the) (NN cheese))) (. .))"
GUESS = "(S (NP (XX the) (XX mouse)) (VP (XX ate) (VP (XX the) (NP (XX cheese)))) (XX .))"


def test_brackets_are_counted_as_by_hand() -> None:
    found = compare(tree(TRUE), tree(GUESS))
    assert (found.true, found.guessed, found.matched, found.exact) == (4, 5, 3, 0)
    assert found.precision == 3 / 5
    assert found.recall == 3 / 4
    assert found.f1 == pytest.approx(2 * 0.6 * 0.75 / 1.35)


@pytest.mark.parametrize(
    ("true", "guess", "counts"),
    [
        # The same label over the same words counts as often as it stands there, and is matched as often.
        ("(NP (NP (NP (NN a))))", "(NP (NP (NN a)))", (3, 2, 2, 0)),
        # Punctuation is taken out by the tags of the true tree: NP 0-1 either way, and a PRN of nothing is gone.
        ("(S (NP (NN a)) (PRN (, ,)) (VP (VB b)))", "(S (NP (NN a) (XX ,)) (VP (VB b)))", (3, 3, 3, 1)),
        # The top is not counted, ADVP is PRT, functions are cut, and tags may differ.
        ("(TOP (S (NN a) (PRT (RP b))))", "(S-1 (VB a) (ADVP-TMP (RB b)))", (2, 2, 2, 1)),
        ("(S (NP (NN a)) (VP (VB b)))", "(S (VP (NN a)) (NP (VB b)))", (3, 3, 1, 0)),
        ("(NN a)", "(NN a)", (0, 0, 0, 1)),
    ],
)
def test_the_rules_of_the_parameter_file(true: str, guess: str, counts: tuple[int, int, int, int]) -> None:
    found = compare(tree(true), tree(guess))
    assert (found.true, found.guessed, found.matched, found.exact) == counts


def test_a_corpus_is_all_its_brackets_together() -> None:
    one, other = (tree(TRUE), tree(GUESS)), (tree("(NP (NN a))"), tree("(NP (NN a))"))
    both = agreement([one, other])
    assert (both.true, both.guessed, both.matched, both.sentences, both.exact) == (5, 6, 4, 2, 1)
    assert both.exact_match == 0.5
    assert agreement([]).f1 == 0.0


@pytest.mark.parametrize(
    ("guess", "words"), [("(S (NN b))", '"a" for "b"'), ("(S (NN a) (NN c))", '"(the end)" for "c"')]
)
def test_trees_of_other_words_are_not_compared(guess: str, words: str) -> None:
    with pytest.raises(InputError, match="must have the same words") as caught:
        compare(tree("(S (NN a))"), tree(guess))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("The mouse ate 1,000 cheeses.", "The mouse ate 1,000 cheeses ."),
        ("Mr. Lee can't go, but I cannot (he's here)!", "Mr. Lee ca n't go , but I can not -LRB- he 's here -RRB- !"),
        ("It is 10:30.", "It is 10:30 ."),
        ("It is five o'clock .", "It is five o'clock ."),
        ("Sales in the U.S. fell .", "Sales in the U.S. fell ."),
    ],
)  # fmt: skip
def test_sentences_are_cut_as_in_treebanks(text: str, cut: str) -> None:
    assert words_of(text) == cut.split()
    assert words_of(cut) == cut.split()
