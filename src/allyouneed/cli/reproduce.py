"""`allyouneed reproduce`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allyouneed.cli.streams import write
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.reproduce.result import Result


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment; without it, what there is.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny models for a minute: it shows that all works.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of models and results.  [default: runs/reproduce/NAME]"),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Seed; may stand several times.  [default: the experiment's]")
    ] = None,
    corpora: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the text corpora.")] = Path("corpora"),
) -> None:
    """Repeat a paper's experiment, small enough for two cores.

    It trains the models, measures them, and writes a table, a figure and the numbers. The same command on the same
    folder goes on where it stopped.

    For example:
      allyouneed reproduce heads --quick
    """
    from allyouneed.reproduce.registry import EXPERIMENTS, experiment
    from allyouneed.reproduce.result import stored

    if name is None:
        if quick or out or seed:
            raise UsageError(f"Name an experiment to run: {', '.join(EXPERIMENTS)}.")
        width = max(map(len, EXPERIMENTS))
        for one in EXPERIMENTS.values():
            found = stored(one.name)
            when = f"  (run on {found.made.date}, {found.made.minutes:g} minutes)" if found else ""
            write(f"{one.name:<{width}}  {one.title}{when}")
        return
    from allyouneed.reproduce.frame import reproduce as run

    chosen = experiment(name)
    folder = out or Path("runs") / "reproduce" / (f"{name}-quick" if quick else name)
    try:
        result = run(chosen, folder, seeds=seed or [], quick=quick, corpora=corpora, command=command())
    except KeyboardInterrupt:
        print(f"Stopped: the same command goes on from the last checkpoint in {folder}.", file=sys.stderr)
        raise
    show(result)
    write(str(folder))


def command() -> str:
    """The command as it was called, without where its files are."""
    return shlex.join(["allyouneed", *sys.argv[1:]])


def show(result: "Result") -> None:
    """Prints the table, the paper's numbers beside it, and how it was made."""
    from rich.console import Console
    from rich.table import Table

    from allyouneed.reproduce.table import cells, how, source

    console = Console(highlight=False)
    head, lines = cells(result)
    ours = Table(*head)
    for line in lines:
        ours.add_row(*line)
    console.print(result.title, result.note, ours, sep="\n", markup=False)
    if result.paper:
        theirs = Table("in the paper, at another size", "value", "source")
        for cited in result.paper:
            theirs.add_row(cited.what, f"{cited.value:g}", source(cited))
        console.print(theirs)
    console.print(how(result.made), markup=False)
