"""What a model looked at, as a figure: its numbers are those of the view, in a notebook as on a page."""

import sys
from typing import Any

import numpy as np
import pytest

from allyouneed.errors import UsageError
from allyouneed.guide import look
from allyouneed.guide.alone import Page
from allyouneed.guide.language import strings
from allyouneed.lens.attention import Attention
from allyouneed.pipeline import LanguageModel, Translator

AT = {"side": "cross", "layer": 1, "head": -1}


@pytest.fixture(scope="module")
def view(pipe: Translator) -> Attention:
    return pipe.attend("The mouse ate the cheese.", "La souris a mangé.")


def shows(answer: dict[str, Any], view: Attention, side: str, layer: int, head: Any) -> bool:
    rows, columns = ([token["text"] for token in answer[names]] for names in ("rows", "columns"))
    assert (rows, columns) == tuple(map(list, view.tokens[side]))
    return np.allclose(answer["cells"], view[side, layer, head].numpy(), atol=1e-5)


@pytest.mark.parametrize("side", ["encoder", "decoder", "cross"])
def test_figure_shows_every_layer_and_head(view: Attention, side: str) -> None:
    figure = look.figure(view)
    for layer in range(2):
        for head in range(-1, 4):
            answer = figure.answer({"side": side, "layer": layer, "head": head}, look.NO_MODELS)
            assert shows(answer, view, side, layer, "mean" if head < 0 else head)


def test_figure_begins_where_the_model_ends_and_names_what_it_has(
    view: Attention, language_model: LanguageModel
) -> None:
    assert shows(look.figure(view).answer({}, look.NO_MODELS), view, "cross", -1, "mean")
    fields = look.figure(view).fields()
    assert fields["side"]["choices"] == ["encoder", "decoder", "cross"]
    assert all(f"attention.side.{side}" in strings("ko") for side in fields["side"]["choices"])
    assert look.figure(language_model.attend("The mouse ate.")).fields()["side"]["choices"] == ["decoder"]


def test_side_with_fewer_layers_says_so(view: Attention) -> None:
    lookups = {**view.lookups, "encoder": view.lookups["encoder"][:1]}
    figure = look.figure(Attention(lookups, view.tokens))
    answer = figure.answer({"side": "encoder", "layer": 1}, look.NO_MODELS)
    assert answer["used"]["layer"] == answer["limits"]["layer"] == 0
    assert shows(answer, view, "encoder", 0, "mean")


def test_notebook_computes_what_is_asked(view: Attention) -> None:
    pytest.importorskip("anywidget", reason="the notebook extra is not installed")
    widget = look.live(view, "ko", AT)
    assert shows(widget.result, view, "cross", 1, "mean")
    assert widget.unlisted
    assert widget.strings == strings("ko")
    widget.inputs = {"side": "encoder", "layer": 0, "head": 2}
    assert shows(widget.result, view, "encoder", 0, 2)
    widget.inputs = {**widget.inputs, "side": "somewhere"}
    assert "There is no side" in widget.error["message"]


def test_page_stands_in_where_notebook_figures_are_missing(view: Attention, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "allyouneed.guide.notebook", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    page = look.live(view, "ko", AT)
    assert isinstance(page, Page)
    assert page.title == strings("ko")["attention.title"]


def test_unknown_language_is_refused(view: Attention) -> None:
    with pytest.raises(UsageError, match='no language "fr", only ko and en'):
        look.page(view, "fr", AT)
