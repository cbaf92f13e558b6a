"""Text in .jsonl: one JSON object a line, and the texts under some of its keys."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from allyouneed.errors import InputError, nearest


def is_json_lines(path: str | Path) -> bool:
    """Whether a file's name says so, packed or not."""
    return ".jsonl" in Path(path).suffixes[-2:]


def read_objects(lines: Iterable[str], path: str | Path, keys: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The number of each line that is not blank, counted from 1, and the texts under `keys`. A dot in a key goes into
    an object inside it: "translation.en".

    Raises InputError, with the line, for what is no JSON object, and for a key that is not there or holds no text.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f'"{path}", line {number}'
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: this is no JSON: {error}.") from error
        yield number, [_text(found, key, place) for key in keys]


def _text(found: Any, key: str, place: str) -> str:
    for part in key.split("."):
        if not isinstance(found, dict):
            raise InputError(f"{place}: a JSON object is needed, in which {key} holds text.")
        if part not in found:
            raise InputError(f'{place}: there is no "{part}".{nearest(part, map(str, found))}')  # pyright: ignore[reportUnknownArgumentType]
        found = found[part]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(found, str):
        raise InputError(f'{place}: "{key}" holds no text.')
    return found
