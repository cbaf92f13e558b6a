"""A Transformer's decoder made ready for writing: the sums of `read` and `step` in fewer and larger products."""

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import embedding

from allyouneed.errors import UsageError
from allyouneed.models.inputs import Inputs
from allyouneed.models.interface import Steps
from allyouneed.models.layers import Stack, halting_weights
from allyouneed.models.packed_layer import PackedLayer, Places, Sight, View, pack_head_norms, pack_linears, pack_norm
from allyouneed.models.state import ROOM, DecoderState, Memory, check_room, empty_caches, seats
from allyouneed.models.transformer import Transformer, last_real
from allyouneed.parts.cache import BeamCache
from allyouneed.parts.feedforward import ACTIVATIONS
from allyouneed.parts.masks import CAUSAL, Mask, explicit
from allyouneed.parts.packed import Precision as Precision  # part of this room's interface, too
from allyouneed.parts.packed import pack
from allyouneed.parts.positions import Rotary
from allyouneed.parts.relative import distances


class PackedInputs:
    """What goes into the decoder, with the tables as they are now."""

    def __init__(self, inputs: Inputs, table: Tensor) -> None:
        self.table, self.scale, self.offset = table, inputs.scale, inputs.offset
        added = inputs.waves if inputs.learned is None else inputs.learned.weight.detach()
        self.positions = None if inputs.kind == "coordinates" else added
        self.norm = None if inputs.norm is None else pack_norm(inputs.norm)

    def __call__(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens [B, T] at positions [1 or B, T] -> [B·T, D]."""
        x = embedding(tokens, self.table)
        if self.positions is not None:
            x = torch.add(embedding(positions + self.offset, self.positions), x, alpha=self.scale)
        elif self.scale != 1:
            x = x * self.scale
        x = x.flatten(0, 1)
        return x if self.norm is None else self.norm(x)


class Sources:
    """From the encoder's states to the keys and values of every decoder layer, in one product."""

    def __init__(self, stack: Stack, precision: Precision) -> None:
        self.depth = len(stack)
        parts = [layer.cross_attention for layer in dict.fromkeys(stack.layers)]
        self.product = pack_linears([linear for part in parts for linear in (part.key, part.value)], precision)
        self.shape = (len(parts), 2, parts[0].n_kv_heads, parts[0].d_head)
        self.norms = [pack_head_norms([(part.key_norm, 1)], torch.arange(part.d_head)) for part in parts]

    def __call__(self, states: Tensor) -> list[tuple[Tensor, Tensor]]:
        """[B, S, D] -> L × (keys, values), each [B, G, S, K]."""
        both = self.product(states.flatten(0, 1)).view(*states.shape[:2], *self.shape)
        both = both.permute(2, 3, 0, 4, 1, 5).contiguous()  # [L, 2, B, G, S, K]
        pairs = [
            (keys if norm is None else norm(keys), values)
            for (keys, values), norm in zip(both, self.norms, strict=True)
        ]
        return pairs * self.depth if len(pairs) < self.depth else pairs


class Turns:
    """The rotary turns of the positions that were reached so far, as complex numbers."""

    def __init__(self, rotary: Rotary, like: Tensor) -> None:
        self.rotary, self.like = rotary, like
        self.table = self._table(64)

    def _table(self, length: int) -> Tensor:
        number = torch.float64 if self.like.dtype == torch.float64 else torch.float32
        cosine, sine = self.rotary.turn(torch.arange(length, device=self.like.device))
        return torch.complex(cosine.to(number), sine.to(number))  # [length, W/2]

    def __call__(self, positions: Tensor, steps: int) -> Tensor:
        """Positions [1 or B, T], all below `steps` -> [1 or B, T, 1, W/2]."""
        if steps > len(self.table):
            self.table = self._table(2 * steps)
        return self.table[positions][:, :, None]


class Output:
    """From the last layer's states to logits, with the weights as they are now."""

    def __init__(self, model: Transformer, precision: Precision) -> None:
        self.norm, self.scale = pack_norm(model.decoder_norm), model.config.output_scale
        self.product = pack(model.output_weight, model.output_bias, precision=precision)
        self.readout = readout = model.readout
        if readout is not None:
            self.dense = pack_linears([readout.dense], precision)
            self.activate = ACTIVATIONS[model.config.activation]
            self.readout_norm = pack_norm(readout.norm)

    def __call__(self, x: Tensor) -> Tensor:
        """[R, D] -> [R, V]."""
        x = self.norm(x)
        if self.readout is not None:
            x = self.readout_norm(self.activate(self.dense(x)))
        return self.product(x if self.scale == 1 else x * self.scale)


class Stepper:
    """Reads and writes with the weights that a model has now: `start`, `read` and `step` like the model's own, several
    times as fast.

    Made once for many texts. "int8" keeps the decoder's weights in bytes: faster, and less exact.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, *, precision: Precision = "float32") -> None:
        self.config = config = model.config
        stack, inputs = model.decoder, model.decoder_inputs
        cross, turned = config.is_encoder_decoder, 0 if inputs.rotary is None else inputs.rotary.width
        packed = {layer: PackedLayer(layer, precision, cross=cross, turned=turned) for layer in stack.layers}
        self.layers = [packed[layer] for layer in stack.layers]
        self.source = Sources(stack, precision) if cross else None
        table = model.target_table.weight.detach()
        self.like, self.nothing = table.new_empty(0), table.new_zeros(())
        self.inputs, self.output = PackedInputs(inputs, table), Output(model, precision)
        self.turns = None if inputs.rotary is None else Turns(inputs.rotary, self.like)
        self.bias, self.coordinates = inputs.bias, inputs.coordinates
        self.steps, self.halt, self.threshold = stack.steps, stack.halt, stack.threshold
        self.seats = seats(config)

    @classmethod
    def of(cls, model: Transformer, *, precision: Precision = "float32") -> "Stepper":
        """The stepper made last for a model, or a new one where a weight was moved or changed in place since then."""
        weights = [
            (weight.data_ptr(), 0 if weight.is_inference() else weight._version) for weight in model.parameters()
        ]
        if model not in _MADE or _MADE[model][:2] != (precision, weights):
            _MADE[model] = (precision, weights, cls(model, precision=precision))
        return _MADE[model][2]

    @torch.no_grad()
    def start(self, memory: Memory | None = None, *, sentences: int = 1, room: int = ROOM) -> DecoderState:
        """Nothing written yet: one row for each sentence of the memory, or for as many as `sentences` says; with
        storage for `room` slots a sentence, see `Transformer.start`.
        """
        if self.source is not None and memory is None:
            raise ValueError("this model's decoder looks at a source: give it the encoder's memory")
        source = [] if self.source is None or memory is None else self.source(memory.states)
        batch = sentences if memory is None else len(memory.states)
        groups = self.config.n_kv_heads or self.config.n_heads
        like = self.like.new_empty(batch, groups, 0, self.config.head_width)
        caches = empty_caches(self.config, like, room=room)
        return DecoderState(source, memory and memory.mask, memory and memory.keep, caches)

    @torch.no_grad()
    def read(self, tokens: Tensor, state: DecoderState, keep: Tensor | None = None) -> tuple[Tensor, DecoderState]:
        """Appends many tokens [B, T] to each sentence at once -> the logits [B, V] after its last one, and the new
        state.

        `keep` [B, T] is True at real tokens, on either side of the padding. Each sentence has one row.
        """
        x, state = self._read(tokens, state, keep)
        last = x[:, -1] if keep is None else x[torch.arange(len(keep), device=keep.device), last_real(keep)]
        return self.output(last), state

    @torch.no_grad()
    def read_each(self, texts: Sequence[Sequence[int]], state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends to each row its own tokens, N in all and none to some -> the logits [N, V] after each token, in
        order, and the new state, which can go back. This takes a state that `is_reversible`.
        """
        tokens = torch.tensor([token for text in texts for token in text], device=state.device)[:, None]
        counts = torch.tensor([len(text) for text in texts], device=state.device)
        state, places = state.opened(counts), Places.of(counts)
        before, slots = state.cache.lengths - counts, state.cache.positions
        positions = before[:, None] + torch.arange(places.shape[1], device=before.device)
        even = places.shape[1] == 1 and int(before.min()) == slots.shape[1] - 1
        rule = None if even else explicit(slots <= positions[:, None, :, None])
        sights = [self._sight(cache, positions, rule) for cache in state.caches]
        x, state = self._advance(tokens, state, positions.flatten()[places.places, None], sights, places)
        return self.output(x), state

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state."""
        state = state.with_caches(cache.open() for cache in state.caches)
        positions = state.cache.newest
        sights = [
            self._sight(cache, positions, None if cache.beams == 1 and bool(cache.visible.all()) else cache.step_mask())
            for cache in state.caches
        ]
        x, state = self._advance(tokens.view(-1, state.cache.beams), state, positions, sights)
        return self.output(x), state

    def _read(self, tokens: Tensor, state: DecoderState, keep: Tensor | None) -> tuple[Tensor, DecoderState]:
        """Tokens [B, T], of which `keep` are real -> the last layer's states [B, T, D], and the new state."""
        length = tokens.shape[1]
        state = state.with_caches(cache.open_many(length, keep) for cache in state.caches)
        positions = state.cache.positions[:, -length:]
        sights = [
            self._sight(cache, positions, cache.read_mask(length, padded=keep is not None), keep)
            for cache in state.caches
        ]
        x, state = self._advance(tokens, state, positions, sights)
        return x.view(*tokens.shape, -1), state

    def _advance(
        self, tokens: Tensor, state: DecoderState, positions: Tensor, sights: list[Sight], places: Places | None = None
    ) -> tuple[Tensor, DecoderState]:
        """Tokens [B, T] at positions [1 or B, T], in slots that were opened for them -> the last layer's states
        [B·T, D]. Each cache has its sight. With `places`, each token is a row of its own.
        """
        steps = state.cache.steps
        check_room(steps, self.config.max_length)
        turn = None if self.turns is None else self.turns(positions, steps)
        source = Sight(None if state.keep is None else self._opened(state.keep[:, None, None]))
        views = [
            View(cache, tokens.shape[1], sight, turn=turn, source=source, places=places)
            for cache, sight in zip(state.caches, sights, strict=True)
        ]
        told = self.coordinates(positions)
        told = None if told is None else told.expand(*tokens.shape, -1).flatten(0, 1)
        x = self.inputs(tokens, positions)
        states: list[Tensor] = []
        for step, layer in enumerate(self.layers):
            if told is not None and self.steps is not None:
                x = x + told + self.steps[step]
            seat = self.seats[step]
            x = layer(x, views[seat.cache], seat.pool, state.source[step] if state.source else None)
            if self.halt is not None:
                states.append(x)
        state = state.with_caches(cache.settled() for cache in state.caches)
        if self.halt is None:
            return x, state
        weights, _ = halting_weights(torch.cat([self.halt(x).sigmoid() for x in states], -1), self.threshold)
        return (torch.stack(states, -2) * weights[..., None]).sum(-2), state

    def _sight(self, cache: BeamCache, positions: Tensor, rule: Mask | None, keep: Tensor | None = None) -> Sight:
        """What the tokens at positions [1 or B, T] may look at; without a rule, all slots. `keep` [B, T] says which of
        them are real.
        """
        bias = None if self.bias is None else self.bias(distances(positions, cache.positions))  # [1 or B, H, T, slots]
        by_distance = self.config.positions == "shaw"
        distance = distances(positions, cache.positions) if by_distance else None
        if rule is None:
            return Sight(bias, distance=distance)
        if rule is CAUSAL and bias is None and not by_distance:
            return Sight(causal=True)
        if rule is not CAUSAL and rule.matrix is None and not by_distance:
            return Sight(bias, rule=rule)
        allowed = rule.dense(positions.shape[1], cache.positions.shape[1], positions.device)
        allowed = allowed if allowed.dim() == 4 else allowed[None, None]
        if keep is not None:
            # Padding may look anywhere: nobody looks at it, but it must be numbers.
            allowed = allowed | ~keep[:, None, :, None]
        return Sight(self._opened(allowed, bias), distance=distance)

    def _opened(self, allowed: Tensor, bias: Tensor | None = None) -> Tensor:
        """What is added to scores: allowed [1 or B, 1, T, slots] and bias [1 or B, H, T, slots] -> the larger shape."""
        return torch.where(allowed, self.nothing if bias is None else bias, -math.inf)


_MADE: WeakKeyDictionary[Transformer, tuple[Precision, list[tuple[int, int]], Stepper]] = WeakKeyDictionary()


def steps_of(model: Steps, precision: Precision) -> Steps:
    """The fast way to write with a Transformer; another model's own way."""
    if isinstance(model, Transformer):
        return Stepper.of(model, precision=precision)
    if precision != "float32":
        raise UsageError(f"{precision} is for Transformers: this model writes in float32.")
    return model
