"""Language models that count, made from text in seconds."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, cast

from allyouneed.checkpoints.native import save_model
from allyouneed.errors import UsageError
from allyouneed.models.ngram import NGram, NGramConfig
from allyouneed.pipeline.language import LanguageModel
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Vocabulary


class NGramModel(LanguageModel):
    """An n-gram model with its tokenizer: it scores and writes as every language model does.

        NGramModel.train(texts, order=3).score(["The mouse ate the cheese."])

    A folder that it was saved to is loaded as any other.
    """

    what: ClassVar[str] = "an n-gram model, which goes on with a text"

    @classmethod
    def train(
        cls, texts: Iterable[str], *, order: int = 3, tokenizer: Vocabulary | None = None, vocab_size: int = 4000
    ) -> "NGramModel":
        """The model of some texts: interpolated modified Kneser-Ney (Chen & Goodman 1999) over `order` tokens.

        `tokenizer` is that of another language model, which then is measured in the same tokens; without one, one with
        `vocab_size` pieces is trained. Raises UsageError where there is no text, or no mark that begins and ends one.
        """
        held = list(texts)
        vocabulary = tokenizer or Tokenizer.train(held, vocab_size=vocab_size).for_line("decoder")
        start, end = vocabulary.bos, vocabulary.eos
        if start is None or end is None or vocabulary.prefix not in ((), (start,)):
            raise UsageError("An n-gram model needs a tokenizer whose texts begin and end with one mark each.")
        rows = ([start, *row, end] for row in vocabulary.encode_batch(held))
        model = NGram.count(rows, order=order, vocab_size=vocabulary.vocab_size)
        return cls(cast(Any, model), vocabulary, name="n-gram")

    def save(self, folder: str | Path) -> None:
        """Writes a model folder, which `load` and every verb read."""
        own = cast(NGramConfig, self.config)
        card = f"# N-gram model\n\nCounts of {own.order} tokens, {own.vocab_size:,} subword pieces.\n"
        save_model(Path(folder), self.model, self.tokenizer, card=card)
