"""Language modelling: each token of a text is predicted from those before it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from allyouneed.models.interface import TextModel
from allyouneed.parts.masks import CAUSAL, Mask, documents
from allyouneed.parts.positions import positions_within
from allyouneed.tasks.documents import Indices, Pieces, Texts, cut, prepare_texts
from allyouneed.tasks.sources import TextData
from allyouneed.tasks.task import Loss, Report, Task, check_batch, loss_a_token, token_loss
from allyouneed.text.batching import packed_rows, token_batches
from allyouneed.text.vocabulary import Vocabulary

Rows = Sequence[Indices]  # for each row the numbers of its pieces


class Decoder(TextModel, Protocol):
    """A model that goes on with a text, whether it looks back at all of it or carries a state along."""

    def decode(
        self, target: Tensor, memory: None = None, mask: Mask = CAUSAL, *, positions: Tensor | None = None
    ) -> Tensor:
        """target [B, T], padded on the right -> states [B, T, D], each from the tokens up to its own.

        Where a row holds several texts, `positions` [B, T] count from 0 in each: a model with a state forgets it there,
        and one that looks back obeys the mask.
        """
        ...


@dataclass(frozen=True)
class PackedBatch:
    """Rows of one piece of text, or of several that do not see each other, padded on the right."""

    tokens: Tensor  # [B, T]
    gold: Tensor  # [N] the token after each real one, row by row
    real: Tensor  # [N] where they stand in the flattened [B·T]
    pieces: Tensor | None  # [B, T] which piece of its row a token belongs to; None where each row is one piece

    def to(self, device: torch.device) -> "PackedBatch":
        """The same batch on a device."""
        pieces = None if self.pieces is None else self.pieces.to(device)
        return PackedBatch(self.tokens.to(device), self.gold.to(device), self.real.to(device), pieces)

    def states(self, model: Decoder) -> Tensor:
        """What the model makes of the real tokens, [N, D]. Rows of one piece take the kernels' fast way."""
        if self.pieces is None:
            states = model.decode(self.tokens)
        else:
            mask = CAUSAL & documents(self.pieces)
            states = model.decode(self.tokens, mask=mask, positions=positions_within(self.pieces))
        return states.flatten(0, 1)[self.real]


class Language(Task):
    """Documents, ready for training: BOS text EOS, each in pieces of at most a row.

    A long document's pieces begin with the last token of the piece before, so that every token is predicted once.
    """

    line = "decoder"
    data = TextData
    title = "A language model"
    measures = (
        "The loss is in nats a subword token, each document's end mark included; bits_per_byte is the same in bits a "
        "byte of the text, which compares models with other vocabularies."
    )

    def __init__(self, tokenizer: Vocabulary, train: Texts, dev: Texts, *, max_tokens: int) -> None:
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.train, self.dev = (cut(texts, max_tokens, marks=True) for texts in (train, dev))

    @classmethod
    def prepare(cls, data: TextData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Language":
        """Trains the subword model and tokenises the text, or takes both up from `folder` if they are there already."""
        tokenizer, train, dev = prepare_texts(
            data, vocab_size=vocab_size, seed=seed, line=cls.line, folder=folder, report=report
        )
        return cls(tokenizer, train, dev, max_tokens=data.max_tokens)

    def size(self) -> str:
        """How much text there is."""
        texts = self.train.texts
        return (
            f"{len(texts):,} training and {len(self.dev.texts):,} validation documents; "
            f"{texts.inner_tokens:,} training tokens in rows of at most {self.max_tokens}"
        )

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Rows]:
        """The batches of one epoch in order. The short pieces share rows, others each time."""
        check_batch(int(self.train.size.max()), max_tokens)
        return packed_batches(self.train.size, self.max_tokens, max_tokens=max_tokens, seed=seed, epoch=epoch)

    def batch(self, plan: Rows, draw: np.random.Generator) -> PackedBatch:
        """The rows as tensors; nothing is drawn."""
        return packed(self.train, plan)

    def padded_tokens(self, plan: Rows) -> int:
        """Rows times the longest one."""
        return len(plan) * max(int(self.train.size[row].sum()) for row in plan)

    def target_tokens(self, plan: Rows) -> int:
        """Real tokens of a batch: each predicts the one after it."""
        return sum(int(self.train.size[row].sum()) for row in plan)

    def loss(self, model: Decoder, batch: PackedBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the batch's real tokens."""
        return token_loss(model, batch.states(model), batch.gold, measure)

    @torch.no_grad()
    def validate(self, model: Decoder, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a token, and bits a byte, over all validation documents."""
        total = count = 0.0
        max_tokens = max(max_tokens, int(self.dev.size.max()))
        for rows in packed_batches(self.dev.size, self.max_tokens, max_tokens=max_tokens, seed=0, epoch=0):
            batch = packed(self.dev, rows).to(model.embedding.weight.device)
            total += float(self.loss(model, batch, measure)[1])
            count += len(batch.gold)
        return loss_a_token(total, count) | {"bits_per_byte": total / math.log(2) / self.dev.texts.bytes}


def packed(pieces: Pieces, rows: Rows) -> PackedBatch:
    """Rows of pieces as tensors."""
    width = max(int(pieces.size[row].sum()) for row in rows)
    tokens, gold, owner = (np.zeros((len(rows), width), np.int64) for _ in range(3))
    for number, row in enumerate(rows):
        at = 0
        for place, piece in enumerate(row, 1):
            stream = pieces.tokens(piece, more=1)
            end = at + len(stream) - 1
            tokens[number, at:end], gold[number, at:end], owner[number, at:end] = stream[:-1], stream[1:], place
            at = end
    real = torch.from_numpy(np.flatnonzero(owner))
    shared = any(len(row) > 1 for row in rows)
    return PackedBatch(
        tokens=torch.from_numpy(tokens),
        gold=torch.from_numpy(gold).flatten()[real],
        real=real,
        pieces=torch.from_numpy(owner) if shared else None,
    )


def packed_batches(size: Indices, row: int, *, max_tokens: int, seed: int, epoch: int) -> list[Rows]:
    """Pieces of `size` [N] in rows of at most `row` tokens, or of a batch's, and these in batches; all pieces once.

    Pieces as long as a row stand alone in it, and rows of one piece are batched apart from the others.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(size))
    long = size[order] == row
    rows = [*order[long, None], *packed_rows(size, order[~long], min(row, max_tokens))]
    batches: list[Rows] = []
    for group in ([row for row in rows if len(row) == 1], [row for row in rows if len(row) > 1]):
        lengths = np.array([(size[row].sum(),) * 2 for row in group], np.int64).reshape(-1, 2)
        chosen = token_batches(lengths, max_tokens=max_tokens, seed=seed, epoch=epoch)
        batches += [[group[place] for place in places] for places in chosen]
    return [batches[place] for place in random.permutation(len(batches))]
