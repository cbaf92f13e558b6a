"""The guide as one file that opens without a server: the page, its front end, and answers computed beforehand."""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.guide.esm import bundle
from allyouneed.guide.language import LANGUAGES
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB, data, page_text
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError, Widget

MOST = 16  # values of one control that are computed beforehand
FILE = "index.html"


def export(folder: str | Path, lang: str = "ko", models: Models | None = None) -> Path:
    """Writes the guide into a folder -> the file to open. Each control can be moved by itself, as far as it has few
    values; whatever else the live guide can do is shown as disabled.

    Raises UsageError where the language is unknown and InputError where the folder cannot be written.
    """
    if lang not in LANGUAGES:
        raise UsageError(f'The guide has no language "{lang}", only {" and ".join(LANGUAGES)}.')
    path = Path(folder) / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # a folder that cannot be is refused before the work
        with one_thread():
            text = whole(lang, Models() if models is None else models)
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"The guide cannot be written to {path}: {problem.strerror or problem}.") from problem
    return path


@contextmanager
def one_thread() -> Generator[None]:
    """The shipped models are so small that further threads wait for each other more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def whole(lang: str, models: Models) -> str:
    """The page with everything that it needs inside."""
    given = data()
    fields: dict[str, Any] = {}
    baked: dict[str, Any] = {}
    for name, widget in WIDGETS.items():
        values, answers = saved(widget, models)
        fields[name] = {field: {**spec, "saved": values[field]} for field, spec in widget.fields().items()}
        baked[name] = {"answers": answers, "code": widget.sources()}
    return page_text(
        lang,
        {**given, "fields": fields, "baked": baked, "own": ()},
        head="".join(
            f"<style>\n{(WEB / name).read_text(encoding='utf-8')}</style>\n" for name in ("style.css", "page.css")
        )
        + f"<script>\n{(WEB / 'theme.js').read_text(encoding='utf-8')}</script>\n",
        foot=f'<script type="module">\n{bundle(WEB / "page.js")}</script>\n',
    )


def saved(
    widget: Widget,
    models: Models,
    given: Mapping[str, Any] | None = None,
    states: Iterable[Mapping[str, Any]] | None = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The answers at the given inputs and in other states (None: with each control moved by itself): the values of each
    field, and the answers by their inputs as the front end spells them.
    """
    first = widget.answer(given or {}, models)
    answers = {spelt(first["inputs"]): first}
    values = {field: [value] for field, value in first["inputs"].items()}
    for state in neighbours(widget, first) if states is None else states:
        try:
            answer = widget.answer(state, models)
        except FigureError:
            continue  # what the figure refuses cannot be chosen either
        answers[spelt(answer["inputs"])] = answer
        for field, value in answer["inputs"].items():
            if value not in values[field]:
                values[field].append(value)
    for field, spec in widget.fields().items():
        values[field].sort(key=spec["choices"].index if "choices" in spec else None)
    return values, answers


def neighbours(widget: Widget, answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The inputs of an answer with one of them changed, each in turn, and at each layer and head that it points out."""
    now, limits = answer["inputs"], answer.get("limits", {})
    for field, spec in widget.fields().items():
        yield from ({**now, field: value} for value in others(spec, limits.get(field)) if value != now[field])
    if {"layer", "head"} <= now.keys():
        yield from ({**now, **place} for place in places(answer) if place.items() - now.items())


def places(part: Any) -> Iterator[dict[str, int]]:
    """Each pair of a layer and a head that stands within an answer."""
    if isinstance(part, dict):
        if {"layer", "head"} <= part.keys():
            yield {"layer": part["layer"], "head": part["head"]}
        part = [inner for name, inner in part.items() if name not in ("inputs", "limits", "used")]
    if isinstance(part, list):
        for inner in part:
            yield from places(inner)


def others(spec: dict[str, Any], limit: Any) -> Iterator[Any]:
    """The values of a field that are worth computing: all of a few, none of many."""
    if spec["type"] == "boolean":
        yield from (False, True)
    elif "choices" in spec:
        yield from spec["choices"]
    elif spec["type"] == "integer":
        last = spec["max"] if limit is None else min(limit, spec["max"])
        if last - spec["min"] < MOST:
            yield from range(spec["min"], last + 1)


def spelt(inputs: dict[str, Any]) -> str:
    """Inputs as the front end writes them: whole numbers have no decimals there."""
    plain = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in inputs.items()
    }
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
