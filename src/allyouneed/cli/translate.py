"""`allyouneed translate`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Json, Model, Precision, Texts
from allyouneed.cli.streams import answer, checked, chunks, write, write_json

if TYPE_CHECKING:
    from allyouneed.pipeline import Translation

LengthPenalty = Annotated[
    float,
    typer.Option(min=0, max=10, help="Power of the length that hypotheses are compared by; 0: length does not count."),
]
CoveragePenalty = Annotated[
    float,
    typer.Option(min=0, max=10, help="Weight of what a beam's translations leave out of the source; 0: none."),
]


def translate(
    text: Texts = None,
    model: Model = "zoo:en-fr",
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses followed at a time; 1 is greedy.")] = 4,
    nbest: Annotated[int, typer.Option(min=1, help="Translations of each line, best first; at most --beam.")] = 1,
    align: Annotated[bool, typer.Option("--align", help="Also say which word came from which.")] = False,
    length_penalty: LengthPenalty = 0.6,
    coverage_penalty: CoveragePenalty = 0.0,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="PHRASE", help="What every translation must hold; may be said several times."),
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Terms and their translations, a tab between: a translation holds its terms'."
        ),
    ] = None,
    precision: Precision = "float32",
    as_json: Json = False,
) -> None:
    """Translate text: one line out for every line in.

    With --nbest N every line gives N lines, each a score, a tab and the text. With --align a tab and pairs i-j follow
    the text: its word j came from word i of the source, counted from 0. Constraints and a glossary want a --beam of 2
    to 64; 8 and more hold long phrases better. They are whole words, and held as they are written. A glossary's term in
    small letters is found in capitals, too; with capitals it is found as it is written.

    For example:
      allyouneed translate "The file was saved."
      allyouneed translate --model runs/mine --beam 8 < in.txt > out.txt
      allyouneed translate "The mouse ate the cheese." --constraint "Cette souris" --beam 8
    """
    from allyouneed.pipeline import Translation, Translator, load
    from allyouneed.text.glossary import Glossary

    terms = Glossary([]) if glossary is None else Glossary.read(glossary)
    always = [checked(phrase) for phrase in constraint or []]
    penalties = {"length_penalty": length_penalty, "coverage_penalty": coverage_penalty}
    settings: Any = {"beam": beam, "nbest": nbest, "align": align, **penalties}
    pipe = load(model, Translator, precision=precision)

    def work(lines: dict[int, str], tell: Callable[[int], None]) -> list[Translation]:
        bound = [terms.held_by(line, always) for line in lines.values()]
        return pipe.translate([*lines.values()], constraints=bound, on_progress=tell, **settings)

    def show(line: str, result: Translation | None) -> None:
        result = result or Translation("", 0.0, [])
        if as_json:
            write_json({"source": line, **result.to_dict(ranked=nbest > 1)})
        else:
            write(*printed(result, nbest))

    answer(chunks(text), work, show, as_json=as_json)


def printed(result: "Translation", nbest: int) -> list[str]:
    """The lines that one source line gives."""
    if nbest == 1:
        return [with_words(result)]
    ranked = [f"{one.score:.4f}\t{with_words(one)}" for one in result.nbest]
    return ranked + [""] * (nbest - len(ranked))


def with_words(result: "Translation") -> str:
    """The text, and its word alignment where there is one."""
    if result.alignment is None:
        return result.text
    return f"{result.text}\t{' '.join(f'{source}-{target}' for source, target in result.alignment.words)}"
