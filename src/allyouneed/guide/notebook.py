"""The guide's figures in a notebook: the same front end, the same `compute`, no server. Needs the `notebook` extra."""

from typing import Any

import anywidget
import traitlets

from allyouneed.errors import UsageError, nearest
from allyouneed.guide.esm import bundle
from allyouneed.guide.language import LANGUAGES, strings
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError

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

    def __init__(self, name: str, lang: str = "ko", **inputs: Any) -> None:
        if name not in WIDGETS:
            raise UsageError(f'There is no figure "{name}".{nearest(name, WIDGETS)} Figures: {", ".join(WIDGETS)}.')
        if lang not in LANGUAGES:
            raise UsageError(f'The guide has no language "{lang}", only {" and ".join(LANGUAGES)}.')
        figure = WIDGETS[name]
        try:
            result = figure.answer(inputs, MODELS)
        except FigureError as refused:
            raise UsageError(str(refused)) from refused
        fixed = {
            "name": name,
            "lang": lang,
            "strings": strings(lang),
            "fields": figure.fields(),
            "code": figure.sources(),
        }
        super().__init__(inputs=result["inputs"], result=result, **fixed)

    @traitlets.observe("inputs")
    def _compute(self, change: dict[str, Any]) -> None:
        self.error = None
        if change["new"] == self.result["inputs"]:
            return
        try:
            self.result = WIDGETS[self.name].answer(self.inputs, MODELS)
        except FigureError as refused:
            self.error = refused.as_dict()
        except Exception:
            self.error = UNEXPECTED
            raise  # the notebook's log tells the rest
