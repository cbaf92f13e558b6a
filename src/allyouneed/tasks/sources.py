"""Where text comes from, as the tables of a recipe say: files, and the everyday grammar."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from allyouneed.tasks.task import Section, TokenData
from allyouneed.text import everyday
from allyouneed.text.corpus import Columns, Pair, Skipped, read_documents, read_pairs

Count = Annotated[int, Field(gt=0, description="sentences to take from the everyday grammar")]
Split = Annotated[Literal["train", "dev", "test"], Field(description="which frames of the everyday grammar")]


def check_table(*sources: tuple[str, object]) -> None:
    """Refuses a table that names both of two sources, each in words and what is named, or neither."""
    (first, one), (second, other) = sources
    if (one is None) == (other is None):
        which = f"neither {first} nor {second}" if one is None else f"both {first} and {second}"
        raise ValueError(f"a table of data names one source, and this one {which}")


class PairSource(Section):
    """Where sentence pairs come from: two aligned files, one `.tsv` or `.jsonl`, or the everyday grammar."""

    source: str | None = Field(default=None, description="file of source lines, or the .tsv or .jsonl of both sides")
    target: str | None = Field(default=None, description="file of target lines; left out where `source` has both sides")
    columns: Columns = Field(
        default=(0, 1),
        description='columns of the .tsv that hold source and target, from 0; of a .jsonl keys, ["source", "target"]',
    )
    everyday: tuple[str, str] | None = Field(
        default=None, description='languages of the everyday grammar, such as ["en", "fr"]'
    )
    count: Count = 20_000
    split: Split = "train"

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        check_table(('"source" (a file)', self.source), ('"everyday" (two languages)', self.everyday))
        return self

    @property
    def files(self) -> list[str]:
        """Names of the files."""
        return [name for name in (self.source, self.target) if name is not None]

    def describe(self) -> str:
        """A phrase for the model card."""
        return described(self.files, self.everyday, self.count, self.split)


class TextSource(Section):
    """Where documents come from: a file of plain text, or the everyday grammar, whose sentences are documents."""

    text: str | None = Field(default=None, description="file of text: .txt or .jsonl, or packed as .gz or .zst")
    key: str = Field(default="text", description="of a .jsonl: where an object holds its text")
    documents: Literal["paragraphs", "lines"] = Field(
        default="paragraphs", description='what a document is: "paragraphs" up to an empty line, or one of the "lines"'
    )
    everyday: tuple[str] | None = Field(default=None, description='language of the everyday grammar, such as ["en"]')
    count: Count = 20_000
    split: Split = "train"

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        check_table(('"text" (a file)', self.text), ('"everyday" (a language)', self.everyday))
        return self

    @property
    def files(self) -> list[str]:
        """Names of the files."""
        return [] if self.text is None else [self.text]

    def describe(self) -> str:
        """A phrase for the model card."""
        return described(self.files, self.everyday, self.count, self.split)


class PairData(TokenData):
    """Parallel text."""

    train: tuple[PairSource, ...] = Field(min_length=1, description="sources of training pairs, taken together")
    dev: tuple[PairSource, ...] = Field(min_length=1, description="sources of validation pairs")
    max_tokens: Annotated[int, Field(gt=1)] = Field(
        default=150, description="longest sentence in tokens; longer ones are listed"
    )

    def origins(self) -> list[str]:
        """The training tables, a phrase each."""
        return [table.describe() for table in self.train]


class TextData(TokenData):
    """Plain text."""

    train: tuple[TextSource, ...] = Field(min_length=1, description="sources of training text, taken together")
    dev: tuple[TextSource, ...] = Field(min_length=1, description="sources of validation text")
    max_tokens: Annotated[int, Field(gt=3)] = Field(
        default=256, description="tokens of a row: longer documents are cut into chunks of this length"
    )

    def origins(self) -> list[str]:
        """The training tables, a phrase each."""
        return [table.describe() for table in self.train]


Table = TypeVar("Table", PairSource, TextSource)


@dataclass(frozen=True)
class Tables(Generic[Table]):
    """Tables of a recipe, the folder that their files are in, and the seed of what is drawn."""

    tables: tuple[Table, ...]
    root: Path
    seed: int

    def facts(self) -> list[object]:
        """What the text depends on: the tables, and the size and time of the files."""
        paths = [self.root / name for table in self.tables for name in table.files]
        stats = [path.stat() for path in paths if path.is_file()]
        return [[table.model_dump() for table in self.tables], self.seed, [(s.st_size, s.st_mtime_ns) for s in stats]]

    def drawn(self, table: Table) -> Iterator[tuple[str, ...]]:
        """The sentences that a table takes from the everyday grammar."""
        assert table.everyday is not None
        return everyday.sentences(seed=self.seed, count=table.count, split=table.split, languages=table.everyday)


class Pairs(Tables[PairSource]):
    """The sentence pairs of tables."""

    def __iter__(self) -> Iterator[Pair]:
        return self.read(Skipped())

    def read(self, skipped: Skipped) -> Iterator[Pair]:
        """All pairs in order; those with a blank side are counted in `skipped`."""
        return chain.from_iterable(self._read(table, skipped) for table in self.tables)

    def _read(self, table: PairSource, skipped: Skipped) -> Iterator[Pair]:
        if table.everyday is not None:
            name = f"everyday grammar ({'-'.join(table.everyday)}, {table.split})"
            return (Pair(source, target, name, line) for line, (source, target) in enumerate(self.drawn(table), 1))
        assert table.source is not None
        target = None if table.target is None else self.root / table.target
        return read_pairs(self.root / table.source, target, columns=table.columns, skipped=skipped)


class Documents(Tables[TextSource]):
    """The documents of tables."""

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._read, self.tables))

    def _read(self, table: TextSource) -> Iterator[str]:
        if table.everyday is not None:
            return (text for (text,) in self.drawn(table))
        assert table.text is not None
        return read_documents(self.root / table.text, lines=table.documents == "lines", key=table.key)


def described(files: list[str], languages: tuple[str, ...] | None, count: int, split: str) -> str:
    """A table in words."""
    if languages is None:
        return " and ".join(f"`{name}`" for name in files)
    return (
        f"{count:,} sentences of the everyday grammar ({'-'.join(languages)}, {split} frames), "
        "which this package generates: invented sentences, correct but plain"
    )
