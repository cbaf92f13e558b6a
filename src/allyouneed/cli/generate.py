"""`allyouneed generate`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Json, Model, Precision
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import checked, chunks, flat, in_place, until_unusable, write_json, write_part
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
        prompts.answer([checked(text) for text in prompt], flatten=False)
        return
    for lines in chunks(None):
        prompts.answer(lines, flatten=True)


class Prompts:
    """Prompts on their way through a model. They are counted, since each has a chance of its own."""

    def __init__(self, pipe: "Writer", settings: dict[str, Any], *, beam: int | None, as_json: bool) -> None:
        self.pipe, self.settings, self.beam, self.as_json = pipe, settings, beam, as_json
        self.before = 0

    def answer(self, prompts: list[str], *, flatten: bool) -> None:
        """Prints what is written after each prompt: as it comes where there is one, or where all are given at once."""
        if self.as_json or self.beam is not None or (flatten and len(prompts) > 1):
            for prompt, result in zip(prompts, self.together(prompts), strict=False):
                self.show(prompt, result, flatten=flatten)
        else:
            for prompt in prompts:
                self.stream(prompt, flatten=flatten)
                self.before += 1

    def stream(self, prompt: str, *, flatten: bool) -> None:
        """Prints one text as it comes."""

        def parts(size: int) -> Iterator[str]:
            if size and prompt.strip():
                written = self.pipe.stream(prompt, number=self.before, **self.settings)
                yield self.head(prompt)
                yield from written

        for part in until_unusable(parts, 1, self.before):
            write_part(flat(part) if flatten else part)
        write_part("\n")

    def together(self, prompts: list[str]) -> Iterator["Generation | None"]:
        """What is written after many prompts at a time; None after a blank one."""

        def work(size: int) -> list["Generation | None"]:
            with progress(f"from line {self.before + 1:,}", size) as tell:
                return in_place(prompts[:size], lambda there: self.written(prompts, there, tell))

        yield from until_unusable(work, len(prompts), self.before)
        self.before += len(prompts)

    def written(self, prompts: list[str], there: list[int], tell: Callable[[int], None]) -> list["Generation"]:
        """What is written after those of the prompts."""
        return self.pipe.generate(
            [prompts[number] for number in there],
            numbers=[self.before + number for number in there],
            beam=self.beam,
            on_progress=tell,
            **self.settings,
        )

    def show(self, prompt: str, result: "Generation | None", *, flatten: bool) -> None:
        """Prints one text that is there as a whole."""
        from allyouneed.pipeline import Generation

        if self.as_json:
            write_json({"prompt": prompt, **(result or Generation("", [], 0.0, True)).to_dict()})
            return
        text = "" if result is None else self.head(prompt) + result.text
        write_part(f"{flat(text) if flatten else text}\n")

    def head(self, prompt: str) -> str:
        """What is printed before the written text: the prompt, where both are one text."""
        return "" if self.pipe.config.is_encoder_decoder else prompt
