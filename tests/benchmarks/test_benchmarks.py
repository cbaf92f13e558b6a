"""The benchmarks compare like with like: the same function on both sides, the same work, honest arithmetic."""

import operator
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
import torch

import lm_train
import workload
from allyouneed.measure import turns
from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import Transformer, TransformerConfig
from generate import DECODERS
from llama import modern, to_llama
from marian import to_marian
from workload import BOS, EOS, PAD, SHAPES, Shape

TINY = SHAPES["tiny"]


@pytest.fixture
def pair() -> tuple[Transformer, Any]:
    torch.manual_seed(3)
    config = TransformerConfig(
        vocab_size=TINY.vocab_size,
        d_model=TINY.d_model,
        n_heads=TINY.n_heads,
        d_ff=TINY.d_ff,
        n_encoder_layers=TINY.n_layers,
        n_decoder_layers=TINY.n_layers,
        tied_embeddings=False,
        max_length=64,
    )
    ours = Transformer(config).eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(std=0.3)  # also norms and biases, which begin as ones and zeros
    return ours, to_marian(ours, TINY)


@torch.no_grad()
def test_marian_computes_our_function(pair: tuple[Transformer, Any]) -> None:
    ours, theirs = pair
    source, target = torch.randint(4, TINY.vocab_size, (3, 9)), torch.randint(4, TINY.vocab_size, (3, 7))
    source[1:, 6:], target[:, 0] = PAD, BOS
    keep = source != PAD
    expected = theirs(input_ids=source, attention_mask=keep.long(), decoder_input_ids=target).logits
    torch.testing.assert_close(ours(source, target, keep), expected, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_llama_computes_our_function() -> None:
    torch.manual_seed(3)
    ours = Transformer(modern(**asdict(DECODERS["tiny"]))).eval()
    for parameter in ours.parameters():
        parameter.normal_(std=0.3)  # also norms, which begin as ones
    tokens = torch.randint(4, 300, (3, 9))
    expected = to_llama(ours)(input_ids=tokens).logits
    assert float(expected.std()) > 0.3
    torch.testing.assert_close(ours(tokens), expected, rtol=1e-4, atol=1e-4)


def test_language_batches_are_alike_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lm_train, "ROWS", 2)
    config, batches = lm_train.Work(batches=3).load()
    assert [tuple(batch.shape) for batch in batches] == [(2, lm_train.LENGTH)] * 3
    assert count_parameters(config) == pytest.approx(1e7, rel=0.05)
    again = lm_train.Work(batches=3).load()[1]
    assert all(torch.equal(batch, same) for batch, same in zip(batches, again, strict=True))


def test_batches_are_about_as_large_as_asked_and_nearly_full() -> None:
    batches = workload.training_batches(TINY, count=5, tokens=2048)
    for batch in batches:
        assert 2048 <= batch.target_tokens < 2048 + 101
        assert batch.target_tokens / batch.target_out.numel() > 0.9
        assert (batch.source == EOS).sum() == (batch.target_out == EOS).sum() == len(batch.source)
        assert (batch.target_in[:, 0] == BOS).all()
        inside = batch.target_in[:, 1:] != PAD
        assert torch.equal(batch.target_in[:, 1:][inside], batch.target_out[:, :-1][inside])


def test_flops_count_real_tokens_only() -> None:
    shape = Shape(d_model=2, d_ff=3, n_heads=1, n_layers=1, vocab_size=5)
    # One pair, source and target of one token and its mark each: S = T = 2.
    one = workload.pad_pairs([([4], [4])])
    encoder = 2 * 2 * (4 * 4 + 2 * 2 * 3) + 2 * (2 * 2 * 2 * 2)  # projections and feed-forward, then Q Kᵀ and A V
    decoder = 2 * 2 * (6 * 4 + 2 * 2 * 3) + 2 * 2 * (2 * 4) + 2 * (2 * 2 * 3) + 2 * (2 * 2 * 2 * 2)
    output = 2 * 2 * 2 * 5
    assert workload.useful_flops(shape, [one]) == 3 * (encoder + decoder + output)
    longer = workload.pad_pairs([([4], [4]), ([4] * 30, [4] * 30)])
    alone = workload.pad_pairs([([4] * 30, [4] * 30)])
    assert workload.useful_flops(shape, [longer]) == workload.useful_flops(shape, [one, alone])


def test_disturbed_passes_are_left_out() -> None:
    peer = turns.Peer("a", passes=[[1.0], [2.0], [3.0], [50.0], [60.0]], others=[0.0, 0.01, 0.05, 0.5, 0.4])
    assert peer.median(0) == 2.0
    assert peer.disturbance == 0.05


def test_at_least_half_of_the_passes_count() -> None:
    peer = turns.Peer("a", passes=[[1.0], [2.0], [9.0], [50.0]], others=[0.9, 0.2, 0.05, 0.3])
    assert peer.median(0) == 5.5
    assert peer.disturbance == 0.2


def test_a_peer_that_fails_leaves_the_others_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "QUIET_WAIT", 0.0)
    for name, value in turns.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    # Peers that a fresh process has at hand without importing this file: 1 / 0, and a pass that answers two numbers.
    peers: dict[str, Any] = {"bad": (operator.truediv, (1, 0)), "good": (partial, (list, (0.5, 0.25)))}
    failed, steady = turns.measure(peers, rounds=3)
    assert "division by zero" in failed.failure
    assert "bad failed" in capsys.readouterr().err
    assert steady.passes == [[0.5, 0.25]] * 3
    assert steady.peak_mb > 1


def test_equal_texts_counts_whole_texts() -> None:
    assert workload.equal_texts([[[1, 2], [3]], [[4]]], [[[1, 2], [3, 3]], [[4]]]) == pytest.approx(2 / 3)
