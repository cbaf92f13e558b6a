"""English sentences as trees: questions, commands, and clauses that are linked."""

from allyouneed.text.everyday.english.clauses import LINKS, MOTION, base, group
from allyouneed.text.everyday.syntax import Action, Clause, Existence, Located, Motion, Phrase, Sentence, Weather
from allyouneed.text.everyday.trees.clauses import (
    FINITE,
    Parts,
    adverbial,
    attached,
    command,
    complement,
    existing,
    infinite,
    nominal,
    particle,
    predicate,
    statement,
)
from allyouneed.text.everyday.trees.words import adverb, adverbials, noun_parts, prepositional
from allyouneed.text.trees.tree import Tree, leaf

COMMA = leaf(",", ",")
LINK_TAGS = {"and": "CC", "but": "CC", "so": "IN"}
WH = {"where": "WHADVP", "when": "WHADVP", "why": "WHADVP", "what": "WHNP", "who": "WHNP", "how many": "WHNP"}


def tree_of(it: Sentence) -> Tree:
    """The tree of a sentence, its first letter large and its sign at the end."""
    end = leaf(".", "?" if it.mood == "question" else ".")
    return capitalised(with_part(linked(it), end))


def linked(it: Sentence) -> Tree:
    """The sentence without its sign: the first clause, and those linked to it around or inside it."""
    links = list(it.links)
    if it.fronted:
        front: Parts = (subordinate(*links.pop(0)), COMMA)
    else:
        front = (adverbials()[it.opening.en], COMMA) if it.opening else ()
    beside = [link for link in links if link[0] in LINK_TAGS]
    inside = tuple(subordinate(*link) for link in links if link[0] not in LINK_TAGS)
    first = main(it, inside)
    if not beside:
        return Tree(first.label, (*front, *first.parts))
    parts = [*front, first]
    for conjunction, clause in beside:
        comma = [COMMA] if conjunction in ("but", "so") else []
        parts += [*comma, leaf(LINK_TAGS[conjunction], LINKS[conjunction]), statement(clause)]
    return Tree("S", tuple(parts))


def main(it: Sentence, inside: Parts) -> Tree:
    """The first clause by its mood. `inside` are the clauses that its verb takes."""
    match it.mood:
        case "question":
            return question(it)
        case "command":
            return Tree("S", (command(it.clause),))
        case "request":
            return Tree("S", (Tree("INTJ", (leaf("UH", "please"),)), command(it.clause)))
        case _:
            return statement(it.clause, inside)


def subordinate(conjunction: str, clause: Clause) -> Tree:
    """A clause behind its conjunction."""
    word = LINKS[conjunction]
    head = Tree("WHADVP", (leaf("WRB", word),)) if conjunction == "when" else leaf("IN", word)
    return Tree("SBAR", (head, statement(clause)))


def question(it: Sentence) -> Tree:
    """The auxiliary before the subject, and the question word before both."""
    told = it.clause
    if it.wh == "who":
        return Tree("SBARQ", (Tree("WHNP", (leaf("WP", "who"),)), Tree("SQ", predicate(told, None))))
    aux, rest, _ = group(told, told.subject)
    first = leaf(FINITE.get(aux, "MD"), aux)
    denied = (leaf("RB", "not"),) if told.negative else ()
    if isinstance(told.predicate, Existence):
        there = Tree("NP", (leaf("EX", "there"),))
        return asking(Tree("SQ", (first, there, *infinite(rest, existing(told, "any"), base(told)))))
    often = (adverb(told.frequency.en),) if told.frequency else ()
    after = attached(asked_tail(it), tuple(map(adverbial, told.adverbials)))
    inverted = Tree("SQ", (first, *asked_subject(told), *denied, *often, *infinite(rest, after, base(told))))
    return asking(Tree("SBARQ", (question_word(it), inverted)) if it.wh else inverted)


def asked_subject(told: Clause) -> Parts:
    """The subject behind the auxiliary."""
    if isinstance(told.predicate, Weather):
        return (Tree("NP", (leaf("PRP", "it"),)),)
    return (nominal(told.subject, subject=True),) if told.subject else ()


def asked_tail(it: Sentence) -> Parts:
    """What follows the verb of a question: without what the question word asks for."""
    match it.clause.predicate:
        case Motion(key, at) if it.wh == "where":
            origin = (prepositional("from"),) if at.relation == "from" else ()
            return (*particle(MOTION[key].partition(" ")[2]), *origin)
        case Located() if it.wh == "where":
            return ()
        case Action(verb, Phrase()) if it.wh == "how many":
            return particle(verb.en.partition(" ")[2])
        case _:
            return complement(it.clause)


def question_word(it: Sentence) -> Tree:
    """Where, what, how many letters."""
    if it.wh != "how many":
        return Tree(WH[it.wh], (leaf("WP" if it.wh == "what" else "WRB", it.wh),))
    many = Tree("WHADJP", (leaf("WRB", "how"), leaf("JJ", "many")))
    doing = it.clause.predicate
    counted = noun_parts(doing.object, "") if isinstance(doing, Action) and isinstance(doing.object, Phrase) else ()
    return Tree("WHNP", (many, *counted))


def asking(tree: Tree) -> Tree:
    """The same with any for some."""
    if tree.word is not None:
        return leaf(tree.label, "any") if tree.word == "some" else tree
    return Tree(tree.label, tuple(map(asking, tree.parts)))


def with_part(tree: Tree, last: Tree) -> Tree:
    """The tree with one more part at its end."""
    return Tree(tree.label, (*tree.parts, last))


def capitalised(tree: Tree) -> Tree:
    """The tree with a large first letter."""
    if tree.word is not None:
        return leaf(tree.label, f"{tree.word[0].upper()}{tree.word[1:]}")
    return Tree(tree.label, (capitalised(tree.parts[0]), *tree.parts[1:]))
