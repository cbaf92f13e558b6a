"""Damaged text: what is cut out is what is written, gaps are where the papers put them, and the lengths are known."""

from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks.denoising import Denoising, DenoisingData, corrupt_spans, infill, shuffle_sentences
from allyouneed.tasks.documents import encode_texts
from allyouneed.text.tokenizer import UNK, Tokenizer
from allyouneed.training.loss import negative_log_likelihood

SENTINELS = tuple(range(900, 930))
STOP = 5
TEXTS = [
    "The mouse ate the cheese. The cat sat on the mat. The dog slept.",
    "A cat.",
    "The cat ate the mouse, the mouse ate the cheese, and the dog ate nothing at all. It slept on the mat again.",
] * 3


def filled(source: list[int], target: list[int]) -> list[int]:
    """The text again: each sentinel gives way to what stands behind it in the target."""
    parts: dict[int, list[int]] = {}
    for token in target:
        if token in SENTINELS:
            parts[token] = []
        else:
            parts[list(parts)[-1]].append(token)
    return [token for one in source for token in (parts[one] if one in SENTINELS else [one])]


@pytest.mark.parametrize(("tokens", "taken", "gaps"), [(1, 1, 1), (2, 1, 1), (20, 3, 1), (100, 15, 5), (10, 6, 5)])
def test_gaps_filled_in_are_the_text(tokens: int, taken: int, gaps: int) -> None:
    text = list(range(10, 10 + tokens))
    draws = [corrupt_spans(text, taken, gaps, SENTINELS, np.random.default_rng(seed)) for seed in range(50)]
    for source, target in draws:
        assert filled(source, target) == text
        assert len(source) == tokens - taken + gaps
        assert len(target) == taken + gaps + 1
        assert [token for token in source if token in SENTINELS] == list(SENTINELS[:gaps])
        assert [token for token in target if token in SENTINELS] == list(SENTINELS[: gaps + 1])
        assert target[-1] == SENTINELS[gaps]
        assert not any(one in SENTINELS and other in SENTINELS for one, other in pairwise(source))
    if tokens == 100:
        begins = {source[0] in SENTINELS for source, _ in draws} | {source[-1] in SENTINELS for source, _ in draws}
        assert begins == {True, False}  # a gap may be anywhere, at both ends too


def test_infilling_leaves_one_mask_a_gap_and_all_other_tokens_in_order() -> None:
    text = list(range(10, 210))
    counts: list[int] = []
    for seed in range(200):
        source = infill(text, 60, 3.0, UNK, np.random.default_rng(seed))
        kept = [token for token in source if token != UNK]
        assert len(kept) == 140
        assert kept == sorted(kept)
        counts.append(source.count(UNK))
    assert sum(counts) / len(counts) == pytest.approx(20, abs=1.5)  # 60 tokens in gaps of 3
    assert infill([7], 1, 3.0, UNK, np.random.default_rng(0)) == [UNK]


def test_gaps_of_no_token_are_masks_too() -> None:
    text = list(range(10, 210))
    empty = 0
    for seed in range(50):
        source = infill(text, 60, 3.0, UNK, np.random.default_rng(seed))
        padded = [9, *source, 210]
        around = zip(padded, padded[1:], padded[2:], strict=False)
        empty += sum(after - before == 1 for before, mask, after in around if mask == UNK)
    assert empty / 50 == pytest.approx(20 * np.exp(-3), abs=0.6)


def test_sentences_change_places_whole() -> None:
    text = [1, 2, STOP, 3, STOP, 4, 6, 7, STOP, 8]
    seen = {tuple(shuffle_sentences(text, STOP, np.random.default_rng(seed))) for seed in range(200)}
    assert len(seen) == 24
    assert all(sorted(one) == sorted(text) for one in seen)
    assert (8, 3, STOP, 1, 2, STOP, 4, 6, 7, STOP) in seen


def task(**settings: Any) -> Denoising:
    sentinels = 0 if settings.get("objective") == "infilling" else 12
    tokenizer = Tokenizer.train(TEXTS, vocab_size=320, sentinels=sentinels)
    table = {"text": "no file"}
    known: dict[str, Any] = {"train": (table,), "dev": (table,), "max_tokens": 24, "sentinels": 12}
    data = DenoisingData(**{**known, **settings})
    texts = encode_texts(TEXTS, tokenizer)
    return Denoising(tokenizer, texts, texts, data)


@pytest.mark.parametrize("objective", ["spans", "infilling"])
def test_sizes_are_known_before_the_draw(objective: str) -> None:
    work = task(objective=objective, noise=0.3, permute=objective == "infilling")
    plans = work.batches(100, seed=1, epoch=0)
    assert sorted(piece for plan in plans for piece in plan) == list(range(len(work.train)))
    for plan in plans:
        for seed in range(5):
            batch = work.batch(plan, np.random.default_rng(seed))
            assert work.target_tokens(plan) == len(batch.gold)
            assert max(batch.source.numel(), batch.target.numel()) <= work.padded_tokens(plan) <= 100


@pytest.mark.parametrize("mean_span", [1.0, 3.0])
@pytest.mark.parametrize("noise", [0.15, 0.5, 0.9, 0.999])
def test_both_sides_have_room_however_much_is_taken_out(noise: float, mean_span: float) -> None:
    work = task(noise=noise, mean_span=mean_span, sentinels=12)
    batch = work.batch(np.arange(len(work.train)), np.random.default_rng(0))
    assert max(batch.source.shape[1], batch.target.shape[1]) <= work.settings.max_tokens
    for tokens in range(1, work.settings.max_tokens):
        taken, gaps = work.gaps(tokens)
        assert 1 <= gaps <= taken <= tokens
        assert taken + gaps + 2 <= work.settings.max_tokens


def test_spans_are_written_and_nothing_else() -> None:
    work = task()
    assert work.tokenizer.vocab_size == 320
    assert work.sentinels == tuple(range(308, 320))
    sources, targets = work.damaged(work.train, np.arange(len(work.train)), np.random.default_rng(0))
    for piece, (source, target) in enumerate(zip(sources, targets, strict=True)):
        marks = set(work.sentinels)
        kept = [token for token in source if token not in marks]
        written = [token for token in target if token not in marks]
        assert sorted(kept + written) == sorted(work.train.tokens(piece).tolist())


def test_infilling_writes_the_whole_text() -> None:
    work = task(objective="infilling", permute=True)
    _, targets = work.damaged(work.train, np.arange(len(work.train)), np.random.default_rng(0))
    assert targets == [work.train.tokens(piece).tolist() for piece in range(len(work.train))]
    assert work.tokenizer.decode([work.stop]) == "."


def test_validation_damages_alike_each_time() -> None:
    work = task()
    torch.manual_seed(0)
    fields: dict[str, Any] = {"d_model": 16, "n_heads": 2, "d_ff": 16, "n_encoder_layers": 1, "n_decoder_layers": 1}
    model = Transformer(TransformerConfig(vocab_size=320, **fields)).eval()
    one, other = (work.validate(model, negative_log_likelihood, max_tokens=100, sentences=0) for _ in range(2))
    assert one == other
    batch = work.batch(np.arange(3), np.random.default_rng(0))
    smoothed, likelihood = work.loss(model, batch, negative_log_likelihood)
    assert float(smoothed.detach()) == float(likelihood.detach())


def test_sentinels_never_come_out_of_text_and_say_nothing() -> None:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=320, sentinels=12)
    ids = tokenizer.encode("<gap 0> and <gap 11>")
    assert not set(ids) & set(tokenizer.sentinels)
    assert tokenizer.decode([*ids, *tokenizer.sentinels]) == "<gap 0> and <gap 11>"
    assert tokenizer.pieces(tokenizer.sentinels[:1]) == ["<gap 0>"]
    with pytest.raises(InputError, match=r"272 ids are special tokens and bytes, so the least is 273"):
        Tokenizer.train(TEXTS, vocab_size=272, sentinels=12)


def test_gaps_alone_do_not_restore_an_order() -> None:
    data = DenoisingData.model_validate({"train": [{"text": "a"}], "dev": [{"text": "a"}], "permute": True})
    with pytest.raises(UsageError, match=r"data\.permute belongs to data\.objective infilling"):
        Denoising.prepare(data, vocab_size=300, seed=1, folder=cast(Any, None), report=print)
