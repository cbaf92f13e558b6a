"""Parsing as translation: from a sentence to the signs of its tree (Vinyals 2015, "Grammar as a Foreign Language")."""

from pathlib import Path
from typing import Any

import torch

from allyouneed.models.interface import EncoderDecoder
from allyouneed.tasks.encoded import Encoded
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.tasks.task import Loss, Report
from allyouneed.tasks.translation import Translation, prepared
from allyouneed.tasks.treebanks import Treebank, TreeData
from allyouneed.text.corpus import Pair, Skipped
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.trees.brackets import agreement
from allyouneed.text.trees.linear import Order, rebuild
from allyouneed.text.trees.tree import Tree

GROWTH = 10  # tokens of signs for each token of a sentence, at most


class Parsing(Translation):
    """One treebank, ready for training."""

    data = TreeData
    title = "A parser"
    measures = (
        "The loss is in nats a token. On the first sentences, parsed greedily: `f1` of the brackets as EVALB counts "
        "them (COLLINS.prm), in per cent; `exact`, the sentences with no bracket wrong, in per cent; `mended`, the "
        "outputs that said no tree over the words and were mended, in per cent."
    )

    def __init__(
        self,
        tokenizer: Tokenizer,
        train: Encoded,
        dev: Encoded,
        dev_text: list[Pair],
        *,
        trees: list[Tree],
        order: Order,
    ) -> None:
        super().__init__(tokenizer, train, dev, dev_text)
        self.trees = trees
        self.order: Order = order

    @classmethod
    def prepare(cls, data: Any, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Parsing":
        """Trains the subword model and tokenises sentences and signs, or takes both up from `folder`."""
        train, dev = (Treebank(tables, Path(data.root), seed, data.order) for tables in (data.train, data.dev))
        tokenizer, encoded, dev_encoded, dev_text = prepared(
            train, dev, vocab_size=vocab_size, max_tokens=data.max_tokens, folder=folder, report=report
        )
        kept = {(pair.file, pair.line) for pair in dev_text}
        trees = [tree for tree, file, line in dev.sentences(Skipped()) if (file, line) in kept]
        return cls(tokenizer, encoded, dev_encoded, dev_text, trees=trees, order=data.order)

    def size(self) -> str:
        """How many trees there are."""
        return f"{len(self.train):,} training and {len(self.dev):,} validation trees"

    @torch.no_grad()
    def validate(self, model: EncoderDecoder, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a token over all validation trees; the brackets of the first `sentences`, greedily."""
        measures = super().validate(model, measure, max_tokens=max_tokens, sentences=0)
        if sentences:
            chosen = range(min(sentences, len(self.dev)))
            sources = [self.dev.side(0, index) for index in chosen]
            written = hypotheses(model, self.tokenizer, sources, beam=1, growth=GROWTH)
            trees = self.trees[: len(chosen)]
            found = [
                rebuild(self.tokenizer.decode(best[0].tokens), tree.words, self.order)
                for best, tree in zip(written, trees, strict=True)
            ]
            agreed = agreement(zip(trees, (one.tree for one in found), strict=True))
            mended = sum(one.repairs > 0 for one in found)
            measures |= {
                "f1": 100 * agreed.f1,
                "exact": 100 * agreed.exact_match,
                "mended": 100 * mended / len(found),
            }
        return measures
