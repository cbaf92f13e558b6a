"""Masked words: some tokens of a text are hidden, and an encoder guesses them (Devlin 2019, section 3.1)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.tasks.documents import Indices, Pieces, Texts, cut, prepare_texts
from allyouneed.tasks.sources import TextData
from allyouneed.tasks.task import Loss, Report, Task, check_batch, loss_a_token, token_loss
from allyouneed.text.batching import token_batches
from allyouneed.text.tokenizer import UNK
from allyouneed.text.vocabulary import Vocabulary

ORDINARY = UNK + 1  # the first id that is no mark
SHARE = 0.15  # of a text's tokens are guessed
MASKED, REPLACED = 0.8, 0.1  # of these are hidden, and are another token; the rest stay as they are


@dataclass(frozen=True)
class MaskedBatch:
    """Texts with some tokens hidden, each between its marks, padded on the right."""

    tokens: Tensor  # [B, T]
    keep: Tensor | None  # [B, T], or None where nothing is padded
    gold: Tensor  # [N] the tokens that are to be guessed, row by row
    places: Tensor  # [N] where they stand in the flattened [B·T]

    def to(self, device: torch.device) -> "MaskedBatch":
        """The same batch on a device."""
        keep = None if self.keep is None else self.keep.to(device)
        return MaskedBatch(self.tokens.to(device), keep, self.gold.to(device), self.places.to(device))

    def states(self, model: Transformer) -> Tensor:
        """The states of the tokens that are to be guessed, [N, D]."""
        return model.encode(self.tokens, self.keep).states.flatten(0, 1)[self.places]


class Masked(Task):
    """Documents, ready for training: each one, or each piece of a long one, is a row."""

    line = "encoder"
    data = TextData
    title = "A model of masked words"
    measures = (
        f"The loss is in nats a hidden token: {SHARE:.0%} of the tokens are guessed, the same ones in every "
        "validation; accuracy is the share of them that the likeliest guess gets right."
    )

    def __init__(self, tokenizer: Vocabulary, train: Texts, dev: Texts, *, max_tokens: int) -> None:
        if tokenizer.mask is None:
            raise InputError("This tokenizer has no mask token, so no word can be hidden.")
        self.tokenizer, self.mask, self.max_tokens = tokenizer, tokenizer.mask, max_tokens
        self.train, self.dev = (cut(texts, max_tokens - 2, marks=False) for texts in (train, dev))

    @classmethod
    def prepare(cls, data: TextData, *, vocab_size: int, seed: int, folder: Path, report: Report) -> "Masked":
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
            f"{texts.inner_tokens:,} training tokens in pieces of at most {self.max_tokens - 2}"
        )

    def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Indices]:
        """The batches of one epoch in order: numbers of pieces of like length."""
        check_batch(int(self.train.size.max()) + 2, max_tokens)
        return piece_batches(self.train.size + 2, max_tokens=max_tokens, seed=seed, epoch=epoch)

    def batch(self, plan: Indices, draw: np.random.Generator) -> MaskedBatch:
        """The pieces with tokens hidden that `draw` chooses."""
        return self.hidden(self.train, plan, draw)

    def padded_tokens(self, plan: Indices) -> int:
        """Rows times the longest one."""
        return len(plan) * (int(self.train.size[plan].max()) + 2)

    def target_tokens(self, plan: Indices) -> int:
        """How many tokens are to be guessed: so many of each piece, whichever they are."""
        return sum(map(guesses, self.train.size[plan].tolist()))

    def loss(self, model: Transformer, batch: MaskedBatch, measure: Loss) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, summed over the tokens that are to be guessed."""
        return token_loss(model, batch.states(model), batch.gold, measure)

    @torch.no_grad()
    def validate(self, model: Transformer, measure: Loss, *, max_tokens: int, sentences: int) -> dict[str, float]:
        """Loss and perplexity a hidden token, and the share of right guesses, over all validation documents."""
        total = count = right = 0.0
        draw = np.random.default_rng(0)
        max_tokens = max(max_tokens, int(self.dev.size.max()) + 2)
        for plan in piece_batches(self.dev.size + 2, max_tokens=max_tokens, seed=0, epoch=0):
            batch = self.hidden(self.dev, plan, draw).to(model.embedding.weight.device)
            states = batch.states(model)
            total += float(token_loss(model, states, batch.gold, measure)[1])
            right += int((linear(*model.features(states)).argmax(-1) == batch.gold).sum())
            count += len(batch.gold)
        return loss_a_token(total, count) | {"accuracy": right / count}

    def hidden(self, pieces: Pieces, plan: Indices, draw: np.random.Generator) -> MaskedBatch:
        """Pieces as tensors, with tokens hidden that `draw` chooses."""
        sizes = pieces.size[plan]
        width = int(sizes.max()) + 2
        tokens = np.full((len(plan), width), self.tokenizer.pad, np.int64)
        begin, end = pieces.texts.tokens[[0, -1]]
        gold: list[Indices] = []
        places: list[Indices] = []
        for row, piece in enumerate(plan):
            text = pieces.tokens(piece).astype(np.int64)
            chosen = choose(len(text), draw)
            gold.append(text[chosen])
            places.append(chosen + 1 + row * width)
            text[chosen] = disguised(text[chosen], self.mask, self.tokenizer.vocab_size, draw)
            tokens[row, : len(text) + 2] = [begin, *text, end]
        keep = np.arange(width) < sizes[:, None] + 2
        return MaskedBatch(
            tokens=torch.from_numpy(tokens),
            keep=None if keep.all() else torch.from_numpy(keep),
            gold=torch.from_numpy(np.concatenate(gold)),
            places=torch.from_numpy(np.concatenate(places)),
        )


def guesses(tokens: int) -> int:
    """How many of a text's tokens are to be guessed: at least one."""
    return max(1, round(SHARE * tokens))


def choose(tokens: int, draw: np.random.Generator) -> Indices:
    """Which of them, in order."""
    return np.sort(draw.choice(tokens, guesses(tokens), replace=False))


def disguised(tokens: Indices, mask: int, vocab_size: int, draw: np.random.Generator) -> Indices:
    """What stands where tokens [N] are to be guessed: mostly the mask, sometimes any token, sometimes the right one
    (Devlin 2019, appendix A.1).
    """
    fate = draw.random(len(tokens))
    other = draw.integers(ORDINARY, vocab_size, len(tokens))
    return np.where(fate < MASKED, mask, np.where(fate < MASKED + REPLACED, other, tokens))


def piece_batches(size: Indices, *, max_tokens: int, seed: int, epoch: int) -> list[Indices]:
    """Pieces of `size` [N] in batches of like length."""
    return token_batches(np.stack((size, size), axis=1), max_tokens=max_tokens, seed=seed, epoch=epoch)
