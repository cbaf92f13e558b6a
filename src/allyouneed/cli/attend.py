"""`allyouneed attend`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from allyouneed.cli.options import Json, Model
from allyouneed.cli.streams import chunks, write, write_json
from allyouneed.errors import UsageError


def attend(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What is read; without it, lines of standard input.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="What a translator writes; else its own translation.")] = None,
    model: Model = "zoo:en-fr",
    side: Annotated[
        Literal["encoder", "decoder", "cross"] | None,
        typer.Option(
            help="Who looks: the reader, the writer at itself or at the source.  [default: the last there is]"
        ),
    ] = None,
    layer: Annotated[int, typer.Option(help="From 0, or from the end with -1.")] = -1,
    head: Annotated[str, typer.Option(help='From 0, or "mean".')] = "mean",
    out: Annotated[Path | None, typer.Option(help="File to write: .png, .svg, .html, .json or .npz.")] = None,
    as_json: Json = False,
) -> None:
    """Show where a model looks, as a map or a file.

    Rows look at columns, and each row adds to 1. An encoder or a decoder alone has one side. A picture (.png, .svg)
    shows the side, layer and head that were asked for; .html, .json, .npz and --json hold them all.

    For example:
      allyouneed attend "The mouse ate the cheese."
      allyouneed attend "The mouse ate the cheese." --layer 1 --head 0 --out map.png
      allyouneed attend --model zoo:lm-en "The mouse ate the cheese because it was hungry."
    """
    from allyouneed.pipeline import load

    if out is not None and text is None:
        raise UsageError("--out takes one text: give it as an argument.")
    chosen = "mean" if head == "mean" else number(head)
    pipe = load(model)
    for lines in chunks(None if text is None else [text]):
        for line in lines:
            view = pipe.attend(line, target)
            if out is not None:
                view.save(out, side=side, layer=layer, head=chosen)
            elif as_json:
                write_json(view.to_dict())
            else:
                write(*view.text(side, layer, chosen).split("\n"), "")


def number(head: str) -> int:
    """A head's number."""
    try:
        return int(head)
    except ValueError:
        raise UsageError(f'--head {head} is neither a number nor "mean".') from None
