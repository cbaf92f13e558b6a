"""Sentences of the everyday grammar that several tests read."""

from collections.abc import Callable

import pytest

from allyouneed.text.everyday import LANGUAGES, sentences

Rows = list[tuple[str, ...]]
SIZES = {"train": 8000, "dev": 500, "test": 500}


@pytest.fixture(scope="session")
def everyday() -> dict[str, Rows]:
    """Sentences of each split in all languages."""
    return {
        split: list(sentences(seed=3, count=count, split=split, languages=LANGUAGES)) for split, count in SIZES.items()
    }


@pytest.fixture(scope="session")
def texts(everyday: dict[str, Rows]) -> Callable[[str], list[str]]:
    """All of them in one language."""
    return lambda language: [row[LANGUAGES.index(language)] for rows in everyday.values() for row in rows]
