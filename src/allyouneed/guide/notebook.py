"""The guide's figures in a notebook: the same front end, the same `compute`, no server. Needs the `notebook` extra."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from allyouneed.errors import UsageError, nearest
from allyouneed.guide.alone import Page, page_of, state_of
from allyouneed.guide.esm import bundle
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.base import Widget as Figure

MODELS = Models(open_any=True)
UNEXPECTED = {"key": "error.unexpected", "params": {}}


class Widget(anywidget.AnyWidget):
    """One figure of the guide by its name, for instance `Widget("scaling", d_k=512, scale=False, lang="en")`.

    Model names are those of `allyouneed.load`. Raises UsageError where the figure, the language or a value is unknown.
    """

    _esm = bundle(WEB / "index.js")
    _css = (WEB / "style.css").read_text(encoding="utf-8")

    name = traitlets.Unicode().tag(sync=True)
    inputs = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)
    error = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    strings = traitlets.Dict().tag(sync=True)
    lang = traitlets.Unicode().tag(sync=True)
    fields = traitlets.Dict().tag(sync=True)
    code = traitlets.List().tag(sync=True)

    unlisted = traitlets.Bool(default_value=False).tag(sync=True)  # no figure of the guide: it has no address there

    def __init__(self, name: str, lang: str = "ko", *, figure: Figure | None = None, **inputs: Any) -> None:
        if figure is None and name not in WIDGETS:
            raise UsageError(f'There is no figure "{name}".{nearest(name, WIDGETS)} Figures: {", ".join(WIDGETS)}.')
        self._figure = figure or WIDGETS[name]
        try:
            state = state_of(name, self._figure, lang, inputs, MODELS)
        except FigureError as refused:
            raise UsageError(str(refused)) from refused
        super().__init__(**state, unlisted=figure is not None)

    def static(self) -> Page:
        """The figure as it stands, for a notebook that cannot load anywidget: each control moves by itself."""
        state = state_of(self.name, self._figure, self.lang, self.inputs, MODELS)
        return page_of(state, self._figure, MODELS)

    def to_html(self, path: str | Path) -> None:
        """Writes the same as a page that opens offline. Raises InputError where it cannot be written."""
        self.static().save(path)

    @traitlets.observe("inputs")
    def _compute(self, change: dict[str, Any]) -> None:
        self.error = None
        if change["new"] == self.result["inputs"]:
            return
        try:
            self.result = self._figure.answer(self.inputs, MODELS)
        except FigureError as refused:
            self.error = refused.as_dict()
        except Exception:
            self.error = UNEXPECTED
            raise  # the notebook's log tells the rest
