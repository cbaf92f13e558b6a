"""`allyouneed score`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Columns, Json, Model
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import LINES, checked, chunks, until_too_long, write, write_json
from allyouneed.errors import InputError, UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline import Score
    from allyouneed.text.corpus import Pair

TEXT_FILES = {".txt", ".tsv", ".gz", ".zst"}

Pairs = list[tuple[str, str]]


def score(
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE TARGET", help="Two texts, two aligned files, or one .tsv; else standard input."),
    ] = None,
    model: Model = "zoo:en-fr",
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Score given translations, token by token.

    Prints the total log-probability (natural), the perplexity a token, and each token's part: one line out for every
    line in. On standard input a line is a source, a tab and its target.

    For example:
      allyouneed score "The file was saved." "Le fichier a été enregistré."
      allyouneed score --model runs/mine test.en test.fr
      paste test.en test.fr | allyouneed score
    """
    from allyouneed.pipeline import load

    pipe = load(model)
    before = 0
    for pairs in pairs_of(given or [], columns or (0, 1)):
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]

        def work(
            size: int, sources: list[str] = sources, targets: list[str] = targets, before: int = before
        ) -> list["Score"]:
            with progress(f"from line {before + 1:,}", size) as tell:
                return pipe.score(sources[:size], targets[:size], on_progress=tell)

        for (source, target), result in zip(pairs, until_too_long(work, len(pairs), before), strict=False):
            if as_json:
                write_json({"source": source, "target": target, **described(result)})
            else:
                write(printed(result) if source.strip() or target.strip() else "")
        before += len(pairs)


def printed(result: "Score") -> str:
    """A result as one line."""
    tokens = " ".join(f"{token}={logprob:.4f}" for token, logprob in zip(result.tokens, result.logprobs, strict=True))
    return f"{result.total:.4f}\t{result.perplexity:.4f}\t{tokens}"


def described(result: "Score") -> dict[str, Any]:
    """A result as JSON."""
    return {
        "total": result.total,
        "perplexity": result.perplexity,
        "tokens": result.tokens,
        "logprobs": result.logprobs,
    }


def pairs_of(given: list[str], columns: tuple[int, int]) -> Iterator[Pairs]:
    """The pairs that the arguments mean, in lists to be worked on together."""
    from allyouneed.text.corpus import read_aligned, read_table

    if not given:
        return stdin_pairs()
    files = [is_file(argument) for argument in given]
    if len(given) == 1 and files[0]:
        return in_parts(read_table(given[0], columns))
    if len(given) == 2 and all(files):
        return in_parts(read_aligned(given[0], given[1]))
    if len(given) == 2 and not any(files):
        return iter([[(checked(given[0]), checked(given[1]))]])
    raise UsageError("score takes a source and a target (two texts or two files), or one .tsv file, or standard input.")


def is_file(argument: str) -> bool:
    """Does the argument name a file? One that looks like a file's name and is none is refused, not scored as text."""
    path = Path(argument)
    if path.suffix in TEXT_FILES and " " not in argument and not path.is_file():
        raise InputError(f'There is no file "{argument}".')
    return path.is_file()


def stdin_pairs() -> Iterator[Pairs]:
    """Pairs from standard input."""
    number = 0
    for lines in chunks(None):
        yield [cut(line, number + i) for i, line in enumerate(lines, start=1)]
        number += len(lines)


def cut(line: str, number: int) -> tuple[str, str]:
    """Source and target of a line. A blank line is a blank pair."""
    source, *rest = line.split("\t")
    if line.strip() and len(rest) != 1:
        raise InputError(
            f"Line {number:,} of standard input has {len(rest)} tabs: one is needed, between source and target."
        )
    return source, rest[0] if rest else ""


def in_parts(pairs: Iterator["Pair"]) -> Iterator[Pairs]:
    """Pairs of files, in lists."""
    while batch := [(pair.source, pair.target) for pair in islice(pairs, LINES)]:
        yield batch
