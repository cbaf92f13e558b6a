"""What goes into a stack: what each token is, where it stands, and which segment it belongs to."""

import math

import torch
from torch import Tensor, nn

from allyouneed.models.config import TransformerConfig
from allyouneed.parts.attention import NOWHERE, Place
from allyouneed.parts.dropout import Dropout
from allyouneed.parts.norms import norm
from allyouneed.parts.positions import Rotary, sinusoids, sinusoids_in_halves
from allyouneed.parts.relative import Alibi, BucketBias, distances

WAVES = {"sinusoidal": sinusoids, "sinusoidal-halves": sinusoids_in_halves, "coordinates": sinusoids}


class Inputs(nn.Module):
    """Embeds the tokens of one stack, and knows its position scheme: what is added here, and what attention is told.

    `two_way`: the stack's queries may look ahead.
    """

    def __init__(self, config: TransformerConfig, *, two_way: bool) -> None:
        super().__init__()
        self.kind = config.positions
        self.scale = math.sqrt(config.d_model) if config.embedding_scale else 1.0
        self.offset = config.position_offset
        wave = WAVES.get(config.positions)
        table = None if wave is None else wave(config.max_length, config.d_model)
        self.register_buffer("waves", table, persistent=False)
        self.waves: Tensor | None
        learned = config.positions == "learned"
        self.learned = nn.Embedding(config.max_length + self.offset, config.d_model) if learned else None
        self.segments = nn.Embedding(config.n_segments, config.d_model) if two_way and config.n_segments else None
        self.norm = norm(config.norm, config.d_model, config.norm_epsilon) if config.embedding_norm else None
        self.dropout = Dropout(config.dropout)
        self.rotary = rotary(config) if config.positions == "rotary" else None
        self.bias: Alibi | BucketBias | None = None
        if config.positions == "alibi":
            self.bias = Alibi(config.n_heads)
        elif config.positions == "t5":
            buckets, farthest = config.relative_buckets, config.relative_distance
            self.bias = BucketBias(config.n_heads, buckets=buckets, farthest=farthest, two_way=two_way)

    def forward(self, tokens: Tensor, positions: Tensor, table: nn.Embedding, segments: Tensor | None = None) -> Tensor:
        """Tokens [B, T] at positions that broadcast to [B, T] -> [B, T, D]. `segments` [B, T]; None: all the first."""
        x = table(tokens)
        if self.scale != 1:
            x = x * self.scale
        if self.learned is not None:
            x = x + self.learned(positions + self.offset)
        elif self.waves is not None and self.kind != "coordinates":
            x = x + self.waves[positions]
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(tokens) if segments is None else segments)
        return self.dropout(x if self.norm is None else self.norm(x))

    def coordinates(self, positions: Tensor) -> Tensor | None:
        """Positions that are told anew before each layer (Dehghani 2018, equation 6), where the scheme does so."""
        return self.waves[positions] if self.kind == "coordinates" and self.waves is not None else None

    def place(self, queries: Tensor, keys: Tensor) -> Place:
        """What attention is told of positions [T] or [B, T] of the queries, and [S] or [B, S] of the keys."""
        if self.rotary is not None:
            cosine, sine = self.rotary.turn(queries)  # [T, W/2] or [B, T, W/2]
            return Place(turn=(cosine, sine) if queries.dim() == 1 else (cosine[:, None], sine[:, None]))
        if self.bias is not None:
            return Place(bias=self.bias(distances(queries, keys)))
        if self.kind == "shaw":
            return Place(distance=distances(queries, keys))
        return NOWHERE


def rotary(config: TransformerConfig) -> Rotary:
    """The rotary scheme of a config."""
    return Rotary(
        config.rotary_width,
        base=config.rotary_base,
        layout=config.rotary_layout,
        scaling=config.rotary_scaling,
        factor=config.rotary_factor,
        trained_length=config.rotary_trained_length,
        low=config.rotary_low,
        high=config.rotary_high,
        attention=config.rotary_attention,
    )
