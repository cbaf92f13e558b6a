"""`allyouneed tokenize`."""

from typing import Annotated

import typer

from allyouneed.cli.options import Json, Model, Texts
from allyouneed.cli.streams import chunks, write, write_json


def tokenize(
    text: Texts = None,
    model: Model = "zoo:en-fr",
    ids: Annotated[bool, typer.Option("--ids", help="Print numbers instead of pieces.")] = False,
    as_json: Json = False,
) -> None:
    """Cut text into the subword pieces of a model.

    For example:
      allyouneed tokenize "The mouse ate the cheese."
    """
    from allyouneed.pipeline import load

    tokenizer = load(model).tokenizer
    for lines in chunks(text):
        for line, tokens in zip(lines, tokenizer.encode_batch(lines), strict=True):
            pieces = tokenizer.pieces(tokens)
            if as_json:
                write_json({"text": line, "pieces": pieces, "ids": tokens})
            else:
                write(" ".join(map(str, tokens)) if ids else " ".join(pieces))
