"""The parts of a Transformer as operations of ONNX, each with the shapes of the part that it stands for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from allyouneed.checkpoints.onnx.graph import FLOAT, Graph
from allyouneed.models.inputs import Inputs
from allyouneed.models.layers import Layer, Stack
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.parts.block import Residual
from allyouneed.parts.feedforward import Activation, FeedForward

Sublayer = Callable[[str], str]


@dataclass(frozen=True)
class Told:
    """What attention is told besides its states: what is added to the scores, [1 or B, 1 or H, T, S], and the cosines
    and sines of rotary positions, [1 or B, 1, T, W/2].
    """

    added: str | None = None
    turn: tuple[str, str] | None = None


def linear(g: Graph, x: str, part: nn.Linear) -> str:
    """x Wᵀ + b."""
    product = g("MatMul", x, g.turned(part.weight))
    bias = cast(Tensor | None, part.bias)
    return product if bias is None else g("Add", product, bias)


def normed(g: Graph, x: str, part: nn.Module) -> str:
    """Either norm; or nothing, where a stack ends without one."""
    if isinstance(part, nn.LayerNorm):
        return g("LayerNormalization", x, part.weight, part.bias, epsilon=part.eps)
    if isinstance(part, nn.RMSNorm):
        mean_square = g("ReduceMean", g("Mul", x, x), axes=[-1])
        return g("Mul", g("Div", x, g("Sqrt", g("Add", mean_square, float(cast(float, part.eps))))), part.weight)
    return x


def activated(g: Graph, x: str, kind: Activation) -> str:
    """f(x), after the definitions of `parts/feedforward.py`."""
    if kind == "relu":
        return g("Relu", x)
    if kind == "silu":
        return g("Mul", x, g("Sigmoid", x))
    if kind == "gelu":
        share = g("Erf", g("Div", x, math.sqrt(2)))
    else:
        cube = g("Mul", g("Mul", g("Mul", x, x), x), 0.044715)
        share = g("Tanh", g("Mul", g("Add", x, cube), math.sqrt(2 / math.pi)))
    return g("Mul", g("Mul", x, 0.5), g("Add", share, 1.0))


def feed_forward(g: Graph, x: str, part: FeedForward) -> str:
    """[B, T, D] -> [B, T, D], through width F."""
    if part.gate is None:
        return linear(g, activated(g, linear(g, x, part.inner), part.activation), part.outer)
    gate = activated(g, linear(g, x, part.gate), part.activation)
    return linear(g, g("Mul", gate, linear(g, x, part.inner)), part.outer)


def rotated(g: Graph, heads: str, turn: tuple[str, str], part: MultiHeadAttention, width: int) -> str:
    """The first `width` of each head turned: [B, H, T, K] -> [B, H, T, K]."""
    cosine, sine = turn

    def cut(start: int, end: int, step: int = 1) -> str:
        return g("Slice", heads, [start], [end], [3], [step])

    pairs = part.layout == "pairs"
    left = cut(0, width, 2) if pairs else cut(0, width // 2)
    right = cut(1, width, 2) if pairs else cut(width // 2, width)
    new = [
        g("Sub", g("Mul", left, cosine), g("Mul", right, sine)),
        g("Add", g("Mul", right, cosine), g("Mul", left, sine)),
    ]
    if pairs:
        new = [g("Reshape", g("Concat", *(g("Unsqueeze", x, [4]) for x in new), axis=4), [0, 0, 0, width])]
    rest = [cut(width, part.d_head)] if width < part.d_head else []
    return g("Concat", *new, *rest, axis=3) if len(new) + len(rest) > 1 else new[0]


def split(g: Graph, x: str, heads: int, width: int) -> str:
    """[B, T, heads·K] -> [B, heads, T, K]."""
    return g("Transpose", g("Reshape", x, [0, 0, heads, width]), perm=[0, 2, 1, 3])


def keys_values(g: Graph, context: str, part: MultiHeadAttention, told: Told, width: int = 0) -> tuple[str, str]:
    """[B, S, D] -> keys and values, each [B, G, S, K]."""
    keys, values = (split(g, linear(g, context, to), part.n_kv_heads, part.d_head) for to in (part.key, part.value))
    keys = keys if part.key_norm is None else normed(g, keys, part.key_norm)
    return (keys if told.turn is None else rotated(g, keys, told.turn, part, width)), values


def attention(g: Graph, x: str, keys: str, values: str, *, part: MultiHeadAttention, told: Told, width: int = 0) -> str:
    """x [B, T, D], keys and values [B, G, S, K] -> [B, T, D]."""
    heads, groups = part.n_heads, part.n_kv_heads
    queries = split(g, linear(g, x, part.query), heads, part.d_head)
    queries = queries if part.query_norm is None else normed(g, queries, part.query_norm)
    queries = queries if told.turn is None else rotated(g, queries, told.turn, part, width)
    queries = g("Mul", queries, 1 / math.sqrt(part.d_head) if part.scale is None else part.scale)
    if groups < heads:  # the heads of a group stand one after another, as if they were more queries
        queries = g("Reshape", queries, [0, groups, -1, part.d_head])
    scores = g("MatMul", queries, g("Transpose", keys, perm=[0, 1, 3, 2]))
    if groups < heads:
        scores = g("Reshape", scores, [0, heads, -1, 0])
    weights = g("Softmax", scores if told.added is None else g("Add", scores, told.added), axis=-1)
    if groups < heads:
        weights = g("Reshape", weights, [0, groups, -1, 0])
    mixed = g("MatMul", weights, values)
    if groups < heads:
        mixed = g("Reshape", mixed, [0, heads, -1, part.d_head])
    joined = g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), [0, 0, heads * part.d_head])
    return linear(g, joined, part.output)


def layered(g: Graph, x: str, layer: Layer, sublayers: Sequence[Sublayer]) -> str:
    """The sub-layers of a layer, each inside its residual block: [B, T, D] -> [B, T, D]."""
    residuals = cast(list[Residual], list(layer.residuals))
    if layer.parallel:
        changes = [apply(normed(g, x, one.norm)) for one, apply in zip(residuals, sublayers, strict=True)]
        return g("Add", g("Add", x, changes[0]), changes[1])
    for one, apply in zip(residuals, sublayers, strict=True):
        if one.placement == "pre":
            x = g("Add", x, apply(normed(g, x, one.norm)))
        else:
            x = normed(g, g("Add", x, apply(x)), one.norm)
    return x


def stacked(
    g: Graph, x: str, part: Stack, coordinates: str | None, sublayers: Callable[[int, Layer], Sequence[Sublayer]]
) -> str:
    """The layers one on another: [B, T, D] -> [B, T, D]. `sublayers` gives those of a layer, but for the last."""
    for step, layer in enumerate(part.layers):
        if coordinates is not None and part.steps is not None:
            x = g("Add", g("Add", x, coordinates), g.store(f"step.{step}", part.steps[step]))
        last = cast(FeedForward, layer.feed_forward)
        x = layered(g, x, layer, [*sublayers(step, layer), lambda x, last=last: feed_forward(g, x, last)])
    return x


def counted(g: Graph, mask: str) -> str:
    """Positions over real tokens only, so that padding on either side moves nothing: [B, S] -> [B, S]."""
    return g("Max", g("Sub", g("CumSum", mask, 1), 1), 0)


def embedded(
    g: Graph, tokens: str, positions: str, part: Inputs, table: nn.Embedding, segments: str | None = None
) -> str:
    """Tokens [B, T] at positions [1 or B, T] -> [B, T, D]."""
    x = g("Gather", table.weight, tokens)
    x = x if part.scale == 1 else g("Mul", x, part.scale)
    if part.learned is not None:
        x = g("Add", x, g("Gather", g.store("positions", part.learned.weight[part.offset :]), positions))
    elif part.waves is not None and part.kind != "coordinates":
        x = g("Add", x, g("Gather", g.store("positions", part.waves), positions))
    if part.segments is not None and segments is not None:
        x = g("Add", x, g("Gather", part.segments.weight, segments))
    return x if part.norm is None else normed(g, x, part.norm)


def coordinates(g: Graph, positions: str, part: Inputs) -> str | None:
    """What every step is told anew, where the scheme does so: [1 or B, T, D]."""
    if part.kind != "coordinates" or part.waves is None:
        return None
    return g("Gather", g.store("positions", part.waves), positions)


def turn(g: Graph, positions: str, part: Inputs) -> tuple[str, str] | None:
    """Cosines and sines of positions [1 or B, T] -> two [1 or B, 1, T, W/2], where the scheme turns."""
    if part.rotary is None:
        return None
    frequencies = g.store("frequencies", part.rotary.frequencies())
    angle = g("Mul", g("Unsqueeze", g("Cast", positions, to=FLOAT), [1, 3]), frequencies)
    size = part.rotary.magnitude
    cosine, sine = (g(wave, angle) if size == 1 else g("Mul", g(wave, angle), size) for wave in ("Cos", "Sin"))
    return cosine, sine


def biased(g: Graph, added: str, queries: str, keys: str, part: Inputs, longest: int) -> str:
    """With what the scheme adds to the scores at distances of positions [1 or B, T] and [1 or B, S]: a row of a table
    for each distance that there can be.
    """
    if part.bias is None:
        return added
    with torch.no_grad():
        bias = part.bias(torch.arange(1 - longest, longest)[None])  # [H, 1, 2·longest - 1]
    distance = g("Sub", g("Unsqueeze", keys, [1]), g("Unsqueeze", queries, [2]))
    rows = g("Gather", g.store("distances", bias.flatten(1).t()), g("Add", distance, longest - 1))  # [B, T, S, H]
    return g("Add", added, g("Transpose", rows, perm=[0, 3, 1, 2]))
