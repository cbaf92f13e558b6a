"""One head from end to end: X makes Q, K and V, they make scores and weights, and the weights make Z."""

import math
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.heads import Places, one_head, one_value
from allyouneed.guide.widgets.self_attention import look
from allyouneed.guide.widgets.texts import encoded, named
from allyouneed.lens.attention import Lookup
from allyouneed.parts.attention import MultiHeadAttention, attention_scores, attention_weights, naive_attend
from allyouneed.pipeline import Pipeline

EXAMPLE = "How are you"
LONGEST_SENTENCE = 16  # tokens
SHOWN = 6  # terms of a sum
Step = Literal["q", "k", "v", "scores", "weights", "z"]


class FlowInputs(Inputs):
    """An empty `sentence` is the example. `row` and `column`, from 0, are a cell of the matrix `step`."""

    sentence: str = Field("", max_length=2000)
    step: Step = "scores"
    row: int = Field(1, ge=0, le=LONGEST_SENTENCE)
    column: int = Field(2, ge=0, le=1023)
    layer: int = Field(0, ge=0, le=127)
    head: int = Field(0, ge=0, le=127)
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


def projection(seen: Lookup, step: Step, head: int) -> tuple[Tensor, Tensor]:
    """The matrix [D, K] and the bias [K] that make one head's queries, keys or values of the states."""
    attention = seen.attention
    layer = {"q": attention.query, "k": attention.key, "v": attention.value}[step]
    group = head if step == "q" else head * attention.n_kv_heads // attention.n_heads
    part = slice(group * attention.d_head, (group + 1) * attention.d_head)
    bias = torch.zeros(attention.d_head) if layer.bias is None else layer.bias[part]
    return layer.weight[part].T, bias


def terms_of(step: Step, place: tuple[int, int], steps: dict[str, Tensor], maker: tuple[Tensor, Tensor]) -> Tensor:
    """The products, or of the weights the quotients, that a cell is the sum of. [terms]"""
    row, column = place
    match step:
        case "q" | "k" | "v":
            return torch.cat((steps["x"][row] * maker[0][:, column], maker[1][None, column]))
        case "scores":
            return steps["q"][row] * steps["k"][column] / math.sqrt(steps["q"].shape[-1])
        case "weights":
            return (steps["scores"][row, column] - steps["scores"][row].logsumexp(-1)).exp()[None]
        case "z":
            return steps["weights"][row] * steps["v"][:, column]


@torch.no_grad()
def compute(inputs: FlowInputs, models: Models) -> dict[str, Any]:
    """Every matrix of one head, and the sum behind one cell."""
    with models.use(inputs.model, Pipeline) as pipe:
        places = pipe.config.max_length - pipe.n_marks
        written = encoded(pipe.tokenizer, inputs.sentence or EXAMPLE, "sentence", places, LONGEST_SENTENCE)
        ids, lookups = look(pipe, written)
        places = Places.within(inputs.layer, inputs.head, lookups)
        seen = lookups[places.layer]
        if seen.attention.scale is not None or seen.place.bias is not None or seen.attention.relative is not None:
            raise FigureError("error.other-scores")
        query, key = one_head(seen, places.head)
        value = one_value(seen, places.head)
        tokens, sentence = named(pipe.tokenizer, ids), pipe.tokenizer.decode(written)
        maker = projection(seen, inputs.step if inputs.step in ("q", "k", "v") else "q", places.head)
    scores, weights = attention_scores(query, key)[0, 0], attention_weights(query, key, seen.mask)[0, 0]
    if seen.mask is not None:
        scores = scores.masked_fill(~seen.mask.dense(len(ids), len(ids))[..., : len(ids), : len(ids)], -math.inf)
    mixed = naive_attend(query, key, value, seen.mask)[0, 0]
    steps = {"x": seen.x[0], "q": query[0, 0], "k": key[0, 0], "v": value[0, 0]}
    steps |= {"scores": scores, "weights": weights, "z": mixed}
    matrix = steps[inputs.step]
    row, column = min(inputs.row, matrix.shape[0] - 1), min(inputs.column, matrix.shape[1] - 1)
    terms = terms_of(inputs.step, (row, column), steps, maker)
    order = terms.abs().argsort(descending=True)[:SHOWN]
    return {
        "tokens": tokens,
        "sentence": sentence,
        "steps": steps,
        "shapes": {name: list(step.shape) for name, step in steps.items()} | {"w": list(maker[0].shape)},
        "turned": seen.place.turn is not None,
        "cell": matrix[row, column].item(),
        "terms": [{"at": int(at), "value": terms[at].item()} for at in order],
        "rest": (terms.sum() - terms[order].sum()).item(),
        "count": len(terms),
        "others": len(terms) - len(order),
        "sum": terms.sum().item(),
        "model": models.card(inputs.model),
        "used": {"row": row, "column": column, "layer": places.layer, "head": places.head},
        "limits": {
            "row": matrix.shape[0] - 1,
            "column": matrix.shape[1] - 1,
            "layer": places.layers - 1,
            "head": places.heads - 1,
        },
    }


WIDGET = Widget(
    FlowInputs,
    compute,
    (MultiHeadAttention.queries, MultiHeadAttention.keys_values, attention_scores, attention_weights, naive_attend),
)
