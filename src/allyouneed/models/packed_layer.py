"""A decoder's layer made ready for writing: the sums of `Layer.forward` in fewer and larger products."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from allyouneed.models.layers import Layer
from allyouneed.parts.attention import MultiHeadAttention, attend, repeat_heads
from allyouneed.parts.block import Residual
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.experts import Experts, route
from allyouneed.parts.feedforward import ACTIVATIONS, FeedForward
from allyouneed.parts.masks import Mask
from allyouneed.parts.packed import Precision, Product, pack
from allyouneed.parts.positions import rotate
from allyouneed.parts.relative import ShawEmbeddings

Around = Callable[[Tensor, Product], Tensor]


@dataclass(frozen=True)
class Sight:
    """What a layer may look at of its own text."""

    mask: Tensor | None = None  # [1 or B, 1 or H, T, slots]: added to the scores, -∞ where nothing may be seen
    causal: bool = False  # of the tokens that were opened together, each sees those before it
    rule: Mask | None = None  # of many tokens, for which a matrix would be too large; `mask` is then a bias alone
    distance: Tensor | None = None  # for Shaw's embeddings: [1 or B, T, slots]


class Places(NamedTuple):
    """Where N tokens of texts of different lengths are among B texts of T places each."""

    shape: tuple[int, int]  # B, T
    places: Tensor  # [N], among B·T
    tokens: Tensor  # [B·T]: which token is in each place, or any where none is

    @classmethod
    def of(cls, counts: Tensor) -> "Places":
        """For so many tokens [B] of each text."""
        shape = (len(counts), int(counts.max()))
        filled = torch.arange(shape[1], device=counts.device) < counts[:, None]
        return cls(shape, filled.flatten().nonzero()[:, 0], (filled.flatten().cumsum(0) - 1).clamp_min(0))

    def spread(self, x: Tensor) -> Tensor:
        """[N, 1, ...] -> [B, T, ...]."""
        x = x if len(x) == len(self.tokens) else x.index_select(0, self.tokens)
        return x.view(*self.shape, *x.shape[2:])

    def gathered(self, x: Tensor) -> Tensor:
        """[B·T, ...] -> [N, ...]."""
        return x if len(x) == len(self.places) else x.index_select(0, self.places)


@dataclass(frozen=True)
class View:
    """What all layers with one cache look through in a pass."""

    cache: BeamCache
    width: int  # T: queries a sentence
    sight: Sight
    turn: Tensor | None = None  # of rotary positions: complex [1 or B, T, 1, W/2]
    source: Sight = Sight()
    places: Places | None = None  # of texts that advance by different counts: their tokens are N sentences of one


def pack_linears(
    linears: list[nn.Linear], precision: Precision, *, rectify: bool = False, order: Tensor | None = None
) -> Product:
    """Several layers with one input as one product; their outputs stand side by side, or in this `order`."""
    weights = [linear.weight for linear in linears]
    biases = [bias for linear in linears if (bias := cast(Tensor | None, linear.bias)) is not None]
    weight = weights[0] if len(weights) == 1 else torch.cat(weights)
    bias = torch.cat(biases) if biases else None
    if order is not None:
        weight, bias = weight[order], None if bias is None else bias[order]
    return pack(weight, bias, precision=precision, rectify=rectify)


def pack_apart(linears: list[nn.Linear], precision: Precision) -> Callable[[Tensor], Sequence[Tensor]]:
    """Layers with one input and as many outputs, each with a result of its own: one product where it copies the weights
    anyway, or else as many as there are layers.
    """
    if precision == "int8":
        product = pack_linears(linears, precision)
        return lambda x: product(x).chunk(len(linears), 1)
    products = [pack_linears([linear], precision) for linear in linears]
    return lambda x: [product(x) for product in products]


def pack_norm(norm: nn.Module) -> Product:
    """A norm without the cost of a module's call; the identity stays what it is."""
    if isinstance(norm, nn.LayerNorm):
        shape, weight, bias, epsilon = list(norm.normalized_shape), norm.weight.detach(), norm.bias.detach(), norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon, False)
    return pack_rms_norm(norm) if isinstance(norm, nn.RMSNorm) else norm


def pack_rms_norm(norm: nn.RMSNorm) -> Product:
    """x w / √(mean(x²) + ε) = x w √D / √(|x|² + ε D) over the last D widths: as many calls as there are letters."""
    weight, (width,) = norm.weight.detach(), norm.normalized_shape
    epsilon = torch.finfo(weight.dtype).eps if norm.eps is None else norm.eps
    if weight.dtype not in (torch.float32, torch.float64):  # squares need more digits than these have
        return lambda x: rms_norm(x, [width], weight, epsilon)
    weight, rest = weight * width**0.5, weight.new_tensor((epsilon * width) ** 0.5)
    return lambda x: (x * weight).div_(vector_norm(x, 2, -1, keepdim=True).hypot_(rest))


def pack_residual(residual: Residual) -> Around:
    """A residual block: takes x and a sub-layer whose result may be overwritten."""
    norm = pack_norm(residual.norm)
    if residual.placement == "pre":
        return lambda x, sublayer: sublayer(norm(x)).add_(x)
    return lambda x, sublayer: norm(sublayer(x).add_(x))


def pack_feed_forward(part: FeedForward | Experts, precision: Precision) -> Product:
    """What each position does on its own: [R, D] -> [R, D]."""
    if isinstance(part, Experts):
        return _pack_experts(part, precision)
    outer, activate = pack_linears([part.outer], precision), ACTIVATIONS[part.activation]
    if part.gate is not None:
        both = pack_apart([part.gate, part.inner], precision)

        def gated(x: Tensor) -> Tensor:
            gate, inner = both(x)
            return outer(activate(gate).mul_(inner))

        return gated
    if part.activation == "relu":
        rectified = pack_linears([part.inner], precision, rectify=True)
        return lambda x: outer(rectified(x))
    inner = pack_linears([part.inner], precision)
    return lambda x: outer(activate(inner(x)))


def _pack_experts(part: Experts, precision: Precision) -> Product:
    router, per_token = pack_linears([part.router], "float32"), part.per_token
    experts = [pack_feed_forward(cast(FeedForward, expert), precision) for expert in part.experts]

    def mix(x: Tensor) -> Tensor:
        shares, chosen = route(router(x).float(), per_token)  # [R, k]
        mixed = torch.zeros_like(x)
        for number in chosen.unique().tolist():
            rows, places = (chosen == number).nonzero(as_tuple=True)
            share = shares[rows, places, None].to(x.dtype)
            mixed.index_add_(0, rows, (experts[number](x[rows]) * share).to(x.dtype))
        return mixed

    return mix


def side_by_side(d_head: int, turned: int) -> Tensor:
    """The order of a head's widths [K] in which the halves of the first `turned` become pairs of neighbours."""
    order = torch.arange(d_head)
    order[:turned] = order[:turned].view(2, -1).t().flatten()
    return order


def turn_pairs(heads: Tensor, turn: Tensor) -> Tensor:
    """Turns neighbouring widths of heads [B, T, heads, K], which may be overwritten, by complex numbers that broadcast
    to [B, T, heads, W/2].
    """
    if heads.dtype not in (torch.float32, torch.float64) or heads.shape[-1] % 2:  # no complex numbers can be laid there
        return rotate(heads, (turn.real, turn.imag), "pairs")
    pairs = heads[..., : 2 * turn.shape[-1]].view(*heads.shape[:3], -1, 2)
    torch.view_as_complex(pairs).mul_(turn)
    return heads


def pack_head_norms(norms: list[tuple[nn.Module | None, int]], widths: Tensor) -> Product | None:
    """Norms over the widths of heads [B, T, heads, K]: each for as many heads as are given with it. `widths` [K] is the
    order in which these now stand.
    """
    parts = [(norm, heads) for norm, heads in norms if isinstance(norm, nn.RMSNorm)]
    if not parts:
        return None
    weight = torch.cat([norm.weight.detach()[widths].expand(heads, -1) for norm, heads in parts])
    shape, epsilon = list(parts[0][0].normalized_shape), parts[0][0].eps
    return lambda x: rms_norm(x, shape, None, epsilon) * weight


class PackedAttention:
    """Attention to a source, with its weights as they are now."""

    def __init__(self, part: MultiHeadAttention, into: Product, precision: Precision) -> None:
        self.n_heads, self.n_kv_heads, self.d_head = part.n_heads, part.n_kv_heads, part.d_head
        self.scale = part.d_head**-0.5 if part.scale is None else part.scale
        self.into, self.out = into, pack_linears([part.output], precision)

    def mix(self, queries: Tensor, keys: Tensor, values: Tensor, sight: Sight) -> Tensor:
        """The soft lookup: queries [B, T, H, K], keys and values [B, G, S, K] -> [B·T, H·K]."""
        batch, width, groups = queries.shape[0], queries.shape[1], self.n_kv_heads
        mask = sight.mask
        if width == 1:
            # The heads that share keys are as many queries of one head: nothing is repeated, nothing is moved.
            queries = queries.reshape(batch, groups, -1, self.d_head)
            if mask is not None and mask.shape[1] > 1:
                mask = mask.reshape(len(mask), groups, -1, mask.shape[-1])
            mixed = scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=self.scale)
            return mixed.reshape(batch, -1)
        queries = queries.transpose(1, 2)
        if sight.rule is not None:
            mixed = attend(queries, keys, values, sight.rule, bias=mask, scale=self.scale)
        else:
            mixed = scaled_dot_product_attention(
                queries,
                keys,
                values,
                attn_mask=mask,
                is_causal=sight.causal,
                scale=self.scale,
                enable_gqa=groups != self.n_heads,
            )
        return mixed.transpose(1, 2).reshape(batch * width, -1)


class PackedCrossAttention(PackedAttention):
    """Attention to a source, with its weights as they are now."""

    def __init__(self, part: MultiHeadAttention, precision: Precision) -> None:
        super().__init__(part, pack_linears([part.query], precision), precision)
        self.norm = pack_head_norms([(part.query_norm, part.n_heads)], torch.arange(part.d_head))

    def __call__(self, x: Tensor, view: View, source: tuple[Tensor, Tensor]) -> Tensor:
        """x [R, D]; `source` are keys and values [B, G, S, K] -> [R, D]."""
        queries = self.into(x).view(-1, view.width, self.n_heads, self.d_head)
        queries = queries if self.norm is None else self.norm(queries)
        if view.places is None:
            return self.out(self.mix(queries, *source, view.source))
        return self.out(view.places.gathered(self.mix(view.places.spread(queries), *source, view.source)))


class PackedSelfAttention(PackedAttention):
    """Attention to the own text, with its weights as they are now. `turned`: how many of a head's widths are turned.

    Widths that rotary positions turn together are laid side by side, so that one product of complex numbers turns them:
    scores are sums over a head's widths and do not know their order.
    """

    def __init__(self, part: MultiHeadAttention, precision: Precision, *, turned: int) -> None:
        looking = part.n_heads + part.n_kv_heads
        widths = side_by_side(part.d_head, turned if part.layout == "halves" else 0)
        order = torch.arange((looking + part.n_kv_heads) * part.d_head).view(-1, part.d_head)
        order[:looking] = order[:looking, widths]
        super().__init__(
            part, pack_linears([part.query, part.key, part.value], precision, order=order.flatten()), precision
        )
        self.looking = (looking, part.n_kv_heads)
        self.norm = pack_head_norms([(part.query_norm, part.n_heads), (part.key_norm, part.n_kv_heads)], widths)
        self.relative: ShawEmbeddings | None = part.relative

    def __call__(self, x: Tensor, view: View, pool: int) -> Tensor:
        """x [R, D] -> [R, D]; writes keys and values into this pool of the cache."""
        heads = self.into(x).view(-1, view.width, sum(self.looking), self.d_head)
        looking, values = heads.split_with_sizes(self.looking, 2)
        looking = looking if self.norm is None else self.norm(looking)
        looking = looking if view.turn is None else turn_pairs(looking, view.turn)
        queries, keys = looking.split_with_sizes((self.n_heads, self.n_kv_heads), 2)
        keys, values = view.cache.write(pool, keys.transpose(1, 2), values.transpose(1, 2))
        queries = queries if view.places is None else view.places.spread(queries)
        sight = view.sight
        if self.relative is None or sight.distance is None:
            mixed = self.mix(queries, keys, values, sight)
        else:
            mixed = self._mix_by_distance(self.relative, queries, keys, values, sight.mask, sight.distance)
        return self.out(mixed if view.places is None else view.places.gathered(mixed))

    def _mix_by_distance(
        self,
        relative: ShawEmbeddings,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        distance: Tensor,
    ) -> Tensor:
        queries = queries.transpose(1, 2)  # [B, H, T, K]
        scores = queries @ repeat_heads(keys, self.n_heads).mT + relative.scores(queries, distance)
        scores = scores * self.scale
        weights = (scores if mask is None else scores + mask).softmax(-1)
        mixed = weights @ repeat_heads(values, self.n_heads) + relative.mixed(weights, distance)
        return mixed.transpose(1, 2).flatten(0, 1).flatten(1)


class PackedLayer:
    """A decoder's layer with its weights as they are now."""

    def __init__(self, layer: Layer, precision: Precision, *, cross: bool, turned: int) -> None:
        self.look_back = PackedSelfAttention(layer.self_attention, precision, turned=turned)
        self.look_up = PackedCrossAttention(layer.cross_attention, precision) if cross else None
        self.feed_forward = pack_feed_forward(layer.feed_forward, precision)
        residuals = cast(list[Residual], list(layer.residuals))
        self.first, *self.others = [pack_residual(residual) for residual in residuals]
        self.norms = [pack_norm(residual.norm) for residual in residuals] if layer.parallel else None

    def __call__(self, x: Tensor, view: View, pool: int, source: tuple[Tensor, Tensor] | None) -> Tensor:
        """x [R, D]; `source` are the cross-attention's keys and values [B, G, S, K] -> [R, D]."""
        if self.norms is not None:
            seen = self.look_back(self.norms[0](x), view, pool)
            return seen.add_(self.feed_forward(self.norms[1](x))).add_(x)
        x = self.first(x, lambda x: self.look_back(x, view, pool))
        look_up = self.look_up
        if look_up is not None and source is not None:
            x = self.others[0](x, lambda x: look_up(x, view, source))
        return self.others[-1](x, self.feed_forward)
