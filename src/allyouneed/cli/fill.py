"""`allyouneed fill`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from allyouneed.cli.options import Json, Model, Texts
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import chunks, in_place, until_unusable, write, write_json
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline import Filling


def fill(
    text: Texts = None,
    model: Model = "zoo:mlm-en",
    top: Annotated[
        int | None, typer.Option(min=1, help="Guesses named for each gap, best first.  [default: 5]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Guess the words behind gaps: one line out for every line in.

    A gap is written ___ (or <mask>, or [MASK]). Prints the text with the likeliest token in each gap, and for each gap,
    after a tab, the likeliest tokens with their probabilities. An encoder-decoder that learned it fills a gap with as
    many tokens as it likes; one that writes the whole text anew names no guesses.

    For example:
      allyouneed fill "The mouse ate the ___."
      allyouneed fill --top 10 --json "The ___ ate the ___."
    """
    from allyouneed.pipeline import Filling, LanguageModel, load

    pipe = load(model)
    if isinstance(pipe, LanguageModel):
        raise UsageError(f"{model} is {pipe.what}, and a gap needs a model that reads on both sides of it.")
    guess = pipe.fill if top is None else partial(pipe.fill, k=top)
    before = 0
    for lines in chunks(text):

        def work(size: int, lines: list[str] = lines, before: int = before) -> list["Filling | None"]:
            with progress(f"from line {before + 1:,}", size) as tell:
                return in_place(
                    lines[:size], lambda there: guess([lines[number] for number in there], on_progress=tell)
                )

        for line, result in zip(lines, until_unusable(work, len(lines), before), strict=False):
            if as_json:
                write_json({"source": line, **(result or Filling("", [])).to_dict()})
            else:
                write("" if result is None else printed(result))
        before += len(lines)


def printed(result: "Filling") -> str:
    """A filled text as one line."""
    gaps = (" ".join(f"{guess.token}={guess.probability:.4f}" for guess in guesses) for guesses in result.guesses)
    return "\t".join((result.text, *gaps))
