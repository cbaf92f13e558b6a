import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
import sentencepiece
import tokenizers
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import TikTokenConverter

from allyouneed.checkpoints.gguf import open_gguf
from allyouneed.checkpoints.gguf_vocabulary import read_vocabulary
from allyouneed.errors import InputError
from allyouneed.text.foreign import ForeignTokenizer, load_vocabulary

TEXTS = [
    "The cat sat on the mat because the mat was warm, and the mouse ate the cheese in 1987.",
    "I'm sure they'll say it's DON'T; we've 12345 cats (34 mats)!",
    "Die Mäuse fraßen den Käse.\n\n  One, two;  three\t...",
] * 10
Table = tuple[dict[str, int], list[tuple[str, str]]]


def finish(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def table() -> Table:
    """Pieces and pairs of a byte-level vocabulary."""
    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator(TEXTS, trainer)
    learnt = json.loads(core.to_str())["model"]
    return learnt["vocab"], [(left, right) for left, right in learnt["merges"]]


def byte_pairs(path: Path, table: Table, pre: str | None, **ids: Any) -> Path:
    vocabulary, merges = table
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    if pre is not None:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list([*sorted(vocabulary, key=vocabulary.__getitem__), "<end>", "<think>"])
    writer.add_token_types([1] * len(vocabulary) + [3, 4])
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_eos_token_id(len(vocabulary))
    for name, value in ids.items():
        getattr(writer, f"add_{name}")(value)
    return finish(writer, path)


def plain(table: Table) -> tokenizers.Tokenizer:
    core = tokenizers.Tokenizer(models.BPE(*table))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return core


def single_digits(table: Table) -> tokenizers.Tokenizer:
    core = plain(table)
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    core.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return core


def three_digits(table: Table) -> tokenizers.Tokenizer:
    """As the independent library converts Llama 3's tokenizer."""
    pattern = inspect.signature(TikTokenConverter).parameters["pattern"].default
    core = tokenizers.Tokenizer(models.BPE(*table, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return core


def qwen(table: Table) -> tokenizers.Tokenizer:
    build: Any = transformers.Qwen2Tokenizer
    return build(vocab=table[0], merges=table[1]).backend_tokenizer


@pytest.fixture(
    scope="module",
    params=[("gpt-2", plain), ("smollm", single_digits), ("llama-bpe", three_digits), ("qwen2", qwen)],
    ids=lambda one: one[0],
)
def both(
    request: pytest.FixtureRequest, table: Table, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ForeignTokenizer, tokenizers.Tokenizer]:
    pre, reference = request.param
    path = byte_pairs(tmp_path_factory.mktemp("gguf") / "v.gguf", table, pre)
    return read_vocabulary(open_gguf(path)), reference(table)


@settings(deadline=None, max_examples=100)
@given(text=st.text("catthe matsDON'TI'm 123456 ..,!\n\r\t (é)\u0301漢👍", max_size=40))
@example("I'm sure they'LL say 1234567 cats  \n\n  sat (12).\r\n e\u0301")
def test_bytes_are_paired_as_the_named_splitting_wants(both: tuple[Any, Any], text: str) -> None:
    ours, theirs = both
    assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_marks_and_symbols_come_from_the_metadata(tmp_path: Path, table: Table) -> None:
    end = len(table[0])
    path = byte_pairs(
        tmp_path / "v.gguf", table, "smollm", bos_token_id=7, eot_token_id=9, add_bos_token=True, add_eos_token=True
    )
    vocabulary = read_vocabulary(open_gguf(path))
    assert (vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.ends) == (7, end, end, (end, 9))
    assert vocabulary.wrap([50]) == [7, 50, end]
    assert vocabulary.decode([*vocabulary.encode("<end> the<think>"), end]) == "<end> the<think>"
    assert end not in vocabulary.encode("<end>")
    assert vocabulary.encode("<think>") == [end + 1]


def test_a_saved_vocabulary_is_read_again(tmp_path: Path, table: Table) -> None:
    vocabulary = read_vocabulary(open_gguf(byte_pairs(tmp_path / "v.gguf", table, "qwen2", bos_token_id=7)))
    vocabulary.save(tmp_path / "tokenizer.json")
    again = load_vocabulary(tmp_path)
    assert again.marks == vocabulary.marks
    assert again.encode(TEXTS[1]) == vocabulary.encode(TEXTS[1])


@pytest.mark.parametrize(("pre", "begins"), [("llama-bpe", True), ("smollm", False)])
def test_a_begin_stands_where_the_kind_has_one(tmp_path: Path, table: Table, pre: str, begins: bool) -> None:
    vocabulary = read_vocabulary(open_gguf(byte_pairs(tmp_path / "v.gguf", table, pre, bos_token_id=7)))
    assert vocabulary.prefix == ((7,) if begins else ())


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[ForeignTokenizer, Any]:
    """A SentencePiece model, and the file that llama.cpp's converter would make of it."""
    model = io.BytesIO()
    trainer: Any = sentencepiece.SentencePieceTrainer
    trainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, minloglevel=2, model_type="bpe", vocab_size=400,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
    )  # fmt: skip
    processor: Any = sentencepiece.SentencePieceProcessor
    theirs = processor(model_proto=model.getvalue())
    path = tmp_path_factory.mktemp("gguf") / "v.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    tokens = range(theirs.get_piece_size())
    writer.add_tokenizer_model("llama")
    writer.add_token_list([theirs.id_to_piece(token) for token in tokens])
    writer.add_token_scores([theirs.get_score(token) for token in tokens])
    writer.add_token_types(
        [2 if token == 0 else 3 if theirs.is_control(token) else 6 if theirs.is_byte(token) else 1 for token in tokens]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    return read_vocabulary(open_gguf(finish(writer, path))), theirs


@settings(deadline=None, max_examples=100)
@given(text=st.text("catthe mats 12..,! é漢👍", max_size=40))
@example("  The  cat ")
def test_pieces_with_scores_are_joined_as_sentencepiece_joins_them(
    scored: tuple[ForeignTokenizer, Any], text: str
) -> None:
    ours, theirs = scored
    assert ours.encode(text) == theirs.encode(text)
    assert ours.decode(ours.encode(text)) == text
    assert ours.prefix == (1,)


def no_model(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("t5")


def no_pieces(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("llama")


def strange_pairs(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(["a", "b"])
    writer.add_token_merges(["a c"])


def misspelt(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm3")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (no_model, r'tokenizer\.ggml\.model is "t5", and "gpt2" and "llama" can be read'),
        (no_pieces, r"has no list tokenizer\.ggml\.tokens"),
        (strange_pairs, "is damaged: its tokenizer's tables do not fit together"),
        (misspelt, r'tokenizer\.ggml\.pre is "smollm3", .* known are gpt-2, .*\. Did you mean "smollm"\?'),
    ],
)
def test_tokenizers_that_cannot_be_read_are_refused(
    tmp_path: Path, write: Callable[[gguf.GGUFWriter], None], message: str
) -> None:
    writer = gguf.GGUFWriter(tmp_path / "v.gguf", "llama")
    write(writer)
    with pytest.raises(InputError, match=message):
        read_vocabulary(open_gguf(finish(writer, tmp_path / "v.gguf")))
