"""The soft lookup: queries are compared with keys, and the values are mixed accordingly (Vaswani 2017, section 3.2)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention

from allyouneed.parts.backends import Backend, Request, flex_attend, pick
from allyouneed.parts.global_tokens import Chosen, GlobalProjections
from allyouneed.parts.linear import Linear
from allyouneed.parts.masks import CAUSAL, Mask
from allyouneed.parts.positions import RotaryLayout, Turn, rotate
from allyouneed.parts.relative import ShawEmbeddings
from allyouneed.parts.sparse import sparse_attend
from allyouneed.parts.tiled import tiled_attend


def attention_scores(query: Tensor, key: Tensor, *, scale: float | None = None) -> Tensor:
    """How well each query fits each key: Q Kᵀ / √K, which keeps the variance at 1 (section 3.2.1).

    query [B, H, T, K], key [B, G, S, K] with H a multiple of G -> [B, H, T, S].
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return query @ repeat_heads(key, query.shape[-3]).transpose(-2, -1) * scale


def attention_weights(
    query: Tensor,
    key: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """How much each query looks at each key: softmax(Q Kᵀ / √K), rows add to 1 (equation 1).

    query [B, H, T, K], key [B, G, S, K] with H a multiple of G -> [B, H, T, S]. `bias`, which broadcasts to that shape,
    is added to the scores. A row that may look nowhere gives zeros.
    """
    scores = attention_scores(query, key, scale=scale)  # [B, H, T, S]
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(-1)
    allowed = mask.dense(scores.shape[-2], scores.shape[-1], scores.device)
    empty = ~allowed.any(-1, keepdim=True)
    # An empty row is made finite before the softmax: mending NaN afterwards would leave NaN in its gradients.
    scores = scores.masked_fill(~(allowed | empty), -math.inf)
    return scores.softmax(-1).masked_fill(empty, 0.0)


def naive_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √K) V, as it is written: the definition that `attend` is held to.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K].
    """
    weights = attention_weights(query, key, mask, scale=scale, bias=bias)  # [B, H, T, S]
    return functional.dropout(weights, dropout).to(value.dtype) @ repeat_heads(value, query.shape[-3])


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    backend: Backend | Literal["auto"] = "auto",
) -> Tensor:
    """The same lookup, computed by the backend that is fastest for these arguments, or by the one that is asked for.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K]. `bias`, which broadcasts to [B, H, T, S], is added
    to the scores; `dropout` drops weights (only while training). Raises UsageError where the backend cannot do this.
    """
    if query.device.type == "cpu" and query.dtype != torch.float32 and torch.is_autocast_enabled("cpu"):
        # The kernel's backward pass is several times slower in bfloat16 than in float32 there.
        with torch.autocast("cpu", enabled=False):
            query, key, value = query.float(), key.float(), value.float()
            bias = None if bias is None else bias.float()
            return attend(query, key, value, mask, scale=scale, bias=bias, dropout=dropout, backend=backend)
    request = Request.of(query, key, value, mask, bias=bias, dropout=dropout)
    lookup = LOOKUPS[pick(backend, request)]
    dropped = {"dropout": dropout} if dropout else {}
    return lookup(query, key, value, mask, scale=scale, bias=bias, **dropped)


def fused_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The same lookup through torch's fused kernel, which never holds the [T, S] weights; takes and gives what `attend`
    does.
    """
    grouped = key.shape[-3] != query.shape[-3]
    lookup = partial(
        scaled_dot_product_attention, query, key, value, scale=scale, dropout_p=dropout, enable_gqa=grouped
    )
    if bias is None and (mask is None or (mask is CAUSAL and query.shape[-2] == key.shape[-2])):
        return lookup(is_causal=mask is CAUSAL)
    if mask is None:
        return lookup(attn_mask=bias)
    allowed = mask.dense(query.shape[-2], key.shape[-2], query.device)
    empty = ~allowed.any(-1, keepdim=True)
    some_empty = bool(empty.any())
    opened = allowed | empty if some_empty else allowed
    mixed = lookup(attn_mask=opened if bias is None else bias.masked_fill(~opened, -math.inf))
    return mixed.masked_fill(empty, 0.0) if some_empty else mixed


LOOKUPS: dict[Backend, Callable[..., Tensor]] = {
    "naive": naive_attend,
    "tiled": tiled_attend,
    "fused": fused_attend,
    "sparse": sparse_attend,
    "flex": flex_attend,
}


def repeat_heads(heads: Tensor, n_heads: int) -> Tensor:
    """Grouped keys or values [B, G, S, K] as one per query head [B, H, S, K] (Ainslie 2023, section 2.2)."""
    groups = heads.shape[-3]
    if n_heads % groups:
        raise ValueError(f"{n_heads} query heads cannot share {groups} key/value heads: not a multiple")
    return heads if n_heads == groups else heads.repeat_interleave(n_heads // groups, dim=-3)


@dataclass(frozen=True)
class Place:
    """Where the queries and keys of a pass stand, as far as the position scheme lets the attention know."""

    turn: Turn | None = None  # of rotary positions: cosines and sines at the queries, [1 or B, 1, T, K'/2]
    bias: Tensor | None = None  # of ALiBi and T5: added to the scores, [1 or B, H, T, S]
    distance: Tensor | None = None  # for Shaw's embeddings: [T, S] or [B, T, S]
    marks: Tensor | None = None  # of global tokens, which look at the whole text: [1 or B, T]


NOWHERE = Place()


class MultiHeadAttention(nn.Module):
    """Several lookups side by side, each in its own projection of width K (Vaswani 2017, section 3.2.2).

    The keys and values are made by `keys_values` and handed to `forward`, so that a cache, or the beams of one
    sentence, can share them. `n_kv_heads` < `n_heads` lets groups of query heads share keys and values (Ainslie 2023).

    `query_norm` and `key_norm` are norms over K, `relative` embeds distances, `global_projections` are for tokens that
    are marked as global; without them nothing is done. With `again` (block, times), the first `block` keys stand before
    all keys so many times more.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        qkv_bias: bool | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if (d_head is None and d_model % n_heads) or n_heads % n_kv_heads:
            raise ValueError(
                f"d_model {d_model}, n_heads {n_heads}, n_kv_heads {n_kv_heads}: each must divide the one before"
            )
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_kv_heads, dropout
        self.d_head = d_model // n_heads if d_head is None else d_head
        self.scale: float | None = None  # None: 1 / √K
        self.layout: RotaryLayout = "halves"
        qkv_bias = bias if qkv_bias is None else qkv_bias
        self.query = Linear(d_model, n_heads * self.d_head, bias=qkv_bias)
        self.key = Linear(d_model, n_kv_heads * self.d_head, bias=qkv_bias)
        self.value = Linear(d_model, n_kv_heads * self.d_head, bias=qkv_bias)
        self.output = Linear(n_heads * self.d_head, d_model, bias=bias)
        self.query_norm: nn.Module | None = None
        self.key_norm: nn.Module | None = None
        self.relative: ShawEmbeddings | None = None
        self.global_projections: GlobalProjections | None = None
        self.again: tuple[int, int] | None = None

    def split(self, x: Tensor) -> Tensor:
        """[B, T, heads·K] -> [B, heads, T, K]."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def queries(self, x: Tensor, place: Place = NOWHERE) -> Tensor:
        """[B, T, D] -> [B, H, T, K]."""
        heads = self.split(self.query(x))
        heads = heads if self.query_norm is None else self.query_norm(heads)
        return heads if place.turn is None else rotate(heads, place.turn, self.layout)

    def keys_values(self, context: Tensor, place: Place = NOWHERE) -> tuple[Tensor, Tensor]:
        """[B, S, D] -> keys and values, each [B, G, S, K]. `place` is where `context` stands."""
        keys, values = self.split(self.key(context)), self.split(self.value(context))
        keys = keys if self.key_norm is None else self.key_norm(keys)
        keys = keys if place.turn is None else rotate(keys, place.turn, self.layout)
        if self.again is None:
            return keys, values
        block, times = self.again
        return torch.cat((*[keys[:, :, :block]] * times, keys), 2), torch.cat(
            (*[values[:, :, :block]] * times, values), 2
        )

    def weights(
        self,
        x: Tensor,
        keys: Tensor,
        mask: Mask | None = None,
        place: Place = NOWHERE,
        *,
        head: int | None = None,
    ) -> Tensor:
        """How much each head, or the one asked for, looks at each key: x [B, T, D], keys [B, G, S, K] -> [B, H or 1, T,
        S].
        """
        queries = self.queries(x, place)
        if head is not None:
            group = head * self.n_kv_heads // self.n_heads
            queries, keys = queries[:, head : head + 1], keys[:, group : group + 1]
            place = place if place.bias is None else replace(place, bias=place.bias[..., head : head + 1, :, :])
        weights = attention_weights(queries, keys, mask, scale=self.scale, bias=self._bias(queries, place))
        if self.global_projections is not None and place.marks is not None:
            chosen, far, all_keys, _ = self._far(x, self.global_projections, place.marks)
            far, all_keys = (far, all_keys) if head is None else (far[:, [head]], all_keys[:, [head]])
            sight = chosen.sight(mask, x.shape[1])
            weights = chosen.put(attention_weights(far, all_keys, sight, scale=self.scale), weights)
        if self.again is not None:
            copies = weights[..., : -x.shape[1]].unflatten(-1, (self.again[1], -1)).sum(-2)
            weights = weights[..., -x.shape[1] :].clone()
            weights[..., : copies.shape[-1]] += copies
        return weights

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, place: Place = NOWHERE
    ) -> Tensor:
        """x [B, T, D], keys and values [B, G, S, K] -> [B, T, D]."""
        dropout = self.dropout if self.training else 0.0
        queries = self.queries(x, place)
        bias = self._bias(queries, place)
        mixed = attend(queries, keys, values, mask, scale=self.scale, bias=bias, dropout=dropout)  # [B, H, T, K]
        if self.global_projections is not None and place.marks is not None:
            chosen, far, all_keys, all_values = self._far(x, self.global_projections, place.marks)
            sight = chosen.sight(mask, x.shape[1])
            seen = attend(far, all_keys, all_values, sight, scale=self.scale, dropout=dropout)
            mixed = chosen.put(seen, mixed)
        if self.relative is not None and place.distance is not None:
            # What is looked at where must be known here: the kernel does not tell.
            weights = attention_weights(queries, keys, mask, scale=self.scale, bias=bias)
            mixed = mixed + self.relative.mixed(weights, place.distance)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _far(self, x: Tensor, own: GlobalProjections, marks: Tensor) -> tuple[Chosen, Tensor, Tensor, Tensor]:
        """The marked tokens of x [B, T, D], their queries [B, H, M, K], and keys and values [B, H, T, K] for them."""
        chosen = Chosen.of(marks.expand(len(x), -1))
        return chosen, self.split(own.query(chosen.taken(x))), self.split(own.key(x)), self.split(own.value(x))

    def _bias(self, queries: Tensor, place: Place) -> Tensor | None:
        if self.relative is None or place.distance is None:
            return place.bias
        scale = 1 / math.sqrt(self.d_head) if self.scale is None else self.scale
        return self.relative.scores(queries, place.distance) * scale
