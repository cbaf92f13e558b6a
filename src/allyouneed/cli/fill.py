"""`allyouneed fill`."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from allyouneed.cli.options import Json, Model, Texts
from allyouneed.cli.streams import answer, chunks, write, write_json
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

    def work(lines: dict[int, str], tell: Callable[[int], None]) -> list[Filling]:
        return guess([*lines.values()], on_progress=tell)

    def show(line: str, result: Filling | None) -> None:
        if as_json:
            write_json({"source": line, **(result or Filling("", [])).to_dict()})
        else:
            write("" if result is None else printed(result))

    answer(chunks(text), work, show, as_json=as_json)


def printed(result: "Filling") -> str:
    """A filled text as one line."""
    gaps = (" ".join(f"{guess.token}={guess.probability:.4f}" for guess in guesses) for guesses in result.guesses)
    return "\t".join((result.text, *gaps))
