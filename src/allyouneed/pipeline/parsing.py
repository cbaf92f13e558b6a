"""Parsers: translators whose targets are the signs of trees."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from allyouneed.errors import UsageError
from allyouneed.pipeline.common import one_text
from allyouneed.pipeline.translator import Translator
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.tasks.parsing import GROWTH
from allyouneed.text.trees.linear import Order, rebuild
from allyouneed.text.trees.tree import Tree
from allyouneed.text.trees.words import words_of


@dataclass(frozen=True)
class Parse:
    """The tree of a sentence, its words under XX; the signs as they were written, and how often they had to be mended.
    `score` is their log-probability over the length penalty.
    """

    tree: Tree
    signs: str
    repairs: int
    score: float


class Parser:
    """Reads sentences and says their trees.

    Parser(load("runs/parser")).parse(["The mouse ate the cheese."])
    """

    def __init__(self, pipe: Translator) -> None:
        """`pipe` was trained by the task "parsing". Raises UsageError where it was not."""
        if not is_parser(pipe):
            raise UsageError(f"{pipe.name} did not learn to parse: train a recipe whose task is parsing.")
        self.pipe = pipe
        self.order: Order = cast(Order, tomllib.loads(pipe.recipe or "")["data"]["order"])

    def parse(
        self, texts: Sequence[str], *, beam: int = 4, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[Parse | None]:
        """The tree of each English text, in order; None for a blank one. Texts may be cut into words or not.

        Raises TooLongError before anything is parsed.
        """
        one_text(texts)
        return self.parse_words([words_of(text) for text in texts], beam=beam, on_progress=on_progress)

    def parse_words(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        beam: int = 4,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> list[Parse | None]:
        """The tree over each sentence, given in words; None where there are none. Raises TooLongError."""
        found: list[Parse | None] = [None] * len(sentences)
        there = [index for index, words in enumerate(sentences) if words]
        sources = self.pipe.encode([" ".join(words) for words in sentences])
        written = hypotheses(
            self.pipe.model,
            self.pipe.tokenizer,
            [sources[index] for index in there],
            beam=beam,
            precision=self.pipe.precision,
            growth=GROWTH,
            on_progress=on_progress,
        )
        for index, (best, *_) in zip(there, written, strict=True):
            signs = self.pipe.tokenizer.decode(best.tokens)
            tree, repairs = rebuild(signs, sentences[index], self.order)
            found[index] = Parse(tree, signs, repairs, best.score)
        return found


def is_parser(pipe: Translator) -> bool:
    """Was it trained by the task "parsing"?"""
    return tomllib.loads(pipe.recipe or "").get("task") == "parsing"
