"""Attention that only looks where a mask has something to see: windows, global tokens, random blocks, in linear time.

Queries are cut into blocks, and each block is given the keys of those blocks that any of its queries may look at, its
neighbourhood; the fused kernel does the rest (the layout of Beltagy 2020, section 3, and Zaheer 2020, appendix D, for a
mask of any shape). A window, a few global tokens and a few random blocks leave each block of queries with equally many
keys however long the text is, so that time and memory grow with its length alone; the few blocks that hold global
tokens look at the whole text.

Neighbourhoods overlap, so all of them together are several times as large as the keys. They are gathered for a few
blocks at a time, thrown away, and gathered once more for the backward pass; one number a row, the logarithm of its sum,
spares that pass a second look at the forward one. What a mask opens within them is found once and kept for as long as
the mask is, since the layers of a model share it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad, scaled_dot_product_attention

from allyouneed.parts.masks import Mask

# Queries and keys of a block, and what a score costs in it: small blocks fit a mask closer, large ones suit the kernel.
SIZES = {64: 1.25, 128: 1.0}
GATHERED = 2**20  # numbers of keys that are gathered at a time: they stay in the cache

# The fused kernel as torch itself calls it on a CPU. It also gives the logarithm of each row's sum.
FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FUSED_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def sparse_attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    size: int | None = None,
) -> Tensor:
    """The same lookup as dense attention under the mask, without the blocks in which nobody may look.

    query [B, H, T, K], key and value [B, G, S, K] -> [B, H, T, K], with all gradients (not with gradients of those).
    `bias`, which broadcasts to [B, H, T, S], is added to the scores; `dropout` drops weights. Blocks have `size`
    queries and keys (None: what suits the mask).
    """
    queries, keys = query.shape[-2], key.shape[-2]
    size = best_size(mask, queries, keys, key.device) if size is None else size
    together = max(1, GATHERED // (size * (key.numel() // keys)))
    groups = groups_of(mask, Cut(queries, keys, size, together, key.device))
    plan = Plan(groups, queries, keys, size, scale, dropout, int(torch.randint(2**62, ())) if dropout else 0)
    blocks = (in_blocks(x, size) for x in (query, key, value))
    bias = None if bias is None else bias[(None,) * (4 - bias.dim())].to(query.dtype)
    with torch.autocast(query.device.type, enabled=False):
        mixed = _Sparse.apply(*blocks, bias, plan)
    return mixed.flatten(1, 2)[:, :queries].transpose(1, 2)


class Group(NamedTuple):
    """Blocks of queries [rows] that have equally many neighbours, and these [rows, neighbours].

    `opened` is what the kernel is told, [rows, size, neighbours · size], or [B, ...] where sentences differ; None: all
    may look at all. Queries that are `empty` [rows, size, 1] may look nowhere: the kernel is told that they may look
    everywhere, and what they see is dropped. None: there are none.
    """

    rows: Tensor
    neighbours: Tensor
    opened: Tensor | None
    empty: Tensor | None


class Cut(NamedTuple):
    """How queries and keys are cut into blocks; `together`: keys' blocks in a group."""

    queries: int
    keys: int
    size: int
    together: int
    device: torch.device

    def positions(self, rows: Tensor, neighbours: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [rows, size, 1] and keys [rows, 1, neighbours · size], counted from the first of each."""
        inside = torch.arange(self.size, device=rows.device)
        places = (rows[:, None] * self.size + inside)[:, :, None]
        return places, (neighbours[:, :, None] * self.size + inside).flatten(1)[:, None]


_known: WeakKeyDictionary[Mask, dict[Cut, list[Group]]] = WeakKeyDictionary()


def groups_of(mask: Mask, cut: Cut) -> list[Group]:
    """All blocks of queries in small groups, and what the mask opens to them."""
    known = _known.setdefault(mask, {})
    if cut not in known:
        known.clear()  # a mask seldom serves two lengths in turn
        known[cut] = list(_find_groups(mask, cut))
    return known[cut]


def best_size(mask: Mask, queries: int, keys: int, device: torch.device) -> int:
    """The size of block with which the mask costs least."""
    costs = {
        size: cost * size**2 * int(mask.blocks(queries, keys, size, device).together.some.sum())
        for size, cost in SIZES.items()
    }
    return min(costs, key=lambda size: costs[size])


def _find_groups(mask: Mask, cut: Cut) -> Iterator[Group]:
    some = mask.blocks(cut.queries, cut.keys, cut.size, cut.device).together.some.clone()  # [T/size, S/size]
    some[:, 0] |= ~some.any(1)  # queries that may look nowhere are given some keys, and masked like all others
    counts = some.sum(1)
    for count in counts.unique().tolist():
        alike = (counts == count).nonzero().flatten()
        neighbours = some[alike].nonzero()[:, 1].view(-1, count)
        few = max(1, cut.together // count)
        for rows, own in zip(alike.split(few), neighbours.split(few), strict=True):
            places, columns = cut.positions(rows, own)
            places = places.clamp_max(cut.queries - 1) + cut.keys - cut.queries
            allowed = mask.among(places, columns.clamp_max(cut.keys - 1)) & (columns < cut.keys)
            allowed = allowed.expand(*allowed.shape[:-2], cut.size, -1)
            empty = ~allowed.any(-1, keepdim=True)
            opened = allowed | empty
            yield Group(rows, own, None if bool(opened.all()) else opened, empty if bool(empty.any()) else None)


class Neighbourhood(NamedTuple):
    """What the kernel is given for a group: [B·rows, H or G, size or neighbours · size, K], and the bias
    [B or 1, H or 1, rows, size, neighbours · size].
    """

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class Plan:
    """What both passes over the groups have to know. Blocks are [B, T/size, size, H, K]: as a projection leaves its
    heads, so that a block is one piece of memory.
    """

    groups: list[Group]
    queries: int
    keys: int
    size: int
    scale: float | None
    dropout: float
    seed: int

    def gathered(
        self, group: Group, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, rooms: Sequence[Tensor]
    ) -> Neighbourhood:
        """The group's part of query, key, value and bias. `rooms` are for the keys and the values; without, they are
        made.
        """
        own = beside_each_other(query.index_select(1, group.rows))
        near_key, near_value = (
            beside_each_other(gathered_blocks(x, group.neighbours, room).flatten(2, 3))
            for x, room in zip_longest((key, value), rooms)
        )
        near_bias = None if bias is None else bias.flatten(2)[:, :, self.bias_places(group, bias)]
        return Neighbourhood(own, near_key, near_value, near_bias)

    def rooms(self, *blocks: Tensor) -> list[Tensor]:
        """For each of the blocks as many numbers as any group gathers: one piece of memory serves all groups."""
        most = max(group.neighbours.numel() for group in self.groups)
        return [x.new_empty(most * (x.numel() // x.shape[1])) for x in blocks]

    def opened(self, group: Group, near: Neighbourhood, sentences: int) -> Tensor | None:
        """What the kernel is told of mask and bias: [B·rows, 1 or H, size, neighbours · size]."""
        opened = None if group.opened is None else for_each(group.opened, sentences)
        if near.bias is None:
            return opened
        bias = near.bias.expand(sentences, -1, -1, -1, -1).transpose(1, 2).flatten(0, 1)
        return bias if opened is None else bias.masked_fill(~opened, -math.inf)

    def mixed(self, number: int, near: Neighbourhood, sentences: int) -> Tensor:
        """What a group's queries see: [B·rows, H, size, K]."""
        group = self.groups[number]
        with torch.random.fork_rng([near.query.device] if near.query.is_cuda else [], enabled=self.dropout > 0):
            if self.dropout:
                torch.manual_seed(self.seed + number)  # the backward pass draws the same
            mixed = scaled_dot_product_attention(
                near.query,
                near.key,
                near.value,
                attn_mask=self.opened(group, near, sentences),
                dropout_p=self.dropout,
                scale=self.scale,
                enable_gqa=near.key.shape[1] != near.query.shape[1],
            )
        return mixed if group.empty is None else mixed.masked_fill(for_each(group.empty, sentences), 0.0)

    def bias_places(self, group: Group, bias: Tensor) -> Tensor:
        """Where the group's scores stand in a bias [.., .., T or 1, S or 1] whose last two dimensions are one."""
        cut = Cut(self.queries, self.keys, self.size, 1, bias.device)
        rows, columns = cut.positions(group.rows, group.neighbours)
        rows, columns = rows.clamp_max(bias.shape[2] - 1), columns.clamp_max(bias.shape[3] - 1)
        return rows * bias.shape[3] + columns

    def knows_sums(self, query: Tensor, key: Tensor, value: Tensor, *, bias_gradient: bool) -> bool:
        """Can the kernel be asked for the sums of its rows, with which the backward pass need not look again? torch
        offers that for a CPU, and for what the fused kernel there can do at all.
        """
        plain = not self.dropout and not bias_gradient and query.device.type == "cpu"
        alike = query.shape[-2:] == key.shape[-2:] == value.shape[-2:]
        return plain and alike and query.dtype in (torch.float32, torch.float64)


class _Sparse(torch.autograd.Function):
    """In blocks: query [B, T/size, size, H, K], key and value [B, S/size, size, G, K] -> [B, T/size, size, H, K]."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, plan: Plan) -> Tensor:
        out = query.new_empty(*query.shape[:-1], value.shape[-1])
        sentences, rooms = len(query), plan.rooms(key, value)
        with_sums = plan.knows_sums(query, key, value, bias_gradient=ctx.needs_input_grad[3])
        sums: list[Tensor] = []
        for number, group in enumerate(plan.groups):
            near = plan.gathered(group, query, key, value, bias, rooms=rooms)
            if with_sums:
                opened = as_bias(plan.opened(group, near, sentences), near.query)
                mixed, row_sums = FUSED(*near[:3], attn_mask=opened, scale=plan.scale)
                mixed = mixed if group.empty is None else mixed.masked_fill(for_each(group.empty, sentences), 0.0)
                sums.append(row_sums)
            else:
                mixed = plan.mixed(number, near, sentences)
            out.index_copy_(1, group.rows, apart(mixed, sentences))
        ctx.save_for_backward(query, key, value, bias, *((out,) if with_sums else ()))
        ctx.plan, ctx.sums = plan, sums
        return out

    @staticmethod
    @once_differentiable  # which names no parameters
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, ...]:
        query, key, value, bias, *outputs = ctx.saved_tensors
        plan: Plan = ctx.plan
        sentences = len(query)
        d_query, d_key, d_value = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
        d_bias = bias.new_zeros(bias.shape) if bias is not None and ctx.needs_input_grad[3] else None
        rooms = plan.rooms(key, value) if outputs else []
        for number, group in enumerate(plan.groups):
            near = plan.gathered(group, query, key, value, bias, rooms=rooms)
            upstream = beside_each_other(grad_outputs[0].index_select(1, group.rows))
            if outputs:
                if group.empty is not None:
                    upstream = upstream.masked_fill(for_each(group.empty, sentences), 0.0)
                opened = as_bias(plan.opened(group, near, sentences), near.query)
                mixed = beside_each_other(outputs[0].index_select(1, group.rows))
                own, *others = FUSED_BACKWARD(
                    upstream, *near[:3], mixed, ctx.sums[number], 0.0, False, attn_mask=opened, scale=plan.scale
                )
            else:
                # The kernel gives way to a slower form where a bias has a gradient.
                inputs = [x.requires_grad_() for x in (near if d_bias is not None else near[:3]) if x is not None]
                with torch.enable_grad():
                    mixed = plan.mixed(number, near, sentences)
                own, *others = torch.autograd.grad(mixed, inputs, upstream)
            d_query.index_copy_(1, group.rows, apart(own, sentences))
            for target, part in zip((d_key, d_value), others, strict=False):
                blocks = apart(part, sentences).unflatten(2, (-1, plan.size)).flatten(1, 2)
                target.index_add_(1, group.neighbours.flatten(), blocks)
            if d_bias is not None:
                places = plan.bias_places(group, d_bias).flatten()
                d_bias.flatten(2).index_add_(2, places, others[2].flatten(2))
        return d_query, d_key, d_value, d_bias, None


def in_blocks(heads: Tensor, size: int) -> Tensor:
    """[B, H, T, K] -> [B, T/size, size, H, K], the last block filled up with zeros."""
    heads = heads.transpose(1, 2)
    missing = -heads.shape[1] % size
    return (pad(heads, (0, 0, 0, 0, 0, missing)) if missing else heads).contiguous().unflatten(1, (-1, size))


def gathered_blocks(blocks: Tensor, which: Tensor, room: Tensor | None) -> Tensor:
    """Blocks [B, S/size, size, G, K] by their numbers [rows, neighbours] -> [B, rows, neighbours, size, G, K]; in
    memory that is there, or in new.
    """
    if room is None:
        return blocks.index_select(1, which.flatten()).unflatten(1, which.shape)
    shape = (len(blocks), which.numel(), *blocks.shape[2:])
    found = room[: math.prod(shape)].view(shape)
    torch.index_select(blocks, 1, which.flatten(), out=found)
    return found.unflatten(1, which.shape)


def beside_each_other(blocks: Tensor) -> Tensor:
    """Blocks as sentences of their own, for the kernel: [B, rows, T, H, K] -> [B·rows, H, T, K]."""
    return blocks.flatten(0, 1).transpose(1, 2)


def apart(blocks: Tensor, sentences: int) -> Tensor:
    """The way back: [B·rows, H, T, K] -> [B, rows, T, H, K]."""
    return blocks.transpose(1, 2).unflatten(0, (sentences, -1))


def for_each(allowed: Tensor, sentences: int) -> Tensor:
    """[rows, ...] or [B, rows, ...] as the kernel reads it, [B·rows, 1, ...]."""
    return allowed.expand(sentences, -1, -1, -1).flatten(0, 1)[:, None]


def as_bias(opened: Tensor | None, like: Tensor) -> Tensor | None:
    """What may be looked at, as numbers to be added: 0 or -∞. What is numbers already stays."""
    if opened is None or opened.dtype != torch.bool:
        return opened
    return torch.zeros_like(opened, dtype=like.dtype).masked_fill_(~opened, -math.inf)
