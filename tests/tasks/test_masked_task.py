"""Masked words: what is hidden, how, and that only it is guessed."""

import math
from typing import Any, cast

import numpy as np
import pytest
import torch

from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks.documents import Texts
from allyouneed.tasks.masked import MASKED, REPLACED, Masked, MaskedBatch, guesses
from allyouneed.text.tokenizer import BOS, EOS, PAD
from allyouneed.text.tokenizer import UNK as MASK
from allyouneed.training.loss import negative_log_likelihood

VOCABULARY = 500
LENGTHS = [3, 40, 8, 1, 7, 21, 60, 4]


class Words:
    """As much of a tokenizer as is asked for."""

    vocab_size = VOCABULARY
    pad, mask = PAD, MASK


def masked(lengths: list[int] = LENGTHS, max_tokens: int = 30) -> Masked:
    draw = np.random.default_rng(0)
    rows = [[BOS, *draw.integers(4, VOCABULARY, length), EOS] for length in lengths]
    texts = Texts(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]), bytes=1000)
    return Masked(cast(Any, Words()), texts, texts, max_tokens=max_tokens)


def small_model() -> Transformer:
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        n_heads=4,
        d_ff=48,
        n_encoder_layers=2,
        n_decoder_layers=0,
        max_length=64,
        output_transform=True,
        output_bias=True,
        activation="gelu",
    )
    return Transformer(config).eval()


def made(task: Masked, plan: Any, seed: int = 0) -> MaskedBatch:
    return task.batch(plan, np.random.default_rng(seed))


def test_only_what_is_to_be_guessed_is_changed() -> None:
    task = masked()
    for plan in task.batches(90, seed=1, epoch=0):
        batch = made(task, plan)
        assert task.padded_tokens(plan) == batch.tokens.numel() <= 90
        assert task.target_tokens(plan) == len(batch.gold) == len(batch.places) == len(batch.places.unique())
        restored = batch.tokens.flatten().clone()
        restored[batch.places] = batch.gold
        for row, piece in zip(restored.view_as(batch.tokens).tolist(), plan, strict=True):
            text = [BOS, *task.train.tokens(piece).tolist(), EOS]
            assert row == text + [PAD] * (len(row) - len(text))
        keep = torch.ones_like(batch.tokens, dtype=torch.bool) if batch.keep is None else batch.keep
        assert torch.equal(keep, batch.tokens != PAD)


def test_every_piece_is_read_once_an_epoch() -> None:
    task = masked()
    assert len(task.train) == 11  # 40 is two pieces of up to 28 tokens, and 60 three
    assert int(task.train.size.sum()) == sum(LENGTHS)
    plans = task.batches(90, seed=1, epoch=0)
    assert sorted(piece for plan in plans for piece in plan) == list(range(11))


def test_shares_of_the_paper() -> None:
    task = masked([400] * 50, max_tokens=402)
    [plan] = task.batches(100_000, seed=1, epoch=0)
    batch = made(task, plan)
    found = batch.tokens.flatten()[batch.places]
    count = len(found)
    assert count == 50 * guesses(400) == 50 * 60
    hidden, kept = (found == MASK).float().mean(), (found == batch.gold).float().mean()
    for share, expected in ((hidden, MASKED), (kept, 1 - MASKED - REPLACED)):
        assert float(share) == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / count))
    others = found[(found != MASK) & (found != batch.gold)]
    assert int(others.min()) >= 4
    assert len(others.unique()) > 100


def test_the_draw_alone_decides() -> None:
    task = masked()
    plan = task.batches(90, seed=1, epoch=0)[0]
    assert torch.equal(made(task, plan, 1).tokens, made(task, plan, 1).tokens)
    assert not torch.equal(made(task, plan, 1).tokens, made(task, plan, 2).tokens)


def test_batched_is_single() -> None:
    task, model = masked(), small_model()
    plan = np.arange(len(task.train))
    batch = task.hidden(task.train, plan, np.random.default_rng(0))
    assert batch.keep is not None
    together = task.loss(model, batch, negative_log_likelihood)[1]
    draw = np.random.default_rng(0)
    alone = [
        task.loss(model, task.hidden(task.train, plan[i : i + 1], draw), negative_log_likelihood)[1]
        for i in range(len(plan))
    ]
    torch.testing.assert_close(together, torch.stack(alone).sum())


def test_validation_guesses_the_same_tokens_each_time() -> None:
    task, model = masked(), small_model()
    one, other = (task.validate(model, negative_log_likelihood, max_tokens=90, sentences=0) for _ in range(2))
    assert one == other
    assert one["perplexity"] == pytest.approx(math.exp(one["loss"]))
    assert one["accuracy"] < 0.2


def test_accuracy_is_the_share_of_right_guesses() -> None:
    task, model = masked(), small_model()
    with torch.no_grad():  # whatever it reads, it guesses token 7
        model.embedding.weight.zero_()
        assert model.output_bias is not None
        model.output_bias[7] = 5.0
    task.dev.texts.tokens[task.dev.texts.tokens >= 4] = 7
    assert task.validate(model, negative_log_likelihood, max_tokens=90, sentences=0)["accuracy"] == 1.0
