"""A recurrent decoder, alone or behind a recurrent encoder (Cho 2014; Sutskever 2014; Bahdanau 2015)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from allyouneed.models.recurrent.config import RecurrentConfig
from allyouneed.models.recurrent.packed import apart
from allyouneed.models.recurrent.state import RecurrentMemory, RecurrentState
from allyouneed.parts.additive import AdditiveAttention
from allyouneed.parts.attentive import Sight, attentive_scan
from allyouneed.parts.cells import GATES, Past
from allyouneed.parts.dropout import Dropout
from allyouneed.parts.linear import Linear, linear
from allyouneed.parts.masks import CAUSAL, Mask
from allyouneed.parts.maxout import maxout
from allyouneed.parts.positions import last_real
from allyouneed.parts.recurrent import RecurrentStack, initialise


class Steps(NamedTuple):
    """What the decoder's steps over [R, T] tokens left: the top layer's states [R, T, H], what was found in the source
    [R, T, C], and what its layers remember.
    """

    states: Tensor
    contexts: Tensor | None
    layers: list[Past]


class Encoder(nn.Module):
    """Reads the source, and says what of it reaches the decoder."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.stack = RecurrentStack(
            config.cell,
            config.d_embedding,
            config.d_hidden,
            n_layers=config.n_encoder_layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        width = config.d_hidden
        if config.summary == "every-step":
            self.summary = Linear(width, width)
        if config.bridge == "tanh":
            self.bridge = Linear(width, config.n_decoder_layers * width)

    def forward(self, x: Tensor, keep: Tensor | None) -> RecurrentMemory:
        """Embedded tokens [B, S, E] in the order of the text -> what the decoder needs, but for the keys."""
        if self.config.reverse_source:
            states, pasts = self.stack(x.flip(1), None, None if keep is None else keep.flip(1))
            states = states.flip(1)
        else:
            states, pasts = self.stack(x, None, keep)
        # The state that has read the whole text last: of the direction that ends at its first word, if there is one.
        last = pasts[-1].hidden
        summary = None
        if self.config.summary == "every-step":
            summary = last = self.summary(last).tanh()
        return RecurrentMemory(states, keep, self._start(pasts, last), summary=summary)

    def _start(self, pasts: list[Past], last: Tensor) -> list[Past]:
        if self.config.bridge == "copy":
            return pasts
        hidden = self.bridge(last).tanh().chunk(self.config.n_decoder_layers, -1)
        return [Past(part, torch.zeros_like(part) if self.config.cell == "lstm" else None) for part in hidden]


class Decoder(nn.Module):
    """Writes token by token, and may look at what the encoder read before each."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.stack = RecurrentStack(
            config.cell,
            config.d_embedding,
            config.d_hidden,
            n_layers=config.n_decoder_layers,
            dropout=config.dropout,
        )
        if config.d_context:
            self.context_input = Linear(config.d_context, GATES[config.cell] * config.d_hidden, bias=False)
        self.cross_attention = (
            AdditiveAttention(config.d_hidden, config.d_memory, config.d_attention)
            if config.attention == "additive"
            else None
        )

    def forward(self, x: Tensor, layers: list[Past], memory: RecurrentMemory | None, keep: Tensor | None) -> Steps:
        """Embedded tokens [R, T, E], and what the layers remember from before them. `keep` [R, T] is True at real
        tokens.
        """
        if memory is not None and memory.keys is not None:
            return self._look(x, layers, memory, keep)
        first, *upper = self.stack.all_layers
        given, contexts = first.inputs(x), None
        if memory is not None and memory.summary is not None:
            contexts = per_row(memory.summary, len(x))[:, None].expand(-1, x.shape[1], -1)
            given = given + per_row(self.context_input(memory.summary), len(x))[:, None]
        states, past = first.run(given, layers[0], keep)
        after = [past]
        for layer, before in zip(upper, layers[1:], strict=True):
            states, past = layer(self.stack.dropout(states), before, keep)
            after.append(past)
        return Steps(states, contexts, after)

    def _look(self, x: Tensor, layers: list[Past], memory: RecurrentMemory, keep: Tensor | None) -> Steps:
        """Each step asks the source with the state before it: with several layers, with the sum of their states."""
        assert self.cross_attention is not None
        assert memory.keys is not None
        first, *upper = self.stack.all_layers
        given = first.inputs(x)
        if torch.is_grad_enabled() and not upper and keep is None:
            # The same in fewer and larger products, for training.
            sight = Sight(memory.keys, memory.states, memory.keep)
            return Steps(
                *attentive_scan(first, self.cross_attention, self.context_input.weight, given, layers[0], sight), []
            )
        states, contexts = list[Tensor](), list[Tensor]()
        for t in range(x.shape[1]):
            query = torch.stack([past.hidden for past in layers]).sum(0) if upper else layers[0].hidden
            query = query.view(len(memory.states), -1, query.shape[-1])  # the beams of a sentence share its source
            found = self.cross_attention(query, memory.keys, memory.states, memory.keep).flatten(0, 1)
            after = [first.step_from(given[:, t] + self.context_input(found), layers[0])]
            for layer, before in zip(upper, layers[1:], strict=True):
                after.append(layer.step(self.stack.dropout(after[-1].hidden), before))
            if keep is not None:
                after = [new.where(keep[:, t, None], old) for new, old in zip(after, layers, strict=True)]
            layers = after
            states.append(layers[-1].hidden)
            contexts.append(found)
        return Steps(torch.stack(states, 1), torch.stack(contexts, 1), layers)


class Recurrent(nn.Module):
    """A recurrent language model or encoder-decoder, through the same interface as the Transformer's."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        both, width = config.is_encoder_decoder, config.d_embedding
        source = config.vocab_size if config.source_vocab_size is None else config.source_vocab_size
        self.embedding = nn.Embedding(source if both else config.vocab_size, width)
        if both and not config.shared_embeddings:
            self.target_embedding = nn.Embedding(config.vocab_size, width)
        if both:
            self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        if config.readout != "none":
            inputs = config.d_hidden
            if config.readout_inputs == "all":
                inputs += width + config.d_context
            self.readout = Linear(inputs, config.d_readout * (2 if config.readout == "maxout" else 1))
        if not config.tied_embeddings:
            self.output = nn.Linear(config.d_output, config.vocab_size, bias=False)
        self.output_bias = nn.Parameter(torch.empty(config.vocab_size)) if config.output_bias else None
        self.dropout = Dropout(config.dropout)
        initialise(self, config.initialisation)

    @property
    def target_table(self) -> nn.Embedding:
        """The embeddings of what is written."""
        one = self.config.shared_embeddings or not self.config.is_encoder_decoder
        return self.embedding if one else self.target_embedding

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, [V, D]."""
        return self.target_table.weight if self.config.tied_embeddings else self.output.weight

    def encode(self, source: Tensor, keep: Tensor | None = None) -> RecurrentMemory:
        """source [B, S]; `keep` [B, S] is True at real tokens, on either side of the padding."""
        memory = self.encoder(self.dropout(self.embedding(source)), keep)
        attention = self.decoder.cross_attention
        keys = None if attention is None else attention.keys(memory.states)
        return RecurrentMemory(memory.states, keep, memory.start, keys, memory.summary)

    def decode(
        self,
        target: Tensor,
        memory: RecurrentMemory | None = None,
        mask: Mask = CAUSAL,
        *,
        keep: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Teacher forcing: target [B, T] -> states [B, T, D].

        `keep` [B, T] is True at real tokens; text that is padded on the right needs none. `positions` [B, T] are those
        of texts that were packed into one row; they say where each begins, and are all that is needed of a mask.
        """
        if positions is not None and memory is None:
            texts = apart(positions)
            return texts.back(self.decode(texts.rows(target)))
        if mask is not CAUSAL:
            raise ValueError(f'this model sees all that was before, and cannot obey the mask "{mask.name}"')
        states, _ = self._advance(target, self.start(memory, sentences=len(target)), keep)
        return states

    def features(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the logits are made from: states [..., D], weights [V, D], and what is added [V] (None: nothing)."""
        return states, self.output_weight, self.output_bias

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return linear(*self.features(states))

    def forward(self, tokens: Tensor, target: Tensor | None = None, keep: Tensor | None = None) -> Tensor:
        """tokens [B, S], and of an encoder-decoder target [B, T] -> logits [B, T, V] of the token after each position
        of what is written. `keep` [B, S] is True at real tokens.
        """
        if not self.config.is_encoder_decoder:
            return self.logits(self.decode(tokens, keep=keep))
        if target is None:
            raise ValueError("an encoder-decoder needs a target beside its source")
        return self.logits(self.decode(target, self.encode(tokens, keep)))

    def start(self, memory: RecurrentMemory | None = None, *, sentences: int = 1) -> RecurrentState:
        """Nothing written yet: one row for each sentence of the memory, or for as many as `sentences` says."""
        if memory is not None:
            return RecurrentState(memory.start, memory)
        if self.config.is_encoder_decoder:
            raise ValueError("this model's decoder begins with a source: give it the encoder's memory")
        return RecurrentState(self.decoder.stack.at_rest(sentences), None)

    def read(self, tokens: Tensor, state: RecurrentState, keep: Tensor | None = None) -> tuple[Tensor, RecurrentState]:
        """Appends many tokens [B, T] to each row at once -> the logits [B, V] after its last one, and the new state.

        `keep` [B, T] is True at real tokens, on either side of the padding.
        """
        states, state = self._advance(tokens, state, keep)
        if keep is None:
            return self.logits(states[:, -1]), state
        return self.logits(states[torch.arange(len(keep), device=keep.device), last_real(keep)]), state

    def step(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state."""
        states, state = self._advance(tokens[:, None], state, None)
        return self.logits(states[:, 0]), state

    def _advance(self, tokens: Tensor, state: RecurrentState, keep: Tensor | None) -> tuple[Tensor, RecurrentState]:
        """tokens [R, T] -> what the output is made from [R, T, D], and the new state."""
        x = self.dropout(self.target_table(tokens))
        steps: Steps = self.decoder(x, state.layers, state.memory, keep)
        states = steps.states
        if self.config.readout != "none":
            if self.config.readout_inputs == "all":
                states = torch.cat([states, x] + ([] if steps.contexts is None else [steps.contexts]), -1)
            states = self.readout(states)
            states = maxout(states) if self.config.readout == "maxout" else leaky_relu(states)
        return self.dropout(states), RecurrentState(steps.layers, state.memory)

    def extra_loss(self) -> float:
        """Nothing is added to the loss."""
        return 0.0


def per_row(x: Tensor, rows: int) -> Tensor:
    """What belongs to sentences [B, D], for each of their rows [R, D]."""
    return x if len(x) == rows else x.repeat_interleave(rows // len(x), 0)
