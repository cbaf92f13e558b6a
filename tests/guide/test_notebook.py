import sys
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("anywidget", reason="the notebook extra is not installed")

import allyouneed as ayn
from allyouneed.errors import UsageError
from allyouneed.guide import notebook
from allyouneed.guide.language import strings
from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS


@pytest.fixture(autouse=True)
def stand_in(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "MODELS", models)


def test_package_offers_its_figures() -> None:
    widget = ayn.widget("scaling", d_k=512, lang="en")
    assert isinstance(widget, notebook.Widget)
    assert widget.inputs["d_k"] == 512


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "allyouneed.guide.notebook")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(UsageError, match=r'needs anywidget: pip install "allyouneed\[notebook\]"'):
        ayn.widget("scaling")


@pytest.mark.parametrize("name", WIDGETS)
def test_cell_shows_the_numbers_of_the_page(models: Models, name: str) -> None:
    widget = notebook.Widget(name, lang="en")
    assert widget.result == WIDGETS[name].answer({}, models)
    assert widget.strings == strings("en")
    assert widget.fields == WIDGETS[name].fields()


def test_changed_inputs_are_computed(models: Models) -> None:
    widget = notebook.Widget("scaling", d_k=512, scale=False)
    widget.inputs = {**widget.inputs, "scale": True}
    assert widget.result == WIDGETS["scaling"].answer({"d_k": 512, "scale": True}, models)


def test_refusal_reaches_the_front_end_and_goes_away() -> None:
    widget = notebook.Widget("cross-attention", lang="en")
    before: dict[str, Any] = widget.result
    widget.inputs = {**widget.inputs, "source": "  "}
    assert widget.error is not None
    assert widget.error["key"] == "error.empty"
    assert widget.result == before
    widget.inputs = before["inputs"]
    assert widget.error is None


def test_failure_ends_the_wait_and_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = notebook.Widget("scaling")

    def fail(*given: Any) -> dict[str, Any]:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(widget, "_figure", replace(WIDGETS["scaling"], compute=fail))
    with pytest.raises(RuntimeError, match="out of memory"):
        widget.inputs = {**widget.inputs, "n": 5}
    assert widget.error == {"key": "error.unexpected", "params": {}}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("scalin", {}, 'no figure "scalin". Did you mean "scaling"?'),
        ("scaling", {"lang": "fr"}, 'no language "fr", only ko and en'),
        ("scaling", {"n": 99}, "n: 99 is outside 2 to 32"),
    ],
)
def test_wrong_call_is_refused_in_words(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        notebook.Widget(name, **given)
