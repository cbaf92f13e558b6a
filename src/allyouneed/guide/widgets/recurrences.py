"""What the figures of models before the Transformer share: one vector for a sentence, and held-out sentences."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, cast

import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.texts import row
from allyouneed.models.recurrent import Recurrent, RecurrentMemory
from allyouneed.pipeline import Translator
from allyouneed.text import everyday

PROBES = 16  # random directions by which the size of a matrix of derivatives is estimated
# A text whose words the small models know, to be cut to any length.
LONG = (
    "The cat sat on the mat and the mouse ate the cheese in the old house , but the dog slept under the table because "
    "the house was quiet , and the boy read a book in the garden while the girl wrote a letter to the teacher , who "
    "was at home with the cat , and then we saw the old man in the park near the school ."
)


@contextmanager
def recurrent(models: Models, name: str) -> Generator[tuple[Translator, Recurrent]]:
    """A translator of the time before the Transformer, and its module, for this thread alone."""
    with models.use(name, Translator, Recurrent) as pipe:
        yield pipe, cast(Recurrent, cast(Any, pipe.model))


def vectors_of(memory: RecurrentMemory) -> Tensor:
    """All that a decoder without attention is told of each sentence, [N, D]."""
    return memory.start[-1].hidden if memory.summary is None else memory.summary


def vector_of(memory: RecurrentMemory) -> Tensor:
    """The same of the first, [D]."""
    return vectors_of(memory)[0]


def embedded(model: Recurrent, ids: list[int], copies: int = 1) -> tuple[Tensor, RecurrentMemory]:
    """The embeddings [N, S, E] of copies of a source, to differentiate by, and what the encoder made of them."""
    x = model.embedding(row(ids)).detach().repeat(copies, 1, 1).requires_grad_()
    memory = model.encoder(x, None)
    attention = model.decoder.cross_attention
    keys = None if attention is None else attention.keys(memory.states)
    return x, RecurrentMemory(memory.states, None, memory.start, keys, memory.summary)


def influence(model: Recurrent, ids: list[int]) -> tuple[Tensor, list[float]]:
    """The vector [D] of a source, and for each token how strongly it still moves it: an estimate of the Frobenius norm
    of ∂c/∂x, since E|Jᵀv|² = |J|² for v of independent components with variance 1.
    """
    with torch.enable_grad():
        x, memory = embedded(model, ids, PROBES)  # a copy for each probe, so that one backward pass serves all
        vectors = vectors_of(memory)
        probes = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0))
        (slopes,) = torch.autograd.grad(vectors, x, probes)
    return vectors[0].detach(), slopes.square().sum(-1).mean(0).sqrt().tolist()


@lru_cache(maxsize=8)
def held_out(count: int, target: str) -> list[tuple[str, str]]:
    """Sentences that no shipped model was trained on, in English and another language."""
    found = everyday.sentences(seed=0, count=4 * count, split="test", languages=("en", target))
    return [(texts[0], texts[1]) for texts in islice(found, count)]


@lru_cache(maxsize=16)
def perplexity(pipe: Translator, pairs: tuple[tuple[str, str], ...]) -> float:
    """The perplexity a target token of pairs of sentences."""
    scores = pipe.score([source for source, _ in pairs], [target for _, target in pairs])
    logprobs = [value for score in scores for value in score.logprobs]
    return torch.tensor(logprobs, dtype=torch.float64).mean().neg().exp().item()


@lru_cache(maxsize=16)
def bleu(pipe: Translator, pairs: tuple[tuple[str, str], ...]) -> float:
    """The BLEU of greedy translations of these sentences."""
    found = pipe.translate([source for source, _ in pairs], beam=1)
    return BLEU().corpus_score([one.text for one in found], [[target for _, target in pairs]]).score
