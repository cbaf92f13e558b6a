"""The work that every peer does: model shapes, random sentence pairs in length-sorted batches, and what they cost.

torch is imported only where a tensor is made: a peer that does without it should not be charged its memory.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

PAD, BOS, EOS, UNK = 0, 1, 2, 3

Pair = tuple[list[int], list[int]]
Texts = list[list[int]]


@dataclass(frozen=True)
class Shape:
    """The numbers of an encoder-decoder Transformer."""

    d_model: int
    d_ff: int
    n_heads: int
    n_layers: int  # of the encoder, and again of the decoder
    vocab_size: int


SHAPES = {
    "small": Shape(d_model=256, d_ff=1024, n_heads=4, n_layers=3, vocab_size=8_000),
    "base": Shape(d_model=512, d_ff=2048, n_heads=8, n_layers=6, vocab_size=16_000),
    "tiny": Shape(d_model=32, d_ff=64, n_heads=2, n_layers=1, vocab_size=300),  # to try the benchmarks themselves
}


@dataclass(frozen=True)
class Batch:
    """Sentence pairs padded side by side."""

    source: Tensor  # [B, S], each row ends in EOS
    target_in: Tensor  # [B, T], each row begins with BOS
    target_out: Tensor  # [B, T], the same shifted by one, ends in EOS

    @property
    def target_tokens(self) -> int:
        """Target tokens that are no padding."""
        return int((self.target_out != PAD).sum())


def sentence_pairs(count: int, vocab_size: int) -> list[Pair]:
    """Pairs whose lengths are spread as in running text: log-normal around 22 tokens, at most 100, both sides alike."""
    draw = random.Random(20)
    pairs: list[Pair] = []
    for _ in range(count):
        length = min(100, max(2, round(draw.lognormvariate(2.91, 0.6))))
        other = min(100, max(2, round(length * draw.gauss(1, 0.15))))
        source, target = ([draw.randrange(UNK + 1, vocab_size) for _ in range(n)] for n in (length, other))
        pairs.append((source, target))
    return pairs


def training_batches(shape: Shape, *, count: int, tokens: int) -> list[Batch]:
    """`count` batches of about `tokens` target tokens, cut from sentences sorted by length; all lengths take part."""
    pairs = sorted(sentence_pairs(20_000, shape.vocab_size), key=lambda pair: (len(pair[1]), len(pair[0])))
    groups: list[list[Pair]] = [[]]
    filled = 0
    for pair in pairs:
        groups[-1].append(pair)
        filled += len(pair[1]) + 1
        if filled >= tokens:
            groups.append([])
            filled = 0
    groups.pop()  # the last one is not full
    chosen = [groups[(2 * i + 1) * len(groups) // (2 * count)] for i in range(count)]
    random.Random(21).shuffle(chosen)
    return [pad_pairs(group) for group in chosen]


def pad_pairs(pairs: list[Pair]) -> Batch:
    """Pairs as one batch."""
    return Batch(
        source=pad_rows([[*source, EOS] for source, _ in pairs]),
        target_in=pad_rows([[BOS, *target] for _, target in pairs]),
        target_out=pad_rows([[*target, EOS] for _, target in pairs]),
    )


def pad_rows(rows: list[list[int]]) -> Tensor:
    """Rows of tokens as one tensor [B, longest], padded on the right."""
    import torch

    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def sources_to_translate(shape: Shape, count: int) -> list[list[int]]:
    """Sources of 18 to 26 tokens (one alone has 22), sorted by length as a translator would hand them over; no EOS."""
    draw = random.Random(22)
    lengths = [22] if count == 1 else sorted(draw.randint(18, 26) for _ in range(count))
    return [[draw.randrange(UNK + 1, shape.vocab_size) for _ in range(length)] for length in lengths]


def useful_flops(shape: Shape, batches: list[Batch]) -> float:
    """Floating-point operations that the real tokens need; what is spent on padding is waste.

    Forward and backward are three times forward. A product of [n, a] and [a, b] counts 2·n·a·b; norms, softmax and the
    like are left out.
    """
    width, layers = shape.d_model, shape.n_layers
    square, feed_forward = width * width, 2 * width * shape.d_ff
    total = 0.0
    for batch in batches:
        sources = (batch.source != PAD).sum(1).tolist()
        targets = (batch.target_out != PAD).sum(1).tolist()
        for s, t in zip(sources, targets, strict=True):
            encoder = 2 * s * (4 * square + feed_forward) + 4 * width * s * s
            decoder = 2 * t * (6 * square + feed_forward) + 2 * s * 2 * square
            looking = 4 * width * (t * (t + 1) // 2 + t * s)
            total += layers * (encoder + decoder + looking) + 2 * t * width * shape.vocab_size
    return 3 * total


def equal_texts(settings: list[Texts], reference: list[Texts]) -> float:
    """The share of texts that are the same, token by token."""
    pairs = [pair for ours, theirs in zip(settings, reference, strict=False) for pair in zip(ours, theirs, strict=True)]
    return sum(ours == theirs for ours, theirs in pairs) / max(1, len(pairs))
