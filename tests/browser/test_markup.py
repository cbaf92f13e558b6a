"""What a reader or a link writes into a figure is text, whatever it looks like."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

MARKUP = '<img src=x onerror="window.ran=1"><b id="planted">a</b>'


@pytest.mark.parametrize(
    ("section", "name", "field"),
    [("s1", "sentences", "sentences"), ("s6", "self-attention", "sentence"), ("s7", "cross-attention", "source")],
)
def test_markup_is_shown_as_text(visit: Callable[..., Any], section: str, name: str, field: str) -> None:
    reader = visit(f"/?lang=en#{section}.{name}?{field}={quote(MARKUP)}")
    figure = reader.figure(name)
    assert figure.locator(f'[data-field="{field}"]').first.input_value() == MARKUP
    for panel in ("table", "link", "cell"):
        figure.locator(f'[data-panel="{panel}"]').click()
    shown = figure.locator(".token").all_inner_texts()
    assert any("<" in token for token in shown)
    assert any(">" in token for token in shown)
    assert reader.page.evaluate("[window.ran, document.getElementById('planted'), document.images.length]") == [
        None,
        None,
        0,
    ]
