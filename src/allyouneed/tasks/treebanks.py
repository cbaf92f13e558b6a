"""Trees to learn parsing from, as the tables of a recipe say: bracketed files, and the everyday grammar."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from allyouneed.errors import InputError
from allyouneed.tasks.sources import Count, Split, check_table, described
from allyouneed.tasks.task import Section, TokenData
from allyouneed.text.corpus import Pair, Skipped
from allyouneed.text.everyday.trees import trees as everyday_trees
from allyouneed.text.trees.linear import Order, linearise
from allyouneed.text.trees.reader import prepared, read_trees
from allyouneed.text.trees.tree import Tree


class TreeSource(Section):
    """Where trees come from: bracketed files, or the everyday grammar."""

    trees: str | None = Field(
        default=None, description='bracketed file, or a pattern of many: "wsj/*.mrg", "**/*.mrg" in folders too'
    )
    everyday: tuple[Literal["en"]] | None = Field(
        default=None, description='language of the everyday grammar: ["en"], which has trees'
    )
    count: Count = 20_000
    split: Split = "train"

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        check_table(('"trees" (bracketed files)', self.trees), ('"everyday" (a language)', self.everyday))
        return self

    def describe(self) -> str:
        """A phrase for the model card."""
        return described([] if self.trees is None else [self.trees], self.everyday, self.count, self.split)


class TreeData(TokenData):
    """Phrase-structure trees."""

    train: tuple[TreeSource, ...] = Field(min_length=1, description="sources of training trees, taken together")
    dev: tuple[TreeSource, ...] = Field(min_length=1, description="sources of validation trees")
    order: Order = Field(default="depth-first", description="how a tree is written: depth-first or breadth-first")
    max_tokens: Annotated[int, Field(gt=1)] = Field(
        default=200, description="longest sentence or tree in tokens; longer ones are listed"
    )

    def origins(self) -> list[str]:
        """The training tables, a phrase each."""
        return [table.describe() for table in self.train]


class Sentence(NamedTuple):
    """A prepared tree and where it stands. Of several trees in one line `file` says which it is."""

    tree: Tree
    file: str
    line: int


@dataclass(frozen=True)
class Treebank:
    """The trees of tables, as pairs of a sentence, its words with spaces between, and the signs of its tree."""

    tables: tuple[TreeSource, ...]
    root: Path
    seed: int
    order: Order

    def __iter__(self) -> Iterator[Pair]:
        return self.read(Skipped())

    def read(self, skipped: Skipped) -> Iterator[Pair]:
        """All of them. No tree has a blank side: one that is all traces is counted in `skipped`."""
        return (
            Pair(" ".join(tree.words), linearise(tree, self.order), file, line)
            for tree, file, line in self.sentences(skipped)
        )

    def facts(self) -> list[object]:
        """What the pairs depend on: the tables, and the size and time of the files."""
        stats = [path.stat() for table in self.tables for path in self.files(table) if path.is_file()]
        tables = [table.model_dump() for table in self.tables]
        return [tables, self.order, self.seed, [(s.st_size, s.st_mtime_ns) for s in stats]]

    def files(self, table: TreeSource) -> list[Path]:
        """The files that a table names, in the order of their names. Raises InputError where there are none."""
        if table.trees is None:
            return []
        if not set(table.trees) & set("*?["):
            return [self.root / table.trees]
        found = sorted(path for path in self.root.glob(table.trees) if path.is_file())
        if not found:
            raise InputError(f'no file in "{self.root}" has a name like "{table.trees}".')
        return found

    def sentences(self, skipped: Skipped) -> Iterator[Sentence]:
        """The trees themselves, in order."""
        for table in self.tables:
            if table.everyday is not None:
                name = f"everyday grammar (en, {table.split})"
                made = everyday_trees(seed=self.seed, count=table.count, split=table.split)
                yield from (Sentence(tree, name, line) for line, tree in enumerate(made, 1))
            for path in self.files(table):
                yield from sentences_of(path, skipped)


def sentences_of(path: Path, skipped: Skipped) -> Iterator[Sentence]:
    """The prepared trees of a file. One without words, all of it traces, is counted in `skipped`."""
    last = nth = 0
    for tree, file, line in read_trees(path):
        nth = nth + 1 if line == last else 1
        last = line
        plain = prepared(tree)
        if plain is None:
            skipped.add(file, line)
        else:
            yield Sentence(plain, file if nth == 1 else f"{file} (tree {nth})", line)
