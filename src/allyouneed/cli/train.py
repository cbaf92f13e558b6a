"""`allyouneed train`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from allyouneed.cli.streams import write

SHIPPED = Path(__file__).parents[1] / "recipes"


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe's file, or the name of one that ships.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY.PATH=VALUE", help="Settings to use instead of the recipe's.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.  [default: runs/NAME of the recipe]")] = None,
) -> None:
    """Train a model from text, in one command.

    It learns the subwords, trains, validates, averages the best models and writes a model card. The same command on the
    same folder goes on where it stopped.

    For example:
      allyouneed train recipe.toml training.updates=2000 --out runs/first
    """
    from allyouneed import training

    path = Path(recipe)
    shipped = SHIPPED / f"{recipe}.toml"
    if not path.exists() and shipped.is_file():
        path = shipped
    folder = out or Path("runs") / path.stem
    try:
        write(str(training.train(training.read_recipe(path, overrides), folder)))
    except KeyboardInterrupt:
        print(f"Stopped: the same command goes on from the last checkpoint in {folder}.", file=sys.stderr)
        raise
