"""Streaming readers for text and parallel text, plain or packed (.gz, .zst): lines, aligned files, tables with tabs,
and JSON lines. No file is ever held whole.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import zstandard

from allyouneed.errors import InputError, nearest
from allyouneed.text.jsonl import is_json_lines, read_objects

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ZSTD_BYTES = 16_384  # compressed bytes taken at a time

Columns = tuple[int | str, int | str]  # source's and target's: numbers from 0 in a table, keys in a .jsonl


class Pair(NamedTuple):
    """One sentence pair and the place it was read from: the source's file and line, counted from 1."""

    source: str
    target: str
    file: str
    line: int


@dataclass
class Skipped:
    """Counts the pairs left out because a side was blank. One counter may serve several corpora."""

    count: int = 0
    file: str = ""  # where the first one stood
    line: int = 0

    def add(self, file: str, line: int) -> None:
        """Counts the pair at this place."""
        if not self.count:
            self.file, self.line = file, line
        self.count += 1

    def __str__(self) -> str:
        if not self.count:
            return "no pair with a blank side"
        noun = "pair" if self.count == 1 else "pairs"
        return f"skipped {self.count:,} {noun} with a blank side (first: {self.file}, line {self.line})"


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yields the lines of a UTF-8 file, plain, .gz or .zst.

    A line ends at `\n`, and a `\r` right before it is dropped. Nothing else ends a line: U+2028, U+0085, form feeds,
    tabs and lone `\r` are text, and a line may have any length.

    Raises InputError for a missing, damaged or truncated file, for a byte-order mark and for bytes that are not UTF-8.
    """
    path = Path(path)
    try:
        with _open(path) as stream:
            for number, raw in enumerate(stream, start=1):
                yield decode_line(raw, path, number)
    except FileNotFoundError as error:
        raise InputError(f'there is no file "{path}".{_nearest_file(path)}') from error
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise InputError(f'"{path}" is damaged or cut short: it cannot be unpacked ({error}).') from error
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}.') from error


def read_pairs(
    source_path: str | Path,
    target_path: str | Path | None = None,
    *,
    columns: Columns = (0, 1),
    skipped: Skipped | None = None,
) -> Iterator[Pair]:
    """Yields the pairs of two aligned files or, without `target_path`, of one table with a tab between its columns, or
    of one .jsonl.

    `columns` says which columns of the table, counted from 0, are source and target; in a .jsonl which keys, "source"
    and "target" unless others are named. A pair with a blank side is left out and counted in `skipped`.

    Raises InputError for files of unequal length, rows with unequal columns, objects without these keys, and a corpus
    that holds no pair at all.
    """
    skipped = Skipped() if skipped is None else skipped
    pairs = read_table(source_path, columns) if target_path is None else read_aligned(source_path, target_path)
    found = False
    for pair in pairs:
        if pair.source.strip() and pair.target.strip():
            found = True
            yield pair
        else:
            skipped.add(pair.file, pair.line)
    if not found:
        raise InputError(f'"{source_path}" holds no pair with text on both sides.')


def read_documents(path: str | Path, *, lines: bool = False, key: str = "text") -> Iterator[str]:
    r"""Yields the documents of a plain text: what stands between empty lines, its lines joined by `\n`.

    With `lines` each line is a document of its own. Blank lines are in no document. In a .jsonl each object is a
    document, which stands under `key`.

    Raises InputError as `read_lines` does, for objects without that key, and for a file without any text.
    """
    if is_json_lines(path):
        texts = (text for _, (text,) in read_objects(read_lines(path), path, [key]) if text.strip())
        first = next(texts, None)
        if first is None:
            raise InputError(f'"{path}" holds no text.')
        yield from chain([first], texts)
        return
    found = False
    held: list[str] = []
    for line in chain(read_lines(path), [""]):
        if line.strip():
            held.append(line)
            if not lines:
                continue
        if held:
            found = True
            yield "\n".join(held)
            held = []
    if not found:
        raise InputError(f'"{path}" holds no text.')


def read_aligned(source_path: str | Path, target_path: str | Path) -> Iterator[Pair]:
    """Line n of one file with line n of the other, blank lines too. Errors as in `read_pairs`."""
    file = str(source_path)
    source_lines = target_lines = 0
    for source, target in zip_longest(read_lines(source_path), read_lines(target_path)):
        source_lines += source is not None
        target_lines += target is not None
        # After the first missing line the rest is only counted, for the message.
        if source_lines == target_lines:
            yield Pair(source, target, file, source_lines)
    for path, count in ((source_path, source_lines), (target_path, target_lines)):
        if not count:
            raise InputError(f'"{path}" is empty.')
    if source_lines != target_lines:
        raise InputError(
            f'the two sides must have equally many lines, but "{source_path}" has {source_lines:,}'
            f' and "{target_path}" has {target_lines:,}.'
        )


def read_table(path: str | Path, columns: Columns) -> Iterator[Pair]:
    """Two columns of a table, blank cells too; line 1 fixes how many columns there are. Errors as in `read_pairs`."""
    file = str(path)
    if is_json_lines(path):
        keys = ("source", "target") if columns == (0, 1) else tuple(map(str, columns))
        for number, (source, target) in read_objects(read_lines(path), path, keys):
            # A pair is a line on either side, whatever its strings hold.
            yield Pair(" ".join(source.splitlines()), " ".join(target.splitlines()), file, number)
        return
    width = line = first = second = 0
    for line, text in enumerate(read_lines(path), start=1):
        cells = text.split("\t")
        if line == 1:
            width = len(cells)
            first, second = (_checked_column(path, column, width) for column in columns)
        if len(cells) != width:
            raise InputError(f'"{path}", line {line}: {len(cells)} columns, but line 1 has {width}.')
        yield Pair(cells[first], cells[second], file, line)
    if not line:
        raise InputError(f'"{path}" is empty.')


def _checked_column(path: str | Path, column: int | str, width: int) -> int:
    if width < 2:
        raise InputError(f'"{path}", line 1: no tab, but source and target must stand in columns with a tab between.')
    if not str(column).isdecimal() or int(column) >= width:
        raise InputError(f'"{path}", line 1: there is no column {column}; columns go from 0 to {width - 1}.')
    return int(column)


def decode_line(raw: bytes, path: str | Path, number: int) -> str:
    """The text of line `number`, without its end. `path` is named in the InputError for what is not UTF-8."""
    if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
        raise InputError(f'"{path}", line 1, byte 1: a byte-order mark; save the file as UTF-8 without one.')
    line = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"0x{line[error.start]:02X}"
        raise InputError(
            f'"{path}", line {number}, byte {error.start + 1}: {byte} is not UTF-8; save the file as UTF-8.'
        ) from error


def _open(path: Path) -> BinaryIO:
    """The file's bytes, unpacked as its suffix says."""
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return io.BufferedReader(_ZstdStream(path.open("rb")))
    return path.open("rb")


class _ZstdStream(io.RawIOBase):
    """Unpacks Zstandard frames. The library's own reader takes a cut-off file for a short one; this one tells."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready:
            chunk = self._frame.unused_data or self._packed.read(_ZSTD_BYTES)
            if not chunk:
                if not self._frame.eof:
                    raise EOFError("the end is missing")
                return 0
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(chunk))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._packed.close()
        super().close()


def _nearest_file(path: Path) -> str:
    try:
        return nearest(path.name, (file.name for file in path.parent.iterdir()))
    except OSError:
        return ""
