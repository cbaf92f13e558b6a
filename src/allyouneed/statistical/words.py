"""Text to words for counting, and back: what is lost is how wide a space was."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

JOINT = "￭"  # on the side of a token where no space stands
TOKEN = re.compile(r"\w+['’](?=\w)|\w+(?:-\w+)*|[^\w\s]")
LEANS_RIGHT = re.compile(r"['’(\[{«“¿¡]$")


def split(text: str) -> list[str]:
    """The words and signs of a text: "l'accord." is l'￭ accord ￭. in three tokens."""
    found: list[str] = []
    end = 0
    for match in TOKEN.finditer(text):
        token = match[0]
        if found and match.start() == end:
            if LEANS_RIGHT.search(found[-1]):
                found[-1] += JOINT
            else:
                token = JOINT + token
        found.append(token)
        end = match.end()
    return found


def join(tokens: Sequence[str]) -> str:
    """The text of tokens."""
    return re.sub(f" ?{JOINT} ?", "", " ".join(tokens))


class Case:
    """The case that a word has within sentences, so that its first letter is not large only for standing first."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        """Counts the words behind the first of each sentence."""
        self.counts = Counter(word for sentence in sentences for word in sentence[1:])

    def lowered(self, sentence: Sequence[str]) -> list[str]:
        """The sentence with its first word as it is written elsewhere."""
        if not sentence:
            return []
        first, lower = sentence[0], sentence[0][0].lower() + sentence[0][1:]
        return [lower if self.counts[lower] >= max(self.counts[first], 1) else first, *sentence[1:]]


def raised(text: str) -> str:
    """The text with a large first letter."""
    return text[:1].upper() + text[1:]
