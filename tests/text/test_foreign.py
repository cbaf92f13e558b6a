import io
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from allyouneed.errors import InputError
from allyouneed.text.foreign import ForeignTokenizer, load_vocabulary
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Marks

TEXTS = [
    "The cat sat on the mat because the mat was warm, and the mouse ate the cheese in 1987.",
    "Le chat s'assit sur le tapis : il était chaud.",
    "Die Mäuse fraßen den Käse; 12 cats sat on 34 mats.",
    "A quick brown fox jumps over the lazy dog, then naps.",
] * 10
READ = ["The cat sat on the mat.", "été, Käse; 12 mats", " two  spaces ", "a", "漢 👍 unseen", "The  cat\n\nsat\ton"]


def byte_level() -> tokenizers.Tokenizer:
    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(TEXTS, trainer)
    return core


def word_pieces() -> tokenizers.Tokenizer:
    core = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    core.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    )
    core.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    core.enable_truncation(8)
    core.enable_padding(length=8)
    return core


def unigram() -> tokenizers.Tokenizer:
    core = tokenizers.Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    core.train_from_iterator(TEXTS, trainer)
    core.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    return core


def saved(folder: Path, core: tokenizers.Tokenizer, config: dict[str, Any], **named: str) -> Any:
    """A folder as the independent library leaves it, and its own tokenizer."""
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=core, **named)
    theirs.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    return theirs


FAMILIES = {
    "byte level": (
        byte_level, {"eos_token_id": 0}, {"bos_token": "<|end|>", "eos_token": "<|end|>"},
        Marks(0, 0, 0, ends=(0,)),
    ),
    "word pieces": (
        word_pieces, {"pad_token_id": 0},
        {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "mask", "pad", "unk")},
        Marks(0, 2, 3, 1, 4, ends=(3,), prefix=(2,), suffix=(3,)),
    ),
    "unigram": (
        unigram, {"eos_token_id": [1, 2], "pad_token_id": 0, "decoder_start_token_id": 0},
        {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"},
        Marks(0, None, 1, 2, start=0, ends=(1, 2), suffix=(1,)),
    ),
}  # fmt: skip
every = pytest.mark.parametrize("family", FAMILIES)


@every
def test_a_folder_reads_like_its_own_library(tmp_path: Path, family: str) -> None:
    build, config, named, marks = FAMILIES[family]
    theirs = saved(tmp_path, build(), config, **named)
    ours = load_vocabulary(tmp_path)
    assert ours.marks == marks
    assert ours.vocab_size == len(theirs)
    for text in READ:
        ids = ours.encode(text)
        assert ours.wrap(ids) == theirs(text, truncation=False, padding=False).input_ids
        assert ours.decode(ours.wrap(ids)) == theirs.decode(ids, skip_special_tokens=True)


@every
def test_text_that_spells_a_mark_stays_text(tmp_path: Path, family: str) -> None:
    build, config, named, _ = FAMILIES[family]
    theirs = saved(tmp_path, build(), config, **named)
    ours = load_vocabulary(tmp_path)
    unknown = {ours.unk}
    for mark in theirs.all_special_tokens:
        assert not {*ours.encode(f"a {mark}{mark} b {mark}")} & {*theirs.all_special_ids} - unknown


@every
def test_saved_and_read_again_it_is_the_same(tmp_path: Path, family: str) -> None:
    build, config, named, marks = FAMILIES[family]
    saved(tmp_path / "theirs", build(), config, **named)
    ours = load_vocabulary(tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    ours.save(tmp_path / "ours" / "tokenizer.json")
    again = load_vocabulary(tmp_path / "ours")
    assert again.marks == marks
    assert again.encode_batch(READ) == ours.encode_batch(READ)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "ours" / "tokenizer.json"))
    assert theirs(READ[0]).input_ids == ours.wrap(ours.encode(READ[0]))


@pytest.mark.parametrize(
    ("family", "text", "pieces"),
    [
        ("byte level", "t the ä漢", ["t", "the", "␣", "ä", "⟨E6⟩", "⟨BC⟩", "⟨A2⟩"]),
        ("word pieces", "the matse", ["the", "mats", "e"]),
        ("unigram", "the mats", ["the", "mat", "s"]),
    ],
)
def test_pieces_are_shown_to_be_read(tmp_path: Path, family: str, text: str, pieces: list[str]) -> None:
    build, config, named, _ = FAMILIES[family]
    saved(tmp_path, build(), config, **named)
    ours = load_vocabulary(tmp_path)
    assert ours.pieces(ours.encode(text)) == pieces
    assert ours.pieces([ours.ends[0], 9_999]) == [ours.pieces(ours.ends)[0], "⟨9999⟩"]


# SentencePiece -------------------------------------------------------------------------------------------------------


def spm(path: Path, texts: list[str] = TEXTS, **settings: Any) -> None:
    model = io.BytesIO()
    trainer: Any = sentencepiece.SentencePieceTrainer
    trainer.train(sentence_iterator=iter(texts), model_writer=model, minloglevel=2, hard_vocab_limit=False, **settings)
    path.write_bytes(model.getvalue())


def test_t5_reads_like_its_own_library(tmp_path: Path) -> None:
    spm(tmp_path / "spiece.model", vocab_size=120, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"extra_ids": 10, "eos_token": "</s>"}))
    (tmp_path / "config.json").write_text(
        json.dumps({"is_encoder_decoder": True, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1})
    )
    ours = load_vocabulary(tmp_path)
    theirs = transformers.T5Tokenizer.from_pretrained(tmp_path)
    assert ours.marks == Marks(0, None, 1, 2, start=0, ends=(1,), suffix=(1,))
    assert ours.pieces([ours.vocab_size - 1]) == ["<extra_id_0>"]
    assert theirs.convert_tokens_to_ids("<extra_id_0>") == ours.vocab_size - 1
    for text in ["The cat sat on the mat.", " two  spaces ", "été ﬁne"]:
        assert ours.wrap(ours.encode(text)) == theirs(text).input_ids


def test_llama_reads_like_its_own_library(tmp_path: Path) -> None:
    spm(
        tmp_path / "tokenizer.model", model_type="bpe", vocab_size=450, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False,
    )  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": True}))
    ours = load_vocabulary(tmp_path)
    theirs = transformers.LlamaTokenizer.from_pretrained(tmp_path)
    assert ours.marks == Marks(2, 1, 2, 0, ends=(2,), prefix=(1,))
    for text in ["The cat sat on the mat.", "two  spaces ", "漢 👍 unseen", "été\n"]:
        assert ours.wrap(ours.encode(text)) == theirs(text).input_ids
        assert ours.decode(ours.wrap(ours.encode(text))) == text
    assert ours.pieces(ours.encode("the 漢")) == ["the", "␣", "⟨E6⟩", "⟨BC⟩", "⟨A2⟩"]


def marian(folder: Path) -> None:
    spm(folder / "source.spm", TEXTS[::2], vocab_size=100)
    spm(folder / "target.spm", TEXTS[1::2], vocab_size=100)
    pieces: dict[str, None] = {"</s>": None, "<unk>": None, ">>fr<<": None}
    for name in ("source.spm", "target.spm"):
        processor: Any = sentencepiece.SentencePieceProcessor
        model = processor(model_file=str(folder / name))
        pieces |= {model.id_to_piece(token): None for token in range(3, model.get_piece_size())}
    pieces["<pad>"] = None
    (folder / "vocab.json").write_text(json.dumps({piece: token for token, piece in enumerate(pieces)}))
    config = {"is_encoder_decoder": True, "pad_token_id": len(pieces) - 1, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps({**config, "decoder_start_token_id": len(pieces) - 1}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))


@pytest.mark.filterwarnings("ignore:Recommended")  # a normalizer of quotes that its library does without, too
def test_marian_reads_and_writes_like_its_own_library(tmp_path: Path) -> None:
    marian(tmp_path)
    ours = load_vocabulary(tmp_path)
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    last = ours.vocab_size - 1
    assert ours.marks == Marks(last, None, 0, 1, start=last, ends=(0,), suffix=(0,))
    for text in ["The cat sat on the mat.", " two  spaces ", "Die Mäuse fraßen", ">>fr<< the cat"]:
        assert ours.wrap(ours.encode(text)) == theirs(text).input_ids
    written = theirs(text_target="Die Mäuse fraßen den Käse.").input_ids
    assert ours.decode(written) == theirs.decode(written, skip_special_tokens=True)


def test_a_table_with_gaps_is_refused(tmp_path: Path) -> None:
    marian(tmp_path)
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 2}')
    with pytest.raises(InputError, match=r"vocab\.json does not number its 2 pieces from 0 without a gap"):
        load_vocabulary(tmp_path)


def test_added_tokens_must_follow_the_pieces(tmp_path: Path) -> None:
    spm(tmp_path / "tokenizer.model", model_type="bpe", vocab_size=120)
    (tmp_path / "added_tokens.json").write_text('{"<a>": 120, "<b>": 125}')
    with pytest.raises(InputError, match=r"the added tokens \[120, 125\] do not follow the 120 pieces without a gap"):
        load_vocabulary(tmp_path)
    (tmp_path / "added_tokens.json").write_text('{"<a>": 120, "<b>": 121}')
    ours = load_vocabulary(tmp_path)
    assert ours.encode("<b>")[-1] == 121


# Folders -------------------------------------------------------------------------------------------------------------


def test_a_native_tokenizer_is_read_as_one(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=300)
    tokenizer.save(tmp_path / "tokenizer.json")
    read = load_vocabulary(tmp_path, "encoder")
    assert isinstance(read, Tokenizer)
    assert read.marks == tokenizer.for_line("encoder").marks


def test_a_folder_without_a_tokenizer_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no tokenizer: tokenizer\.json, spiece\.model or tokenizer\.model, or"):
        load_vocabulary(tmp_path)


def test_marks_that_are_usual_are_found_without_settings(tmp_path: Path) -> None:
    core = word_pieces()
    core.save(str(tmp_path / "tokenizer.json"))
    assert load_vocabulary(tmp_path).marks == FAMILIES["word pieces"][3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", "{}", "is damaged or no tokenizer"),
        ("config.json", "{", r"config\.json cannot be read"),
        ("config.json", "[]", r"config\.json holds no JSON object"),
        ("marks.json", '{"padding": 0}', r"marks\.json is damaged: .*padding"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    word_pieces().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_vocabulary(tmp_path)


def test_a_begin_that_the_settings_ask_for_is_put_before_a_text(tmp_path: Path) -> None:
    saved(tmp_path, byte_level(), {}, bos_token="<|end|>", eos_token="<|end|>")
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**settings, "add_bos_token": True}))
    assert load_vocabulary(tmp_path).prefix == (0,)


def test_symbols_that_are_no_marks_are_matched_in_text() -> None:
    core = byte_level()
    core.add_tokens([tokenizers.AddedToken("<think>", normalized=False)])
    ours = ForeignTokenizer(core, Marks())
    assert ours.pieces(ours.encode("t<think>")) == ["t", "<think>"]
    assert ours.decode(ours.encode("the<think>")) == "the<think>"
