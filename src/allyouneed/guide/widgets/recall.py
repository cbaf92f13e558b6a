"""What can still be read out of the one vector of a text: a linear probe for the word at each place."""

from functools import lru_cache

import torch
from torch import Tensor, nn

from allyouneed.guide.widgets.recurrences import vectors_of
from allyouneed.models.recurrent import Recurrent
from allyouneed.tasks.hypotheses import encode
from allyouneed.text import everyday
from allyouneed.text.vocabulary import Vocabulary

TEXTS = 1250
HELD_OUT = 250  # of them, on which the probe is tried
LENGTHS = (6, 24)  # words
RIDGE = 1.0


@lru_cache(maxsize=1)
def sentences() -> tuple[tuple[str, ...], ...]:
    """Everyday sentences, as words."""
    found = everyday.sentences(seed=2, count=TEXTS, split="train", languages=("en",))
    return tuple(tuple(text.split()) for (text,) in found)


def chained(pool: tuple[tuple[str, ...], ...], length: int) -> list[tuple[str, ...]]:
    """Texts of so many words: each begins with another sentence, and the next ones follow until it is long enough."""
    found: list[tuple[str, ...]] = []
    for first in range(len(pool)):
        words: tuple[str, ...] = ()
        while len(words) < length:
            words += pool[first % len(pool)]
            first += 1
        found.append(words[:length])
    return found


def texts(length: int) -> list[tuple[str, ...]]:
    """Texts of so many words; the last `HELD_OUT` are made of sentences of which the others hold none."""
    pool = sentences()
    return chained(pool[:-HELD_OUT], length) + chained(pool[-HELD_OUT:], length)


def recovered(vectors: Tensor, words: list[str]) -> dict[str, float]:
    """How often a linear probe names the word by the vector, on texts that it was not fitted to, and how often the
    commonest word of the others would have been right. Least squares on one-hot words. vectors [N, D]
    """
    names = {word: number for number, word in enumerate(dict.fromkeys(words))}
    gold = torch.tensor([names[word] for word in words])
    known = len(words) - HELD_OUT
    x = nn.functional.pad(vectors, (0, 1), value=1.0)  # a one for the bias
    wanted = nn.functional.one_hot(gold[:known], len(names)).float()
    square = x[:known].T @ x[:known] + RIDGE * torch.eye(x.shape[1])
    probe = torch.linalg.solve(square, x[:known].T @ wanted)
    hits = (x[known:] @ probe).argmax(-1) == gold[known:]
    common = gold[known:] == wanted.sum(0).argmax()
    return {"probe": hits.float().mean().item(), "guess": common.float().mean().item()}


@lru_cache(maxsize=8)
def recall(model: Recurrent, tokenizer: Vocabulary, length: int) -> list[dict[str, float]]:
    """For each place in texts of so many words, how often its word is recovered, and would be guessed."""
    found = texts(length)
    with torch.no_grad():
        ids = tokenizer.encode_batch([" ".join(words) for words in found])
        vectors = vectors_of(encode(model, tokenizer, ids))
        return [recovered(vectors, [words[place] for words in found]) for place in range(length)]
