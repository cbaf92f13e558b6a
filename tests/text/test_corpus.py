import gzip
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from allyouneed.errors import InputError
from allyouneed.text.corpus import Pair, Skipped, read_lines, read_pairs

Pack = Callable[[bytes], bytes]
PACKERS: dict[str, Pack] = {".txt": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_only_a_line_feed_ends_a_line(tmp_path: Path, suffix: str) -> None:
    lines = ["a\u2028b", "c\x85d", "e\ff\vg\th", "", "i\rj", "\u2029", "\x1c\x1d\x1e", "\x00 k ", "\ufeff"]
    path = write(tmp_path / f"text{suffix}", PACKERS[suffix](("\n".join(lines) + "\n").encode()))
    assert list(read_lines(path)) == lines


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_last_line_needs_no_ending_and_a_carriage_return_before_one_is_dropped(tmp_path: Path, ending: str) -> None:
    assert list(read_lines(write(tmp_path / "text", "one\r\n\r\ntwo\r\r\nthree" + ending))) == [
        "one",
        "",
        "two\r",
        "three",
    ]


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_line_may_be_long(tmp_path: Path, suffix: str) -> None:
    lines = ["é" * 100_000, "short", "x" * 300_000]
    path = write(tmp_path / f"text{suffix}", PACKERS[suffix]("\n".join(lines).encode()))
    assert list(read_lines(path)) == lines


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r"), max_size=60))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = write(tmp_path_factory.mktemp("any") / "text.zst", zstandard.compress(("|" + text + "\n").encode()))
    assert list(read_lines(path)) == [line.removesuffix("\r") for line in ("|" + text).split("\n")]


def test_several_compressed_parts_read_as_one(tmp_path: Path) -> None:
    halves = [b"one\ntw", b"o\nthree\n"]
    for suffix in (".gz", ".zst"):
        path = write(tmp_path / f"text{suffix}", b"".join(PACKERS[suffix](half) for half in halves))
        assert list(read_lines(path)) == ["one", "two", "three"]


def test_reading_begins_before_the_whole_is_unpacked(tmp_path: Path) -> None:
    packed = zstandard.compress(b"".join(b"line %d\n" % number for number in range(300_000)))
    path = write(tmp_path / "text.zst", packed[: len(packed) // 2])
    assert list(islice(read_lines(path), 2)) == ["line 0", "line 1"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [3, 200, -1])
def test_a_file_cut_short_is_refused(tmp_path: Path, suffix: str, kept: int) -> None:
    packed = PACKERS[suffix]("".join(f"line {number * number}\n" for number in range(500)).encode())
    path = write(tmp_path / f"text{suffix}", packed[:kept])
    with pytest.raises(InputError, match=rf"text\{suffix}\" is damaged or cut short"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match="damaged or cut short: it cannot be unpacked"):
        list(read_lines(write(tmp_path / f"text{suffix}", "plain text, only the name says otherwise\n")))


def test_bytes_that_are_no_utf8_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "latin.txt", b"fine\nd\xe9j\xe0 vu\n")
    with pytest.raises(InputError, match=r'latin\.txt", line 2, byte 2: 0xE9 is not UTF-8; save the file as UTF-8\.'):
        list(read_lines(path))


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "marked.txt", b"\xef\xbb\xbfone\n")
    with pytest.raises(InputError, match=r'marked\.txt", line 1, byte 1: a byte-order mark'):
        list(read_lines(path))


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "train.en", "one\n")
    with pytest.raises(InputError, match=r'there is no file ".*tran\.en"\. Did you mean "train\.en"\?'):
        list(read_lines(tmp_path / "tran.en"))
    with pytest.raises(InputError, match=r'there is no file ".*tran\.en"\.$'):
        list(read_lines(tmp_path / "nowhere" / "tran.en"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'cannot read ".*": Is a directory\.'):
        list(read_lines(tmp_path))


def test_aligned_files_give_pairs_with_their_place(tmp_path: Path) -> None:
    source = write(tmp_path / "a.en.gz", gzip.compress(b"one\r\ntwo\n"))
    target = write(tmp_path / "a.fr", "un\ndeux\u2028ou deux\n")
    file = str(source)
    assert list(read_pairs(source, target)) == [Pair("one", "un", file, 1), Pair("two", "deux\u2028ou deux", file, 2)]


def test_a_table_gives_the_columns_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv.zst", zstandard.compress(b"one\tun\tweb\r\ntwo\tdeux\tbook\r\n"))
    assert [pair[:2] for pair in read_pairs(path)] == [("one", "un"), ("two", "deux")]
    assert list(read_pairs(path, columns=(2, 0))) == [
        Pair("web", "one", str(path), 1),
        Pair("book", "two", str(path), 2),
    ]


def test_pairs_with_a_blank_side_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\tun\n\tdeux\n \u3000\tx\ny\t \n\t\ntwo\tdeux\n")
    skipped = Skipped()
    assert [pair.line for pair in read_pairs(path, skipped=skipped)] == [1, 6]
    assert skipped == Skipped(4, str(path), 2)
    assert str(skipped) == f"skipped 4 pairs with a blank side (first: {path}, line 2)"

    source, target = write(tmp_path / "a.en", "one\n\n"), write(tmp_path / "a.fr", "un\ndeux\n")
    assert len(list(read_pairs(source, target, skipped=skipped))) == 1
    assert skipped == Skipped(5, str(path), 2)


def test_the_count_of_skipped_pairs_reads_well() -> None:
    skipped = Skipped()
    assert str(skipped) == "no pair with a blank side"
    skipped.add("a.en", 7)
    assert str(skipped) == "skipped 1 pair with a blank side (first: a.en, line 7)"


@pytest.mark.parametrize("short", ["source", "target"])
def test_files_of_unequal_length_are_refused(tmp_path: Path, short: str) -> None:
    lengths = {"source": 1_200, "target": 1_200, short: 1_000}
    source, target = (write(tmp_path / side, "x\n" * lines) for side, lines in lengths.items())
    expected = rf'source" has {lengths["source"]:,} and ".*target" has {lengths["target"]:,}\.'
    with pytest.raises(InputError, match=expected):
        list(read_pairs(source, target))


@pytest.mark.parametrize("empty", ["source", "target"])
def test_an_empty_side_is_refused(tmp_path: Path, empty: str) -> None:
    source, target = (write(tmp_path / side, "" if side == empty else "x\n") for side in ("source", "target"))
    with pytest.raises(InputError, match=rf'{empty}" is empty\.'):
        list(read_pairs(source, target))


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'a\.tsv" is empty\.'):
        list(read_pairs(write(tmp_path / "a.tsv", "")))


def test_a_corpus_of_blank_sides_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'a\.tsv" holds no pair with text on both sides\.'):
        list(read_pairs(write(tmp_path / "a.tsv", "one\t\n\tdeux\n")))


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a\tb\nc\td\te\n", (0, 1), 'a.tsv", line 2: 3 columns, but line 1 has 2.'),
        ("a\tb\tc\nd\n", (0, 1), 'a.tsv", line 2: 1 columns, but line 1 has 3.'),
        ("a b\n", (0, 1), 'a.tsv", line 1: no tab, but source and target must stand in columns with a tab between.'),
        ("a\tb\n", (0, 2), 'a.tsv", line 1: there is no column 2; columns go from 0 to 1.'),
        ("a\tb\n", (-1, 0), 'a.tsv", line 1: there is no column -1; columns go from 0 to 1.'),
    ],
)
def test_a_table_that_is_not_one_is_refused(tmp_path: Path, text: str, columns: tuple[int, int], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        list(read_pairs(write(tmp_path / "a.tsv", text), columns=columns))
