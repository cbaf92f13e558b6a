"""One line out for every line in."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.cli import streams
from allyouneed.cli.streams import chunks, in_place, stream_chunks, until_unusable, write
from allyouneed.errors import InputError
from allyouneed.pipeline import TextError, TooLongError


def lines(data: bytes) -> list[str]:
    return [line for chunk in stream_chunks(io.BytesIO(data)) for line in chunk]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u0085c\u2029d\x0be\x0cf\tg\n".encode(), ["a\u2028b\u0085c\u2029d\x0be\x0cf\tg"]),
        ("é\n나는 학교에 간다.\n".encode(), ["é", "나는 학교에 간다."]),
        (b"x" * 100_000 + b"\nb\n", ["x" * 100_000, "b"]),
    ],
)
def test_a_line_ends_at_a_line_feed_alone(data: bytes, expected: list[str]) -> None:
    assert lines(data) == expected


def test_chunks_do_not_cut_lines_or_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "READ", 3)
    monkeypatch.setattr(streams, "LINES", 2)
    text = "하나\n\n셋 é\nfour\nfive"
    assert lines(text.encode()) == text.split("\n")
    monkeypatch.setattr(streams, "READ", 1000)
    assert max(map(len, stream_chunks(io.BytesIO(text.encode())))) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ok\nfine\nb\xffd\nnext\n", '"standard input", line 3, byte 2: 0xFF is not UTF-8'),
        (b"ok\nfine\nb\xc3", '"standard input", line 3, byte 2: 0xC3 is not UTF-8'),
    ],
)
def test_what_is_not_utf8_is_named_after_the_lines_before_it(data: bytes, message: str) -> None:
    seen: list[str] = []

    def read() -> None:
        for chunk in stream_chunks(io.BytesIO(data)):
            seen.extend(chunk)

    with pytest.raises(InputError, match=message):
        read()
    assert seen == ["ok", "fine"]


def test_a_byte_order_mark_is_refused() -> None:
    with pytest.raises(InputError, match='"standard input", line 1, byte 1: a byte-order mark'):
        lines(b"\xef\xbb\xbfok\n")


def test_arguments_are_lines_too() -> None:
    assert list(chunks(["a b", "c\n\nd"])) == [["a b", "c", "", "d"]]
    with pytest.raises(InputError, match=r"The argument 'b\\udcff' is not UTF-8"):
        list(chunks(["b\udcff"]))


def test_no_text_can_make_two_lines(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write("a\nb\r", "c\u2028d")
    assert capsysbinary.readouterr().out == "a b \nc\u2028d\n".encode()


def test_lines_before_one_that_is_too_long_are_done() -> None:
    asked: list[int] = []

    def work(size: int) -> list[str]:
        asked.append(size)
        if size > 2:
            raise TooLongError(2, 99, 63)
        return ["x", "y"][:size]

    done: list[str] = []
    with pytest.raises(InputError, match="Line 13 has 99 tokens, and this model reads at most 63"):
        done.extend(_each(until_unusable(work, 5, 10), done))
    assert done == ["x", "y"]
    assert asked == [5, 2]


def test_blank_lines_keep_their_place_and_errors_their_line() -> None:
    asked: list[list[int]] = []

    def work(there: list[int]) -> list[str]:
        asked.append(there)
        return [f"line {number}" for number in there]

    assert in_place(["a", "", " \t", "b"], work) == ["line 0", None, None, "line 3"]
    assert asked == [[0, 3]]
    assert in_place([], work) == []

    def refuse(there: list[int]) -> list[str]:
        raise TooLongError(1, 9, 5)

    with pytest.raises(TextError, match="Text 4 has 9 tokens"):
        in_place(["a", "", " ", "b"], refuse)


def _each(items: Any, seen: list[str]) -> list[str]:
    for item in items:
        seen.append(item)
    return []


def test_every_verb_keeps_the_count(command: Callable[..., Any], saved_folder: Any) -> None:
    text = "The cat.\n\n \t\nThe\u2028mat.\r\n\nThe mouse ate the cheese."
    for verb, options in (("translate", ["--beam", "1"]), ("translate", ["--align"]), ("tokenize", [])):
        status, out, err = command(verb, "--model", saved_folder, *options, stdin=text.encode())
        assert (status, err) == (0, "")
        assert out.count("\n") == 6
        assert out.split("\n")[1] == out.split("\n")[4] == ""
