"""Sentences as the figures see them: tokens with names, and where a word stands among them."""

import torch
from torch import Tensor

from allyouneed.guide.widgets.base import FigureError
from allyouneed.text.tokenizer import BOS, EOS, PAD, Tokenizer

MARKS = {BOS: "bos", EOS: "eos", PAD: "pad"}


def named(tokenizer: Tokenizer, ids: list[int]) -> list[dict[str, str]]:
    """Each token's text and kind: "piece", or the mark that it is."""
    return [
        {"text": piece, "kind": MARKS.get(token, "piece")}
        for token, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    ]


def encoded(tokenizer: Tokenizer, text: str, field: str, longest: int) -> list[int]:
    """The tokens of one input, without marks. Raises FigureError where there are none or too many for the model."""
    ids = tokenizer.encode(text.strip())
    if not ids:
        raise FigureError("error.empty", field)
    if len(ids) > longest:
        raise FigureError("error.context", field, tokens=len(ids), longest=longest)
    return ids


def readable(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The text of `ids`; where bytes do not make letters, every token by its name instead."""
    text = tokenizer.decode(ids)
    return " ".join(tokenizer.pieces(ids)) if "\ufffd" in text else text


def covering(tokenizer: Tokenizer, ids: list[int], word: str) -> list[int]:
    """The places of the tokens that spell the first whole `word` of the text, or none. A word may take several."""
    text = f" {tokenizer.decode(ids)} "
    starts = [at for at in range(len(text)) if text.startswith(word, at)]
    whole = [at for at in starts if not text[at - 1].isalnum() and not text[at + len(word)].isalnum()]
    if not whole:
        return []
    first, last = whole[0] - 1, whole[0] - 1 + len(word)
    ends = [len(tokenizer.decode(ids[: count + 1])) for count in range(len(ids))]
    return [
        place for place, (start, end) in enumerate(zip([0, *ends], ends, strict=False)) if start < last and first < end
    ]


def row(ids: list[int]) -> Tensor:
    """A batch of one sentence, [1, T]."""
    return torch.tensor([ids])
