"""Translation: pairs of sentences, cross-entropy on the target, BLEU on the text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from allyouneed.errors import InputError
from allyouneed.models.interface import EncoderDecoder
from allyouneed.tasks.encoded import Batch, Encoded, TooLong, encode_pairs, load_encoded, save_encoded, texts
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.tasks.sources import PairData, Pairs
from allyouneed.tasks.stored import cache_of, own, subwords
from allyouneed.tasks.task import Loss, Report, Task, check_batch, loss_a_token, token_loss
from allyouneed.text.batching import token_batches
from allyouneed.text.corpus import Pair, Skipped
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Vocabulary


class Translation(Task):
    """One parallel corpus, ready for training."""

    line = "both"
    data = PairData
    title = "A translation model"
    measures = "The loss is in nats a subword token; BLEU is that of greedy translations of the first sentences."

    def __init__(self, tokenizer: Tokenizer, train: Encoded, dev: Encoded, dev_text: list[Pair]) -> None:
        self.tokenizer = tokenizer
        self.train = train
        self.dev = dev
        self.dev_text = dev_text

    @classmethod
    def prepare(cls, data: PairData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Translation":
        """Trains the subword model and tokenises the text, or takes both up from `folder` if they are there already."""
        train, dev = (Pairs(tables, Path(data.root), seed) for tables in (data.train, data.dev))
        return cls(
            *prepared(train, dev, vocab_size=vocab_size, max_tokens=data.max_tokens, folder=folder, report=report)
        )

    def size(self) -> str:
        """How many pairs there are."""
        return f"{len(self.train):,} training and {len(self.dev):,} validation pairs"

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[npt.NDArray[np.int64]]:
        """The batches of one epoch in order: numbers of pairs."""
        check_batch(int(self.train.lengths.max()), max_tokens)
        return token_batches(self.train.lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)

    def batch(self, plan: npt.NDArray[np.int64], draw: np.random.Generator) -> Batch:
        """The pairs as tensors; nothing is drawn."""
        return self.train.batch(plan)

    def padded_tokens(self, plan: npt.NDArray[np.int64]) -> int:
        """Rows times the longest side."""
        return len(plan) * int(self.train.lengths[plan].max())

    def target_tokens(self, plan: npt.NDArray[np.int64]) -> int:
        """Real target tokens of a batch, the end mark included."""
        return int(self.train.lengths[plan, 1].sum())

    def loss(self, model: EncoderDecoder, batch: Batch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the batch's target tokens. Padding never reaches the output layer."""
        states = model.decode(batch.target, model.encode(batch.source, batch.keep))
        return token_loss(model, states.flatten(0, 1)[batch.real], batch.gold, measure)

    @torch.no_grad()
    def validate(self, model: EncoderDecoder, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a token over all validation pairs; BLEU of the first `sentences`, translated greedily."""
        total = count = 0.0
        max_tokens = max(max_tokens, int(self.dev.lengths.max()))
        for indices in token_batches(self.dev.lengths, max_tokens=max_tokens, seed=0, epoch=0):
            batch = self.dev.batch(indices).to(model.embedding.weight.device)
            total += float(self.loss(model, batch, measure)[1])
            count += len(batch.gold)
        measures = loss_a_token(total, count)
        if sentences:
            chosen = range(min(sentences, len(self.dev)))
            hypotheses = translate(model, self.tokenizer, [self.dev.side(0, index) for index in chosen], beam=1)
            references = [self.dev_text[index].target for index in chosen]
            measures["bleu"] = BLEU().corpus_score(hypotheses, [references]).score
        return measures


class Corpus(Protocol):
    """Pairs, read as often as they are wanted."""

    def __iter__(self) -> Iterator[Pair]:
        """All of them, in an order that does not change."""
        ...

    def read(self, skipped: Skipped) -> Iterator[Pair]:
        """The same; those with a blank side are counted in `skipped`."""
        ...

    def facts(self) -> list[object]:
        """What they depend on."""
        ...


def prepared(
    train: Corpus, dev: Corpus, *, vocab_size: int, max_tokens: int, folder: Path, report: Report
) -> tuple[Tokenizer, Encoded, Encoded, list[Pair]]:
    """The tokenizer of a training corpus; both corpora in its tokens, without what is too long; and the text of the
    second. What is in `folder` already is taken up.
    """
    tokenizer = own(subwords(folder, lambda: texts(train), vocab_size=vocab_size, line="both", report=report))
    dev_text = list(dev)
    cache = cache_of(folder, train.facts(), max_tokens)
    encoded = load_encoded(cache)
    if encoded is None:
        report("tokenising the text")
        skipped = Skipped()
        encoded, too_long = encode_pairs(train.read(skipped), tokenizer, max_tokens)
        if skipped.count:
            report(str(skipped))
        list_too_long(folder / "too-long.txt", too_long, max_tokens, report)
        if not len(encoded):
            raise InputError(f"No training pair is at most {max_tokens} tokens long: raise data.max_tokens.")
        save_encoded(cache, encoded)
    dev_encoded, dev_long = encode_pairs(dev_text, tokenizer, max_tokens)
    if not len(dev_encoded):
        raise InputError(f"No validation pair is at most {max_tokens} tokens long: raise data.max_tokens.")
    left_out = {pair.index for pair in dev_long}
    return tokenizer, encoded, dev_encoded, [pair for i, pair in enumerate(dev_text) if i not in left_out]


def translate(model: EncoderDecoder, tokenizer: Vocabulary, sources: list[list[int]], *, beam: int) -> list[str]:
    """Best translations of token sequences, in order."""
    return [tokenizer.decode(best[0].tokens) for best in hypotheses(model, tokenizer, sources, beam=beam)]


def list_too_long(path: Path, too_long: list[TooLong], max_tokens: int, report: Report) -> None:
    """Writes every left-out pair's place to a file and says so."""
    if not too_long:
        return
    lines = (f"{pair.file}, line {pair.line}: {pair.tokens} tokens\n" for pair in too_long)
    path.write_text("".join(lines), "utf-8")
    first, noun = too_long[0], "pair" if len(too_long) == 1 else "pairs"
    report(
        f"left out {len(too_long):,} {noun} longer than {max_tokens} tokens (first: {first.file}, line {first.line}; "
        f"all are listed in {path.name})"
    )
