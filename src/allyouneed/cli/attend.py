"""`allyouneed attend`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from allyouneed.cli.options import Json, Model
from allyouneed.cli.streams import answer, chunks, write, write_json
from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.lens.attention import Attention
    from allyouneed.lens.mask_pictures import MaskView
    from allyouneed.parts.masks import Mask
    from allyouneed.pipeline import Pipeline

Side = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    typer.Option(help="Who looks: the reader, the writer at itself or at the source.  [default: the last there is]"),
]
LONGEST = 65_536  # positions of a mask that is shown without a text
MaskOnly = Annotated[bool, typer.Option("--mask-only", help="Show who may look at whom, instead of who does.")]
Rule = Annotated[
    str | None, typer.Option(metavar="RULE", help="Show this rule, as in the examples, and not the model's own.")
]
Length = Annotated[
    int | None, typer.Option(min=1, max=LONGEST, help="Show the rule over so many positions, without a text.")
]


def attend(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What is read; without it, lines of standard input.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="What a translator writes; else its own translation.")] = None,
    model: Model = "zoo:en-fr",
    side: Side = None,
    layer: Annotated[int, typer.Option(help="From 0, or from the end with -1.")] = -1,
    head: Annotated[str, typer.Option(help='From 0, or "mean".')] = "mean",
    mask_only: MaskOnly = False,
    mask: Rule = None,
    length: Length = None,
    out: Annotated[Path | None, typer.Option(help="File to write: .png, .svg, .html, .json or .npz.")] = None,
    as_json: Json = False,
) -> None:
    """Show where a model looks, as a map or a file.

    Rows look at columns, and each row adds to 1. An encoder or a decoder alone has one side. A picture (.png, .svg)
    shows the side, layer and head that were asked for; .html, .json, .npz and --json hold them all.

    A rule is made of causal, window(width), dilated(width, step), prefix(count), global(count), random(block, count),
    blocks(width), documents(length, ...) and padding(left, right), combined with & (and), | (or), ~ (not) and
    parentheses. It is saved as .png, .svg or .json.

    For example:
      allyouneed attend "The mouse ate the cheese."
      allyouneed attend "The mouse ate the cheese." --layer 1 --head 0 --out map.png
      allyouneed attend --model zoo:lm-en "The mouse ate the cheese because it was hungry."
      allyouneed attend --model zoo:lm-en "The mouse ate the cheese." --mask-only
      allyouneed attend --mask "causal & window(8)" --length 32
      allyouneed attend --mask "window(64, 63) | global(2) | random(64, 3)" --length 4096 --out mask.png
    """
    if length is not None:
        if mask is None or text is not None:
            raise UsageError("--length is for a --mask without a text.")
        return show_mask(of_length(mask, length), out, as_json)
    if mask is not None and text is None:
        raise UsageError("--mask needs a text, or a --length.")
    if out is not None and text is None:
        raise UsageError("--out takes one text: give it as an argument.")
    from allyouneed.pipeline import load

    chosen = "mean" if head == "mean" else number(head)
    pipe = load(model)

    def show(line: str, view: "Attention | None") -> None:
        if view is None:
            write_json({}) if as_json else write("")
        elif mask is not None or mask_only:
            show_mask(mask_of(view, side, layer, mask), out, as_json)
        elif out is not None:
            view.save(out, side=side, layer=layer, head=chosen)
        elif as_json:
            write_json(view.to_dict())
        else:
            write(*view.text(side, layer, chosen).split("\n"), "")

    one_by_one = ([line] for lines in chunks(None if text is None else [text]) for line in lines)
    return answer(one_by_one, partial(views, pipe, target), show, as_json=as_json)


def views(
    pipe: "Pipeline", target: str | None, lines: dict[int, str], tell: Callable[[int], None]
) -> list["Attention"]:
    """Where the model looks while it reads each of the lines."""
    return [pipe.attend(line, target) for line in lines.values()]


def of_length(rule: str, length: int) -> "MaskView":
    """A rule over numbered positions."""
    from allyouneed.lens.mask_pictures import MaskView
    from allyouneed.parts.mask_text import mask_from_text

    return MaskView(mask_from_text(rule, length), length, length, name=rule)


def mask_of(view: "Attention", side: str | None, layer: int, rule: str | None) -> "MaskView":
    """Who may look at whom in one layer of a side: by the model's own rule, or by another one."""
    from allyouneed.lens.mask_pictures import MaskView
    from allyouneed.parts.mask_text import mask_from_text

    side = view.sides[-1] if side is None else side
    lookup = view.lookup(side, layer)
    rows, columns = view.tokens[side]
    if rule is not None and len(rows) != len(columns):
        raise UsageError(f'--mask is for a text that looks at itself: choose another --side than "{side}".')
    mask: Mask | None = lookup.rule if rule is None else mask_from_text(rule, len(columns))
    name = f"{side}, layer {layer % view.layers(side)}" if rule is None else rule
    return MaskView(mask, len(rows), len(columns), rows=rows, columns=columns, name=name)


def show_mask(view: "MaskView", out: Path | None, as_json: bool) -> None:
    """A picture of a mask, in characters or as a file."""
    if out is not None:
        view.save(out)
    elif as_json:
        write_json(view.to_dict())
    else:
        write(*view.text().split("\n"), "")


def number(head: str) -> int:
    """A head's number."""
    try:
        return int(head)
    except ValueError:
        raise UsageError(f'--head {head} is neither a number nor "mean".') from None
