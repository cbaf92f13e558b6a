"""Translation: pairs of sentences, cross-entropy on the target, BLEU on the text."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.errors import InputError, UsageError, nearest
from allyouneed.models.transformer import Transformer
from allyouneed.tasks.encoded import (
    Batch,
    Encoded,
    TooLong,
    encode_pairs,
    fingerprint,
    load_encoded,
    save_encoded,
    texts,
)
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.text import everyday
from allyouneed.text.batching import token_batches
from allyouneed.text.corpus import Pair, Skipped, read_pairs
from allyouneed.text.tokenizer import Tokenizer

Report = Callable[[str], None]
Loss = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Sources:
    """Where pairs come from, as a recipe's `[[data.train]]` tables say, and the seed of the drawn ones."""

    tables: tuple[Any, ...]
    root: Path
    seed: int

    def __iter__(self) -> Iterator[Pair]:
        return self.read(Skipped())

    def read(self, skipped: Skipped) -> Iterator[Pair]:
        """All pairs in order; those with a blank side are counted in `skipped`."""
        return chain.from_iterable(self._read(table, skipped) for table in self.tables)

    def _read(self, table: Any, skipped: Skipped) -> Iterator[Pair]:
        if table.everyday is not None:
            unknown = [name for name in table.everyday if name not in everyday.LANGUAGES]
            if unknown:
                raise UsageError(
                    f'The everyday grammar has no language "{unknown[0]}"; it has {", ".join(everyday.LANGUAGES)}.'
                    f"{nearest(unknown[0], everyday.LANGUAGES)}"
                )
            drawn = everyday.sentences(seed=self.seed, count=table.count, split=table.split, languages=table.everyday)
            name = f"everyday grammar ({'-'.join(table.everyday)}, {table.split})"
            return (Pair(source, target, name, line) for line, (source, target) in enumerate(drawn, 1))
        if table.source is None:
            raise UsageError('A table of data has neither "source" (a file) nor "everyday" (two languages).')
        target = None if table.target is None else self.root / table.target
        return read_pairs(self.root / table.source, target, columns=tuple(table.columns), skipped=skipped)

    def facts(self) -> list[object]:
        """What the pairs depend on: the tables, and the size and time of the files."""
        names = [name for table in self.tables for name in (table.source, table.target) if name is not None]
        stats = [(self.root / name).stat() for name in names if (self.root / name).is_file()]
        return [[table.model_dump() for table in self.tables], self.seed, [(s.st_size, s.st_mtime_ns) for s in stats]]


class Translation:
    """One parallel corpus, ready for training."""

    def __init__(self, tokenizer: Tokenizer, train: Encoded, dev: Encoded, dev_text: list[Pair]) -> None:
        self.tokenizer = tokenizer
        self.train = train
        self.dev = dev
        self.dev_text = dev_text

    @classmethod
    def prepare(
        cls, train: Sources, dev: Sources, *, vocab_size: int, max_tokens: int, folder: Path, report: Report
    ) -> "Translation":
        """Trains the subword model and tokenises the text, or takes both up from `folder` if they are there already."""
        tokenizer_path = folder / "tokenizer.json"
        key = fingerprint(train.facts(), dev.facts(), vocab_size, max_tokens)
        tokenizer = Tokenizer.load(tokenizer_path) if tokenizer_path.is_file() else None
        if tokenizer is None:
            report(f"training the subword model ({vocab_size:,} pieces)")
            tokenizer = Tokenizer.train(texts(train), vocab_size=vocab_size)
            with staged_folder(folder) as staging:
                tokenizer.save(staging / tokenizer_path.name)
        dev_text = list(dev)
        encoded = load_encoded(folder / "cache" / f"{key}.safetensors")
        if encoded is None:
            report("tokenising the text")
            skipped = Skipped()
            encoded, too_long = encode_pairs(train.read(skipped), tokenizer, max_tokens)
            if skipped.count:
                report(str(skipped))
            list_too_long(folder / "too-long.txt", too_long, max_tokens, report)
            if not len(encoded):
                raise InputError(f"No training pair is at most {max_tokens} tokens long: raise data.max_tokens.")
            save_encoded(folder / "cache" / f"{key}.safetensors", encoded)
        dev_encoded, dev_long = encode_pairs(dev_text, tokenizer, max_tokens)
        if not len(dev_encoded):
            raise InputError(f"No validation pair is at most {max_tokens} tokens long: raise data.max_tokens.")
        places = {(pair.file, pair.line) for pair in dev_long}
        return cls(tokenizer, encoded, dev_encoded, [p for p in dev_text if (p.file, p.line) not in places])

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[npt.NDArray[np.int64]]:
        """The batches of one epoch, in order."""
        return token_batches(self.train.lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)

    def target_tokens(self, indices: npt.NDArray[np.int64]) -> int:
        """Real target tokens of a batch, the end mark included: what its loss is divided by."""
        return int(self.train.lengths[indices, 1].sum())

    def loss(self, model: Transformer, batch: Batch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the batch's target tokens. Padding never reaches the output layer."""
        states = model.decode(batch.target, model.encode(batch.source, batch.keep))
        return measure(states.flatten(0, 1)[batch.real], model.output_weight, batch.gold)

    @torch.no_grad()
    def validate(self, model: Transformer, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a token over all validation pairs; BLEU of the first `sentences`, translated greedily."""
        total = count = 0.0
        for indices in token_batches(self.dev.lengths, max_tokens=max_tokens, seed=0, epoch=0):
            batch = self.dev.batch(indices).to(model.embedding.weight.device)
            total += float(self.loss(model, batch, measure)[1])
            count += len(batch.gold)
        measures = {"loss": total / count, "perplexity": math.exp(min(total / count, 80))}
        if sentences:
            chosen = range(min(sentences, len(self.dev)))
            hypotheses = translate(model, self.tokenizer, [self.dev.side(0, index) for index in chosen], beam=1)
            references = [self.dev_text[index].target for index in chosen]
            measures["bleu"] = BLEU().corpus_score(hypotheses, [references]).score
        return measures


def translate(model: Transformer, tokenizer: Tokenizer, sources: list[list[int]], *, beam: int) -> list[str]:
    """Best translations of token sequences, in order."""
    return [tokenizer.decode(best[0].tokens) for best in hypotheses(model, sources, beam=beam)]


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
