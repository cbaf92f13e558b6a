"""`allyouneed train`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from allyouneed.cli.streams import write
from allyouneed.errors import UsageError, nearest

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
    same folder goes on where it stopped; so does the recipe.toml that a run left in its folder.

    A recipe is a .toml. It needs a table [data] with train = [{ source = "train.en", target = "train.fr" }] and dev =
    [{ source = "dev.tsv" }], or for text alone task = "language" and [{ text = "mine.txt" }]. All else has a default:
    the recipe.toml of a run tells every setting.

    For example:
      allyouneed train en-fr data.root=FOLDER
      allyouneed train recipe.toml training.updates=2000 --out runs/first
    """
    from allyouneed import training

    path = recipe_file(recipe)
    folder = out or folder_for(path)
    try:
        write(str(training.train(training.read_recipe(path, overrides), folder)))
    except KeyboardInterrupt:
        print(f"Stopped{what_follows(folder)}.", file=sys.stderr)
        raise


def folder_for(recipe: Path) -> Path:
    """Where a recipe's run goes that names no folder: one by the recipe's name, or the run that left the recipe."""
    signs = (recipe.parent / name for name in (".lock", "checkpoints"))  # the first is there before the second
    left = recipe.name == "recipe.toml" and any(sign.exists() for sign in signs)
    return recipe.parent if left else Path("runs") / recipe.stem


def what_follows(folder: Path) -> str:
    """What the same command will do with the run that was stopped in a folder."""
    if any(folder.glob("checkpoints/update-*")):
        return f": the same command goes on from the last checkpoint in {folder}"
    return f" before the first checkpoint in {folder} (training.checkpoint_every): the same command begins anew"


def recipe_file(name: str) -> Path:
    """The file of that name, or the recipe that ships under it."""
    if Path(name).exists():
        return Path(name)
    shipped = {str(path.relative_to(SHIPPED).with_suffix("")): path for path in sorted(SHIPPED.rglob("*.toml"))}
    if name in shipped:
        return shipped[name]
    if name.endswith(".toml"):
        return Path(name)  # whoever reads it says what is wrong, and names the nearest file
    raise UsageError(f'There is no recipe "{name}", but {", ".join(shipped)}, or a file.{nearest(name, shipped)}')
