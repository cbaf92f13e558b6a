"""The Transformer: an encoder, a decoder, or both, and nothing but attention between positions (Vaswani 2017)."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from allyouneed.models.config import TransformerConfig as TransformerConfig  # the two are imported together
from allyouneed.models.inputs import Inputs
from allyouneed.models.layers import Layer, Look, Past, Source, Stack
from allyouneed.models.state import DecoderState as DecoderState
from allyouneed.models.state import Memory as Memory
from allyouneed.models.state import check_room
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.experts import Experts
from allyouneed.parts.feedforward import ACTIVATIONS, Activation
from allyouneed.parts.masks import CAUSAL, Mask, explicit, padding, sliding_window
from allyouneed.parts.norms import norm
from allyouneed.parts.positions import real_positions


class Readout(nn.Module):
    """A layer, its activation and a norm before the output: a head for masked words (Devlin 2019, section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation: Activation = config.activation
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.norm = norm(config.norm, config.d_model, config.norm_epsilon)

    def forward(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        return self.norm(ACTIVATIONS[self.activation](self.dense(states)))


class Transformer(nn.Module):
    """Encoder, decoder or both, over one vocabulary (section 3; one matrix may serve three places, section 3.4).

    Without an encoder, `decode`, `start` and `read` need no memory; without a decoder, `encode` is all there is, and
    `logits` says which token could stand at each position.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        both, width = config.is_encoder_decoder, config.d_model
        self.embedding = nn.Embedding(config.vocab_size, width)
        if config.n_encoder_layers:
            self.encoder_inputs = Inputs(config, two_way=True)
            self.encoder = Stack(config, config.n_encoder_layers, cross=False)
            self.encoder_norm = self._final_norm()
        if config.n_decoder_layers:
            self.decoder_inputs = Inputs(config, two_way=False)
            self.decoder = Stack(config, config.n_decoder_layers, cross=both)
            self.decoder_norm = self._final_norm()
        if both and not config.reads_one_table:
            self.target_embedding = nn.Embedding(config.vocab_size, width)
        self.readout = Readout(config) if config.output_transform else None
        if not config.tied_embeddings:
            self.output = nn.Linear(width, config.vocab_size, bias=False)
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        self.pooler = nn.Linear(width, width) if config.pooler else None
        self.reset_parameters()

    def _final_norm(self) -> nn.Module:
        config = self.config
        return norm(config.norm, config.d_model, config.norm_epsilon) if config.final_norm else nn.Identity()

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
    def decoder_layers(self) -> list[Layer]:
        """The decoder's layers, from the bottom up."""
        return self.decoder.layers

    @property
    def target_table(self) -> nn.Embedding:
        """The embeddings of what is written."""
        one = self.config.reads_one_table or not self.config.is_encoder_decoder
        return self.embedding if one else self.target_embedding

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, [V, D]."""
        return self.target_table.weight if self.config.tied_embeddings else self.output.weight

    def encode(self, source: Tensor, keep: Tensor | None = None, segments: Tensor | None = None) -> Memory:
        """source [B, S]; `keep` [B, S] is True at real tokens, on either side of the padding; `segments` [B, S] ->
        states [B, S, D].
        """
        positions = self._positions(source, keep)
        look = Look(None if keep is None else padding(keep), self.encoder_inputs.place(positions, positions))
        x = self.encoder_inputs(source, positions, self.embedding, segments)

        def apply(layer: Layer, step: int, x: Tensor) -> Tensor:
            return layer(x, look)

        x = self.encoder(x, apply, self.encoder_inputs.coordinates(positions))
        return Memory(self.encoder_norm(x), keep)

    def pool(self, memory: Memory) -> Tensor:
        """A vector for the whole text, made from its first token's state: tanh(W h₀ + b) -> [B, D] (BERT's pooler)."""
        if self.pooler is None:
            raise ValueError("this model has no pooler")
        keep, states = memory.keep, memory.states
        first = states[:, 0] if keep is None else states[torch.arange(len(keep)), keep.int().argmax(1)]
        return self.pooler(first).tanh()

    def decode(
        self,
        target: Tensor,
        memory: Memory | None = None,
        mask: Mask = CAUSAL,
        *,
        keep: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Teacher forcing: target [B, T] -> states [B, T, D]. The memory is what an encoder read.

        Text that is padded on the right needs no `keep` [B, T]; on the left it does. `positions` [B, T] are those of
        texts that were packed into one row. Another `mask` than the one that the model was trained with shows what that
        one is for.
        """
        if positions is None:
            positions = self._positions(target, keep)
        mask = mask if keep is None else mask & padding(keep)
        if mask is not CAUSAL:
            mask = explicit(mask.dense(target.shape[1], target.shape[1], target.device))
        place = self.decoder_inputs.place(positions, positions)
        looks = [Look(layer_mask, place) for layer_mask in self._windowed(mask, positions, positions)]
        sources = self.sources(memory)
        x = self.decoder_inputs(target, positions, self.target_table)

        def apply(layer: Layer, step: int, x: Tensor) -> Tensor:
            return layer(x, looks[step], sources[step])

        x = self.decoder(x, apply, self.decoder_inputs.coordinates(positions))
        return self.decoder_norm(x)

    def sources(self, memory: Memory | None) -> list[Source | None]:
        """For each decoder layer, the keys and values of what the encoder read."""
        if not self.config.is_encoder_decoder:
            return [None] * len(self.decoder)
        if memory is None:
            raise ValueError("this model's decoder looks at a source: give it the encoder's memory")
        mask = memory.mask
        return [Source(*layer.cross_attention.keys_values(memory.states), mask) for layer in self.decoder]

    def features(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Two matrices whose product are the logits: states [..., D] -> [..., D'] and [V, D']."""
        weight = self.output_weight
        if self.readout is not None:
            states = self.readout(states)
        if self.config.output_scale != 1:
            states = states * self.config.output_scale
        if self.output_bias is None:
            return states, weight
        one = states.new_ones(*states.shape[:-1], 1)
        return torch.cat((states, one), -1), torch.cat((weight, self.output_bias[:, None]), -1)

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return linear(*self.features(states))

    def forward(
        self, tokens: Tensor, target: Tensor | None = None, keep: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """tokens [B, S], and of an encoder-decoder target [B, T] -> logits [B, T, V]: of the token after each position
        of what is written, or of the token at each position of what an encoder alone reads. `keep` [B, S] is True at
        real tokens.
        """
        if not self.config.n_decoder_layers:
            return self.logits(self.encode(tokens, keep, segments).states)
        if not self.config.n_encoder_layers:
            return self.logits(self.decode(tokens, keep=keep))
        if target is None:
            raise ValueError("an encoder-decoder needs a target beside its source")
        return self.logits(self.decode(target, self.encode(tokens, keep)))

    def start(self, memory: Memory | None = None, *, sentences: int = 1) -> DecoderState:
        """Nothing written yet: one row for each sentence of the memory, or for as many as `sentences` says."""
        sources = [source for source in self.sources(memory) if source is not None]
        batch = sentences if memory is None else len(memory.states)
        groups = self.config.n_kv_heads or self.config.n_heads
        like = self.embedding.weight.new_empty(batch, groups, 0, self.config.head_width)
        cache = BeamCache.empty(len(self.decoder), like)
        pairs = [(source.keys, source.values) for source in sources]
        return DecoderState(pairs, memory and memory.mask, memory and memory.keep, cache)

    def read(self, tokens: Tensor, state: DecoderState, keep: Tensor | None = None) -> tuple[Tensor, DecoderState]:
        """Appends many tokens [B, T] to each sentence at once -> the logits [B, V] after its last one, and the state.

        `keep` [B, T] is True at real tokens, on either side of the padding. Each sentence has one row.
        """
        before = state.cache.visible.shape[-1]
        cache = state.cache.open_many(tokens.shape[1], keep)
        positions = cache.positions[:, before:]
        look_back = CAUSAL
        if before or keep is not None:
            ahead = CAUSAL.dense(tokens.shape[1], cache.visible.shape[-1], tokens.device)
            look_back = explicit((cache.visible & ahead)[:, None])
        states, state = self._advance(tokens, replace(state, cache=cache), positions, look_back)
        last = states[:, -1] if keep is None else states[torch.arange(len(keep)), last_real(keep)]
        return self.logits(last), state

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state.

        The beams of a sentence stand where queries stand: they look at one memory and at one pool of slots, each
        through its own mask, so nothing is copied for them.
        """
        cache = state.cache.open()
        positions = cache.newest.expand(-1, cache.beams)
        mask = explicit(cache.visible[:, None])
        states, state = self._advance(tokens.view(-1, cache.beams), replace(state, cache=cache), positions, mask)
        return self.logits(states).flatten(0, 1), state

    def _advance(
        self, tokens: Tensor, state: DecoderState, positions: Tensor, mask: Mask
    ) -> tuple[Tensor, DecoderState]:
        """Runs the decoder over tokens [B, T] in slots that were opened for them -> states [B, T, D]."""
        cache = state.cache
        check_room(cache.steps, self.config.max_length)
        place = self.decoder_inputs.place(positions, cache.positions)
        masks = self._windowed(mask, positions, cache.positions)
        x = self.decoder_inputs(tokens, positions, self.target_table)

        def apply(layer: Layer, step: int, x: Tensor) -> Tensor:
            source = Source(*state.source[step], state.source_mask) if state.source else None
            return layer(x, Look(masks[step], place, Past(cache, step)), source)

        x = self.decoder(x, apply, self.decoder_inputs.coordinates(positions))
        return self.decoder_norm(x), state

    def _windowed(self, mask: Mask, queries: Tensor, keys: Tensor) -> list[Mask]:
        """The mask of each decoder layer: some see only a window of the keys, counted in positions."""
        window, depth = self.config.window, len(self.decoder)
        if window is None or bool((queries.max() - keys.min()) < window):
            return [mask] * depth
        if queries.dim() == 1 and mask is CAUSAL:
            near = CAUSAL & sliding_window(window)
        else:
            distance = queries[..., :, None] - keys[..., None, :]
            near = mask & explicit((distance < window) if distance.dim() == 2 else (distance < window)[:, None])
        layers = range(depth) if self.config.window_layers is None else self.config.window_layers
        return [near if layer in layers else mask for layer in range(depth)]

    def _positions(self, tokens: Tensor, keep: Tensor | None) -> Tensor:
        """Where tokens [B, T] stand: [T], or [B, T] where some are padding."""
        if tokens.dim() != 2 or not 0 < tokens.shape[1] <= self.config.max_length:
            wanted = f"[B, T] with T between 1 and max_length {self.config.max_length} is needed"
            raise ValueError(f"tokens {list(tokens.shape)}: {wanted}")
        return torch.arange(tokens.shape[1], device=tokens.device) if keep is None else real_positions(keep)

    def extra_loss(self) -> Tensor | float:
        """What the last pass in training adds to its loss: the experts' balance, and the ponder cost of halting."""
        config = self.config
        balances = [part.balance for part in self.modules() if isinstance(part, Experts) and part.balance is not None]
        ponders = [part.ponder for part in self.modules() if isinstance(part, Stack) and part.ponder is not None]
        balance = config.balance_weight * sum(balances) / max(len(balances), 1)
        return balance + config.ponder_weight * sum(ponders)


def last_real(keep: Tensor) -> Tensor:
    """Where the last real token of each row stands: keep [B, T] -> [B]."""
    return keep.shape[1] - 1 - keep.flip(1).int().argmax(1)
