"""Exact attention in linear memory: FlashAttention's algorithm (Dao 2022), to be read.

**Forward.** A row of attention is softmax(s) V with the scores s = q Kᵀ · scale (+ bias). Softmax needs the largest
score m of the row and the sum l = Σⱼ exp(sⱼ - m), and both can be kept up while the keys come by in blocks (Milakov &
Gimelshein 2018, algorithm 3). After some blocks let m, l and o = Σⱼ exp(sⱼ - m) vⱼ be those of the keys so far, and let
s' be the scores of the next block. Then

    m' = max(m, max s')      l' = exp(m - m') l + Σ exp(s' - m')      o' = exp(m - m') o + exp(s' - m') V'

and after the last block o / l is the row's result. Scores are only ever held for one block of queries against one block
of keys. This is algorithm 1 of the paper with its two loops exchanged, so that each block of queries is finished before
the next one begins. What is kept for the backward pass is the result and one number a row, L = m + log l.

**Backward** (appendix B.2 and algorithm 4). L gives the weights back without a second search for the maximum:
P = exp(S - L). With the upstream gradient dO of the result O = P V,

    dV = Pᵀ dO    dP = dO Vᵀ    dSᵢⱼ = Pᵢⱼ (dPᵢⱼ - Dᵢ)    dQ = dS K · scale    dK = dSᵀ Q · scale    dbias = dS

The softmax' own gradient needs Dᵢ = Σⱼ Pᵢⱼ dPᵢⱼ over a whole row, but that sum is dOᵢ · Oᵢ, since dPᵢⱼ = dOᵢ · vⱼ and
Σⱼ Pᵢⱼ vⱼ = Oᵢ: it is had before any block is visited. So one more pass over the blocks gives every gradient.

**Dropout** multiplies the weights by Z, which is 0 or 1 / (1 - rate), after the softmax: l is summed without it, V is
mixed with P∘Z, and backward dV = (P∘Z)ᵀ dO, dP = Z∘(dO Vᵀ), while Dᵢ = dOᵢ · Oᵢ still holds. Z is drawn block by block
from seeds, so that the backward pass draws the same one again instead of keeping it.

**Masks.** A block in which nobody may look is never visited, one in which all may is not masked. A row that may look
nowhere has m = -∞ and l = 0: its result is 0, and with L = +∞ its weights are exp(-∞) = 0 backward.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from allyouneed.parts.masks import Mask

SIZE = 256  # queries and keys of a block: its scores stay in a core's cache, and its products are large enough


def tiled_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    size: int = SIZE,
) -> Tensor:
    """Attention whose memory grows as T + S, with all gradients (but not gradients of gradients).

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K]. `bias`, which broadcasts to [B, H, T, S], is added
    to the scores; `dropout` drops weights. Blocks have `size` queries and keys.
    """
    work = Work(
        Shape(len(query), query.shape[1], query.shape[2], key.shape[1], key.shape[2]),
        mask,
        1 / math.sqrt(query.shape[-1]) if scale is None else scale,
        dropout,
        int(torch.randint(2**62, ())) if dropout else 0,
        size,
    )
    wide = torch.promote_types(query.dtype, torch.float32)  # sums over many blocks are too coarse in half precision
    with torch.autocast(query.device.type, enabled=False):
        return _Tiled.apply(query.to(wide), key.to(wide), value.to(wide), bias, work).to(query.dtype)


class Shape(NamedTuple):
    """The legend's letters."""

    B: int
    H: int
    T: int
    G: int
    S: int

    @property
    def share(self) -> int:
        """How many query heads share a key head."""
        return self.H // self.G


class Tile(NamedTuple):
    """One block of queries against one block of keys."""

    rows: slice
    columns: slice
    masked: bool  # may some queries not look at some keys?
    number: int  # unlike that of all other tiles


@dataclass(frozen=True)
class Work:
    """What both passes over the tiles have to know. The H / G query heads that share a key head stand below each other
    in one matrix, so that a tile is [B, G, H/G · rows, columns].
    """

    shape: Shape
    mask: Mask | None
    scale: float
    dropout: float
    seed: int
    size: int

    def split(self, heads: Tensor) -> Tensor:
        """[B, H, T, ...] -> [B, G, H/G, T, ...]."""
        return heads.unflatten(1, (self.shape.G, -1))

    def tiles(self, device: torch.device) -> list[list[Tile]]:
        """The tiles in which somebody may look, for each block of queries."""
        rows, columns = (_slices(length, self.size) for length in (self.shape.T, self.shape.S))
        some = every = None
        if self.mask is not None:
            blocks = self.mask.blocks(self.shape.T, self.shape.S, self.size, device).together
            some, every = blocks.some.tolist(), blocks.every.tolist()
        return [
            [
                Tile(row, column, every is not None and not every[i][j], i * len(columns) + j)
                for j, column in enumerate(columns)
                if some is None or some[i][j]
            ]
            for i, row in enumerate(rows)
        ]

    def scores(self, query: Tensor, key: Tensor, bias: Tensor | None, tile: Tile) -> Tensor:
        """Q Kᵀ + bias where one may look, else -∞: query [B, G, rows', K] (already scaled), key [B, G, columns, K]."""
        scores = query @ key.transpose(-2, -1)  # [B, G, rows', columns]
        heads = scores.unflatten(2, (self.shape.share, -1))  # [B, G, H/G, rows, columns]
        if bias is not None:
            heads += part(bias, tile)
        if self.mask is not None and tile.masked:
            heads.masked_fill_(~self._allowed(self.mask, tile, scores.device), -math.inf)
        return scores

    def _allowed(self, mask: Mask, tile: Tile, device: torch.device) -> Tensor:
        ahead = self.shape.S - self.shape.T
        queries = torch.arange(tile.rows.start + ahead, tile.rows.stop + ahead, device=device)[:, None]
        allowed = mask.among(queries, torch.arange(tile.columns.start, tile.columns.stop, device=device)[None])
        return allowed[:, :, None] if allowed.dim() == 4 else allowed

    def kept(self, like: Tensor, tile: Tile) -> Tensor | None:
        """Z of this tile: 0 where a weight is dropped, else 1 / (1 - rate)."""
        if not self.dropout:
            return None
        generator = torch.Generator(like.device).manual_seed(self.seed + tile.number)
        return torch.empty_like(like).bernoulli_(1 - self.dropout, generator=generator).div_(1 - self.dropout)


class _Tiled(torch.autograd.Function):
    """query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K]."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, work: Work) -> Tensor:
        mixed = torch.empty(*query.shape[:3], value.shape[-1], dtype=query.dtype, device=query.device)
        row_sums = query.new_empty(query.shape[:3])  # L, the logarithm of each row's sum of exp(scores)
        queries, out, sums = work.split(query), work.split(mixed), work.split(row_sums)
        biases = None if bias is None else split_bias(bias, work.shape)
        for rows, tiles in zip(_slices(work.shape.T, work.size), work.tiles(query.device), strict=True):
            own = (queries[:, :, :, rows] * work.scale).flatten(2, 3)  # [B, G, rows', K]
            largest = own.new_full((*own.shape[:3], 1), -math.inf)  # m
            total = torch.zeros_like(largest)  # l
            sums_of_values = own.new_zeros(*own.shape[:3], value.shape[-1])  # o
            for tile in tiles:
                scores = work.scores(own, key[:, :, tile.columns], biases, tile)
                higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
                finite = higher.masked_fill(higher == -math.inf, 0.0)  # rows that have not seen any key yet
                weights = scores.sub_(finite).exp_()
                shrink = (largest - finite).exp_()
                total.mul_(shrink).add_(weights.sum(-1, keepdim=True))
                if (kept := work.kept(weights, tile)) is not None:
                    weights.mul_(kept)
                sums_of_values.mul_(shrink).add_(weights @ value[:, :, tile.columns])
                largest = higher
            empty = total == 0
            result = sums_of_values / total.masked_fill(empty, 1.0)
            out[:, :, :, rows] = result.unflatten(2, (work.shape.share, -1))
            logarithm = (largest + total.log()).masked_fill(empty, math.inf)
            sums[:, :, :, rows] = logarithm.squeeze(-1).unflatten(2, (work.shape.share, -1))
        ctx.save_for_backward(query, key, value, bias, mixed, row_sums)
        ctx.work = work
        return mixed

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        query, key, value, bias, mixed, row_sums = ctx.saved_tensors
        work: Work = ctx.work
        upstream = grad_outputs[0]
        deltas = (upstream * mixed).sum(-1)  # D
        queries, sums, deltas, upstream = (work.split(x) for x in (query, row_sums, deltas, upstream))
        d_query, d_key, d_value = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
        d_queries = work.split(d_query)
        biases = None if bias is None else split_bias(bias, work.shape)
        d_bias = bias.new_zeros(bias.shape) if bias is not None and ctx.needs_input_grad[3] else None
        d_biases = None if d_bias is None else split_bias(d_bias, work.shape)
        for rows, tiles in zip(_slices(work.shape.T, work.size), work.tiles(query.device), strict=True):
            own = (queries[:, :, :, rows] * work.scale).flatten(2, 3)  # [B, G, rows', K]
            own_sum, own_delta = (x[:, :, :, rows].flatten(2, 3)[..., None] for x in (sums, deltas))
            own_upstream = upstream[:, :, :, rows].flatten(2, 3)
            d_own = torch.zeros_like(own)
            for tile in tiles:
                keys, values = key[:, :, tile.columns], value[:, :, tile.columns]
                weights = work.scores(own, keys, biases, tile).sub_(own_sum).exp_()  # P
                d_weights = own_upstream @ values.transpose(-2, -1)  # dP
                mixing = weights
                if (kept := work.kept(weights, tile)) is not None:
                    mixing = weights * kept
                    d_weights.mul_(kept)
                d_value[:, :, tile.columns] += mixing.transpose(-2, -1) @ own_upstream
                d_scores = d_weights.sub_(own_delta).mul_(weights)  # dS
                d_own += d_scores @ keys
                d_key[:, :, tile.columns] += d_scores.transpose(-2, -1) @ own
                if d_biases is not None:
                    target = part(d_biases, tile)
                    target += d_scores.unflatten(2, (work.shape.share, -1)).sum_to_size(target.shape)
            d_queries[:, :, :, rows] = (d_own * work.scale).unflatten(2, (work.shape.share, -1))
        return d_query, d_key, d_value, d_bias, None


def split_bias(bias: Tensor, shape: Shape) -> Tensor:
    """What broadcasts to [B, H, T, S], as a view that broadcasts to [B, G, H/G, T, S]."""
    bias = bias[(None,) * (4 - bias.dim())]
    return bias.unflatten(1, (shape.G, -1)) if bias.shape[1] > 1 else bias[:, None]


def part(bias: Tensor, tile: Tile) -> Tensor:
    """The tile's part of what `split_bias` gives, of broadcast dimensions the whole."""
    bias = bias if bias.shape[-2] == 1 else bias[..., tile.rows, :]
    return bias if bias.shape[-1] == 1 else bias[..., tile.columns]


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
