import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers

from allyouneed.text.foreign import ForeignTokenizer
from allyouneed.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from allyouneed.text.vocabulary import Line, Marks, Vocabulary

TEXTS = ["The cat sat on the mat.", "Die Katze saß auf der Matte: é, ß, 한글!", "the the the cat cat"] * 4
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cn"]) | st.sampled_from(" \t\n▁é한👍"), max_size=30)


def native() -> Vocabulary:
    return Tokenizer.train(TEXTS, vocab_size=300)


def byte_level() -> Vocabulary:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = tokenizers.Tokenizer(models.BPE({piece: token for token, piece in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(["<end>"])
    return ForeignTokenizer(core, Marks())


def byte_fallback() -> Vocabulary:
    pieces = ["<unk>", "<end>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁thecasm.é"]
    table = {piece: token for token, piece in enumerate(pieces)}
    core = tokenizers.Tokenizer(models.BPE(table, [], unk_token="<unk>", byte_fallback=True))
    core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    core.add_special_tokens(["<unk>", "<end>"])
    return ForeignTokenizer(core, Marks())


VOCABULARIES = {"native": native(), "byte level": byte_level(), "byte fallback": byte_fallback()}
every = pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())


@every
@settings(deadline=None, max_examples=50)
@given(text=ANY_TEXT)
def test_the_parts_of_a_stream_add_up_to_the_text(vocabulary: Vocabulary, text: str) -> None:
    ids = vocabulary.encode(text)
    stream = vocabulary.stream()
    assert "".join([stream.add(token) for token in ids] + [stream.rest()]) == vocabulary.decode(ids)


@every
def test_no_part_holds_a_broken_character(vocabulary: Vocabulary) -> None:
    stream = vocabulary.stream()
    parts = [stream.add(token) for token in vocabulary.encode("é 漢字 👩‍👧 한글")]
    assert not any("�" in part for part in parts)
    assert [part for part in parts if "漢" in part] == ["漢"]
    assert stream.rest() == ""


@every
def test_an_unfinished_character_is_held_back_until_the_rest(vocabulary: Vocabulary) -> None:
    *ids, _ = vocabulary.encode("a漢")
    stream = vocabulary.stream()
    assert "".join(stream.add(token) for token in ids) == "a"
    assert set(stream.rest()) == {"�"}


@every
def test_text_after_broken_bytes_comes_out(vocabulary: Vocabulary) -> None:
    first = vocabulary.encode("漢")[-3:-1]
    stream = vocabulary.stream()
    parts = [stream.add(token) for token in [*first, *vocabulary.encode("ab")]]
    assert parts[0] == parts[1] == ""
    assert "".join(parts).endswith("ab")
    assert "�" in "".join(parts)


@every
def test_a_stream_that_goes_on_keeps_the_space_between(vocabulary: Vocabulary) -> None:
    whole = vocabulary.encode("the cat sat")
    for cut in range(1, len(whole)):
        before = vocabulary.decode(whole[:cut])
        stream = vocabulary.stream(after=whole[:cut])
        assert before + "".join(stream.add(token) for token in whole[cut:]) + stream.rest() == "the cat sat"


@pytest.mark.parametrize(("name", "mark"), [("native", EOS), ("byte level", 256), ("byte fallback", 1)])
def test_marks_within_a_stream_say_nothing_and_keep_spaces(name: str, mark: int) -> None:
    vocabulary = VOCABULARIES[name]
    ids = [token for one in vocabulary.encode("the cat") for token in (mark, one, mark)]
    stream = vocabulary.stream()
    assert "".join(stream.add(token) for token in ids) == "the cat"


def test_each_line_of_models_has_its_marks_around_a_text() -> None:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=300)
    around = {line: tokenizer.for_line(line).wrap([9]) for line in ("both", "decoder", "encoder")}
    assert around == {"both": [9, EOS], "decoder": [BOS, 9], "encoder": [BOS, 9, EOS]}
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk, tokenizer.ends) == (PAD, BOS, EOS, UNK, (EOS,))
    assert tokenizer.start == BOS
    assert tokenizer.for_line("decoder").start is None


@pytest.mark.parametrize(("line", "shown"), [("encoder", "<mask>"), ("decoder", "<unk>"), ("both", "<unk>")])
def test_the_mask_of_an_encoder_stands_where_text_never_needs_unknown(line: Line, shown: str) -> None:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=300).for_line(line)
    assert tokenizer.mask == UNK
    assert tokenizer.pieces([UNK]) == [shown]
