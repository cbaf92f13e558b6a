"""The layer that repeats, and the stack of it: attention, feed-forward network, and a way around each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from allyouneed.models.config import TransformerConfig
from allyouneed.parts.attention import NOWHERE, MultiHeadAttention, Place
from allyouneed.parts.block import Residual
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.experts import Experts
from allyouneed.parts.feedforward import FeedForward
from allyouneed.parts.global_tokens import GlobalProjections
from allyouneed.parts.masks import Mask
from allyouneed.parts.norms import norm
from allyouneed.parts.positions import sinusoids
from allyouneed.parts.relative import ShawEmbeddings


def make_attention(config: TransformerConfig, *, relative: bool) -> MultiHeadAttention:
    """An attention of the config's shape; `relative`: with Shaw's embeddings where the config has them."""
    output_bias = config.attention_output_bias
    attention = MultiHeadAttention(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.n_kv_heads,
        d_head=config.d_head,
        bias=config.bias if output_bias is None else output_bias,
        qkv_bias=config.bias if config.qkv_bias is None else config.qkv_bias,
        dropout=config.attention_dropout,
    )
    attention.scale = config.attention_scale
    attention.layout = config.rotary_layout
    if config.query_key_norm:
        attention.query_norm = norm("rms", attention.d_head, config.norm_epsilon)
        attention.key_norm = norm("rms", attention.d_head, config.norm_epsilon)
    if relative and config.positions == "shaw":
        attention.relative = ShawEmbeddings(attention.d_head, config.relative_distance)
    if config.global_projections:
        width = config.n_heads * attention.d_head
        attention.global_projections = GlobalProjections(
            config.d_model, width, bias=config.bias if config.qkv_bias is None else config.qkv_bias
        )
    if config.counts_first_again:
        attention.again = (config.reach_block, config.counts_first_again)
    return attention


def make_feed_forward(config: TransformerConfig) -> FeedForward | Experts:
    """The feed-forward network, or several of which each token uses a few."""
    if not config.n_experts:
        return FeedForward(
            config.d_model, config.d_ff, bias=config.bias, activation=config.activation, gated=config.gated
        )
    return Experts(
        config.d_model,
        config.d_ff,
        n_experts=config.n_experts,
        per_token=config.experts_per_token,
        bias=config.bias,
        activation=config.activation,
        gated=config.gated,
    )


@dataclass(frozen=True)
class Past:
    """The cache as one layer sees it."""

    cache: BeamCache
    layer: int


@dataclass(frozen=True)
class Look:
    """What one layer may look at in its own text: who sees whom, where all stand, and what was there before."""

    mask: Mask | None = None
    place: Place = NOWHERE
    past: Past | None = None


@dataclass(frozen=True)
class Source:
    """What one layer's cross-attention looks at: keys and values [B, G, S, K], and which of them."""

    keys: Tensor
    values: Tensor
    mask: Mask | None


class Layer(nn.Module):
    """Self-attention, attention to a source where there is one, then the feed-forward network, each inside a residual
    block (Vaswani 2017, section 3.1).
    """

    def __init__(self, config: TransformerConfig, *, cross: bool) -> None:
        super().__init__()
        self.self_attention = make_attention(config, relative=True)
        if cross:
            self.cross_attention = make_attention(config, relative=False)
        self.feed_forward = make_feed_forward(config)
        self.residuals = nn.ModuleList(
            Residual(norm(config.norm, config.d_model, config.norm_epsilon), config.dropout, config.norm_placement)
            for _ in range(3 if cross else 2)
        )
        self.parallel = config.parallel_residual

    def forward(self, x: Tensor, look: Look, source: Source | None = None) -> Tensor:
        """[B, T, D] -> [B, T, D]."""

        def look_around(x: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(x, look.place)
            if look.past is not None:
                keys, values = look.past.cache.write(look.past.layer, keys, values)
            return self.self_attention(x, keys, values, look.mask, look.place)

        first, *others = cast(list[Residual], list(self.residuals))
        if self.parallel:
            return x + first.change(x, look_around) + others[0].change(x, self.feed_forward)
        x = first(x, look_around)
        if source is not None:

            def look_at_source(x: Tensor) -> Tensor:
                return self.cross_attention(x, source.keys, source.values, source.mask)

            x = others[0](x, look_at_source)
        return others[-1](x, self.feed_forward)


class Stack(nn.Module):
    """Layers one on another; or one layer again and again, each position for as long as it needs (Dehghani 2018).

    `ponder` is the ponder cost of the last pass in training: steps taken and what was left over, a position (Graves
    2016, equation 7).
    """

    def __init__(self, config: TransformerConfig, depth: int, *, cross: bool) -> None:
        super().__init__()
        own = [Layer(config, cross=cross) for _ in range(1 if config.shared_depth else depth)]
        for number, layer in enumerate(own):
            self.add_module(str(number), layer)
        self.depth = depth
        self.threshold = config.halting_threshold
        self.halt = nn.Linear(config.d_model, 1) if config.halting else None
        self.ponder: Tensor | None = None
        steps = sinusoids(depth, config.d_model) if config.positions == "coordinates" else None
        self.register_buffer("steps", steps, persistent=False)
        self.steps: Tensor | None

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle takes: not the last pass, whose graph belongs to it."""
        return {**self.__dict__, "ponder": None}

    @property
    def layers(self) -> list[Layer]:
        """The layer of each step, from the bottom up."""
        own = [module for module in self.children() if isinstance(module, Layer)]
        return own * self.depth if len(own) < self.depth else own

    def __len__(self) -> int:
        return self.depth

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __getitem__(self, step: int) -> Layer:
        return self.layers[step]

    def forward(self, x: Tensor, apply: Callable[[Layer, int, Tensor], Tensor], coordinates: Tensor | None) -> Tensor:
        """[B, T, D] -> [B, T, D]. `apply` runs a layer, given with its number; `coordinates` [T, D] or [B, T, D] are
        the positions that every step is told anew.
        """
        states: list[Tensor] = []
        for step, layer in enumerate(self.layers):
            if coordinates is not None and self.steps is not None:
                x = x + coordinates + self.steps[step]
            x = apply(layer, step, x)
            if self.halt is not None:
                states.append(x)
        return x if self.halt is None else self._halted(states)

    def _halted(self, states: list[Tensor]) -> Tensor:
        """The mean of a position's states [B, T, D], each weighted by the probability of stopping there."""
        assert self.halt is not None
        weights, cost = halting_weights(torch.cat([self.halt(state).sigmoid() for state in states], -1), self.threshold)
        self.ponder = cost.mean() if self.training else None
        return (torch.stack(states, -2) * weights[..., None]).sum(-2)


def halting_weights(probabilities: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """How much each step counts in the end, and the ponder cost: probabilities [..., N] -> [..., N], [...].

    A position stops at the first step at which its probabilities add up to `threshold`, or at the last; that step gets
    what is left to 1 (Graves 2016, equations 4 to 7).
    """
    steps = probabilities.shape[-1]
    before = probabilities.cumsum(-1) - probabilities  # what was spent before each step
    reached = before + probabilities >= threshold
    reached[..., -1] = True
    last = reached.int().argmax(-1, keepdim=True)  # [..., 1]
    number = torch.arange(steps, device=probabilities.device)
    rest = 1 - before.gather(-1, last)
    weights = torch.where(number < last, probabilities, torch.where(number == last, rest, 0.0))
    return weights, (last + 1 + rest).squeeze(-1)
