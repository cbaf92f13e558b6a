"""A Transformer's decoder made ready for writing: the sums of `Transformer.step` in fewer and larger products."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, layer_norm, scaled_dot_product_attention

from allyouneed.models.transformer import DecoderLayer, DecoderState, Memory, Transformer, check_room
from allyouneed.parts.block import Residual
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.packed import Precision as Precision  # part of this room's interface, too
from allyouneed.parts.packed import Product, pack

Around = Callable[[Tensor, Product], Tensor]


def pack_linears(linears: list[nn.Linear], precision: Precision, *, rectify: bool = False) -> Product:
    """Several layers with one input as one product; their outputs stand side by side."""
    weight = torch.cat([linear.weight for linear in linears])
    biases = [cast(Tensor | None, linear.bias) for linear in linears]
    bias = None if biases[0] is None else torch.cat([bias for bias in biases if bias is not None])
    return pack(weight, bias, precision=precision, rectify=rectify)


def pack_norm(norm: nn.Module) -> Product:
    """A layer norm without the cost of a module's call; the identity stays what it is."""
    if not isinstance(norm, nn.LayerNorm):
        return norm
    shape, weight, bias, epsilon = list(norm.normalized_shape), norm.weight.detach(), norm.bias.detach(), norm.eps
    return lambda x: layer_norm(x, shape, weight, bias, epsilon)


def pack_residual(residual: Residual) -> Around:
    """A residual block: takes x and a sub-layer whose result may be overwritten."""
    norm = pack_norm(residual.norm)
    if residual.placement == "pre":
        return lambda x, sublayer: sublayer(norm(x)).add_(x)
    return lambda x, sublayer: norm(sublayer(x).add_(x))


def opened(allowed: Tensor, like: Tensor) -> Tensor:
    """Booleans as what is added to scores."""
    return torch.where(allowed, 0.0, -math.inf).to(like)


@dataclass(frozen=True)
class View:
    """What all layers of one step look through: 0 where a slot or source token may be looked at, -∞ elsewhere."""

    cache: BeamCache
    slots: Tensor  # [B, 1, beams, used]
    source: Tensor | None  # [B, 1, 1, S]; None: all of it


class PackedLayer:
    """A decoder layer with its weights as they are now."""

    def __init__(self, layer: DecoderLayer, index: int, precision: Precision) -> None:
        look_back, look_up, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.index = index
        self.heads = (look_back.n_heads, look_back.n_kv_heads, look_back.n_kv_heads)
        self.d_head = look_back.d_head
        self.self_in = pack_linears([look_back.query, look_back.key, look_back.value], precision)
        self.self_out = pack_linears([look_back.output], precision)
        self.cross_in = pack_linears([look_up.query], precision)
        self.cross_out = pack_linears([look_up.output], precision)
        self.inner = pack_linears([feed_forward.inner], precision, rectify=True)
        self.outer = pack_linears([feed_forward.outer], precision)
        self.residuals = [pack_residual(cast(Residual, residual)) for residual in layer.residuals]

    def __call__(self, x: Tensor, view: View, source: tuple[Tensor, Tensor]) -> Tensor:
        """x [R, D]; `source` are the cross-attention's keys and values [B, G, S, K] -> [R, D]."""

        def look_back(x: Tensor) -> Tensor:
            queries, keys, values = self.split(self.self_in(x), view).split_with_sizes(self.heads, 1)
            keys, values = view.cache.write(self.index, keys, values)
            return self.self_out(self.mix(queries, keys, values, view.slots))

        def look_up(x: Tensor) -> Tensor:
            return self.cross_out(self.mix(self.split(self.cross_in(x), view), *source, view.source))

        x = self.residuals[0](x, look_back)
        x = self.residuals[1](x, look_up)
        return self.residuals[2](x, lambda x: self.outer(self.inner(x)))

    def split(self, x: Tensor, view: View) -> Tensor:
        """[R, heads·K] -> [B, heads, beams, K]."""
        return x.view(-1, view.cache.beams, x.shape[1] // self.d_head, self.d_head).transpose(1, 2)

    def mix(self, queries: Tensor, keys: Tensor, values: Tensor, view: Tensor | None) -> Tensor:
        """The soft lookup of all beams of a sentence at once: queries [B, H, beams, K] -> [R, H·K]."""
        grouped = self.heads[0] != self.heads[1]
        mixed = scaled_dot_product_attention(queries, keys, values, attn_mask=view, enable_gqa=grouped)
        return mixed.transpose(1, 2).reshape(-1, self.heads[0] * self.d_head)


class Stepper:
    """Writes with the weights that a model has now: `start` and `step` like the model's own, several times as fast.

    Made once for many texts. "int8" keeps the decoder's weights in bytes: faster with many rows, and less exact.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, *, precision: Precision = "float32") -> None:
        layers = model.decoder_layers
        self.layers = [PackedLayer(layer, index, precision) for index, layer in enumerate(layers)]
        cross = [layer.cross_attention for layer in layers]
        self.source = pack_linears([linear for look_up in cross for linear in (look_up.key, look_up.value)], precision)
        self.norm = pack_norm(model.decoder_norm)
        self.output = pack(model.output_weight, None, precision=precision)
        self.table = model.target_table.weight.detach()
        self.scale = math.sqrt(model.config.d_model) if model.config.embedding_scale else 1.0
        self.positions = model.positions

    @classmethod
    def of(cls, model: Transformer, *, precision: Precision = "float32") -> "Stepper":
        """The stepper made last for a model, or a new one where a weight was moved or changed in place since then."""
        weights = [
            (weight.data_ptr(), 0 if weight.is_inference() else weight._version) for weight in model.parameters()
        ]
        if model not in _MADE or _MADE[model][:2] != (precision, weights):
            _MADE[model] = (precision, weights, cls(model, precision=precision))
        return _MADE[model][2]

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet: one row a sentence."""
        sentences, length, _ = memory.states.shape
        both = self.source(memory.states.flatten(0, 1))  # [B·S, L·2·G·K]
        both = both.view(sentences, length, len(self.layers), 2, -1, self.layers[0].d_head)
        both = both.permute(2, 3, 0, 4, 1, 5).contiguous()  # [L, 2, B, G, S, K]
        source = [(keys, values) for keys, values in both]
        return DecoderState(source, memory.mask, memory.keep, BeamCache.empty(len(self.layers), source[0][0]))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state."""
        cache = state.cache.open()
        check_room(cache.steps, len(self.positions))
        x = torch.add(self.positions[cache.steps - 1], embedding(tokens, self.table), alpha=self.scale)
        source_view = None if state.keep is None else opened(state.keep[:, None, None], x)
        view = View(cache, opened(cache.visible[:, None], x), source_view)
        for layer, source in zip(self.layers, state.source, strict=True):
            x = layer(x, view, source)
        return self.output(self.norm(x)), DecoderState(state.source, state.source_mask, state.keep, cache)


_MADE: WeakKeyDictionary[Transformer, tuple[Precision, list[tuple[int, int]], Stepper]] = WeakKeyDictionary()
