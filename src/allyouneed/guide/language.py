"""The guide's two languages: short texts by key, with `{named}` places for values."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("ko", "en")
FOLDER = Path(__file__).parent / "strings"


@cache
def strings(lang: str) -> dict[str, str]:
    """Every short text of one language, by its key."""
    return json.loads((FOLDER / f"{lang}.json").read_text(encoding="utf-8"))


def say(key: str, params: Mapping[str, Any], lang: str = "en") -> str:
    """The text of `key` with its places filled in."""
    return strings(lang)[key].format_map(params)
