"""Subword tokenizer: byte-pair encoding that can spell any text (Sennrich, Haddow & Birch 2016, section 3.2)."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from allyouneed.errors import InputError, UsageError
from allyouneed.text.vocabulary import Line, Marks, Vocabulary

PAD, BOS, EOS, UNK = 0, 1, 2, 3

_SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
_SHOWN_MASK = "<mask>"  # text never needs <unk>, so a model of masked words has its mask there
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_RESERVED = [*_SPECIALS, *_BYTES]
_SENTINEL = re.compile(r"<gap \d+>")  # no text makes such a piece: each of its signs is a unit of its own
_MARKS: dict[Line, Marks] = {
    "both": Marks(PAD, BOS, EOS, UNK, mask=UNK, start=BOS, ends=(EOS,), suffix=(EOS,)),
    "decoder": Marks(PAD, BOS, EOS, UNK, mask=UNK, ends=(EOS,), prefix=(BOS,)),
    "encoder": Marks(PAD, BOS, EOS, UNK, mask=UNK, ends=(EOS,), prefix=(BOS,), suffix=(EOS,)),
}
_MAX_CHARACTERS = 1_000
_COVERAGE = 0.9999  # share of all characters in a text that are pieces; the rarest ones are spelt in bytes
_CHUNK = 4_096  # texts handed to the library at a time; it keeps much more than the ids of each

# Spaces of every width, and signs that no one sees: a source is read without those that are no pieces.
_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]
_UNSEEN = ["\u00ad", "\u200b", "\u2060", "\ufeff"]

# Words, digits and signs, each with the space before it. A digit or sign stands alone: no piece spells "<s>" or "12".
_UNITS = r" ?[^\s\p{N}\p{P}\p{S}]+| ?[\p{N}\p{P}\p{S}]|\s"


class Tokenizer(Vocabulary):
    """Turns text into ids and back, exactly: `decode(encode(text))` is the text in Unicode normal form NFC.

    Ids 0 to 3 are padding, begin, end and unknown, 4 to 259 the 256 bytes, then come characters and learnt pieces. The
    first four never come out of text: text that spells "</s>" stays text, and a character outside the vocabulary is
    spelt in its UTF-8 bytes.

    The last ids may be sentinels, which mark gaps in a text that a model is to fill; like the marks, they say nothing.

    `line`: which stacks the model has. A translator reads a text and its end; a language model reads a begin and a
    text; an encoder reads both, and its mask is the fourth id.
    """

    def __init__(self, core: tokenizers.Tokenizer, line: Line = "both") -> None:
        self.marks = _MARKS[line]
        self._core = core
        learnt = [core.id_to_token(token) or "" for token in range(len(_RESERVED), core.get_vocab_size())]
        spelt = [bytes([byte]) for byte in range(256)]
        gaps = [bool(_SENTINEL.fullmatch(piece)) for piece in learnt]
        self.sentinels = tuple(token for token, gap in enumerate(gaps, len(_RESERVED)) if gap)
        said = [b"" if gap else piece.encode() for gap, piece in zip(gaps, learnt, strict=True)]
        self._bytes = [b""] * len(_SPECIALS) + spelt + said
        shown = [f"⟨{byte:02X}⟩" for byte in range(256)]
        marks = [*_SPECIALS[:UNK], _SHOWN_MASK if line == "encoder" else _SPECIALS[UNK]]
        spaces, unseen = ([sign for sign in signs if core.token_to_id(sign) is None] for signs in (_SPACES, _UNSEEN))
        self._spaces = re.compile(f"[ {''.join(spaces)}]+")
        self._unseen = dict.fromkeys(map(ord, unseen))
        self._pieces = marks + shown + ["␣" if piece == " " else piece.removeprefix(" ") for piece in learnt]

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        vocab_size: int,
        sentinels: int = 0,
        on_progress: Callable[[int], None] | None = None,
    ) -> "Tokenizer":
        """Learns a vocabulary of exactly `vocab_size` pieces, of which the last `sentinels` mark gaps; the same texts
        give the same vocabulary.

        The texts are held in memory: of a corpus beyond a few million lines give a sample. While the texts are counted,
        `on_progress` is told how many have been; learning the pieces from the counts takes a few seconds more.

        Raises InputError when the texts are too small for the vocabulary or the vocabulary is too small for any piece.
        """
        learnable = vocab_size - sentinels
        room = learnable - len(_RESERVED)
        if room < 1:
            taken = len(_RESERVED) + sentinels
            raise InputError(
                f"vocab_size = {vocab_size} is too small: {taken} ids are special tokens and bytes,"
                f" so the least is {taken + 1}."
            )
        held = list(texts)
        alphabet = _alphabet(held, min(_MAX_CHARACTERS, room))
        core = _pipeline(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=learnable,
            special_tokens=_RESERVED,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        core.train_from_iterator(_chunks(held, on_progress), trainer)
        if core.get_vocab_size() < learnable:
            largest = core.get_vocab_size() + sentinels
            raise InputError(f"the text is too small for vocab_size = {vocab_size}: the largest possible is {largest}.")
        # The trainer leaves the reserved pieces as matchers over the text. A model of the bare tables has none.
        learnt: dict[str, Any] = json.loads(core.to_str())["model"]
        gaps = {f"<gap {number}>": learnable + number for number in range(sentinels)}
        merges = [(left, right) for left, right in learnt["merges"]]
        return cls(
            _pipeline(models.BPE({**learnt["vocab"], **gaps}, merges, unk_token=_SPECIALS[UNK], byte_fallback=True))
        )

    @classmethod
    def load(cls, path: str | Path, line: Line = "both") -> "Tokenizer":
        """Reads what `save` wrote, for a model of that line.

        Raises InputError when the file is missing, damaged or of another kind.
        """
        core = read_core(Path(path))
        if not is_native(core):
            raise InputError(
                f'"{path}" is a tokenizer of another kind: it must begin with {", ".join(_SPECIALS)} and the 256 bytes.'
            )
        return cls(core, line)

    def for_line(self, line: Line) -> "Tokenizer":
        """The same vocabulary with the marks of another line."""
        return Tokenizer(self._core, line)

    def save(self, path: str | Path) -> None:
        """Writes tokenizer.json, which the `tokenizers` library reads too."""
        Path(path).write_text(self._core.to_str(pretty=True), encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        """How many ids there are, special tokens and bytes included."""
        return len(self._pieces)

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of many texts, on all cores. Raises InputError for a lone surrogate, which is no character."""
        return encode_all(self._core, texts)

    def readable(self, text: str) -> str:
        """A source as a model is to read it that writes another text. Its words have one space between them: a tab or a
        no-break space counts as one, and a soft hyphen as nothing, unless it is a piece of its own.
        """
        _refuse_other_than_text([text])
        return self._spaces.sub(" ", text.translate(self._unseen)).strip(" ")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; special tokens say nothing, and bytes that are no UTF-8 become U+FFFD."""
        text = b"".join(self._bytes[token] for token in ids).decode("utf-8", errors="replace")
        return text.removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as shown to a reader: without the space before it, a lone space as ␣, a byte as ⟨EC⟩."""
        return [self._pieces[token] for token in ids]


def read_core(path: Path) -> tokenizers.Tokenizer:
    """The library's tokenizer of a file. Raises InputError when the file is missing or damaged."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f'there is no tokenizer "{path}".') from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'cannot read the tokenizer "{path}": {error}.') from error
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise InputError(f'"{path}" is damaged or no tokenizer: {error}.') from error


def is_native(core: tokenizers.Tokenizer) -> bool:
    """Is it one that `Tokenizer` made?"""
    return [core.id_to_token(token) for token in range(len(_RESERVED))] == _RESERVED


def encode_all(core: tokenizers.Tokenizer, texts: list[str]) -> list[list[int]]:
    """The ids of many texts without marks, on all cores.

    Raises InputError for a lone surrogate, and UsageError for what is no text.
    """
    ids: list[list[int]] = []
    for chunk in _chunks(texts):
        try:
            encodings = core.encode_batch_fast(chunk, add_special_tokens=False)
        except TypeError:
            _refuse_other_than_text(chunk)
            raise
        ids += [encoding.ids for encoding in encodings]
    return ids


def _pipeline(model: models.BPE) -> tokenizers.Tokenizer:
    """Everything around the tables. Real spaces stay in the pieces, so no marker can be mistaken for text."""
    core = tokenizers.Tokenizer(model)
    # The space put before the text gives a word one spelling wherever it stands; decoding takes it off again.
    core.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    core.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(_UNITS), "isolated")
    core.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return core


def _alphabet(texts: Iterable[str], limit: int) -> list[str]:
    """The most frequent characters, until they cover the text or are `limit`.

    Ties go by code point; the trainer's own choice among equally rare characters differs from run to run.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(" " + unicodedata.normalize("NFC", text))
    alphabet: list[str] = []
    uncovered = counts.total() * (1 - _COVERAGE)
    left = counts.total()
    for character in sorted(counts, key=lambda character: (-counts[character], character))[:limit]:
        if left <= uncovered:
            break
        alphabet.append(character)
        left -= counts[character]
    return alphabet


def _chunks(texts: list[str], on_progress: Callable[[int], None] | None = None) -> Iterator[list[str]]:
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        yield chunk
        if on_progress:
            on_progress(start + len(chunk))


def _refuse_other_than_text(texts: list[str]) -> None:
    for text in texts:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a table's gaps are None or NaN
            raise UsageError(f"{text!r} is no text.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"character {error.start + 1} of the text {text!a} is a lone surrogate: that is no character."
            ) from error
