"""The words of a sentence as the treebanks cut them."""

import re

from allyouneed.text.trees.tree import ESCAPES

# Signs stand alone; a full stop only at the very end, for elsewhere it may belong to a number or an abbreviation.
SIGNS = re.compile(r"([?!;()\[\]{}\"]|,(?!\d)|:(?!\d)|\.\.\.|\.(?=[\"')\]]*$))")
ENDINGS = re.compile(r"(?i)(?<=\w)(n['’]t|['’](?:s|re|ve|ll|d|m))$")


def words_of(text: str) -> list[str]:
    """The words and signs of an English sentence: "Don't go!" is Do n't go !

    Text that is cut already, with a space between all words, stays as it is. Brackets are written -LRB- and -RRB-.
    """
    found: list[str] = []
    for word in SIGNS.sub(r" \1 ", text.strip()).split():
        if word.lower() == "cannot":
            found += [word[:3], word[3:]]
            continue
        ending = ENDINGS.search(word)
        parts = [word[: ending.start()], ending[0]] if ending else [word]
        found += [ESCAPES.get(part, part) for part in parts]
    return found
