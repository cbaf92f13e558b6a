"""`allyouneed score`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from allyouneed.cli.options import MODEL_HELP, Columns, Json
from allyouneed.cli.streams import LINES, answer, checked, chunks, write, write_json
from allyouneed.errors import InputError, UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline import LanguageModel, MaskedModel, Score, Translator
    from allyouneed.text.corpus import Columns as CorpusColumns

TEXT_FILES = {".txt", ".tsv", ".jsonl", ".gz", ".zst"}
TRANSLATOR, LANGUAGE_MODEL = "zoo:en-fr", "zoo:lm-en"

Item = TypeVar("Item")
Pairs = list[tuple[str, str]]


def score(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT | SOURCE TARGET",
            help="A text, a source and its target, or files of them; else standard input.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help=f"{MODEL_HELP}  [default: {LANGUAGE_MODEL} for one text, else {TRANSLATOR}]"),
    ] = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Score texts or translations, token by token.

    Prints the total log-probability (natural), the perplexity a token, and each token's part: one line out for every
    line in. A decoder scores each token given those before it, an encoder given all others. A translator scores a
    target given its source: two texts, two aligned files, or one .tsv or .jsonl; on standard input a tab stands between
    them.

    For example:
      allyouneed score "The mouse ate the cheese."
      allyouneed score "The file was saved." "Le fichier a été enregistré."
      allyouneed score --model runs/mine test.en test.fr
      paste test.en test.fr | allyouneed score
    """
    from allyouneed.pipeline import Translator, load

    given = given or []
    pipe = load(model or usual_model(given))
    if isinstance(pipe, Translator):
        score_pairs(pipe, pairs_of(given, columns or (0, 1)), as_json=as_json)
    else:
        score_texts(pipe, texts_of(given), as_json=as_json)


def usual_model(given: Sequence[str]) -> str:
    """The model that is meant where none is named."""
    return LANGUAGE_MODEL if len(given) == 1 and ".tsv" not in Path(given[0]).suffixes else TRANSLATOR


def score_pairs(pipe: "Translator", batches: Iterator[Pairs], *, as_json: bool) -> None:
    """Scores targets given their sources."""

    def work(pairs: dict[int, tuple[str, str]], tell: Callable[[int], None]) -> list["Score"]:
        return pipe.score(
            [source for source, _ in pairs.values()], [target for _, target in pairs.values()], on_progress=tell
        )

    def show(pair: tuple[str, str], result: "Score | None") -> None:
        source, target = pair
        told({"source": source, "target": target}, result, as_json=as_json)

    answer(batches, work, show, as_json=as_json)


def score_texts(pipe: "LanguageModel | MaskedModel", batches: Iterator[list[str]], *, as_json: bool) -> None:
    """Scores texts alone."""

    def work(texts: dict[int, str], tell: Callable[[int], None]) -> list["Score"]:
        return pipe.score([*texts.values()], on_progress=tell)

    def show(text: str, result: "Score | None") -> None:
        told({"text": text}, result, as_json=as_json)

    answer(batches, work, show, as_json=as_json)


def told(given: dict[str, str], result: "Score | None", *, as_json: bool) -> None:
    """Prints what is given with its score; of what is blank there is none."""
    if as_json:
        write_json({**given, **({} if result is None else result.to_dict())})
    else:
        write("" if result is None else printed(result))


def printed(result: "Score") -> str:
    """A result as one line. A token that nothing comes before, where that leaves it unknown, has no number."""
    tokens = [f"{token}={logprob:.4f}" for token, logprob in zip(result.tokens, result.logprobs, strict=True)]
    return f"{result.total:.4f}\t{result.perplexity:.4f}\t{' '.join([*result.given, *tokens])}"


def texts_of(given: list[str]) -> Iterator[list[str]]:
    """The texts that the arguments mean, in lists to be worked on together."""
    from allyouneed.text.corpus import read_documents, read_lines
    from allyouneed.text.jsonl import is_json_lines

    if not given:
        yield from chunks(None)
    for argument in given:
        if is_file(argument):
            yield from in_parts(read_documents(argument) if is_json_lines(argument) else read_lines(argument))
        else:
            yield [checked(argument)]


def pairs_of(given: list[str], columns: "CorpusColumns") -> Iterator[Pairs]:
    """The pairs that the arguments mean, in lists to be worked on together."""
    from allyouneed.text.corpus import read_aligned, read_table

    if not given:
        return stdin_pairs()
    files = [is_file(argument) for argument in given]
    if len(given) == 1 and files[0]:
        return in_parts((pair.source, pair.target) for pair in read_table(given[0], columns))
    if len(given) == 2 and all(files):
        return in_parts((pair.source, pair.target) for pair in read_aligned(given[0], given[1]))
    if len(given) == 2 and not any(files):
        return iter([[(checked(given[0]), checked(given[1]))]])
    raise UsageError(
        "score takes a source and a target (two texts or two files), or one .tsv or .jsonl file, or standard input, "
        "with a model that reads one text and writes another."
    )


def is_file(argument: str) -> bool:
    """Does the argument name a file? One that looks like a file's name and is none is refused, not scored as text."""
    there = isfile(argument)  # false, too, for a text that is longer than any name may be
    if Path(argument).suffix in TEXT_FILES and " " not in argument and not there:
        raise InputError(f'There is no file "{argument}".')
    return there


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
            f"Line {number:,} of standard input has {len(rest)} tabs: one is needed, between source and target. Texts "
            f"alone are scored by a decoder, as with --model {LANGUAGE_MODEL}."
        )
    return source, rest[0] if rest else ""


def in_parts(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Items of files, in lists."""
    while batch := list(islice(items, LINES)):
        yield batch
