"""`allyouneed average`."""

from pathlib import Path
from typing import Annotated

import typer

from allyouneed.cli.progress import progress
from allyouneed.cli.streams import write
from allyouneed.errors import InputError, UsageError


def average(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL", help="Folders of models of one shape and one tokenizer.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the average, which must be new or empty.")],
) -> None:
    """Average the weights of several models.

    For example:
      allyouneed average runs/a runs/b runs/c --out runs/mean
    """
    from allyouneed.checkpoints.averaging import average_models
    from allyouneed.checkpoints.native import CARD, read_text, save_model

    if len(models) < 2:
        raise UsageError("An average needs at least two models.")
    if out.resolve() in [folder.resolve() for folder in models]:
        raise UsageError(f"{out} is one of the models to average: name another folder.")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise InputError(f"{out} is there already: name a new folder.")
    with progress("averaging", len(models)) as tell:
        saved = average_models(models, tell)
    names = ", ".join(str(folder) for folder in models)
    card = f"The mean of the weights of {names}. The card of the first:\n\n{read_text(models[0] / CARD) or 'none'}\n"
    save_model(out, saved.model, saved.tokenizer, recipe_text=saved.recipe, card=card)
    write(str(out))
