"""`allyouneed copy`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.streams import chunks, write, write_json
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline.tape import Copied


def copy(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A shipped model or a folder.")] = "zoo:ntm-copy",
    random: Annotated[int | None, typer.Option(min=1, help="Draw so many rows instead.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same draws the same rows.  [default: 0]")] = None,
    similarity: Annotated[
        Literal["cosine", "dot"] | None, typer.Option(help="How keys are compared, if not as the model learned it.")
    ] = None,
    content_only: Annotated[
        bool, typer.Option("--content-only", help="Let heads go by content alone, and not step along the tape.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to write: .png or .svg (where its heads were), .json, or .npz (all).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a machine with a tape copy rows of bits.

    Rows of 0 and 1, one a line, are read from standard input. Prints each row, what was written for it, and in which
    slot of the memory it was put and looked for.

    For example:
      echo 10110010 | allyouneed copy
      allyouneed copy --random 40 --seed 3 --out copy.png
    """
    from allyouneed.pipeline import load
    from allyouneed.pipeline.tape import TapeMachine, draw_bits, read_bits

    if random is None and seed is not None:
        raise UsageError("--seed belongs to --random.")
    pipe = load(model, TapeMachine)
    if random is None:
        bits = read_bits((line for lines in chunks(None) for line in lines), "standard input")
    else:
        bits = draw_bits(random, pipe.config.n_outputs, seed or 0)
    found = pipe.copy(bits, similarity=similarity, by_location=False if content_only else None)
    if out is not None:
        found.save(out)
        print(f"wrote {out}", file=sys.stderr)
    if as_json:
        write_json(found.to_dict())
    else:
        write(*report(found))


def report(found: "Copied") -> list[str]:
    """A copy as lines."""
    width = max(len(found.asked[0]), len("written"))
    lines = [f"{'asked':<{width}}  {'written':<{width}}  slots"]
    rows = zip(found.asked, found.written, found.written_slots, found.read_slots, strict=True)
    for asked, written, there, here in rows:
        wrong = sum(one != other for one, other in zip(asked, written, strict=True))
        note = f"  {wrong} wrong" if wrong else ""
        lines.append(f"{text(asked):<{width}}  {text(written):<{width}}  {there} {here}{note}")
    return [*lines, f"{found.wrong:,} of {found.size:,} bits wrong"]


def text(bits: list[int]) -> str:
    """A row of bits."""
    return "".join(map(str, bits))
