"""The code behind it all: four pieces of this package, run line by line, and held to their fast forms and to torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.drawing import drawn
from allyouneed.guide.widgets.tracing import watch
from allyouneed.models.config import TransformerConfig
from allyouneed.models.inputs import Inputs as StackInputs
from allyouneed.parts.attention import (
    MultiHeadAttention,
    attend,
    attention_scores,
    attention_weights,
    fused_attend,
    naive_attend,
)
from allyouneed.parts.masks import Mask, causal
from allyouneed.parts.positions import angles, sinusoids

Snippet = Literal["attention", "mask", "heads", "positions"]
Function = Callable[..., Any]
Run = Callable[[], Tensor]


class CodeInputs(Inputs):
    """Which piece, in which form, and the shapes that it runs with."""

    snippet: Snippet = "attention"
    form: Literal["plain", "fast"] = "plain"
    batch: int = Field(2, ge=1, le=8)
    n: int = Field(5, ge=2, le=64)
    d_model: Literal[8, 16, 32, 64, 128, 256, 512] = 64
    heads: Literal[1, 2, 4, 8] = 4
    seed: int = Field(1, ge=0, le=9999)


@dataclass(frozen=True)
class Piece:
    """A piece of code in its two forms, runnable, and the same number from torch's own functions."""

    place: str  # of the figure that shows it at work
    plain: tuple[Function, ...]
    fast: tuple[Function, ...]
    run: dict[str, Run]
    torchs: str


def attention(inputs: CodeInputs) -> Piece:
    """The soft lookup."""
    shape = (inputs.batch, inputs.heads, inputs.n, inputs.d_model // inputs.heads)
    query, key, value = torch.randn(3, *shape, generator=torch.Generator().manual_seed(inputs.seed))
    runs: dict[str, Run] = {
        "plain": lambda: naive_attend(query, key, value),
        "fast": lambda: attend(query, key, value),
        "torch": lambda: scaled_dot_product_attention(query, key, value),
    }
    plain = (naive_attend, attention_weights, attention_scores)
    return Piece("s5.flow", plain, (attend, fused_attend), runs, "scaled_dot_product_attention")


def mask(inputs: CodeInputs) -> Piece:
    """The causal mask, and the lookup under it."""
    shape = (inputs.batch, inputs.heads, inputs.n, inputs.d_model // inputs.heads)
    query, key, value = torch.randn(3, *shape, generator=torch.Generator().manual_seed(inputs.seed))
    triangle = torch.ones(inputs.n, inputs.n).tril().bool()
    runs: dict[str, Run] = {
        "plain": lambda: naive_attend(query, key, value, causal()),
        "fast": lambda: fused_attend(query, key, value, causal()),
        "torch": lambda: scaled_dot_product_attention(query, key, value, attn_mask=triangle),
    }
    return Piece("s7.causal-mask", (causal, Mask.dense, Mask.among), (fused_attend,), runs, "tril")


def heads(inputs: CodeInputs) -> Piece:
    """Several lookups side by side."""
    with drawn(inputs.seed):
        layer = MultiHeadAttention(inputs.d_model, inputs.heads).eval()
        x = torch.randn(inputs.batch, inputs.n, inputs.d_model)

    def plain() -> Tensor:
        keys, values = layer.keys_values(x)
        return layer.output(naive_attend(layer.queries(x), keys, values).transpose(1, 2).flatten(2))

    def torchs() -> Tensor:
        with drawn(0):  # weights that ours replace
            theirs = nn.MultiheadAttention(inputs.d_model, inputs.heads, batch_first=True).eval()
        three = (layer.query, layer.key, layer.value)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in three]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in three]))
        theirs.out_proj.load_state_dict(layer.output.state_dict())
        return theirs(x, x, x, need_weights=False)[0]

    runs: dict[str, Run] = {"plain": plain, "fast": lambda: layer(x, *layer.keys_values(x)), "torch": torchs}
    ours = (MultiHeadAttention.keys_values, MultiHeadAttention.split, MultiHeadAttention.queries)
    return Piece("s8.heads", ours, (MultiHeadAttention.forward,), runs, "MultiheadAttention")


def positions(inputs: CodeInputs) -> Piece:
    """The sinusoids; in fast form they are a table, made once."""
    config = TransformerConfig(vocab_size=1, d_model=inputs.d_model, n_heads=1, max_length=inputs.n)
    stack = StackInputs(config, two_way=True).eval()
    table = nn.Embedding.from_pretrained(torch.zeros(1, inputs.d_model))
    places, tokens = torch.arange(inputs.n), torch.zeros(1, inputs.n, dtype=torch.long)

    def torchs() -> Tensor:
        angle = angles(inputs.n, inputs.d_model)
        turned = torch.view_as_real(torch.polar(torch.ones_like(angle), angle))  # cosine, sine
        return turned.flip(-1).flatten(1).float()

    runs: dict[str, Run] = {
        "plain": lambda: sinusoids(inputs.n, inputs.d_model),
        "fast": lambda: stack(tokens, places, table)[0],
        "torch": torchs,
    }
    return Piece("s9.positions", (sinusoids, angles), (StackInputs.forward,), runs, "polar")


PIECES: dict[Snippet, Callable[[CodeInputs], Piece]] = {
    "attention": attention,
    "mask": mask,
    "heads": heads,
    "positions": positions,
}


@torch.no_grad()
def compute(inputs: CodeInputs, models: Models) -> dict[str, Any]:
    """The source of the piece as it runs, what each line made, and how far its forms and torch's lie apart."""
    piece = PIECES[inputs.snippet](inputs)
    functions = piece.plain if inputs.form == "plain" else piece.fast
    watched, _ = watch(functions, piece.run[inputs.form])
    results = {form: run() for form, run in piece.run.items()}

    def apart(one: str, other: str) -> float:
        return (results[one] - results[other]).abs().max().item()

    return {
        "functions": [
            {"name": note.function.__qualname__, "module": note.function.__module__, "lines": note.lines()}
            for note in watched
        ],
        "place": piece.place,
        "shape": list(results["plain"].shape),
        "fast_difference": apart("plain", "fast"),
        "torch_difference": apart("plain", "torch"),
        "torch_name": piece.torchs,
    }


WIDGET = Widget(CodeInputs, compute, (watch,))
