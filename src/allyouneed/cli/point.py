"""`allyouneed point`."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import chunks, write, write_json
from allyouneed.errors import InputError, UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline.pointing import Pointing
    from allyouneed.tasks.pointing.reading import PointSet

PICTURES = (".png", ".svg")


def point(
    model: Annotated[str, typer.Argument(metavar="MODEL", help='A shipped model ("zoo:hull") or a folder.')],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Points: text, .csv or .json; else standard input.")
    ] = None,
    random: Annotated[int | None, typer.Option(min=1, help="Draw so many points instead.")] = None,
    sets: Annotated[int, typer.Option(min=1, help="Draw so many sets of them.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The same draws the same points.")] = 0,
    beam: Annotated[int, typer.Option(min=1, help="Answers followed at a time; 1 is greedy.")] = 1,
    out: Annotated[Path | None, typer.Option(help="File to write: .png or .svg for one set, or .json.")] = None,
    as_json: Json = False,
) -> None:
    """Answer a question about points with a row of them.

    One point "x y" a line, and a blank line between sets; points are numbered from 0 in each set. Prints the answer,
    whether it is the exact one, and how much of it it is: a hull's area, a tour's length, the triangles of a
    triangulation. Models know the unit square: a set that reaches out of it is moved and scaled into it, the same in
    both directions.

    For example:
      allyouneed point zoo:hull points.txt --out hull.png
      allyouneed point zoo:hull --random 30 --seed 7
    """
    from allyouneed.pipeline import load
    from allyouneed.pipeline.pointing import Pointer, PointError

    if random is not None and file is not None:
        raise UsageError(f"--random draws points, and {file} has some: give one of them.")
    if random is None and sets != 1:
        raise UsageError("--sets belongs to --random.")
    pipe = load(model, Pointer)
    given = read(file) if random is None else drawn(random, sets, seed)
    if out is not None and out.suffix.lower() in PICTURES and len(given) > 1:
        raise UsageError(f"{out}: a picture shows one set, and there are {len(given):,}; .json holds them all.")
    try:
        with progress("pointing", len(given)) as tell:
            found = pipe.point_all([one.points for one in given], beam=beam, on_progress=tell)
    except PointError as error:
        one = given[error.index]
        place, what = (one.place, "the set") if error.point is None else (one.places[error.point], "the point")
        raise InputError(f"{place}: {what} {error.problem}.") from error
    if out is not None:
        save(out, found)
    for number, (one, pointing) in enumerate(zip(given, found, strict=True)):
        if as_json:
            write_json(pointing.to_dict())
        else:
            write(*([""] if number else []), *report(one, pointing))


def read(file: Path | None) -> list["PointSet"]:
    """The sets of a file, or of standard input."""
    from allyouneed.tasks.pointing.reading import from_lines, read_sets

    if file is not None:
        return read_sets(file)
    lines = [line for lines in chunks(None) for line in lines]
    return from_lines(enumerate(lines, 1), "standard input")


def drawn(points: int, sets: int, seed: int) -> list["PointSet"]:
    """Sets of random points."""
    import numpy as np

    from allyouneed.tasks.pointing.reading import PointSet
    from allyouneed.tasks.pointing.task import draw_sets

    place = f"--random {points}"
    found = draw_sets(sets, points, np.random.default_rng(seed)).tolist()
    return [PointSet([(x, y) for x, y in one], [place] * points) for one in found]


def save(out: Path, found: list["Pointing"]) -> None:
    """A picture of one answer, or all answers as JSON."""
    from allyouneed.lens.attention import write_whole

    if len(found) == 1 or out.suffix.lower() != ".json":
        found[0].save(out)
    else:
        write_whole(out, (json.dumps([one.to_dict() for one in found]) + "\n").encode())
    print(f"wrote {out}", file=sys.stderr)


def report(given: "PointSet", pointing: "Pointing") -> list[str]:
    """An answer as lines."""
    lines = [
        f"points      {len(given.points):,} from {given.place}",
        f"{pointing.problem:<11} {' '.join(map(str, pointing.indices))}",
    ]
    if pointing.scaled:
        lines.insert(1, "scaled      from its own frame to the unit square")
    if pointing.verdict is None or pointing.answer is None:
        return [*lines, "exact       not known: there are too many points for an exact answer"]
    exact = "yes" if pointing.verdict.exact else f"no, it is {' '.join(map(str, pointing.answer))}"
    return [*lines, f"exact       {exact}", measure(pointing)]


def measure(pointing: "Pointing") -> str:
    """How good an answer is, in words."""
    verdict = pointing.verdict
    if verdict is None or not verdict.valid:
        wanted = {"hull": "simple polygon", "tour": "tour of all points", "triangulation": "row of whole triangles"}
        return f"valid       no: it is no {wanted[pointing.problem]}"
    if pointing.problem == "hull":
        return f"area        {verdict.ratio:.2%} of the exact hull's"
    if pointing.problem == "tour":
        return f"length      {verdict.ratio:.2%} of the shortest tour's"
    return f"triangles   {verdict.ratio:.2%} of the exact ones"
