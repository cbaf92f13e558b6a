"""One figure as a page of its own, with its answers inside: it opens without a server, a kernel or a network."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from allyouneed.errors import UsageError
from allyouneed.guide.esm import bundle
from allyouneed.guide.export import saved
from allyouneed.guide.language import LANGUAGES, strings
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB, embedded
from allyouneed.guide.widgets.base import Widget
from allyouneed.lens.attention import write_whole


@dataclass(frozen=True)
class Page:
    """A page of one figure; a notebook shows it in a frame."""

    title: str
    text: str

    def save(self, path: str | Path) -> None:
        """Writes it as .html. Raises InputError where it cannot be written."""
        write_whole(Path(path), self.text.encode())

    def _repr_html_(self) -> str:
        source, title = html.escape(self.text), html.escape(self.title)
        return f'<iframe srcdoc="{source}" title="{title}" style="width:100%;height:40rem;border:0"></iframe>'


def state_of(name: str, figure: Widget, lang: str, inputs: Mapping[str, Any], models: Models) -> dict[str, Any]:
    """What the front end starts from. Raises UsageError for an unknown language and FigureError for wrong inputs."""
    if lang not in LANGUAGES:
        raise UsageError(f'The guide has no language "{lang}", only {" and ".join(LANGUAGES)}.')
    result = figure.answer(inputs, models)
    return {
        "name": name,
        "lang": lang,
        "inputs": result["inputs"],
        "result": result,
        "strings": strings(lang),
        "fields": figure.fields(),
        "code": figure.sources(),
    }


def page_of(
    state: Mapping[str, Any], figure: Widget, models: Models, states: Iterable[Mapping[str, Any]] | None = None
) -> Page:
    """The page of a figure in this state; other `states` come along (None: those that one control leads to)."""
    values, answers = saved(figure, models, state["inputs"], states)
    fields = {name: {**spec, "saved": values[name]} for name, spec in state["fields"].items()}
    # Starting again leads back to the inputs that the page was made with.
    given = {"state": {**state, "fields": fields, "chosen": state["inputs"]}, "baked": {"answers": answers}}
    words = state["strings"]
    title = words[f"{state['name']}.title"]
    text = Template((WEB / "alone.html").read_text(encoding="utf-8")).substitute(
        lang=state["lang"],
        title=html.escape(title),
        script=html.escape(words["page.script"]),
        style=(WEB / "style.css").read_text(encoding="utf-8"),
        data=embedded(given),
        front=bundle(WEB / "alone.js"),
    )
    return Page(title, text)
