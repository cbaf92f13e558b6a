"""`allyouneed models`."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.streams import write, write_json
from allyouneed.errors import UsageError, nearest

LINES = {
    "both": "Encoder-decoders",
    "decoder": "Decoders",
    "encoder": "Encoders",
    "points": "Models that point at points",
    "bits": "Models with a memory of their own",
    "set": "Models of sets",
}
HEAD = ["name", "parameters", "published", "layers", "width", "heads", "source"]


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A preset, or any model, as --model takes it elsewhere.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the presets and the models that ship.

    Sizes stand beside the papers'; heads are those of queries, and of keys and values where these are fewer. With NAME:
    all about one, and first what is not as usual in its kind of model.

    For example:
      allyouneed models zoo:en-fr
      allyouneed models runs/mine
    """
    presets, zoo = preset_facts(), zoo_facts()
    if name is None:
        if as_json:
            write_json({"presets": [*map(bare, presets.values())], "shipped": [*map(bare, zoo.values())]})
        else:
            write(*overview(list(presets.values()), list(zoo.values())))
        return
    known = {**presets, **zoo}
    if name in known:
        facts = known[name]
    elif Path(name).exists() or name.startswith("hf:"):
        facts = own_facts(name)
    else:
        raise UsageError(f'There is no model "{name}", but {", ".join(known)}, or a folder.{nearest(name, known)}')
    if as_json:
        write_json(bare(facts))
    else:
        write(*details(facts))


def preset_facts() -> dict[str, dict[str, Any]]:
    """Every preset: its parameters, counted without making them, and the paper's number."""
    from allyouneed.models.presets import PRESETS, configure, count_parameters

    facts: dict[str, dict[str, Any]] = {}
    for name, preset in PRESETS.items():
        config = configure(name)
        facts[name] = {
            "name": name,
            "line": config.line,
            "parameters": count_parameters(config),
            "published": preset.published,
            "exact": preset.exact,
            "source": preset.source,
            **settings(config),
        }
    return facts


def own_facts(name: str) -> dict[str, Any]:
    """A model in a folder or a file, this package's or another's."""
    from allyouneed.checkpoints.conversion import read_model
    from allyouneed.checkpoints.native import CARD, read_text
    from allyouneed.checkpoints.places import place_of
    from allyouneed.models.presets import count_parameters

    place = place_of(name)
    config = read_model(place).config
    card = read_text(place / CARD) if place.is_dir() else None
    return {
        "name": name,
        "line": config.line,
        "parameters": count_parameters(config),
        **settings(config),
        "card": card or "",
    }


def zoo_facts() -> dict[str, dict[str, Any]]:
    """Every shipped model: its size, and its card."""
    from allyouneed.checkpoints.native import CARD, CONFIG, WEIGHTS, read_config, read_text
    from allyouneed.checkpoints.places import ZOO, shipped
    from allyouneed.models.presets import count_parameters

    facts: dict[str, dict[str, Any]] = {}
    for name in shipped():
        folder = ZOO / name.removeprefix("zoo:")
        config = read_config(folder / CONFIG)[1]
        card = read_text(folder / CARD) or ""
        facts[name] = {
            "name": name,
            "title": card.partition("\n")[0].lstrip("# "),
            "line": config.line,
            "parameters": count_parameters(config),
            "megabytes": round((folder / WEIGHTS).stat().st_size / 1e6, 1),
            **settings(config),
            "card": card,
        }
    return facts


def settings(config: Any) -> dict[str, Any]:
    """All fields of a config, those first that differ from their defaults; under "usual" the defaults."""
    values = asdict(config)
    defaults = {field.name: field.default for field in fields(config)}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return {**changed, **values, "usual": defaults}


def bare(facts: dict[str, Any]) -> dict[str, Any]:
    """What is known of one model, without the defaults of its kind."""
    return {key: value for key, value in facts.items() if key != "usual"}


def overview(presets: list[dict[str, Any]], zoo: list[dict[str, Any]]) -> list[str]:
    """A table of the presets, a part for each line, and one of what ships."""
    head, *rows = table(HEAD, [preset_row(facts) for facts in presets])
    lines: list[str] = []
    for line, title in LINES.items():
        part = [row for row, facts in zip(rows, presets, strict=True) if facts["line"] == line]
        lines += [title, head, *part, ""] if part else []
    if not zoo:
        return lines[:-1]
    shipped = [[f["name"], f"{f['parameters']:,}", f"{f['megabytes']} MB", f["title"]] for f in zoo]
    return [*lines, "Shipped", *table(["name", "parameters", "size", "what it is"], shipped)]


def preset_row(facts: dict[str, Any]) -> list[str]:
    """A preset's cells."""
    published = "-" if facts["published"] is None else f"{facts['published']:,}"
    depths = [facts[name] for name in ("n_encoder_layers", "n_decoder_layers", "n_layers") if facts.get(name)]
    heads, groups = facts.get("n_heads", "-"), facts.get("n_kv_heads")
    return [
        facts["name"],
        f"{facts['parameters']:,}",
        published,
        "+".join(f"1×{depth}" if facts.get("shared_depth") else str(depth) for depth in depths) or "-",
        str(facts.get("d_model", facts.get("d_hidden", "-"))),
        str(heads) if groups in (None, heads) else f"{heads}/{groups}",
        facts["source"],
    ]


def details(facts: dict[str, Any]) -> list[str]:
    """All about one model: what it is, the settings that are its own, those that are usual, and its card."""
    defaults = facts["usual"]
    card = facts.get("card", "")
    about = {key: value for key, value in facts.items() if key not in (*defaults, "card", "exact", "usual")}
    own = {key: facts[key] for key in facts if key in defaults and facts[key] != defaults[key]}
    others = {key: facts[key] for key in defaults if key not in own}
    return [
        *columns(about),
        "",
        *columns(own),
        "",
        "as usual:",
        *columns(others),
        *(["", *card.rstrip("\n").split("\n")] if card else []),
    ]


def columns(facts: dict[str, Any]) -> list[str]:
    """Names and values, one a line."""
    width = max(20, *(len(key) + 2 for key in facts))
    return [f"{key:<{width}}{'-' if value is None else value}" for key, value in facts.items()]


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
