"""The Transformer: an encoder, a decoder, or both, and nothing but attention between positions (Vaswani 2017)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from allyouneed.models.config import TransformerConfig as TransformerConfig  # the two are imported together
from allyouneed.models.inputs import Inputs
from allyouneed.models.layers import Layer, Look, Past, Source, Stack
from allyouneed.models.reach import encoder_looks
from allyouneed.models.state import ROOM, check_room, empty_caches, seats
from allyouneed.models.state import DecoderState as DecoderState
from allyouneed.models.state import Memory as Memory
from allyouneed.parts.backends import SHORT
from allyouneed.parts.experts import Experts
from allyouneed.parts.feedforward import ACTIVATIONS, Activation
from allyouneed.parts.masks import CAUSAL, Mask, explicit, padding, sliding_window
from allyouneed.parts.nearness import position_window
from allyouneed.parts.norms import norm
from allyouneed.parts.positions import last_real as last_real
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
    def target_table(self) -> nn.Embedding:
        """The embeddings of what is written."""
        one = self.config.reads_one_table or not self.config.is_encoder_decoder
        return self.embedding if one else self.target_embedding

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, [V, D]."""
        return self.target_table.weight if self.config.tied_embeddings else self.output.weight

    def encode(
        self,
        source: Tensor,
        keep: Tensor | None = None,
        segments: Tensor | None = None,
        *,
        global_positions: Tensor | None = None,
    ) -> Memory:
        """source [B, S]; `keep` [B, S] is True at real tokens, on either side of the padding; `segments` [B, S] ->
        states [B, S, D].

        Where the encoder does not look at all of a text, `global_positions` [B, S] are True at tokens that do, and that
        all others look at.
        """
        positions = self._positions(source, keep)
        place = self.encoder_inputs.place(positions, positions)
        seen = encoder_looks(self.config, positions, keep, place, global_positions)
        x = self.encoder_inputs(source, positions, self.embedding, segments)

        def apply(layer: Layer, step: int, x: Tensor) -> Tensor:
            return layer(x, seen[step])

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
        place = self.decoder_inputs.place(positions, positions)
        looks = [Look(layer_mask, place) for layer_mask in self._windowed(mask, positions)]
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

    def features(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the logits are made from: states [..., D'], weights [V, D'], and what is added [V] (None: nothing)."""
        if self.readout is not None:
            states = self.readout(states)
        if self.config.output_scale != 1:
            states = states * self.config.output_scale
        return states, self.output_weight, self.output_bias

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

    def start(self, memory: Memory | None = None, *, sentences: int = 1, room: int = ROOM) -> DecoderState:
        """Nothing written yet: one row for each sentence of the memory, or for as many as `sentences` says.

        `room` is for how many slots storage is made at once: where all tokens that will be read, and as many as beams
        for each one written, find room, it is never made anew.
        """
        sources = [source for source in self.sources(memory) if source is not None]
        batch = sentences if memory is None else len(memory.states)
        groups = self.config.n_kv_heads or self.config.n_heads
        like = self.embedding.weight.new_empty(batch, groups, 0, self.config.head_width)
        pairs = [(source.keys, source.values) for source in sources]
        return DecoderState(
            pairs, memory and memory.mask, memory and memory.keep, empty_caches(self.config, like, room=room)
        )

    def read(self, tokens: Tensor, state: DecoderState, keep: Tensor | None = None) -> tuple[Tensor, DecoderState]:
        """Appends many tokens [B, T] to each sentence at once -> the logits [B, V] after its last one, and the state.

        `keep` [B, T] is True at real tokens, on either side of the padding. Each sentence has one row.
        """
        length = tokens.shape[1]
        state = state.with_caches(cache.open_many(length, keep) for cache in state.caches)
        positions = state.cache.positions[:, -length:]
        masks = [cache.read_mask(length, padded=keep is not None) for cache in state.caches]
        states, state = self._advance(tokens, state, positions, masks)
        last = states[:, -1] if keep is None else states[torch.arange(len(keep)), last_real(keep)]
        return self.logits(last), state

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state.

        The beams of a sentence stand where queries stand: they look at one memory and at one pool of slots, each
        through its own mask, so nothing is copied for them.
        """
        state = state.with_caches(cache.open() for cache in state.caches)
        masks = [cache.step_mask() for cache in state.caches]
        positions = state.cache.newest
        states, state = self._advance(tokens.view(-1, state.cache.beams), state, positions, masks)
        return self.logits(states).flatten(0, 1), state

    def _advance(
        self, tokens: Tensor, state: DecoderState, positions: Tensor, masks: list[Mask]
    ) -> tuple[Tensor, DecoderState]:
        """Runs the decoder over tokens [B, T] in slots that were opened for them -> states [B, T, D]. Each cache has a
        mask.
        """
        check_room(state.cache.steps, self.config.max_length)
        places = [self.decoder_inputs.place(positions, cache.positions) for cache in state.caches]
        where = seats(self.config)
        x = self.decoder_inputs(tokens, positions, self.target_table)

        def apply(layer: Layer, step: int, x: Tensor) -> Tensor:
            number, pool = where[step]
            source = Source(*state.source[step], state.source_mask) if state.source else None
            return layer(x, Look(masks[number], places[number], Past(state.caches[number], pool)), source)

        x = self.decoder(x, apply, self.decoder_inputs.coordinates(positions))
        return self.decoder_norm(x), state.with_caches(cache.settled() for cache in state.caches)

    def _windowed(self, mask: Mask, positions: Tensor) -> list[Mask]:
        """The mask of each decoder layer over a text at positions [T] or [B, T]: some see only a window of the keys,
        counted in positions. What is short is made dense once for all of them.
        """
        window, length = self.config.window, positions.shape[-1]

        def ready(mask: Mask) -> Mask:
            if mask is CAUSAL or length * length >= SHORT:
                return mask
            return explicit(mask.dense(length, length, positions.device))

        far = ready(mask)
        if window is None or bool((positions.max() - positions.min()) < window):
            return [far] * len(self.decoder)
        near = ready(mask & (sliding_window(window) if positions.dim() == 1 else position_window(positions, window)))
        return [near if self.config.has_window(layer) else far for layer in range(len(self.decoder))]

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
