"""Denoising: an encoder reads a damaged text, and a decoder writes what is missing, or the whole as it was."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.models.transformer import Transformer
from allyouneed.tasks.documents import Indices, Pieces, Texts, cut, prepare_texts
from allyouneed.tasks.encoded import Batch, seq2seq_batch
from allyouneed.tasks.sources import TextData
from allyouneed.tasks.stored import own
from allyouneed.tasks.task import Loss, Report, Task, check_batch, loss_a_token, token_loss
from allyouneed.text.batching import token_batches
from allyouneed.text.tokenizer import Tokenizer

Examples = tuple[list[list[int]], list[list[int]]]  # sources and targets, without marks


class DenoisingData(TextData):
    """Plain text, and how it is damaged."""

    objective: Literal["spans", "infilling"] = Field(
        default="spans", description='"spans": write what is missing (T5); "infilling": write the whole text (BART)'
    )
    noise: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.15, description="share of the tokens taken out")
    mean_span: Annotated[float, Field(ge=1)] = Field(default=3.0, description="mean length of a gap in tokens")
    permute: bool = Field(default=False, description="infilling: also put the sentences in random order")
    sentinels: Annotated[int, Field(ge=2)] = Field(
        default=100, description="spans: last ids of the vocabulary, that mark gaps"
    )


class Denoising(Task):
    """Documents, ready for training: each one, or each piece of a long one, is damaged anew whenever it is read."""

    line = "both"
    data = DenoisingData
    title = "A model that restores text"
    measures = "The loss is in nats a token that is written, on texts that are damaged alike in every validation."

    def __init__(self, tokenizer: Tokenizer, train: Texts, dev: Texts, settings: DenoisingData) -> None:
        self.tokenizer, self.sentinels, self.settings = tokenizer, tokenizer.sentinels, settings
        self.stop = tokenizer.encode("a.")[-1]  # what a sentence ends with
        self.train, self.dev = (cut(texts, settings.max_tokens - 1, marks=False) for texts in (train, dev))

    @classmethod
    def prepare(cls, data: DenoisingData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Denoising":
        """Trains the subword model and tokenises the text, or takes both up from `folder` if they are there already."""
        if data.permute and data.objective == "spans":
            raise UsageError("data.permute belongs to data.objective infilling: gaps alone do not restore an order.")
        found, train, dev = prepare_texts(
            data,
            vocab_size=vocab_size,
            seed=seed,
            line=cls.line,
            folder=folder,
            report=report,
            sentinels=data.sentinels if data.objective == "spans" else 0,
        )
        tokenizer = own(found)
        if data.objective == "spans" and len(tokenizer.sentinels) < data.sentinels:
            has = len(tokenizer.sentinels)
            raise UsageError(f"data.sentinels {data.sentinels}: the tokenizer of model.start has {has} sentinels.")
        return cls(tokenizer, train, dev, data)

    def size(self) -> str:
        """How much text there is."""
        texts = self.train.texts
        return (
            f"{len(texts):,} training and {len(self.dev.texts):,} validation documents; "
            f"{texts.inner_tokens:,} training tokens in pieces of at most {self.settings.max_tokens - 1}"
        )

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Indices]:
        """The batches of one epoch in order: numbers of pieces of like length."""
        lengths = self.lengths(self.train.size)
        check_batch(int(lengths.max()), max_tokens)
        return token_batches(lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)

    def batch(self, plan: Indices, draw: np.random.Generator) -> Batch:
        """The pieces, damaged as `draw` decides."""
        return seq2seq_batch(*self.damaged(self.train, plan, draw))

    def padded_tokens(self, plan: Indices) -> int:
        """Rows times the longest side."""
        return len(plan) * int(self.lengths(self.train.size[plan]).max())

    def target_tokens(self, plan: Indices) -> int:
        """Tokens that are written, the end mark included: so many, wherever the gaps are."""
        return int(self.lengths(self.train.size[plan])[:, 1].sum())

    def loss(self, model: Transformer, batch: Batch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the tokens that are written."""
        states = model.decode(batch.target, model.encode(batch.source, batch.keep))
        return token_loss(model, states.flatten(0, 1)[batch.real], batch.gold, measure)

    @torch.no_grad()
    def validate(self, model: Transformer, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a written token, over all validation documents."""
        total = count = 0.0
        draw, lengths = np.random.default_rng(0), self.lengths(self.dev.size)
        max_tokens = max(max_tokens, int(lengths.max()))
        for plan in token_batches(lengths, max_tokens=max_tokens, seed=0, epoch=0):
            batch = seq2seq_batch(*self.damaged(self.dev, plan, draw)).to(model.embedding.weight.device)
            total += float(self.loss(model, batch, measure)[1])
            count += len(batch.gold)
        return loss_a_token(total, count)

    def lengths(self, size: Indices) -> Indices:
        """Tokens of both sides of pieces of `size` [N] as the model sees them: [N, 2]. Infilling's source may be
        shorter.
        """
        if self.settings.objective == "infilling":
            return np.stack((size + 1, size + 1), axis=1)
        taken, gaps = np.array([self.gaps(tokens) for tokens in size.tolist()]).T
        return np.stack((size - taken + gaps + 1, taken + gaps + 2), axis=1)

    def gaps(self, tokens: int) -> tuple[int, int]:
        """How many of a text's tokens are taken out, and in how many gaps where each has a sentinel: not more than can
        be written with the last sentinel and a mark.
        """
        settings, room = self.settings, self.settings.max_tokens - 2
        taken = min(max(1, round(settings.noise * tokens)), room - 1)
        gaps = max(1, round(taken / settings.mean_span))
        return taken, min(gaps, tokens - taken + 1, settings.sentinels - 1, room - taken)

    def damaged(self, pieces: Pieces, plan: Indices, draw: np.random.Generator) -> Examples:
        """What is read and what is to be written."""
        texts = [pieces.tokens(piece).tolist() for piece in plan]
        if self.settings.objective == "spans":
            pairs = [corrupt_spans(text, *self.gaps(len(text)), self.sentinels, draw) for text in texts]
            return [source for source, _ in pairs], [target for _, target in pairs]
        sources = [shuffle_sentences(text, self.stop, draw) for text in texts] if self.settings.permute else texts
        mask = self.tokenizer.mask
        assert mask is not None
        mean = self.settings.mean_span
        return [infill(source, self.gaps(len(source))[0], mean, mask, draw) for source in sources], texts


def corrupt_spans(
    text: list[int], taken: int, gaps: int, sentinels: tuple[int, ...], draw: np.random.Generator
) -> tuple[list[int], list[int]]:
    """The text with `taken` of its tokens cut out in so many gaps, each marked by a sentinel of its own; and what was
    cut out, each gap behind its sentinel, and one sentinel more at the end (Raffel 2020, section 3.1.4).
    """
    cuts = np.sort(draw.choice(taken - 1, gaps - 1, replace=False)) + 1
    lengths = np.diff([0, *cuts, taken])
    source: list[int] = []
    target: list[int] = []
    end = 0
    for sentinel, start, length in zip(sentinels, places(len(text), lengths, draw), lengths.tolist(), strict=False):
        source += [*text[end:start], sentinel]
        end = start + length
        target += [sentinel, *text[start:end]]
    return source + text[end:], [*target, sentinels[gaps]]


def infill(text: list[int], taken: int, mean: float, mask: int, draw: np.random.Generator) -> list[int]:
    """The text with `taken` of its tokens cut out in gaps of Poisson-distributed lengths, 0 included, each marked by a
    mask (Lewis 2020, section 2.2).
    """
    lengths = draw.poisson(mean, taken)
    gaps = min(int(np.searchsorted(lengths.cumsum(), taken)) + 1, taken, len(text) - taken + 1)
    lengths = lengths[:gaps]
    lengths[-1] += taken - lengths.sum()  # the last gap takes what is left, or less than it was to take
    source: list[int] = []
    end = 0
    for start, length in zip(places(len(text), lengths, draw), lengths.tolist(), strict=True):
        source += [*text[end:start], mask]
        end = start + length
    return source + text[end:]


def places(tokens: int, lengths: Indices, draw: np.random.Generator) -> list[int]:
    """Where gaps of these lengths begin in a text, at least one token apart and otherwise anywhere."""
    slots = np.sort(draw.choice(tokens - int(lengths.sum()) + 1, len(lengths), replace=False))
    return (slots + lengths.cumsum() - lengths).tolist()


def shuffle_sentences(text: list[int], stop: int, draw: np.random.Generator) -> list[int]:
    """The text with its sentences, each up to a full stop, in random order (Lewis 2020, section 2.2)."""
    ends = [place + 1 for place, token in enumerate(text) if token == stop]
    starts = [0, *ends]
    sentences = [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True) if start < end]
    return [token for place in draw.permutation(len(sentences)) for token in sentences[place]]
