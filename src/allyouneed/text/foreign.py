"""Tokenizers of other models: any tokenizer.json, SentencePiece models, and what a checkpoint's own tables make."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import tokenizers
from tokenizers import AddedToken, Regex, pre_tokenizers, processors

from allyouneed.errors import InputError
from allyouneed.text.sentencepiece import SPACE, UNUSED, SentencePiece, build_core, read_sentencepiece
from allyouneed.text.tokenizer import Tokenizer, encode_all, is_native, read_core
from allyouneed.text.vocabulary import Line, Marks, Vocabulary

TABLES, MARKS = "tokenizer.json", "marks.json"
SENTENCEPIECE = ("spiece.model", "tokenizer.model")
TWO_SIDED = ("source.spm", "target.spm", "vocab.json")

# How marks are spelt where no setting names them.
SPELLINGS = {
    "pad": ("[PAD]", "<pad>"),
    "bos": ("[CLS]", "<s>"),
    "eos": ("[SEP]", "</s>"),
    "unk": ("[UNK]", "<unk>"),
    "mask": ("[MASK]", "<mask>"),
}


class ForeignTokenizer(Vocabulary):
    """A pipeline of the `tokenizers` library with the marks of its model.

    Text that spells a mark stays text. Pieces that the model's makers wanted to be matched in text, but which are no
    marks, are matched.
    """

    def __init__(self, core: tokenizers.Tokenizer, marks: Marks) -> None:
        core.no_padding()
        core.no_truncation()
        core.encode_special_tokens = True
        guard(core)
        self.marks = marks
        self._core = core
        self._silent = {token for token, added in core.get_added_tokens_decoder().items() if added.special}
        self._vocab_size = 1 + max(core.get_vocab(with_added_tokens=True).values(), default=-1)
        self._shown = shown_by(core)

    def save(self, path: str | Path) -> None:
        """Writes tokenizer.json, which the `tokenizers` library reads too, and marks.json beside it."""
        path = Path(path)
        path.write_text(self._core.to_str(pretty=True), encoding="utf-8")
        path.with_name(MARKS).write_text(json.dumps(asdict(self.marks), indent=2) + "\n", encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        """One more than the largest id. A model may have more rows than that, never fewer."""
        return self._vocab_size

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of many texts, on all cores, without marks. Raises InputError for a lone surrogate."""
        return encode_all(self._core, texts)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; marks and ids beyond the vocabulary say nothing, broken bytes become U+FFFD."""
        return self._core.decode([token for token in ids if token not in self._silent], skip_special_tokens=False)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as shown to a reader: without the space before it, a lone space as ␣, a broken byte as ⟨EC⟩."""
        return [self._piece(token) for token in ids]

    def _piece(self, token: int) -> str:
        piece = self._core.id_to_token(token)
        if piece is None:
            return f"⟨{token}⟩"
        return piece if token in self._silent else self._shown(piece)


def load_vocabulary(folder: str | Path, line: Line = "both") -> Vocabulary:
    """The tokenizer of a model folder, native or foreign. `line`: which stacks the model has, for the marks of a native
    one.

    Looks for tokenizer.json, then for a SentencePiece model (spiece.model, tokenizer.model, or Marian's source.spm,
    target.spm and vocab.json). Marks come from marks.json, or from the settings that lie beside.

    Raises InputError where there is none of them, or a file is damaged.
    """
    folder = Path(folder)
    if (folder / TABLES).is_file():
        core = read_core(folder / TABLES)
        if is_native(core):
            return Tokenizer(core, line)
        if (folder / MARKS).is_file():
            return ForeignTokenizer(core, read_marks(folder / MARKS))
        return ForeignTokenizer(core, Settings(folder).marks(core))
    settings = Settings(folder)
    for name in SENTENCEPIECE:
        if (folder / name).is_file():
            core = sentencepiece_core(read_sentencepiece(folder / name), settings)
            return ForeignTokenizer(core, settings.marks(core))
    if all((folder / name).is_file() for name in TWO_SIDED):
        core = two_sided_core(folder, settings)
        return ForeignTokenizer(core, settings.marks(core))
    raise InputError(
        f"{folder} holds no tokenizer: {TABLES}, {' or '.join(SENTENCEPIECE)}, or {', '.join(TWO_SIDED)} together are"
        " needed."
    )


def read_marks(path: Path) -> Marks:
    """What `save` wrote."""
    values = read_json(path)
    values |= {name: tuple(cast(list[int], value)) for name, value in values.items() if isinstance(value, list)}
    try:
        return Marks(**values)
    except TypeError as error:
        raise InputError(f"{path} is damaged: {error}.") from error


def read_json(path: Path) -> dict[str, Any]:
    """An object of a file; empty where there is no file."""
    try:
        value: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object.")
    return cast(dict[str, Any], value)


class Settings:
    """What the files of a Hugging Face folder say about its marks: the tokenizer's by spelling, the model's by id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spelt = read_json(folder / "special_tokens_map.json") | read_json(folder / "tokenizer_config.json")
        model, generation = read_json(folder / "config.json"), read_json(folder / "generation_config.json")
        self.model = model | {name: value for name, value in generation.items() if value is not None}

    def spelling(self, name: str) -> str | None:
        """How a mark such as "bos_token" is spelt."""
        value: Any = self.spelt.get(name)
        value = value.get("content") if isinstance(value, dict) else value
        return value if isinstance(value, str) else None

    def mark(self, core: tokenizers.Tokenizer, name: str, *others: str) -> int | None:
        """The id of a mark: by its spelling, by the model's config, or by a spelling that is usual."""
        for spelling in (self.spelling(f"{one}_token") for one in (name, *others)):
            token = None if spelling is None else core.token_to_id(spelling)
            if token is not None:
                return token
        given = self.ids(f"{name}_token_id")
        if given:
            return given[0]
        usual = (core.token_to_id(spelling) for spelling in SPELLINGS[name])
        return next((token for token in usual if token is not None), None)

    def ids(self, name: str) -> tuple[int, ...]:
        """Ids from the model's config, of which there may be several."""
        value: Any = self.model.get(name)
        values: list[Any] = cast(list[Any], value) if isinstance(value, list) else [value]
        return tuple(one for one in values if type(one) is int)

    def marks(self, core: tokenizers.Tokenizer) -> Marks:
        """All marks; those around a text as the tokenizer itself puts them."""
        bos, eos = self.mark(core, "bos", "cls"), self.mark(core, "eos", "sep")
        pad = self.mark(core, "pad")
        if pad is None:
            pad = eos if eos is not None else 0
        prefix, suffix = around(core)
        if bos is not None and not prefix and self.spelt.get("add_bos_token") is True:
            prefix = (bos,)
        if eos is not None and not suffix and self.spelt.get("add_eos_token") is True:
            suffix = (eos,)
        start = (*self.ids("decoder_start_token_id"), None)[0]
        ends = self.ids("eos_token_id") or (() if eos is None else (eos,))
        unk, mask = self.mark(core, "unk"), self.mark(core, "mask")
        return Marks(pad, bos, eos, unk, mask=mask, start=start, ends=ends, prefix=prefix, suffix=suffix)


def around(core: tokenizers.Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The marks that the tokenizer puts before and after a text."""
    encoding = core.encode("a")
    real = [token for token, keep in zip(encoding.ids, encoding.attention_mask, strict=True) if keep]
    added = [mark for mark, keep in zip(encoding.special_tokens_mask, encoding.attention_mask, strict=True) if keep]
    first = added.index(0) if 0 in added else len(added)
    last = len(added) - added[::-1].index(0) if 0 in added else len(added)
    return tuple(real[:first]), tuple(real[last:])


def surround(core: tokenizers.Tokenizer, prefix: Sequence[int], suffix: Sequence[int]) -> None:
    """Lets the tokenizer put marks around a text, for those who read its file elsewhere."""
    named = {token: core.id_to_token(token) or "" for token in (*prefix, *suffix)}
    before, after = ([named[token] for token in side] for side in (prefix, suffix))
    pairs = [(spelling, token) for token, spelling in named.items()]
    if pairs:
        core.post_processor = processors.TemplateProcessing(
            single=[*before, "$A", *after],
            pair=[*before, "$A", *after, *before, "$B:1", *after],
            special_tokens=pairs,
        )


def guard(core: tokenizers.Tokenizer) -> None:
    """Keeps text that spells a mark, or a byte as <0x41>, from being read as one: in some models they are pieces like
    any others. Such text is split after its first character.
    """
    marks = {token: added.content for token, added in core.get_added_tokens_decoder().items() if added.special}
    spelt = {core.token_to_id(f"<0x{byte:02X}>"): f"<0x{byte:02X}>" for byte in range(256)}
    marks |= {token: spelling for token, spelling in spelt.items() if token is not None}
    read = encode_all(core, list(marks.values()))
    if any(token in ids for token, ids in zip(marks, read, strict=True)):
        tails: dict[str, list[str]] = {}
        for spelling in marks.values():
            tails.setdefault(re.escape(spelling[0]), []).append(re.escape(spelling[1:]))
        pattern = "|".join(f"{first}(?={'|'.join(rest)})" for first, rest in tails.items())
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        before = core.pre_tokenizer
        core.pre_tokenizer = split if before is None else pre_tokenizers.Sequence([before, split])


def sentencepiece_core(model: SentencePiece, settings: Settings) -> tokenizers.Tokenizer:
    """A SentencePiece model with the marks that its settings add. A decoder reads a begin before a text, an encoder an
    end after it, unless the settings say otherwise.
    """
    core = build_core(model)
    for spelling, special in added_tokens(settings, core.get_vocab_size()):
        add = core.add_special_tokens if special else core.add_tokens
        add([AddedToken(spelling, normalized=False, special=special)])
    two_stacks = settings.model.get("is_encoder_decoder") is True or model.bos < 0
    prefix = [model.bos] if settings.spelt.get("add_bos_token", not two_stacks) and model.bos >= 0 else []
    suffix = [model.eos] if settings.spelt.get("add_eos_token", two_stacks) and model.eos >= 0 else []
    surround(core, prefix, suffix)
    return core


def added_tokens(settings: Settings, size: int) -> list[tuple[str, bool]]:
    """Tokens beyond the model's own pieces, in the order of their ids: spelling, and whether it is a mark."""
    tokens: dict[int, tuple[str, bool]] = {}
    for spelling, token in read_json(settings.folder / "added_tokens.json").items():
        tokens[int(token)] = (spelling, False)
    listed: dict[str, Any] = settings.spelt.get("added_tokens_decoder") or {}
    for token, value in listed.items():
        tokens[int(token)] = (value["content"], bool(value.get("special")))
    extra = int(settings.spelt.get("extra_ids") or 0)
    for number in range(extra):  # T5 counts its sentinels down from the last id
        tokens.setdefault(size + extra - 1 - number, (f"<extra_id_{number}>", True))
    beyond = sorted(token for token in tokens if token >= size)
    if beyond != list(range(size, size + len(beyond))):
        raise InputError(f"{settings.folder}: the added tokens {beyond} do not follow the {size} pieces without a gap.")
    return [tokens[token] for token in beyond]


def two_sided_core(folder: Path, settings: Settings) -> tokenizers.Tokenizer:
    """Marian's tokenizer: one model splits the source, another the target, and a table gives the ids of both."""
    source, target, table = (folder / name for name in TWO_SIDED)
    ids = read_json(table)
    if sorted(ids.values()) != list(range(len(ids))):
        raise InputError(f"{table} does not number its {len(ids):,} pieces from 0 without a gap.")
    reads, writes = read_sentencepiece(source), read_sentencepiece(target)
    if reads.kind != "unigram" or writes.kind != "unigram":
        raise InputError(f"{folder}: {source.name} and {target.name} must be unigram models.")
    known = {piece: (score, kind) for piece, score, kind in zip(reads.pieces, reads.scores, reads.types, strict=True)}
    unknown, hidden = reads.pieces[reads.unk], (0.0, UNUSED)  # what the source never uses is there, but unused
    pieces = sorted(ids, key=ids.__getitem__)
    scores, types = zip(*(known.get(piece, hidden) for piece in pieces), strict=True)
    if unknown not in ids:
        raise InputError(f"{table} has no piece {unknown}, which stands for unknown characters.")
    reads.pieces, reads.scores, reads.types = pieces, list(scores), list(types)
    reads.unk = ids[unknown]
    core = build_core(reads)
    marks = [settings.spelling("pad_token") or "<pad>", settings.spelling("eos_token") or "</s>"]
    core.add_special_tokens([AddedToken(mark, normalized=False, special=True) for mark in marks if mark in ids])
    languages = [piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<")]
    core.add_tokens([AddedToken(piece, normalized=False) for piece in languages])
    surround(core, (), [ids[marks[1]]] if marks[1] in ids else [])
    return core


def byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte in byte-level vocabularies: printable ones for themselves, the others
    from U+0100 on (GPT-2).
    """
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}


def readable(raw: bytes) -> str:
    """Text of bytes; those that are no UTF-8 as ⟨EC⟩."""
    text = raw.decode("utf-8", errors="surrogateescape")
    return "".join(f"⟨{ord(one) - 0xDC00:02X}⟩" if "\udc80" <= one <= "\udcff" else one for one in text)


def shown_by(core: tokenizers.Tokenizer) -> Callable[[str], str]:
    """How pieces are shown: the decoder tells how spaces and bytes are spelt in them."""
    decoder: Any = core.decoder
    state: dict[str, Any] = {} if decoder is None else json.loads(decoder.__getstate__())
    kinds = {part.get("type") for part in (state, *state.get("decoders", ()))}
    alphabet = byte_alphabet()
    single = {f"<0x{byte:02X}>": f"⟨{byte:02X}⟩" for byte in range(256)} if "ByteFallback" in kinds else {}

    def shown(piece: str) -> str:
        if piece in single:
            return single[piece]
        if "ByteLevel" in kinds and all(one in alphabet for one in piece):
            piece = readable(bytes(alphabet[one] for one in piece))
        elif "WordPiece" in kinds:
            piece = piece.removeprefix("##")
        else:
            piece = piece.replace(SPACE, " ")
        return "␣" if piece == " " else piece.removeprefix(" ")

    return shown
