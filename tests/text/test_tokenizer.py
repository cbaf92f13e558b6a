import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

RESERVED = 260
TEXTS = [
    "The cat sat on the mat because the mat was warm.",
    "The mouse ate the cheese, and the cat ate the mouse.",
    "Le chat s'assit sur le tapis : « il était chaud ».",
    "La souris mangea le fromage en 1987, et le chat mangea la souris.",
    "Write </s></s></s> and <pad> and <0x41><0x41><0x41> and <unk> as they are.",
] * 4


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocab_size=380)


# Python and the library may know different versions of Unicode, so characters that Python has not met stay out.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cn"]) | st.sampled_from(" \t\n\u2028\u2581<>/sé1a\u0301"))


@settings(deadline=None)
@given(text=ANY_TEXT)
@example("")
@example(" ")
@example("  two  spaces  ")
@example("\ttabs\t\tand\n\nlines\r\n")
@example("line\u2028separator\x85\x00\ufeff")
@example("▁▁ marks ▁ of others")
@example("👩‍👩‍👧 🇫🇷 ☕️")
@example("한글과 漢字")
@example("e\u0301 \u1112\u1161\u11ab")
@example("<s></s><pad><unk><0x41> <0xE2><0x80>")
def test_text_comes_back_exactly(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text)
    assert all(UNK < token < tokenizer.vocab_size for token in ids)


@settings(deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_a_batch_encodes_like_its_texts(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


def test_a_source_is_read_without_spaces_that_are_no_pieces(tokenizer: Tokenizer) -> None:
    odd = "\ufeff The\u00a0cat\u2009 sat\t on  the\u3000mat\u2028be\u00adcause\u200b. \r"
    assert tokenizer.readable(odd) == "The cat sat on the mat because."
    assert tokenizer.readable("\u00a0 \t\u200b") == ""
    french = "Qui\u00a0?  Moi\u202f: le co\u00adq\u00a0 ; 10\u2009000\u00a0!"
    own = Tokenizer.train([*TEXTS, *[french] * 9], vocab_size=380)
    assert own.readable(french) == "Qui\u00a0? Moi\u202f: le co\u00adq\u00a0 ; 10\u2009000\u00a0!"
    assert own.readable("a\u3000\u200bb") == "a b"
    for one in (tokenizer, own):
        assert one.decode(one.encode(odd)) == odd  # text itself comes back as it is
        assert one.decode(one.encode(french)) == french


def test_a_batch_keeps_its_order_beyond_one_chunk(tokenizer: Tokenizer) -> None:
    texts = [f"cat {number}" for number in range(10_000)]
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(texts)] == texts


def test_a_long_line_comes_back(tokenizer: Tokenizer) -> None:
    text = "the cat " * 6_000 + "x" * 52_000
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_come_first_and_never_out_of_text(tokenizer: Tokenizer) -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.pieces([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]
    for text, spelling in (("</s>", list("</s>")), ("<0x41>", list("<0x41>"))):
        assert tokenizer.pieces(tokenizer.encode(text)) == spelling
    assert not any("<" in piece and len(piece) > 1 for piece in tokenizer.pieces(range(RESERVED, tokenizer.vocab_size)))


def test_decoding_leaves_special_tokens_out(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode([BOS, *ids[:1], PAD, UNK, *ids[1:], EOS, PAD]) == "the cat"
    assert tokenizer.decode([BOS, EOS]) == ""


def test_bytes_that_are_no_utf8_spoil_nothing_around_them(tokenizer: Tokenizer) -> None:
    first, last = tokenizer.encode("the é")[0], 4 + 0xEC
    assert tokenizer.decode([first, last]) == "the\ufffd"
    assert tokenizer.decode([*tokenizer.encode("한"), last]) == "한\ufffd"


def test_digits_and_signs_stand_alone(tokenizer: Tokenizer) -> None:
    assert tokenizer.pieces(tokenizer.encode("1987 ::1,")) == ["1", "9", "8", "7", ":", ":", "1", ","]
    for piece in tokenizer.pieces(range(RESERVED, tokenizer.vocab_size)):
        assert len(piece) == 1 or piece.isalpha()


def test_pieces_are_fit_to_be_shown(tokenizer: Tokenizer) -> None:
    assert tokenizer.pieces(tokenizer.encode("The cat  한")) == ["The", "cat", "␣", "␣", "⟨ED⟩", "⟨95⟩", "⟨9C⟩"]


def test_a_word_has_one_spelling_wherever_it_stands(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("cat cat") == tokenizer.encode("cat") * 2


@pytest.mark.parametrize("vocab_size", [RESERVED + 1, RESERVED + 10, 333, 380])
def test_the_vocabulary_is_as_large_as_asked(vocab_size: int) -> None:
    tokenizer = Tokenizer.train(iter(TEXTS), vocab_size=vocab_size)
    assert tokenizer.vocab_size == vocab_size
    assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == TEXTS[0]


def test_a_vocabulary_beyond_the_text_is_refused_with_the_largest_possible() -> None:
    with pytest.raises(InputError, match=r"too small for vocab_size = 9000: the largest possible is \d+\.") as caught:
        Tokenizer.train(TEXTS, vocab_size=9_000)
    largest = int(str(caught.value).rstrip(".").split()[-1])
    assert Tokenizer.train(TEXTS, vocab_size=largest).vocab_size == largest
    with pytest.raises(InputError, match=f"the largest possible is {largest}"):
        Tokenizer.train(TEXTS, vocab_size=largest + 1)


def test_a_vocabulary_without_room_is_refused() -> None:
    with pytest.raises(InputError, match=r"vocab_size = 260 is too small: .* the least is 261"):
        Tokenizer.train(TEXTS, vocab_size=260)


def test_characters_are_limited_by_coverage_and_number() -> None:
    rare = "".join(chr(0x4E00 + number) for number in range(3_000))
    few = Tokenizer.train(["the cat sat " * 20_000 + rare[:20]], vocab_size=275)
    assert few.pieces(few.encode("一"))[-3:] == ["⟨E4⟩", "⟨B8⟩", "⟨80⟩"]
    many = Tokenizer.train([rare[::-1]], vocab_size=RESERVED + 1_001)
    known = [character for character in rare if many.encode(character)[-1] >= RESERVED]
    assert known == list(rare[:999])  # and the space


def test_training_tells_how_many_texts_are_counted() -> None:
    seen: list[int] = []
    Tokenizer.train(["the cat"] * 5_000, vocab_size=265, on_progress=seen.append)
    assert seen == [4_096, 5_000]


TRAIN = """
from allyouneed.text.tokenizer import Tokenizer
rare = "".join(chr(0x4E00 + number) * 2 for number in range(2_000))
texts = [rare[i : i + 10] + " abab baba cdcd dcdc " + "xyz"[i % 3] for i in range(0, 4_000, 10)]
Tokenizer.train(texts, vocab_size=1_400).save({path!r})
"""


def test_training_is_repeatable_in_another_process_with_ties(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    for number, path in enumerate(paths):
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "RAYON_NUM_THREADS": str(number + 1)}
        subprocess.run([sys.executable, "-c", TRAIN.format(path=str(path))], check=True, env=environment)
    assert len({path.read_bytes() for path in paths}) == 1


def test_saving_and_loading_changes_nothing(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    text = "The mouse </s>  ate\u2028 한글 1987"
    assert loaded.encode(text) == tokenizer.encode(text)
    assert loaded.decode(loaded.encode(text)) == text
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_the_file_serves_the_library_alone(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    alone = tokenizers.Tokenizer.from_file(str(path))
    text = " The mouse </s>  ate\u2028 한글 1987"
    assert alone.encode(text).ids == tokenizer.encode(text)
    assert alone.decode(alone.encode(text).ids) == text


def test_a_file_that_is_no_tokenizer_of_ours_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(InputError, match=r'there is no tokenizer ".*tokenizer\.json"\.'):
        Tokenizer.load(path)
    tokenizer.save(path)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    with pytest.raises(InputError, match=r'tokenizer\.json" is damaged or no tokenizer'):
        Tokenizer.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r'cannot read the tokenizer ".*tokenizer\.json"'):
        Tokenizer.load(path)
    foreign = json.loads(whole)
    foreign["model"]["vocab"] |= {"<pad>": 1, "<s>": 0}
    path.write_text(json.dumps(foreign), encoding="utf-8")
    with pytest.raises(InputError, match=r'tokenizer\.json" is a tokenizer of another kind: it must begin with <pad>'):
        Tokenizer.load(path)


def test_a_lone_surrogate_is_named(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"character 3 of the text 'ab\\udc80' is a lone surrogate"):
        tokenizer.encode_batch(["fine", "ab\udc80"])


FORK = """
import os, signal
from allyouneed.text.tokenizer import Tokenizer
tokenizer = Tokenizer.load({path!r})
texts = ["the cat sat"] * 5_000
expected = tokenizer.encode_batch(texts)
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(tokenizer.encode_batch(texts) != expected)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_worker_can_encode(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    subprocess.run([sys.executable, "-c", FORK.format(path=str(path))], check=True, timeout=60)
