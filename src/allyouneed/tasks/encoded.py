"""Sentence pairs as numbers, kept end to end in two arrays: a million of them are a few dozen megabytes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from allyouneed.tasks.stored import load_arrays, save_arrays
from allyouneed.text.corpus import Pair
from allyouneed.text.tokenizer import BOS, EOS, PAD, Tokenizer

Array = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
CHUNK = 4096  # texts tokenised at a time


@dataclass(frozen=True)
class Batch:
    """Tensors of one batch, padded on the right. `source` ends in EOS; `target` is BOS … and `gold` is … EOS."""

    source: Tensor  # [B, S]
    keep: Tensor | None  # [B, S], or None where no source is padded
    target: Tensor  # [B, T]
    gold: Tensor  # [N] real target tokens, row by row
    real: Tensor  # [N] where they stand in the flattened [B·T]

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        keep = None if self.keep is None else self.keep.to(device)
        moved = (tensor.to(device) for tensor in (self.source, self.target, self.gold, self.real))
        source, target, gold, real = moved
        return Batch(source, keep, target, gold, real)


def seq2seq_batch(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Texts without marks as padded tensors."""
    source = pad([[*tokens, EOS] for tokens in sources])
    target = pad([[BOS, *tokens, EOS] for tokens in targets])
    keep = source != PAD
    gold = target[:, 1:].flatten()
    real = (gold != PAD).nonzero().squeeze(1)
    return Batch(source, None if bool(keep.all()) else keep, target[:, :-1], gold[real], real)


@dataclass(frozen=True)
class Encoded:
    """N pairs: side s of pair i is `tokens[s][offsets[s][i] : offsets[s][i + 1]]`."""

    tokens: tuple[Array, Array]
    offsets: tuple[Offsets, Offsets]

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each pair's sides as the model sees them, one mark included: [N, 2]."""
        return np.stack([np.diff(offsets) + 1 for offsets in self.offsets], axis=1)

    def side(self, side: int, index: int) -> list[int]:
        """One sentence's tokens, without marks."""
        start, end = self.offsets[side][index : index + 2]
        return self.tokens[side][start:end].tolist()

    def batch(self, indices: npt.NDArray[np.int64]) -> Batch:
        """The pairs of `indices` as padded tensors."""
        return seq2seq_batch([self.side(0, i) for i in indices], [self.side(1, i) for i in indices])


def pad(rows: list[list[int]]) -> Tensor:
    """Rows of unequal length as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


@dataclass(frozen=True)
class TooLong:
    """A pair that was left out, its number among all, and where it stands."""

    index: int
    file: str
    line: int
    tokens: int


def encode_pairs(pairs: Iterable[Pair], tokenizer: Tokenizer, max_tokens: int) -> tuple[Encoded, list[TooLong]]:
    """Tokenises pairs; one with a side over `max_tokens` (its mark included) is left out and listed."""
    sides: tuple[list[Array], list[Array]] = ([], [])
    left_out: list[TooLong] = []
    stream = enumerate(pairs)
    while chunk := list(islice(stream, CHUNK)):
        sources = tokenizer.encode_batch([tokenizer.readable(pair.source) for _, pair in chunk])
        targets = tokenizer.encode_batch([pair.target for _, pair in chunk])
        for (index, pair), source, target in zip(chunk, sources, targets, strict=True):
            longest = max(len(source), len(target)) + 1
            if longest > max_tokens:
                left_out.append(TooLong(index, pair.file, pair.line, longest))
                continue
            sides[0].append(np.array(source, np.int32))
            sides[1].append(np.array(target, np.int32))
    tokens = tuple(np.concatenate([np.zeros(0, np.int32), *side]) for side in sides)
    offsets = tuple(np.cumsum([0, *map(len, side)], dtype=np.int64) for side in sides)
    return Encoded((tokens[0], tokens[1]), (offsets[0], offsets[1])), left_out


def save_encoded(path: Path, encoded: Encoded) -> None:
    """Writes the arrays, whole or not at all."""
    arrays = {f"tokens{side}": encoded.tokens[side] for side in (0, 1)}
    save_arrays(path, arrays | {f"offsets{side}": encoded.offsets[side] for side in (0, 1)})


def load_encoded(path: Path) -> Encoded | None:
    """Reads the arrays back, or None where there are none or they are damaged."""
    arrays = load_arrays(path, ("tokens0", "tokens1", "offsets0", "offsets1"))
    if arrays is None:
        return None
    return Encoded((arrays["tokens0"], arrays["tokens1"]), (arrays["offsets0"], arrays["offsets1"]))


def texts(pairs: Iterable[Pair]) -> Iterator[str]:
    """Both sides of every pair, for the subword model."""
    for pair in pairs:
        yield pair.source
        yield pair.target
