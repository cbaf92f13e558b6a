"""How far apart a query and a key stand, told to the scores: three schemes over one distance."""

import math

import torch
from torch import Tensor, nn


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """How far each key lies ahead of each query: positions [..., T] and [..., S] -> [..., T, S]; negative is behind."""
    return keys[..., None, :] - queries[..., :, None]


def alibi_slopes(n_heads: int) -> Tensor:
    """How steeply each head's scores fall with distance, [H]: 2^(-8/H), its square, its cube ... (Press 2022, section
    3). Where H is no power of two, those of the next lower one, and then every second of the next higher one.
    """
    lower = 2 ** math.floor(math.log2(n_heads))
    exponents = [-8 * (head + 1) / lower for head in range(lower)]
    exponents += [-4 * (2 * head + 1) / lower for head in range(n_heads - lower)]
    return torch.tensor([2.0**exponent for exponent in exponents])


class Alibi(nn.Module):
    """A penalty that grows linearly with distance, at a slope of each head's own (Press 2022). Nothing is learned."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(n_heads), persistent=False)
        self.slopes: Tensor

    def forward(self, distance: Tensor) -> Tensor:
        """[..., T, S] -> what is added to the scores, [..., H, T, S]."""
        return -self.slopes[:, None, None] * distance.abs()[..., None, :, :]


class BucketBias(nn.Module):
    """A learned number for each head and each bucket of distances (Raffel 2020, section 2.1).

    Half of a direction's buckets hold one distance each; the others grow logarithmically up to `farthest`, beyond which
    all distances share the last one. Two directions share the buckets where a query may look ahead.
    """

    def __init__(self, n_heads: int, *, buckets: int, farthest: int, two_way: bool) -> None:
        super().__init__()
        self.buckets, self.farthest, self.two_way = buckets, farthest, two_way
        self.table = nn.Embedding(buckets, n_heads)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance, of the same shape."""
        buckets = self.buckets // 2 if self.two_way else self.buckets
        first = (distance > 0).long() * buckets if self.two_way else torch.zeros_like(distance)
        behind = distance.abs() if self.two_way else (-distance).clamp_min(0)
        exact = buckets // 2
        scale = (buckets - exact) / math.log(self.farthest / exact)
        grown = exact + ((behind.clamp_min(1).float() / exact).log() * scale).long()
        return first + torch.where(behind < exact, behind, grown.clamp_max(buckets - 1))

    def forward(self, distance: Tensor) -> Tensor:
        """[..., T, S] -> what is added to the scores, [..., H, T, S]."""
        return self.table(self.bucket(distance)).movedim(-1, -3)


class ShawEmbeddings(nn.Module):
    """A learned vector for each distance up to `farthest` either way, added to keys and to values (Shaw 2018, equations
    3 and 4).
    """

    def __init__(self, d_head: int, farthest: int) -> None:
        super().__init__()
        self.farthest = farthest
        self.keys = nn.Embedding(2 * farthest + 1, d_head)
        self.values = nn.Embedding(2 * farthest + 1, d_head)

    def places(self, distance: Tensor) -> Tensor:
        """The row of the tables for each distance, of the same shape: clip(j - i, k) + k."""
        return distance.clamp(-self.farthest, self.farthest) + self.farthest

    def scores(self, queries: Tensor, distance: Tensor) -> Tensor:
        """qᵢ · a^K of each distance: queries [B, H, T, K], distances [..., T, S] -> [B, H, T, S]."""
        each = queries @ self.keys.weight.T  # [B, H, T, 2k+1]
        places = self.places(distance)
        places = places if places.dim() == 2 else places[:, None]  # [1 or B, 1, T, S]
        return each.gather(-1, places.expand(*each.shape[:-1], -1))

    def mixed(self, weights: Tensor, distance: Tensor) -> Tensor:
        """Σⱼ αᵢⱼ a^V of each distance: weights [B, H, T, S] -> [B, H, T, K]."""
        places = self.places(distance)
        places = places if places.dim() == 2 else places[:, None]
        by_distance = weights.new_zeros(*weights.shape[:-1], 2 * self.farthest + 1)
        return by_distance.scatter_add(-1, places.expand_as(weights), weights) @ self.values.weight


def naive_shaw(
    queries: Tensor, keys: Tensor, values: Tensor, distance: Tensor, embeddings: ShawEmbeddings, allowed: Tensor
) -> Tensor:
    """The definition, word for word (Shaw 2018, equations 3 and 4): queries, keys, values [B, H, T, K], distances and
    `allowed` [T, S] -> [B, H, T, K].
    """
    places = embeddings.places(distance)
    keys = keys[:, :, None] + embeddings.keys(places)  # [B, H, T, S, K]
    values = values[:, :, None] + embeddings.values(places)
    scores = (queries[:, :, :, None] * keys).sum(-1) / math.sqrt(queries.shape[-1])
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    return (weights[..., None] * values).sum(3)
