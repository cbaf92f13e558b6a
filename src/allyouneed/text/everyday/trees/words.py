"""English words under their tags, and the phrases that need no clause: determiners, adjectives, times, places."""

from functools import cache

from allyouneed.text.everyday.english.words import OWNERS, compared, determined, forms
from allyouneed.text.everyday.syntax import Phrase, Quality, Where
from allyouneed.text.trees.reader import trees_of
from allyouneed.text.trees.tree import Tree, leaf

ADVERBIALS = """
(ADVP (RB now)) (NP (NN today)) (NP (NN yesterday)) (NP (NN tomorrow)) (NP (NN yesterday) (NN evening))
(NP (NN tomorrow) (NN morning)) (NP (DT this) (NN morning)) (NP (DT this) (NN evening)) (NP (DT this) (NN afternoon))
(PP (IN at) (NP (DT the) (NN moment))) (PP (IN at) (NP (NN noon))) (PP (IN at) (NP (NN midnight)))
(NP (JJ last) (NN week)) (NP (JJ last) (NN month)) (NP (JJ last) (NN year)) (NP (JJ last) (NN summer))
(NP (JJ last) (NNP Monday)) (NP (JJ next) (NN week)) (NP (JJ next) (NN month)) (NP (JJ next) (NN year))
(NP (JJ next) (NNP Saturday))
(ADVP (NP (CD two) (NNS days)) (RB ago)) (ADVP (NP (CD three) (NNS weeks)) (RB ago))
(ADVP (NP (DT a) (NN year)) (RB ago))
(PP (IN in) (NP (CD two) (NNS hours))) (PP (IN in) (NP (DT a) (JJ few) (NNS days)))
(NP (DT every) (NN day)) (NP (DT every) (NN week)) (NP (DT every) (NN morning)) (NP (DT every) (NN evening))
(NP (DT every) (NN year)) (ADVP (RB twice) (NP (DT a) (NN week)))
(PP (IN on) (NP (NNPS Mondays))) (PP (IN on) (NP (NNPS Fridays))) (PP (IN on) (NP (NNPS Sundays)))
(PP (IN in) (NP (DT the) (NN morning))) (PP (IN in) (NP (DT the) (NN evening))) (PP (IN in) (NP (NN summer)))
(PP (IN in) (NP (NN winter))) (PP (IN after) (NP (NN lunch))) (PP (IN before) (NP (NN dinner)))
(ADVP (RB often)) (ADVP (RB always)) (ADVP (RB sometimes)) (ADVP (RB never))
(ADVP (RB slowly)) (ADVP (RB quickly)) (ADVP (RB well)) (ADVP (RB quietly)) (ADVP (RB carefully))
(PP (IN by) (NP (NN bus))) (PP (IN by) (NP (NN train))) (PP (IN by) (NP (NN car))) (PP (IN by) (NP (NN bike)))
(PP (IN by) (NP (NN plane))) (PP (IN by) (NP (NN boat))) (PP (IN by) (NP (NN taxi)))
(PP (IN by) (NP (NN underground))) (PP (IN on) (NP (NN foot)))
"""
DEGREES = {"more": "RBR", "less": "RBR"}
DETERMINERS = frozenset({"the", "a", "an", "this", "these", "some", "any"})


@cache
def adverbials() -> dict[str, Tree]:
    """Each adverbial of the lexicon by its words."""
    found = (found.tree for found in trees_of(ADVERBIALS.splitlines(), "the adverbials"))
    return {" ".join(tree.words): tree for tree in found}


def adverb(word: str) -> Tree:
    """An adverb as a phrase."""
    return Tree("ADVP", (leaf("RB", word),))


def prepositional(preposition: str, *parts: Tree) -> Tree:
    """A phrase that begins with a preposition; next to is two words."""
    head, _, second = preposition.partition(" ")
    if second:
        return Tree("ADVP", (leaf("RB", head), prepositional(second, *parts)))
    return Tree("PP", (leaf("TO" if head == "to" else "IN", head), *parts))


def noun_leaves(words: str, *, plural: bool) -> tuple[Tree, ...]:
    """A noun of one word or more under its tags: only the last shows the number."""
    *heads, last = words.split()
    proper = "P" if last[0].isupper() else ""
    return (*(leaf(f"NN{proper}", head) for head in heads), leaf(f"NN{proper}{'S' if plural else ''}", last))


def noun_parts(it: Phrase, some: str) -> tuple[Tree, ...]:
    """Determiner, number, adjectives and noun of a phrase. `some` is the word before an indefinite plural."""
    titled = "body" in it.noun.kinds  # the European Economic Area
    adjectives = [a.en.capitalize() if titled else a.en for a in it.adjectives]
    noun = forms(it.noun)[it.plural]
    bare = " ".join((*adjectives, noun))
    before = determined(it, bare, some).removesuffix(bare).split()
    return (
        *(leaf(tag_before(word), word) for word in before),
        *(leaf("NNP" if titled else "JJ", word) for word in adjectives),
        *noun_leaves(noun, plural=it.plural and not it.noun.mass),
    )


def tag_before(word: str) -> str:
    """The tag of a word before adjectives and noun."""
    if word in DETERMINERS:
        return "DT"
    return "PRP$" if word in (*OWNERS, "her", "its") else "CD"


def quality_leaves(it: Quality) -> tuple[Tree, ...]:
    """The adjective with its degree: very old, more useful, bigger, as good."""
    *degree, word = compared(it.adjective, it.degree).split()
    changed = it.degree == "more" and not degree
    return (*(leaf(DEGREES.get(one, "RB"), one) for one in degree), leaf("JJR" if changed else "JJ", word))


def place(it: Where) -> Tree:
    """In the kitchen, from Paris, home."""
    text = {"to": it.place.en, "at": it.place.at, "from": f"from {it.place.en.removeprefix('to ')}"}[it.relation]
    preposition, _, rest = text.partition(" ")
    if not rest:
        return adverb(preposition)
    article, _, noun = rest.rpartition("the ")
    plural = noun.endswith("s") and noun[0].islower()
    return prepositional(
        preposition,
        Tree("NP", (*((leaf("DT", "the"),) if article or rest != noun else ()), *noun_leaves(noun, plural=plural))),
    )
