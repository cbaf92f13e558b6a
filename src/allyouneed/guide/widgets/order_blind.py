"""Without positions a Transformer sees a bag of words: another order gives the same outputs, in the other order."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.texts import encoded, named, row
from allyouneed.models.inputs import Inputs as StackInputs
from allyouneed.models.transformer import Transformer
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.pipeline import Pipeline

LONGEST_TEXT = 2000  # characters
SAME, TOLD_APART = 1e-4, 1e-2  # outputs that lie nearer are the same but for rounding; farther, and they differ


class OrderBlindInputs(Inputs):
    """Two texts of the same words in another order, with positions and without."""

    first: str = Field("cat fat", max_length=LONGEST_TEXT)
    second: str = Field("fat cat", max_length=LONGEST_TEXT)
    positions: bool = False
    model: str = any_model("zoo:en-fr", "encoder", "both")


@contextmanager
def without_positions(stack: StackInputs) -> Generator[None]:
    """While it is open, the stack adds nothing for a position and tells attention of none."""
    kept = (stack.kind, stack.waves, stack.learned, stack.rotary, stack.bias)
    stack.kind, stack.waves, stack.learned, stack.rotary, stack.bias = "none", None, None, None, None
    try:
        yield
    finally:
        stack.kind, stack.waves, stack.learned, stack.rotary, stack.bias = kept


def outputs(model: Transformer, ids: list[int], *, positions: bool) -> Tensor:
    """The encoder's states, with positions or without. [T, D]"""
    if positions:
        return model.encode(row(ids)).states[0]
    with without_positions(model.encoder_inputs):
        return model.encode(row(ids)).states[0]


def matched(first: list[int], second: list[int]) -> list[int]:
    """For each token of the first text the place of its like in the second: the next one that is still free."""
    free = list(enumerate(second))
    places: list[int] = []
    for token in first:
        at = next(at for at, (_, other) in enumerate(free) if other == token)
        places.append(free.pop(at)[0])
    return places


def moved(model: Transformer, first: list[int], second: list[int], *, positions: bool) -> Tensor:
    """How far the output of each token of the first text lies from that of its like in the second, [T]."""
    ours, theirs = (outputs(model, ids, positions=positions) for ids in (first, second))
    return (ours - theirs[matched(first, second)]).abs().amax(-1)


def claim(key: str, value: float, *, holds: bool) -> dict[str, Any]:
    """One line of what the text says of this model."""
    return {"key": f"order-blind.claim-{key}", "word": key, "origin": "", "value": value, "holds": holds}


@torch.no_grad()
def compute(inputs: OrderBlindInputs, models: Models) -> dict[str, Any]:
    """The difference of the outputs, token by token, with positions and without."""
    with models.use(inputs.model, Pipeline) as pipe:
        assert isinstance(pipe.model, Transformer)
        tokenizer, longest = pipe.tokenizer, pipe.config.max_length - pipe.n_marks
        first, second = (
            tokenizer.wrap(encoded(tokenizer, text, field, longest))
            for field, text in (("first", inputs.first), ("second", inputs.second))
        )
        if sorted(first) != sorted(second):
            raise FigureError("error.other-words", "second")
        with_positions = moved(pipe.model, first, second, positions=True)
        without = moved(pipe.model, first, second, positions=False)
        names = named(tokenizer, first)
        others = named(tokenizer, second)
    shown = with_positions if inputs.positions else without
    told, untold = with_positions.max().item(), without.max().item()
    return {
        "tokens": names,
        "others": others,
        "differences": shown,
        "largest": shown.max().item(),
        "with": told,
        "without": untold,
        "claims": [
            claim("without", untold, holds=untold < SAME),
            claim("with", told, holds=told > TOLD_APART),
        ],
        "model": models.card(inputs.model),
    }


WIDGET = Widget(OrderBlindInputs, compute, (moved, without_positions, MultiHeadAttention.forward))
