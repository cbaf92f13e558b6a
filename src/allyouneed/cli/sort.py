"""`allyouneed sort`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.streams import chunks, write, write_json
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline.sorting import Sorted


def sort(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A shipped model or a folder.")] = "zoo:sort",
    random: Annotated[int | None, typer.Option(min=1, help="Draw so many numbers from 0 to 1 instead.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same draws the same numbers.  [default: 0]")] = None,
    once: Annotated[bool, typer.Option("--once", help="Let it point at no number twice.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .png or .svg (its pointers), or .json.")] = None,
    as_json: Json = False,
) -> None:
    """Let a model of sets sort numbers.

    Numbers are read from standard input, with spaces, commas or line ends between them. Prints each number as the
    model puts it, its place in the input from 0, and how sure the model was. It points at one number after another,
    and may point at one twice. Models know sets as large as those that they learned from, and numbers from 0 to 1:
    others are moved and scaled, which keeps their order.

    For example:
      echo 7 1 9 4 5 0 8 2 6 3 | allyouneed sort
      allyouneed sort --random 10 --seed 3 --out sort.png
    """
    from allyouneed.pipeline import load
    from allyouneed.pipeline.sorting import Sorter, read_numbers

    if random is None and seed is not None:
        raise UsageError("--seed belongs to --random.")
    pipe = load(model, Sorter)
    if random is None:
        numbers = read_numbers((line for lines in chunks(None) for line in lines), "standard input")
    else:
        import numpy as np

        numbers = np.random.default_rng(seed or 0).random(random).round(3).tolist()
    found = pipe.sort(numbers, once=once)
    if pipe.learned_size not in (None, len(numbers)):
        print(f"{model} learned from sets of {pipe.learned_size}, and this one has {len(numbers)}.", file=sys.stderr)
    if out is not None:
        found.save(out)
        print(f"wrote {out}", file=sys.stderr)
    if as_json:
        write_json(found.to_dict())
    else:
        write(*report(found))


def report(found: "Sorted") -> list[str]:
    """A sorted set as lines."""
    right = sorted(found.numbers)
    lines = ["number      place  chance"]
    for step, place in enumerate(found.order):
        number = found.numbers[place]
        note = "" if number == right[step] else f"  wrong: {right[step]:g} belongs here"
        note += "  again" if place in found.order[:step] else ""
        lines.append(f"{number:<10g}  {place:<5}  {found.chances[step, place]:.3f}{note}")
    return [*lines, "sorted" if found.exact else f"not sorted: {found.wrong} of {len(right)} are not in their place"]
