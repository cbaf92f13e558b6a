"""What a preset is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allyouneed.models.transformer import TransformerConfig

Value = int | float | bool | str | tuple[int, ...] | None


@dataclass(frozen=True)
class Preset:
    """Fields of a config that differ from the default, and what its authors say it weighs.

    `vocab_size` is None where the model reads no text. `exact`: `published` counts every parameter, as in the released
    weights; otherwise it is rounded, as in a paper.
    """

    fields: Mapping[str, Value]
    vocab_size: int | None
    published: int | None
    source: str
    exact: bool = False
    config: Any = TransformerConfig  # the class of the config
