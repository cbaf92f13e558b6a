"""`allyouneed convert`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from allyouneed.cli.options import MODEL_HELP
from allyouneed.cli.streams import write


def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=MODEL_HELP)],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The folder to write, which must be new or empty.")],
    to: Annotated[
        Literal["allyouneed", "huggingface", "ctranslate2", "onnx"] | None,
        typer.Option(help="Format to write. Default: huggingface for this package's models, allyouneed for others."),
    ] = None,
    family: Annotated[
        str | None, typer.Option(metavar="NAME", help='Model type for huggingface ("llama"). Default: one that fits.')
    ] = None,
) -> None:
    """Write a model in another format, with the same numbers.

    What the model does not need to run (recipe, metrics, dropout) stays behind. A model that the other format cannot
    hold is refused with all reasons.

    For example:
      allyouneed convert models/SmolLM2-135M runs/smol
      allyouneed convert runs/mine exported --to huggingface
      allyouneed convert runs/mine engine --to ctranslate2
      allyouneed convert runs/mine web --to onnx
    """
    from allyouneed.checkpoints.conversion import convert
    from allyouneed.checkpoints.places import place_of

    convert(place_of(source), target, to, family=family)
    write(str(target))
