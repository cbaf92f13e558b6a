import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.text.foreign import ForeignTokenizer
from allyouneed.text.sentencepiece import SentencePiece, build_core, merges, read_sentencepiece
from allyouneed.text.vocabulary import Marks

TEXTS = [
    "The cat sat on the mat because the mat was warm, and the mouse ate the cheese in 1987.",
    "Le chat s'assit sur le tapis : « il était chaud ».",
    "Die Mäuse fraßen den Käse; 12 cats sat on 34 mats.",
    "A quick brown fox jumps over the lazy dog, then naps.",
    "한글과 漢字 are other scripts. ＡＢＣ ① ½ ﬁne",
]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDE    éßﬁ½12.,:漢한\u3000\t👍</>▁"
SETTINGS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram", "vocab_size": 150},
    "unigram with bytes": {"model_type": "unigram", "vocab_size": 400, "byte_fallback": True},
    "unigram as it is": {
        "model_type": "unigram", "vocab_size": 150, "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "pairs": {"model_type": "bpe", "vocab_size": 200},
    "pairs with bytes": {
        "model_type": "bpe", "vocab_size": 450, "byte_fallback": True, "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "no space before": {"model_type": "bpe", "vocab_size": 200, "add_dummy_prefix": False},
    "with own symbols": {"model_type": "bpe", "vocab_size": 200, "user_defined_symbols": ["<sep>", "cat"]},
    "other marks": {"model_type": "unigram", "vocab_size": 150, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
}  # fmt: skip


MARKS = ("<s>", "</s>", "<unk>", "<pad>", "<0x41>")


Both = tuple[ForeignTokenizer, Any]


def trained(name: str) -> bytes:
    model = io.BytesIO()
    trainer: Any = sentencepiece.SentencePieceTrainer
    trainer.train(
        sentence_iterator=iter(TEXTS * 20), model_writer=model, minloglevel=2, hard_vocab_limit=False, **SETTINGS[name]
    )
    return model.getvalue()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Both:
    path = tmp_path_factory.mktemp("spm") / "m.model"
    path.write_bytes(trained(request.param))
    processor: Any = sentencepiece.SentencePieceProcessor
    theirs = processor(model_file=str(path))
    return ForeignTokenizer(build_core(read_sentencepiece(path)), Marks()), theirs


@pytest.mark.parametrize("both", SETTINGS, indirect=True)
@settings(deadline=None, max_examples=150)
@given(text=st.text(LETTERS, max_size=40))
@example("")
@example(" ")
@example("  The  cat sat   on the mat. ")
@example("</s> and <s> and <unk> and <pad> and <0x41> stay text")
@example("cat<sep>the cat")
@example("aaaaaaa eeeeeee ttttttt")
def test_texts_are_split_as_sentencepiece_splits_them(both: Both, text: str) -> None:
    ours, theirs = both
    wanted = theirs.encode(text)
    if any(mark in text for mark in MARKS):  # split once more, and none of them comes out
        assert not {theirs.bos_id(), theirs.eos_id(), theirs.pad_id()} & {*ours.encode(text)}
    else:
        assert ours.encode(text) == wanted
    if theirs.unk_id() not in wanted:  # what is unknown is shown as ⁇ there
        assert ours.decode(wanted) == theirs.decode(wanted)


def test_the_best_piece_is_joined_first_wherever_it_stands_in_the_table() -> None:
    pieces = ["<unk>", "bc", "ab", "abc", "a", "b", "c"]
    model = SentencePiece("bpe", pieces, [0, -3, -1, -2, -5, -6, -7], [2, 1, 1, 1, 1, 1, 1])
    assert merges(model) == [("a", "b"), ("ab", "c"), ("a", "bc"), ("b", "c")]


def field(number: int, value: int | bytes) -> bytes:
    """A field of a protobuf message whose number and length fit into a byte."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


PIECE = field(1, field(1, "▁a".encode()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no SentencePiece model: it holds no pieces"),
        (PIECE[:-1], "is damaged or no SentencePiece model"),
        (b"\xff" * 40, "is damaged or no SentencePiece model"),
        (field(1, field(1, b"\xff")), "is damaged or no SentencePiece model"),
        (field(1, 1), "is damaged or no SentencePiece model"),
        (PIECE + field(2, field(3, 3)), r'with the kind "word"; unigram and bpe, spaces before, can be read'),
        (PIECE + bytes([18, 3, 24 << 3 & 127 | 128, 1, 1]), "with a space after each word"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_sentencepiece(path)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.model cannot be read: .*No such file"):
        read_sentencepiece(tmp_path / "none.model")


def test_the_smallest_model_has_the_format_s_defaults(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(PIECE + field(2, field(9, 1)))
    assert read_sentencepiece(path) == SentencePiece(pieces=["▁a"], scores=[0.0], types=[1])
