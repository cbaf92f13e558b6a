"""Sentences as the figures see them: tokens with names, and where a word stands among them."""

import torch
from torch import Tensor

from allyouneed.guide.widgets.base import FigureError
from allyouneed.text.vocabulary import Vocabulary


def named(tokenizer: Vocabulary, ids: list[int]) -> list[dict[str, str]]:
    """Each token's text and kind: "piece", or the mark that it is."""
    # One id may be several marks at once: the first name here counts.
    kinds = {tokenizer.bos: "bos", tokenizer.pad: "pad", tokenizer.unk: "unk", tokenizer.eos: "eos"}
    kinds |= {tokenizer.mask: "piece"}
    return [
        {"text": piece, "kind": kinds.get(token, "piece")}
        for token, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    ]


def words_of(tokenizer: Vocabulary, ids: list[int]) -> list[list[int]]:
    """The places of the tokens that spell each word, in order. A sign is a word of its own, and so is a mark."""
    marks = {*tokenizer.prefix, *tokenizer.suffix, *tokenizer.ends, tokenizer.bos, tokenizer.pad}
    words: list[list[int]] = []
    before = ""
    for place, token in enumerate(ids):
        text = tokenizer.decode(ids[: place + 1])
        added = text[len(before) :]
        letters = before[-1:].isalnum() and (added[:1].isalnum() or added.startswith("\ufffd"))
        unfinished = before.endswith(("\ufffd", " "))  # half a character so far, or a space that is a token
        if words and token not in marks and (letters or unfinished):
            words[-1].append(place)
        else:
            words.append([place])
        before = "" if token in marks else text
    return words


def encoded(tokenizer: Vocabulary, text: str, field: str, places: int, room: int | None = None) -> list[int]:
    """The tokens of one input, without marks. Raises FigureError where there are none, or more than the model has
    `places` for or the figure has `room` for.
    """
    ids = tokenizer.encode(text.strip())
    if not ids:
        raise FigureError("error.empty", field)
    if room is not None and len(ids) > room and room < places:
        raise FigureError("error.room", field, tokens=len(ids), longest=room)
    if len(ids) > places:
        raise FigureError("error.context", field, tokens=len(ids), longest=places)
    return ids


def readable(tokenizer: Vocabulary, ids: list[int]) -> str:
    """The text of `ids`; where bytes do not make letters, every token by its name instead."""
    text = tokenizer.decode(ids)
    return " ".join(tokenizer.pieces(ids)) if "\ufffd" in text else text


def covering(tokenizer: Vocabulary, ids: list[int], word: str) -> list[int]:
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
