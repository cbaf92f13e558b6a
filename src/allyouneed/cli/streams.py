"""Text in, text out, line by line: a line ends at a line feed and nowhere else, on every system."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

from allyouneed.errors import InputError

READ = 1 << 16  # bytes asked for at a time
LINES = 512  # lines worked on together, at most

Item = TypeVar("Item")


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


def until_unusable(work: Callable[[int], Iterable[Item]], size: int, before: int) -> Iterator[Item]:
    """What `work` makes of `size` lines; if one cannot be used, as when it is too long, of those before it, and then an
    InputError that names it.

    `before` lines came earlier.
    """
    from allyouneed.pipeline import TextError

    try:
        yield from work(size)
    except TextError as error:
        yield from work(error.index)
        raise InputError(f"Line {before + error.index + 1:,} {error.problem}.") from error


def in_place(lines: Sequence[str], work: Callable[[list[int]], Sequence[Item]]) -> list[Item | None]:
    """What `work` makes of the lines that are not blank, of which it is given the numbers; None for a blank one."""
    from allyouneed.pipeline import TextError

    there = [number for number, line in enumerate(lines) if line.strip()]
    try:
        found = dict(zip(there, work(there), strict=True))
    except TextError as error:
        raise error.at(there[error.index]) from error
    return [found.get(number) for number in range(len(lines))]
