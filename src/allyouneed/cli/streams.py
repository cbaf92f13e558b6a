"""Text in, text out, line by line: a line ends at a line feed and nowhere else, on every system."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

import typer

from allyouneed.cli.progress import progress
from allyouneed.errors import InputError

READ = 1 << 16  # bytes asked for at a time
LINES = 512  # lines worked on together, at most

Item = TypeVar("Item")
Given = TypeVar("Given", str, tuple[str, str])
Made = TypeVar("Made")


def chunks(texts: Sequence[str] | None) -> Iterator[list[str]]:
    """The lines of the arguments or, where there are none, of standard input, in lists to be worked on together.

    Of standard input a list holds what has arrived so far: whoever sends one line and waits for the answer gets it.
    """
    if texts:
        lines = [line for text in texts for line in checked(text).split("\n")]
        yield from parts(lines)
        return
    if sys.stdin.isatty():
        print("Reading lines from the terminal; Ctrl-D ends them.", file=sys.stderr)
    yield from stream_chunks(sys.stdin.buffer)


def checked(argument: str) -> str:
    """An argument of the command. The system hands over bytes that are not UTF-8 as lone surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The argument {argument!a} is not UTF-8.") from error
    return argument


def stream_chunks(stream: BinaryIO) -> Iterator[list[str]]:
    """Lines of UTF-8 as they arrive. Raises InputError for what is not UTF-8, after the lines before it."""
    from allyouneed.text.corpus import decode_line  # not wanted for help

    number = 0
    for raw in raw_chunks(stream):
        lines: list[str] = []
        try:
            for line in raw:
                lines.append(decode_line(line, "standard input", number + 1))
                number += 1
        except InputError:
            yield lines
            raise
        yield lines


def raw_chunks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines with their ends, as many as have arrived and at most `LINES` at a time."""
    held = bytearray()
    while data := stream.read1(READ):  # pyright: ignore[reportAttributeAccessIssue]  # every buffered stream has it
        held += data
        if b"\n" in data:
            *whole, rest = held.split(b"\n")
            yield from parts([bytes(line) + b"\n" for line in whole])
            held = rest
    if held:
        yield [bytes(held)]


def parts(items: list[Item]) -> Iterator[list[Item]]:
    """A list in parts of at most `LINES`."""
    for start in range(0, len(items), LINES):
        yield items[start : start + LINES]


def write(*lines: str) -> None:
    """Lines to standard output, at once. A line feed in a text would shift all lines after it: it becomes a space."""
    write_part("".join(f"{flat(line)}\n" for line in lines))


def write_part(text: str) -> None:
    """Text to standard output, as it is and at once."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def flat(text: str) -> str:
    """A text that is one line."""
    return text.replace("\r", " ").replace("\n", " ")


def write_json(value: Any) -> None:
    """One value as one line of JSON."""
    write(json.dumps(value, ensure_ascii=False))


def answer(
    batches: Iterable[Sequence[Given]],
    work: Callable[[dict[int, Given], Callable[[int], None]], Sequence[Made]],
    show: Callable[[Given, Made | None], None],
    *,
    as_json: bool = False,
) -> None:
    """Shows what `work` makes of lines: one answer for every line in, in order, and None for a blank one.

    `work` gets lines by their numbers, from 0, and a function to be told how many are done. A line that it cannot use,
    as when it is too long, costs no other its answer: it is named on standard error, its own answer is blank (or with
    `as_json` says why), and the command ends with status 1.
    """
    before, refused = 0, False
    for lines in batches:
        there = {number: line for number, line in enumerate(lines, before) if any(map(str.strip, sides(line)))}
        problems: dict[int, str] = {}
        made = dict(zip(there, usable(there, problems, work, f"from line {before + 1:,}"), strict=True))
        for number, line in enumerate(lines, before):
            if number in problems:
                print(f"Line {number + 1:,} {problems[number]}. It has a blank answer.", file=sys.stderr, flush=True)
            if number in problems and as_json:
                write_json({"line": number + 1, "error": problems[number]})
            else:
                show(line, made.get(number))
        before += len(lines)
        refused = refused or bool(problems)
    if refused:
        raise typer.Exit(1)


def sides(line: str | tuple[str, ...]) -> tuple[str, ...]:
    """The texts of a line: its own, or those of a pair."""
    return (line,) if isinstance(line, str) else line


def usable(
    lines: dict[int, Given],
    problems: dict[int, str],
    work: Callable[[dict[int, Given], Callable[[int], None]], Sequence[Made]],
    label: str,
) -> Sequence[Made]:
    """What `work` makes of the lines that it can use. The others go from `lines` to the `problems`."""
    from allyouneed.pipeline import TextError

    while lines:
        try:
            with progress(label, len(lines)) as tell:
                return work(lines, tell)
        except TextError as error:
            number = [*lines][error.index]
            problems[number] = error.problem
            del lines[number]
    return []
