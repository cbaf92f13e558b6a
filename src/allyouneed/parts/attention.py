"""The soft lookup: queries are compared with keys, and the values are mixed accordingly (Vaswani 2017, section 3.2)."""

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from allyouneed.parts.masks import CAUSAL, Mask


def attention_scores(query: Tensor, key: Tensor, *, scale: float | None = None) -> Tensor:
    """How well each query fits each key: Q Kᵀ / √K, which keeps the variance at 1 (section 3.2.1).

    query [B, H, T, K], key [B, G, S, K] with H a multiple of G -> [B, H, T, S].
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return query @ repeat_heads(key, query.shape[-3]).transpose(-2, -1) * scale


def attention_weights(query: Tensor, key: Tensor, mask: Mask | None = None, *, scale: float | None = None) -> Tensor:
    """How much each query looks at each key: softmax(Q Kᵀ / √K), rows add to 1 (equation 1).

    query [B, H, T, K], key [B, G, S, K] with H a multiple of G -> [B, H, T, S]. A row that may look nowhere gives
    zeros.
    """
    scores = attention_scores(query, key, scale=scale)  # [B, H, T, S]
    if mask is None:
        return scores.softmax(-1)
    allowed = mask.dense(scores.shape[-2], scores.shape[-1], scores.device)
    empty = ~allowed.any(-1, keepdim=True)
    # An empty row is made finite before the softmax: mending NaN afterwards would leave NaN in its gradients.
    scores = scores.masked_fill(~(allowed | empty), -math.inf)
    return scores.softmax(-1).masked_fill(empty, 0.0)


def naive_attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None = None, *, scale: float | None = None
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √K) V, as it is written: the definition that `attend` is held to.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K].
    """
    weights = attention_weights(query, key, mask, scale=scale)  # [B, H, T, S]
    return weights @ repeat_heads(value, query.shape[-3])


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The same lookup through torch's fused kernel, which never holds the [T, S] weights.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K]. `dropout` drops weights (only while training).
    """
    if query.device.type == "cpu" and query.dtype != torch.float32 and torch.is_autocast_enabled("cpu"):
        # The kernel's backward pass is several times slower in bfloat16 than in float32 there.
        with torch.autocast("cpu", enabled=False):
            return attend(query.float(), key.float(), value.float(), mask, scale=scale, dropout=dropout)
    grouped = key.shape[-3] != query.shape[-3]
    lookup = partial(
        scaled_dot_product_attention, query, key, value, scale=scale, dropout_p=dropout, enable_gqa=grouped
    )
    if mask is None or (mask is CAUSAL and query.shape[-2] == key.shape[-2]):
        return lookup(is_causal=mask is CAUSAL)
    allowed = mask.dense(query.shape[-2], key.shape[-2], query.device)
    empty = ~allowed.any(-1, keepdim=True)
    if not bool(empty.any()):
        return lookup(attn_mask=allowed)
    return lookup(attn_mask=allowed | empty).masked_fill(empty, 0.0)


def repeat_heads(heads: Tensor, n_heads: int) -> Tensor:
    """Grouped keys or values [B, G, S, K] as one per query head [B, H, S, K] (Ainslie 2023, section 2.2)."""
    groups = heads.shape[-3]
    if n_heads % groups:
        raise ValueError(f"{n_heads} query heads cannot share {groups} key/value heads: not a multiple")
    return heads if n_heads == groups else heads.repeat_interleave(n_heads // groups, dim=-3)


class MultiHeadAttention(nn.Module):
    """Several lookups side by side, each in its own projection of width K = D / H (Vaswani 2017, section 3.2.2).

    The keys and values are made by `keys_values` and handed to `forward`, so that a cache, or the beams of one
    sentence, can share them. `n_kv_heads` < `n_heads` lets groups of query heads share keys and values (Ainslie 2023).
    """

    def __init__(
        self, d_model: int, n_heads: int, *, n_kv_heads: int | None = None, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(
                f"d_model {d_model}, n_heads {n_heads}, n_kv_heads {n_kv_heads}: each must divide the one before"
            )
        self.n_heads, self.n_kv_heads, self.d_head, self.dropout = n_heads, n_kv_heads, d_model // n_heads, dropout
        self.query = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.key = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bias)
        self.value = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bias)
        self.output = nn.Linear(n_heads * self.d_head, d_model, bias=bias)

    def split(self, x: Tensor) -> Tensor:
        """[B, T, heads·K] -> [B, heads, T, K]."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def queries(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, K]."""
        return self.split(self.query(x))

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """[B, S, D] -> keys and values, each [B, G, S, K]."""
        return self.split(self.key(context)), self.split(self.value(context))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
        """x [B, T, D], keys and values [B, G, S, K] -> [B, T, D]."""
        dropout = self.dropout if self.training else 0.0
        mixed = attend(self.queries(x), keys, values, mask, dropout=dropout)  # [B, H, T, K]
        return self.output(mixed.transpose(1, 2).flatten(2))
