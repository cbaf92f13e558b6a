"""`allyouneed verify`."""

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.streams import checked, write, write_json

if TYPE_CHECKING:
    from allyouneed.checkpoints.verify import Comparison


def verify(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder, Hugging Face's or this package's.")],
    text: Annotated[str | None, typer.Option(help="What both read; else a short English text.")] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, help="How much of a position's largest value, or of 1, a difference may be.")
    ] = 1e-4,
    as_json: Json = False,
) -> None:
    """Compare a checkpoint with the library transformers.

    Both read one text in float32. For the embeddings, the state after each layer, and the logits, prints the largest
    absolute difference, the largest value, and the largest difference at a position as a share of the largest value
    there (or of 1, where that is smaller); then where the difference begins. The exit status is 1 where there is one.

    For example:
      allyouneed verify models/SmolLM2-135M
      allyouneed verify runs/mine --text "The file was saved." --json
    """
    from allyouneed.checkpoints.places import place_of
    from allyouneed.checkpoints.verify import TEXT, verify

    found = verify(place_of(model), TEXT if text is None else checked(text), tolerance=tolerance)
    if as_json:
        write_json(described(found))
    else:
        write(*report(found))
    raise typer.Exit(found.begins is not None)


def described(found: "Comparison") -> dict[str, Any]:
    """A comparison as JSON, which knows finite numbers alone: others are null."""
    begins, facts = found.begins, asdict(found)
    for place in facts["places"]:
        place.update({name: None for name, value in place.items() if name != "name" and not isfinite(value)})
    return {**facts, "begins": begins and begins.name, "agree": begins is None}


def report(found: "Comparison") -> list[str]:
    """A comparison as lines."""
    width = max(len(place.name) for place in found.places)
    lines = [
        f"{found.family}: this package and {found.model} of {found.library}, float32, {found.tokens} tokens",
        f"  {'':{width}}  difference  largest value     share",
    ]
    lines += [
        f"  {place.name:{width}}  {place.difference:10.2e}  {place.largest:13.4g}  {place.share:8.1e}"
        for place in found.places
    ]
    begins = found.begins
    if begins is None:
        worst = max(found.places, key=lambda place: place.share)
        return [
            *lines,
            f"They agree: the largest share is {worst.share:.1e} ({worst.name}), and {found.tolerance:g} is allowed.",
        ]
    end = f"by {begins.difference:.2e}, a share of {begins.share:.1e}, and {found.tolerance:g} is allowed."
    return [*lines, f"They differ, first at {begins.name}, {end}"]
