"""What a preset is."""

from collections.abc import Mapping
from dataclasses import dataclass

Value = int | float | bool | str | tuple[int, ...] | None


@dataclass(frozen=True)
class Preset:
    """Fields of a config that differ from the default, and what its authors say it weighs.

    `exact`: `published` counts every parameter, as in the released weights; otherwise it is rounded, as in a paper.
    """

    fields: Mapping[str, Value]
    vocab_size: int
    published: int | None
    source: str
    exact: bool = False
