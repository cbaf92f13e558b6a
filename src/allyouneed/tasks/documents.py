"""Documents as numbers, kept end to end in one array, and the pieces that they are cut into."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from allyouneed.errors import InputError
from allyouneed.tasks.sources import Documents, TextData
from allyouneed.tasks.stored import cache_of, load_arrays, save_arrays, subwords
from allyouneed.tasks.task import Report
from allyouneed.text.vocabulary import Line, Vocabulary

Array = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
CHUNK = 512  # documents tokenised at a time


@dataclass(frozen=True)
class Texts:
    """N documents, each with its begin and end mark: document i is `tokens[offsets[i] : offsets[i + 1]]`."""

    tokens: Array
    offsets: Indices
    bytes: int  # of all the text in UTF-8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Indices:
        """Tokens of each document, both marks included."""
        return np.diff(self.offsets)

    @property
    def inner_tokens(self) -> int:
        """Tokens of all documents, without marks."""
        return len(self.tokens) - 2 * len(self)


def encode_texts(texts: Iterable[str], tokenizer: Vocabulary) -> Texts:
    """Tokenises documents and puts a begin and an end mark around each."""
    begin, end = around(tokenizer)
    rows: list[Array] = []
    size = 0
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        size += sum(len(text.encode()) for text in chunk)
        rows += [np.array([begin, *tokens, end], np.int32) for tokens in tokenizer.encode_batch(chunk)]
    return Texts(np.concatenate(rows), np.cumsum([0, *map(len, rows)], dtype=np.int64), size)


def around(tokenizer: Vocabulary) -> tuple[int, int]:
    """The marks that begin and end a document. Where a vocabulary has one alone, it does both."""
    begin = tokenizer.prefix[-1] if tokenizer.prefix else tokenizer.bos
    end = tokenizer.suffix[0] if tokenizer.suffix else tokenizer.eos
    begin, end = (end if begin is None else begin), (begin if end is None else end)
    if begin is None or end is None:
        raise InputError("This tokenizer has no mark that begins or ends a text, so documents cannot be told apart.")
    return begin, end


@dataclass(frozen=True)
class Pieces:
    """Documents cut into pieces: piece i is `size[i]` tokens of the text's array from `start[i]` on."""

    texts: Texts
    start: Indices
    size: Indices

    def __len__(self) -> int:
        return len(self.start)

    def tokens(self, piece: int, more: int = 0) -> Array:
        """The tokens of a piece, and as many after it as `more` says."""
        start = self.start[piece]
        return self.texts.tokens[start : start + self.size[piece] + more]


def cut(texts: Texts, longest: int, *, marks: bool) -> Pieces:
    """Every document in pieces of at most `longest` tokens, of which all but its last have just as many.

    With `marks` they hold a document's begin mark and all its text; without, its text alone. The end mark is in none.
    """
    first = texts.offsets[:-1] if marks else texts.offsets[:-1] + 1
    whole = texts.lengths - 1 if marks else texts.lengths - 2
    parts = -(-whole // longest)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)  # of a piece in its document
    begin = number * longest
    size = np.minimum(np.repeat(whole, parts) - begin, longest)
    return Pieces(texts, np.repeat(first, parts) + begin, size)


def prepare_texts(
    data: TextData, *, vocab_size: int, seed: int, line: Line, folder: Path, report: Report, sentinels: int = 0
) -> tuple[Vocabulary, Texts, Texts]:
    """The tokenizer, and the training and validation documents, made or taken up from `folder`."""
    sources = [Documents(tables, Path(data.root), seed) for tables in (data.train, data.dev)]
    tokenizer = subwords(
        folder, lambda: sources[0], vocab_size=vocab_size, line=line, report=report, sentinels=sentinels
    )
    path = cache_of(folder, sources[0].facts())
    train = load_texts(path)
    if train is None:
        report("tokenising the text")
        train = encode_texts(sources[0], tokenizer)
        save_arrays(
            path, {"tokens": train.tokens, "offsets": train.offsets, "bytes": np.array([train.bytes], np.int64)}
        )
    return tokenizer, train, encode_texts(sources[1], tokenizer)


def load_texts(path: Path) -> Texts | None:
    """Reads encoded documents back, or None where there are none or they are damaged."""
    arrays = load_arrays(path, ("tokens", "offsets", "bytes"))
    return None if arrays is None else Texts(arrays["tokens"], arrays["offsets"], int(arrays["bytes"][0]))
