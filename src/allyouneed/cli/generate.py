"""`allyouneed generate`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Json, Model, Precision
from allyouneed.cli.streams import answer, checked, chunks, flat, write_json, write_part
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.pipeline import Generation, Writer


def generate(
    prompt: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="Text; without it, lines of standard input.")
    ] = None,
    model: Model = "zoo:lm-en",
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens written after each prompt, at most.")] = 128,
    temperature: Annotated[
        float | None, typer.Option(help="Chance: 0 takes the likeliest token each time.  [default: 0.8]")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many likeliest tokens.  [default: all]")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the likeliest that have this probability.  [default: 1]")
    ] = None,
    min_p: Annotated[
        float | None, typer.Option(help="Draw from those so many times as likely as the likeliest.  [default: 0.05]")
    ] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option(help="Above 1, what stands there already is less likely.  [default: 1]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The same gives the same texts, in the same order.  [default: a new one]")
    ] = None,
    stop: Annotated[list[str] | None, typer.Option(help="End before this string. May be given several times.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Search the likeliest text with so many hypotheses.")] = None,
    precision: Precision = "float32",
    as_json: Json = False,
) -> None:
    """Go on with a text: one line out for every line in.

    Prints each prompt and, as it comes, what the model writes after it. After lines of standard input, line ends that
    it writes become spaces. A model that reads one text and writes another prints the other alone.

    For example:
      allyouneed generate "The mouse ate" --max-tokens 20
      allyouneed generate --temperature 0 --stop . < prompts.txt
    """
    from allyouneed.pipeline import Writer, load

    drawn = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "repetition_penalty": repetition_penalty,
        "seed": seed,
    }
    settings: dict[str, Any] = {name: value for name, value in drawn.items() if value is not None}
    if beam is not None and settings:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in settings)
        raise UsageError(f"--beam searches the likeliest text and draws nothing: it goes without {given}.")
    settings |= {"max_tokens": max_tokens, "stop": stop or []}
    prompts = Prompts(load(model, Writer, precision=precision), settings, beam=beam, as_json=as_json)
    if prompt:
        prompts.answer([checked(text)] for text in prompt)
    else:
        prompts.answer(chunks(None), flatten=True)


class Prompts:
    """Prompts on their way through a model. Each has a chance of its own, by its number."""

    def __init__(self, pipe: "Writer", settings: dict[str, Any], *, beam: int | None, as_json: bool) -> None:
        self.pipe, self.settings, self.beam, self.as_json = pipe, settings, beam, as_json
        self.flatten = False

    def answer(self, batches: Iterable[list[str]], *, flatten: bool = False) -> None:
        """Prints what is written after each prompt, and of one alone as it comes; `flatten`: on one line."""
        self.flatten = flatten
        answer(batches, self.written, self.show, as_json=self.as_json)

    def written(
        self, prompts: dict[int, str], tell: Callable[[int], None]
    ) -> "Sequence[Generation] | Sequence[Iterator[str]]":
        """What is written after prompts, by their numbers."""
        if len(prompts) == 1 and self.beam is None and not self.as_json:
            return [self.pipe.stream(text, number=number, **self.settings) for number, text in prompts.items()]
        texts, numbers = [*prompts.values()], [*prompts]
        return self.pipe.generate(texts, numbers=numbers, beam=self.beam, on_progress=tell, **self.settings)

    def show(self, prompt: str, result: "Generation | Iterator[str] | None") -> None:
        """Prints one prompt, where it is one text with what is written, and that."""
        from allyouneed.pipeline import Generation

        if self.as_json:
            assert result is None or isinstance(result, Generation)
            write_json({"prompt": prompt, **(result or Generation("", [], 0.0, True)).to_dict()})
            return
        if result is not None:
            parts = [result.text] if isinstance(result, Generation) else result
            for part in chain([] if self.pipe.config.is_encoder_decoder else [prompt], parts):
                write_part(flat(part) if self.flatten else part)
        write_part("\n")
