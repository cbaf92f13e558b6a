"""Arguments and options that several verbs share."""

from typing import Annotated, Literal

import typer

Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Text; without it, lines of standard input.")]
MODEL_HELP = (
    "A shipped model, a model folder (this package's or Hugging Face's), a .gguf file, or hf:organisation/name."
)
Model = Annotated[str, typer.Option(metavar="M", help=MODEL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Precision = Annotated[
    Literal["float32", "int8"],
    typer.Option(help="Of the decoder's weights: int8 is faster with many sentences, and less exact."),
]
Columns = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="S T",
        help="Columns of a .tsv that hold source and target, from 0, or keys of a .jsonl. Default: the recipe's, or "
        "0 1, or source target.",
    ),
]
