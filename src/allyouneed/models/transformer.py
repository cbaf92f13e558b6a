"""The Transformer: an encoder, a decoder, and nothing but attention between them (Vaswani 2017)."""

import math
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.parts.block import Placement, Residual
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.dropout import Dropout
from allyouneed.parts.feedforward import FeedForward
from allyouneed.parts.masks import CAUSAL, Mask, explicit, padding
from allyouneed.parts.positions import real_positions, sinusoids


@dataclass(frozen=True)
class TransformerConfig:
    """Every number of an encoder-decoder Transformer. The defaults are the paper's base model."""

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int | None = None
    d_ff: int = 2048
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    norm_placement: Placement = "post"
    final_norm: bool = False
    norm_epsilon: float = 1e-5
    bias: bool = True
    tied_embeddings: bool = True
    embedding_scale: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.0
    max_length: int = 1024

    def __post_init__(self) -> None:
        """Refuses sizes that no model can have."""
        for name in ("vocab_size", "d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: at least 1 is needed")
        if self.d_model % (2 * self.n_heads):
            raise ValueError(f"d_model {self.d_model} must be an even multiple of n_heads {self.n_heads}")
        if self.n_kv_heads is not None and (self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads):
            raise ValueError(f"n_heads {self.n_heads} must be a multiple of n_kv_heads {self.n_kv_heads}")
        if self.norm_placement not in ("post", "pre"):
            raise ValueError(f'norm_placement "{self.norm_placement}" is neither "post" nor "pre"')
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} is outside [0, 1)")


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.n_kv_heads,
        bias=config.bias,
        dropout=config.attention_dropout,
    )


def _norm(config: TransformerConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)


def _residual(config: TransformerConfig) -> Residual:
    return Residual(_norm(config), config.dropout, config.norm_placement)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each inside a residual block (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, bias=config.bias)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(2))

    def forward(self, x: Tensor, mask: Mask | None) -> Tensor:
        """[B, S, D] -> [B, S, D]."""

        def look_around(x: Tensor) -> Tensor:
            return self.self_attention(x, *self.self_attention.keys_values(x), mask)

        x = self.residuals[0](x, look_around)
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention over what is written, attention to the source, then the feed-forward network (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, bias=config.bias)
        self.residuals = nn.ModuleList(_residual(config) for _ in range(3))

    def forward(
        self, x: Tensor, mask: Mask, source: tuple[Tensor, Tensor], source_mask: Mask | None, past: "Past | None" = None
    ) -> Tensor:
        """x [B, T, D]; `source` are the cross-attention's keys and values [B, G, S, K] -> [B, T, D]."""

        def look_back(x: Tensor) -> Tensor:
            keys, values = self.self_attention.keys_values(x)
            if past is not None:
                keys, values = past.cache.write(past.layer, keys, values)
            return self.self_attention(x, keys, values, mask)

        def look_at_source(x: Tensor) -> Tensor:
            return self.cross_attention(x, *source, source_mask)

        x = self.residuals[0](x, look_back)
        x = self.residuals[1](x, look_at_source)
        return self.residuals[2](x, self.feed_forward)


@dataclass(frozen=True)
class Past:
    """The cache as one layer sees it."""

    cache: BeamCache
    layer: int


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves for the decoder: its states [B, S, D], and which of them are real [B, S] (None: all)."""

    states: Tensor
    keep: Tensor | None

    @property
    def mask(self) -> Mask | None:
        """Who may be looked at in the source."""
        return None if self.keep is None else padding(self.keep)


@dataclass(frozen=True)
class DecoderState:
    """One row a hypothesis; the rows of a sentence stand side by side and share its source. `step` and `select` use the
    storage of the state they are given: that one is spent.
    """

    source: list[tuple[Tensor, Tensor]]  # L × (keys, values), each [B, G, S, K]
    source_mask: Mask | None
    keep: Tensor | None
    cache: BeamCache

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return self.cache.visible.shape[0] * self.cache.beams

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.cache.visible.device

    def select(self, rows: Tensor) -> "DecoderState":
        """Row i of the new state goes on from row `rows[i]` of this one; the kept sentences have equally many rows."""
        owners = rows // self.cache.beams
        sentences = owners.unique_consecutive()
        moved = len(sentences) != len(self.cache.visible)
        cache = self.cache.select(rows, sentences, moved=moved)
        if not moved:
            return replace(self, cache=cache)
        keep = None if self.keep is None else self.keep[sentences]
        source = [(keys[sentences], values[sentences]) for keys, values in self.source]
        return DecoderState(source, None if keep is None else padding(keep), keep, cache)


def check_room(steps: int, positions: int) -> None:
    """Refuses a text that is longer than a model's positions."""
    if steps > positions:
        raise ValueError(f"the text has reached this model's {positions} positions")


class Transformer(nn.Module):
    """Encoder and decoder over one shared vocabulary (section 3; one matrix serves three places, section 3.4)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.encoder_norm = _norm(config) if config.final_norm else nn.Identity()
        self.decoder_norm = _norm(config) if config.final_norm else nn.Identity()
        if not config.tied_embeddings:
            self.target_embedding = nn.Embedding(config.vocab_size, config.d_model)
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.register_buffer("positions", sinusoids(config.max_length, config.d_model), persistent=False)
        self.positions: Tensor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot weights, zero biases, and embeddings of standard deviation 1/√D, so that the scaled ones have 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        for name, parameter in self.named_parameters():
            if name.endswith(".bias"):
                nn.init.zeros_(parameter)

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The decoder from the bottom up."""
        return cast(list[DecoderLayer], list(self.decoder))

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, [V, D]."""
        return self.embedding.weight if self.config.tied_embeddings else self.output.weight

    def embed(self, tokens: Tensor, positions: Tensor, table: nn.Embedding) -> Tensor:
        """Tokens [B, T] at positions that broadcast to [B, T] -> [B, T, D]."""
        x = table(tokens)
        if self.config.embedding_scale:
            x = x * math.sqrt(self.config.d_model)
        return self.dropout(x + self.positions[positions])

    def encode(self, source: Tensor, keep: Tensor | None = None) -> Memory:
        """source [B, S]; `keep` [B, S] is True at real tokens, on either side of the padding -> states [B, S, D]."""
        self._check_length(source)
        if keep is None:
            positions, mask = torch.arange(source.shape[1], device=source.device), None
        else:
            positions, mask = real_positions(keep), padding(keep)
        x = self.embed(source, positions, self.embedding)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.encoder_norm(x), keep)

    def decode(self, target: Tensor, memory: Memory, mask: Mask = CAUSAL) -> Tensor:
        """Teacher forcing: target [B, T] begins with the start token and is padded on the right -> states [B, T, D].

        Another `mask` than the one that the model was trained with shows what that one is for.
        """
        self._check_length(target)
        x = self.embed(target, torch.arange(target.shape[1], device=target.device), self.target_table)
        source_mask = memory.mask
        for layer in self.decoder_layers:
            x = layer(x, mask, layer.cross_attention.keys_values(memory.states), source_mask)
        return self.decoder_norm(x)

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return linear(states, self.output_weight)

    def forward(self, source: Tensor, target: Tensor, keep: Tensor | None = None) -> Tensor:
        """source [B, S], target [B, T] -> logits [B, T, V] of the token after each target position."""
        return self.logits(self.decode(target, self.encode(source, keep)))

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet: one row a sentence."""
        source = [layer.cross_attention.keys_values(memory.states) for layer in self.decoder_layers]
        return DecoderState(source, memory.mask, memory.keep, BeamCache.empty(len(self.decoder), source[0][0]))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state.

        The beams of a sentence stand where queries stand: they look at one memory and at one pool of slots, each
        through its own mask, so nothing is copied for them.
        """
        cache = state.cache.open()
        check_room(cache.steps, self.config.max_length)
        tokens = tokens.view(-1, cache.beams)
        x = self.embed(tokens, torch.tensor(cache.steps - 1, device=tokens.device), self.target_table)
        mask = explicit(cache.visible[:, None])
        for index, layer in enumerate(self.decoder_layers):
            x = layer(x, mask, state.source[index], state.source_mask, Past(cache, index))
        return self.logits(self.decoder_norm(x)).flatten(0, 1), replace(state, cache=cache)

    @property
    def target_table(self) -> nn.Embedding:
        """The embeddings of what is written."""
        return self.embedding if self.config.tied_embeddings else self.target_embedding

    def _check_length(self, tokens: Tensor) -> None:
        if tokens.dim() != 2 or not 0 < tokens.shape[1] <= self.config.max_length:
            wanted = f"[B, T] with T between 1 and max_length {self.config.max_length} is needed"
            raise ValueError(f"tokens {list(tokens.shape)}: {wanted}")
