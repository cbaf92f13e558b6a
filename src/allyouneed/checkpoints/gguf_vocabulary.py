"""The tokenizer within a GGUF file: byte-level pairs with a named way of splitting text, or SentencePiece's scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from allyouneed.checkpoints.gguf_file import Gguf
from allyouneed.errors import InputError, nearest
from allyouneed.text.foreign import ForeignTokenizer, surround
from allyouneed.text.sentencepiece import BYTE, CONTROL, UNKNOWN, USER_DEFINED, SentencePiece, build_core
from allyouneed.text.vocabulary import Marks


@dataclass(frozen=True)
class Splitting:
    """How a byte-level vocabulary splits text before pairs are joined. Without a pattern it is GPT-2's."""

    pattern: str | None = None
    single_digits: bool = False
    composed: bool = False  # characters are brought to the normal form NFC
    whole_pieces: bool = False  # a word that is a piece stays whole, whatever its pairs
    begins: bool = False  # a begin stands before a text where the file does not say


def words(digits: str) -> str:
    """Contractions, words, digits, signs and white space, as Llama 3 and Qwen 2 tell them apart."""
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


GPT2, DIGITS = Splitting(), Splitting(single_digits=True)
LLAMA3 = Splitting(words(r"\p{N}{1,3}"), whole_pieces=True, begins=True)
QWEN2 = Splitting(words(r"\p{N}"), composed=True)
SPLITTINGS = {
    **dict.fromkeys(("gpt-2", "gpt2"), GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), DIGITS),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3"), LLAMA3),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), QWEN2),
}


def read_vocabulary(file: Gguf) -> ForeignTokenizer:
    """The tokenizer of a file, with its marks. Raises InputError where it is of a kind that is not known here."""
    ask = Entries(file.path, file.metadata)
    kind = ask.get("model", "")
    if kind == "llama":
        core, begins = pieces_with_scores(ask), True
    elif kind == "gpt2":
        splitting = named_splitting(ask)
        core, begins = byte_pairs(ask, splitting), splitting.begins
    else:
        raise InputError(f'{file.path}: tokenizer.ggml.model is "{kind}", and "gpt2" and "llama" can be read.')
    return ForeignTokenizer(core, read_marks(ask, core, begins))


@dataclass(frozen=True)
class Entries:
    """The part of the metadata that is about the tokenizer."""

    path: Path
    metadata: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """One entry, or the default where it is missing."""
        return self.metadata.get(f"tokenizer.ggml.{name}", default)

    def table(self, name: str) -> list[Any]:
        """A list that must be there."""
        value = self.get(name)
        if not isinstance(value, list):
            raise InputError(f"{self.path} has no list tokenizer.ggml.{name}, so its tokenizer cannot be read.")
        return value

    @property
    def pieces(self) -> list[str]:
        """The pieces in the order of their ids."""
        return self.table("tokens")

    @property
    def types(self) -> list[int]:
        """What each piece is; they all are ordinary where the file does not say."""
        return self.get("token_type") or [1] * len(self.pieces)


def named_splitting(ask: Entries) -> Splitting:
    """The way of splitting that the file names."""
    name = ask.get("pre", "default")
    if name not in SPLITTINGS:
        raise InputError(
            f'{ask.path}: tokenizer.ggml.pre is "{name}", which says how text is split, and known are '
            f"{', '.join(SPLITTINGS)}.{nearest(str(name), SPLITTINGS)}"
        )
    return SPLITTINGS[name]


def byte_pairs(ask: Entries, splitting: Splitting) -> tokenizers.Tokenizer:
    """A byte-level vocabulary."""
    table = {piece: token for token, piece in enumerate(ask.pieces)}
    merges = [(left, right) for left, _, right in (pair.partition(" ") for pair in ask.table("merges"))]
    try:
        model = models.BPE(table, merges, ignore_merges=splitting.whole_pieces)
    except Exception as error:  # the library raises nothing narrower
        raise InputError(f"{ask.path} is damaged: its tokenizer's tables do not fit together: {error}.") from error
    core = tokenizers.Tokenizer(model)
    if splitting.composed:
        core.normalizer = normalizers.NFC()
    steps: list[pre_tokenizers.PreTokenizer] = []
    if splitting.single_digits:
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    if splitting.pattern is not None:
        steps.append(pre_tokenizers.Split(Regex(splitting.pattern), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splitting.pattern is None))
    core.pre_tokenizer = pre_tokenizers.Sequence(steps)
    core.decoder = decoders.ByteLevel()
    typed = list(zip(ask.pieces, ask.types, strict=True))
    marks = [piece for piece, kind in typed if kind in (UNKNOWN, CONTROL)]
    core.add_special_tokens([AddedToken(piece, normalized=False, special=True) for piece in marks])
    core.add_tokens([AddedToken(piece, normalized=False) for piece, kind in typed if kind == USER_DEFINED])
    return core


def pieces_with_scores(ask: Entries) -> tokenizers.Tokenizer:
    """A SentencePiece vocabulary of Llama's kind: pairs are joined in the order of their scores."""
    return build_core(
        SentencePiece(
            kind="bpe",
            pieces=ask.pieces,
            scores=ask.table("scores"),
            types=ask.types,
            unk=ask.get("unknown_token_id", 0),
            byte_fallback=BYTE in ask.types,
            space_before_text=ask.get("add_space_prefix", True),
            single_spaces=ask.get("remove_extra_whitespaces", False),
        )
    )


def read_marks(ask: Entries, core: tokenizers.Tokenizer, begins: bool) -> Marks:
    """The marks, which the core learns to put around a text too."""
    bos, eos = ask.get("bos_token_id"), ask.get("eos_token_id")
    prefix = (bos,) if bos is not None and ask.get("add_bos_token", begins) else ()
    suffix = (eos,) if eos is not None and ask.get("add_eos_token", False) else ()
    surround(core, prefix, suffix)
    pad = ask.get("padding_token_id")
    ends = (ask.get(f"{name}_token_id") for name in ("eos", "eot", "eom"))
    return Marks(
        pad=next((token for token in (pad, eos) if token is not None), 0),
        bos=bos,
        eos=eos,
        unk=ask.get("unknown_token_id"),
        mask=ask.get("mask_token_id"),
        ends=tuple(dict.fromkeys(token for token in ends if token is not None)),
        prefix=prefix,
        suffix=suffix,
    )
