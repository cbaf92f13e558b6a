"""One line out for every line in."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import typer

from allyouneed.cli import streams
from allyouneed.cli.streams import answer, chunks, stream_chunks, write
from allyouneed.errors import InputError
from allyouneed.pipeline import TooLongError


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


def answered(batches: list[list[str]], *, longest: int = 5, as_json: bool = False) -> list[Any]:
    """What is shown of lines where one longer than `longest` cannot be used, and then whether all was well."""
    seen: list[Any] = []

    def work(lines: dict[int, str], tell: Any) -> list[str]:
        for index, line in enumerate(lines.values()):
            if len(line) > longest:
                raise TooLongError(index, len(line), longest)
        return [f"{line} {number}" for number, line in lines.items()]

    try:
        answer(batches, work, lambda line, made: seen.append((line, made)), as_json=as_json)
    except typer.Exit as ending:
        return [*seen, ending.exit_code]
    return [*seen, 0]


def test_every_line_has_its_answer_and_a_blank_one_a_blank_answer() -> None:
    found = answered([["a", "", " \t", "b"], [], ["", "c"]])
    assert found == [("a", "a 0"), ("", None), (" \t", None), ("b", "b 3"), ("", None), ("c", "c 5"), 0]
    assert answered([[""]]) == [("", None), 0]


def test_a_line_that_is_too_long_costs_no_other_its_answer(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [["a", "", "too long", "b", "longer still"], ["c"]]
    found = answered(lines)
    assert [made for _, made in found[:-1]] == ["a 0", None, None, "b 3", None, "c 5"]
    assert found[-1] == 1
    said = b"".join(
        b"Line %d has %d tokens, and this model reads at most 5. It has a blank answer.\n" % one
        for one in ((3, 8), (5, 12))
    )
    assert capsysbinary.readouterr() == (b"", said)
    assert [line for line, _ in answered(lines, as_json=True)[:-1]] == ["a", "", "b", "c"]
    out = capsysbinary.readouterr().out.decode().splitlines()
    assert list(map(json.loads, out)) == [
        {"line": line, "error": f"has {tokens} tokens, and this model reads at most 5"}
        for line, tokens in ((3, 8), (5, 12))
    ]


def test_a_pair_is_blank_where_both_its_sides_are(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    seen: list[Any] = []
    pairs = [("", " "), ("a", ""), ("", "b")]
    answer([pairs], lambda lines, tell: [*lines.values()], lambda pair, made: seen.append(made))
    assert seen == [None, *pairs[1:]]


def test_every_verb_keeps_the_count(command: Callable[..., Any], saved_folder: Any) -> None:
    text = "The cat.\n\n \t\nThe\u2028mat.\r\n\nThe mouse ate the cheese."
    for verb, options in (("translate", ["--beam", "1"]), ("translate", ["--align"]), ("tokenize", [])):
        status, out, err = command(verb, "--model", saved_folder, *options, stdin=text.encode())
        assert (status, err) == (0, "")
        assert out.count("\n") == 6
        assert out.split("\n")[1] == out.split("\n")[4] == ""
