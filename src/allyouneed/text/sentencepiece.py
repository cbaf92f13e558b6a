"""SentencePiece models (Kudo & Richardson 2018): their protobuf file is read here, and the same pipeline built of the
parts of the `tokenizers` library.

The fields are those of SentencePiece's public `sentencepiece_model.proto`.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from allyouneed.errors import InputError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # types of pieces
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
SPACE = "▁"  # stands for a space within pieces
NEVER = 1_000  # times the least score: a piece with this one is part of no best spelling


@dataclass
class SentencePiece:
    """What a model file says. The defaults are those of the format."""

    kind: str = "unigram"
    pieces: list[str] = field(default_factory=list[str])
    scores: list[float] = field(default_factory=list[float])
    types: list[int] = field(default_factory=list[int])
    unk: int = 0
    bos: int = 1
    eos: int = 2
    pad: int = -1
    byte_fallback: bool = False
    space_after_words: bool = False
    space_before_text: bool = True
    single_spaces: bool = True
    characters: bytes = b""  # compiled table of the characters' normal forms; empty: they stay as they are

    def of_type(self, *types: int) -> list[str]:
        """The pieces of these types."""
        return [piece for piece, kind in zip(self.pieces, self.types, strict=True) if kind in types]


def read_sentencepiece(path: Path) -> SentencePiece:
    """Reads a `.model` or `.spm` file. Raises InputError where it is missing, damaged or something else."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    model = SentencePiece()
    try:
        for number, value in fields(content):
            if number == 1:
                add_piece(model, as_bytes(value))
            elif number == 2:
                read_training(model, as_bytes(value))
            elif number == 3:
                read_normalizer(model, as_bytes(value))
    except (ValueError, IndexError, struct.error) as error:
        raise InputError(f"{path} is damaged or no SentencePiece model.") from error
    if not model.pieces:
        raise InputError(f"{path} is no SentencePiece model: it holds no pieces.")
    if model.kind not in ("unigram", "bpe") or model.space_after_words:
        what = "a space after each word" if model.space_after_words else f'the kind "{model.kind}"'
        raise InputError(f"{path} is a SentencePiece model with {what}; unigram and bpe, spaces before, can be read.")
    return model


def add_piece(model: SentencePiece, message: bytes) -> None:
    """Appends a piece with its score and type."""
    piece, score, kind = "", 0.0, NORMAL
    for number, value in fields(message):
        if number == 1:
            piece = as_bytes(value).decode("utf-8")
        elif number == 2:
            score = struct.unpack("<f", as_bytes(value))[0]
        elif number == 3:
            kind = as_number(value)
    model.pieces.append(piece)
    model.scores.append(score)
    model.types.append(kind)


def read_training(model: SentencePiece, message: bytes) -> None:
    """The settings of the training that matter afterwards."""
    for number, value in fields(message):
        if number == 3:
            model.kind = KINDS.get(as_number(value), str(value))
        elif number == 24:
            model.space_after_words = bool(value)
        elif number == 35:
            model.byte_fallback = bool(value)
        elif 40 <= number <= 43:
            setattr(model, ("unk", "bos", "eos", "pad")[number - 40], as_number(value))


def read_normalizer(model: SentencePiece, message: bytes) -> None:
    """What is done to a text before it is split."""
    for number, value in fields(message):
        if number == 2:
            model.characters = as_bytes(value)
        elif number == 3:
            model.space_before_text = bool(value)
        elif number == 4:
            model.single_spaces = bool(value)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: number, and a whole number or raw bytes. Raises ValueError where it is none."""
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number has more than 64 bits")

    while place < len(message):
        key = varint()
        number, wire = key >> 3, key & 7
        if wire == 0:
            yield number, varint()
            continue
        if wire not in (1, 2, 5):
            raise ValueError(f"there is no wire type {wire}")
        size = varint() if wire == 2 else 8 if wire == 1 else 4
        if place + size > len(message):
            raise ValueError("the message ends within a field")
        place += size
        yield number, message[place - size : place]


def as_bytes(value: int | bytes) -> bytes:
    """A field that must be bytes."""
    if isinstance(value, int):
        raise ValueError("a number stands where bytes belong")
    return value


def as_number(value: int | bytes) -> int:
    """A field that must be a whole number of 32 bits with a sign."""
    if isinstance(value, bytes):
        raise ValueError("bytes stand where a number belongs")
    return value - (1 << 64) if value >> 63 else value


def build_core(model: SentencePiece) -> tokenizers.Tokenizer:
    """The library's tokenizer that splits like the model."""
    symbols = model.of_type(USER_DEFINED)
    if model.kind == "unigram":
        usual = [score for score, kind in zip(model.scores, model.types, strict=True) if kind != UNUSED]
        never = NEVER * min(usual)
        scores = [never if kind == UNUSED else score for score, kind in zip(model.scores, model.types, strict=True)]
        weighted = list(zip(model.pieces, scores, strict=True))
        core = tokenizers.Tokenizer(models.Unigram(weighted, model.unk, model.byte_fallback))
    else:
        table = {piece: token for token, piece in enumerate(model.pieces)}
        bpe = models.BPE(
            table,
            merges(model),
            unk_token=model.pieces[model.unk],
            fuse_unk=True,
            byte_fallback=model.byte_fallback,
            ignore_merges=bool(symbols),  # they are pieces as they stand, and no pairs lead to them
        )
        core = tokenizers.Tokenizer(bpe)
    core.normalizer = normalizer(model)
    if symbols:
        longest_first = sorted(symbols, key=len, reverse=True)
        core.pre_tokenizer = pre_tokenizers.Split(Regex("|".join(map(re.escape, longest_first))), "isolated")
    core.decoder = decoder(model)
    special = model.of_type(UNKNOWN, CONTROL)
    core.add_special_tokens([AddedToken(piece, normalized=False, special=True) for piece in special])
    return core


def merges(model: SentencePiece) -> list[tuple[str, str]]:
    """The pairs that make each piece, best piece first: SentencePiece joins the neighbours that make the best piece."""
    normal = {
        piece: (-score, token)
        for token, (piece, score, kind) in enumerate(zip(model.pieces, model.scores, model.types, strict=True))
        if kind == NORMAL
    }
    found: list[tuple[float, int, int, str, str]] = []
    for piece, (cost, _) in normal.items():
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in normal and right in normal:
                found.append((cost, normal[left][1], normal[right][1], left, right))
    return [(left, right) for *_, left, right in sorted(found)]


def normalizer(model: SentencePiece) -> normalizers.Normalizer:
    """What is done to a text before it is split."""
    steps: list[normalizers.Normalizer] = []
    if model.characters:
        steps.append(normalizers.Precompiled(model.characters))
    if model.single_spaces:
        steps += [normalizers.Replace(Regex("^ +| +$"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if model.space_before_text:
        steps.append(normalizers.Prepend(SPACE))
    return normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])


def decoder(model: SentencePiece) -> decoders.Decoder:
    """What makes text of pieces."""
    steps: list[decoders.Decoder] = [decoders.Replace(SPACE, " ")]
    if model.byte_fallback:
        steps.append(decoders.ByteFallback())
    steps.append(decoders.Fuse())
    if model.space_before_text:
        steps.append(decoders.Strip(" ", 1, 0))
    return decoders.Sequence(steps)
