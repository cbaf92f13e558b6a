"""`allyouneed parse`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import MODEL_HELP, Json, Precision
from allyouneed.cli.streams import answer, chunks, write, write_json

if TYPE_CHECKING:
    from allyouneed.pipeline.parsing import Parse


def parse(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Sentences; without them, lines of standard input.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses followed at a time; 1 is greedy.")] = 4,
    precision: Precision = "float32",
    as_json: Json = False,
) -> None:
    """Parse sentences: one tree out for every line in.

    Trees are in brackets, their words under XX. The model is one that the task parsing trained. What it writes may be
    no tree over the words; then it is mended, and --json says how often.

    For example:
      allyouneed parse runs/parser "The mouse ate the cheese."
    """
    from allyouneed.pipeline import Translator, load
    from allyouneed.pipeline.parsing import Parser

    parser = Parser(load(model, Translator, precision=precision))

    def work(lines: dict[int, str], tell: Callable[[int], None]) -> "list[Parse | None]":
        return parser.parse([*lines.values()], beam=beam, on_progress=tell)

    def show(line: str, result: "Parse | None") -> None:
        if as_json:
            write_json({"text": line, **described(result)})
        else:
            write("" if result is None else str(result.tree))

    answer(chunks(text), work, show, as_json=as_json)


def described(result: "Parse | None") -> dict[str, Any]:
    """A tree as JSON."""
    if result is None:
        return {}
    return {"tree": str(result.tree), "signs": result.signs, "repairs": result.repairs, "score": result.score}
