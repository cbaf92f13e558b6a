"""What a model looked at, as a figure with the guide's front end: the lens asks for it, in a notebook or as a page."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from pydantic import Field, create_model

from allyouneed.guide.alone import Page, page_of, state_of
from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, pooled
from allyouneed.lens.attention import Attention, Lookup

NAME = "attention"
NO_MODELS = Models()  # the numbers are those of the view, whichever model it came from


def most(view: Attention) -> tuple[int, int]:
    """The layers and heads of the sides that have the most."""
    return max(map(view.layers, view.sides)), max(map(view.heads, view.sides))


def figure(view: Attention) -> Widget:
    """The figure of one view: side, layer and head are inputs, and head -1 is the mean of all."""
    layers, heads = most(view)
    inputs = create_model(
        "AttentionInputs",
        __base__=Inputs,
        side=(str, Field(view.sides[-1], json_schema_extra={"enum": list(view.sides)})),
        layer=(int, Field(layers - 1, ge=0, le=layers - 1)),
        head=(int, Field(-1, ge=-1, le=heads - 1)),
    )

    def compute(inputs: Any, models: Models) -> dict[str, Any]:
        """The weights of one side, layer and head."""
        of_layers, of_heads = view.layers(inputs.side), view.heads(inputs.side)
        layer, head = min(inputs.layer, of_layers - 1), min(inputs.head, of_heads - 1)
        cells, factor = pooled(view[inputs.side, layer, "mean" if head < 0 else head])
        rows, columns = ([{"text": text, "kind": "piece"} for text in names] for names in view.tokens[inputs.side])
        return {
            "rows": rows,
            "columns": columns,
            "cells": cells,
            "factor": factor,
            "size": max(len(rows), len(columns)),
            "used": {"layer": layer, "head": head},
            "limits": {"layer": of_layers - 1, "head": of_heads - 1},
        }

    attentions = {type(lookups[0].attention): None for lookups in view.lookups.values()}
    return Widget(inputs, compute, (*(attention.weights for attention in attentions), Lookup.weights))


def page(view: Attention, lang: str, at: dict[str, Any]) -> Page:
    """A page of every side, layer and head, which opens at one of them."""
    shown = figure(view)
    state = {**state_of(NAME, shown, lang, at, NO_MODELS), "unlisted": True}
    return page_of(state, shown, NO_MODELS, everything(view))


def everything(view: Attention) -> Iterator[dict[str, Any]]:
    """Each side, layer and head that the controls can name."""
    layers, heads = most(view)
    for side, layer, head in product(view.sides, range(layers), range(-1, heads)):
        yield {"side": side, "layer": layer, "head": head}


def live(view: Attention, lang: str, at: dict[str, Any]) -> Any:
    """What a notebook shows: the figure, computed by the kernel; where anywidget is missing, its page in a frame."""
    try:
        from allyouneed.guide.notebook import Widget as Live  # anywidget is an extra
    except ModuleNotFoundError:
        return page(view, lang, at)
    return Live(NAME, lang, figure=figure(view), **at)
