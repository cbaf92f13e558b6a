"""`allyouneed models`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.streams import write, write_json
from allyouneed.errors import UsageError, nearest


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A preset, or a shipped model.")] = None,
    as_json: Json = False,
) -> None:
    """List the presets and the models that ship.

    Sizes stand beside the papers'. With NAME: all about one.

    For example:
      allyouneed models zoo:en-fr
    """
    presets, zoo = preset_facts(), zoo_facts()
    if name is None:
        if as_json:
            write_json({"presets": list(presets.values()), "shipped": list(zoo.values())})
        else:
            write(*overview(list(presets.values()), list(zoo.values())))
        return
    known = {**presets, **zoo}
    if name not in known:
        raise UsageError(f'There is no model "{name}", but {", ".join(known)}.{nearest(name, known)}')
    facts = known[name]
    if as_json:
        write_json(facts)
    else:
        card = facts.pop("card", "")
        write(
            *(f"{key:<20}{value}" for key, value in facts.items()),
            *(["", *card.rstrip("\n").split("\n")] if card else []),
        )


def preset_facts() -> dict[str, dict[str, Any]]:
    """Every preset: its parameters, counted without making them, and the paper's number."""
    from allyouneed.models.presets import PRESETS, configure, count_parameters

    return {
        name: {
            "name": name,
            "parameters": count_parameters(configure(name)),
            "published": preset.published,
            "source": preset.source,
            **asdict(configure(name)),
        }
        for name, preset in PRESETS.items()
    }


def zoo_facts() -> dict[str, dict[str, Any]]:
    """Every shipped model: its size, and its card."""
    from allyouneed.checkpoints.native import CARD, CONFIG, WEIGHTS, read_config, read_text
    from allyouneed.models.presets import count_parameters
    from allyouneed.pipeline import ZOO, shipped

    facts: dict[str, dict[str, Any]] = {}
    for name in shipped():
        folder = ZOO / name.removeprefix("zoo:")
        config = read_config(folder / CONFIG)[1]
        card = read_text(folder / CARD) or ""
        facts[name] = {
            "name": name,
            "title": card.partition("\n")[0].lstrip("# "),
            "parameters": count_parameters(config),
            "megabytes": round((folder / WEIGHTS).stat().st_size / 1e6, 1),
            **asdict(config),
            "card": card,
        }
    return facts


def overview(presets: list[dict[str, Any]], zoo: list[dict[str, Any]]) -> list[str]:
    """Two tables."""
    lines = [
        "Presets",
        *table(
            ["name", "parameters", "published", "layers", "width", "heads", "source"], [preset_row(f) for f in presets]
        ),
    ]
    if zoo:
        rows = [[f["name"], f"{f['parameters']:,}", f"{f['megabytes']} MB", f["title"]] for f in zoo]
        lines += ["", "Shipped", *table(["name", "parameters", "size", "what it is"], rows)]
    return lines


def preset_row(facts: dict[str, Any]) -> list[str]:
    """A preset's cells."""
    published = "-" if facts["published"] is None else f"{facts['published']:,}"
    layers = f"{facts['n_encoder_layers']}+{facts['n_decoder_layers']}"
    return [
        facts["name"],
        f"{facts['parameters']:,}",
        published,
        layers,
        str(facts["d_model"]),
        str(facts["n_heads"]),
        facts["source"],
    ]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Cells in columns: numbers to the right, words to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width)
            if row[i][:1].isdigit() or (row is head and rows[0][i][:1].isdigit())
            else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
