"""A language model without attention: one block, repeated, around a selective state space (Gu & Dao 2023)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu, softplus

from allyouneed.parts.masks import CAUSAL, Mask
from allyouneed.parts.norms import norm
from allyouneed.parts.scan import Selection, causal_convolution, selective_scan


@dataclass(frozen=True)
class MambaConfig:
    """Every number of a Mamba. The defaults are its smallest published size."""

    vocab_size: int = 50_280
    d_model: int = 768
    n_layers: int = 24
    d_state: int = 16  # numbers that each channel remembers
    d_convolution: int = 4  # tokens that each channel's convolution sees
    expand: int = 2  # channels for each of d_model
    dt_rank: int | None = None  # width of the step sizes before they are spread over the channels; None: d_model / 16
    max_length: int = 1_048_576  # nothing in the model depends on it
    norm_epsilon: float = 1e-5
    bias: bool = False  # of the projections in and out
    convolution_bias: bool = True
    tied_embeddings: bool = True

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        for name in ("vocab_size", "d_model", "n_layers", "d_state", "d_convolution", "expand", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: at least 1 is needed")
        if self.dt_rank is not None and self.dt_rank < 1:
            raise ValueError(f"dt_rank = {self.dt_rank}: at least 1 is needed")

    @property
    def n_channels(self) -> int:
        """F, the width inside a block."""
        return self.expand * self.d_model

    @property
    def step_rank(self) -> int:
        """The width of the step sizes before they are spread over the channels."""
        return math.ceil(self.d_model / 16) if self.dt_rank is None else self.dt_rank

    @property
    def is_encoder_decoder(self) -> bool:
        """There is one stack."""
        return False

    @property
    def line(self) -> Literal["decoder"]:
        """Which of the three lines of the field it belongs to: it goes on with a text."""
        return "decoder"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "MambaConfig":
        """The config of JSON values."""
        return cls(**values)


class Past(NamedTuple):
    """What one block remembers of the text so far, however long it was: the last inputs of its convolution
    [R, W - 1, F], and the state [R, N, F].
    """

    window: Tensor
    state: Tensor


class Place(NamedTuple):
    """What is not one text a row, without padding: `positions` [B, T] of each token in its text; and where rows end
    before T, how many tokens are real, `lengths` [B].
    """

    positions: Tensor | None = None
    lengths: Tensor | None = None


NOWHERE = Place()


class Mixer(nn.Module):
    """Mixes each channel over time: a short convolution, then the selective state space, then a gate (section 3.4).

    What a token writes, what it reads, and how long its step is are all read off the token itself (section 3.2).
    """

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        self.config = config
        channels, rank = config.n_channels, config.step_rank
        self.input = nn.Linear(config.d_model, 2 * channels, bias=config.bias)
        self.convolution = nn.Parameter(torch.empty(channels, config.d_convolution))
        self.convolution_bias = nn.Parameter(torch.empty(channels)) if config.convolution_bias else None
        self.selection = nn.Linear(channels, rank + 2 * config.d_state, bias=False)
        self.step = nn.Linear(rank, channels)
        self.rates_log = nn.Parameter(torch.empty(config.d_state, channels))  # log(-A)
        self.skip = nn.Parameter(torch.empty(channels))  # D: what of a token is read without the state
        self.output = nn.Linear(channels, config.d_model, bias=config.bias)

    def at_rest(self, rows: int) -> Past:
        """Nothing read yet."""
        width, channels = self.config.d_convolution - 1, self.config.n_channels
        return Past(
            self.skip.new_zeros(rows, width, channels), self.skip.new_zeros(rows, self.config.d_state, channels)
        )

    def forward(self, x: Tensor, past: Past | None, place: Place = NOWHERE) -> tuple[Tensor, Past]:
        """[B, T, D] and what was before, if there was anything -> [B, T, D], and what is remembered after the last real
        token.
        """
        inner, gate = self.input(x).chunk(2, -1)  # [B, T, F] each
        before = self.at_rest(len(x)) if past is None else past
        window = torch.cat((before.window, inner), 1)
        mixed = silu(causal_convolution(window, self.convolution, self.convolution_bias, place.positions))
        widths = (self.config.step_rank, self.config.d_state, self.config.d_state)
        step, write, read = self.selection(mixed).split(widths, -1)
        # The bias in full width: it holds steps of 0.001, which half the width rounds by some per cent.
        steps = softplus(linear(step, self.step.weight).to(self.step.bias.dtype) + self.step.bias)
        if place.lengths is not None:
            # No time passes at padding, so that the state stays as the last real token left it.
            real = torch.arange(x.shape[1], device=x.device) < place.lengths[:, None]
            steps = steps * real[:, :, None]
        begins = None if place.positions is None else place.positions == 0
        selection = Selection(steps, -self.rates_log.exp(), write, read)
        scanned, state = selective_scan(mixed, selection, None if past is None else past.state, begins)
        out = self.output((scanned + self.skip * mixed) * silu(gate))
        return out, Past(self._last(window, place.lengths), state)

    def _last(self, window: Tensor, lengths: Tensor | None) -> Tensor:
        """The part of [B, W - 1 + T, F] that the next token's convolution sees: [B, W - 1, F]."""
        width = self.config.d_convolution - 1
        if lengths is None:
            return window[:, window.shape[1] - width :]
        places = lengths[:, None] + torch.arange(width, device=window.device)
        return window.gather(1, places[:, :, None].expand(-1, -1, window.shape[2]))


class MambaLayer(nn.Module):
    """x + Mixer(Norm(x)): there is no second sub-layer (section 3.4)."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        self.norm = norm("rms", config.d_model, config.norm_epsilon)
        self.mixer = Mixer(config)

    def forward(self, x: Tensor, past: Past | None, place: Place = NOWHERE) -> tuple[Tensor, Past]:
        """[B, T, D] and what was before -> [B, T, D], and what is remembered."""
        mixed, remembered = self.mixer(self.norm(x), past, place)
        return x + mixed, remembered


@dataclass(frozen=True)
class MambaState:
    """One row a hypothesis. Its size does not depend on how much was read."""

    layers: list[Past]

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return len(self.layers[0].state)

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.layers[0].state.device

    @property
    def bytes(self) -> int:
        """Memory: L · R · (N + W - 1) · F · bytes a number."""
        return sum(part.numel() * part.element_size() for layer in self.layers for part in layer)

    def select(self, rows: Tensor) -> "MambaState":
        """Row i of the new state goes on from row `rows[i]` of this one."""
        return MambaState([Past(*(part[rows] for part in layer)) for layer in self.layers])


class Mamba(nn.Module):
    """Goes on with a text, through the same interface as a Transformer's decoder that stands alone."""

    undecayed: ClassVar[tuple[str, ...]] = ("rates_log",)  # weight decay would draw all rates towards one

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(MambaLayer(config) for _ in range(config.n_layers))
        self.norm = norm("rms", config.d_model, config.norm_epsilon)
        if not config.tied_embeddings:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Rates -1 ... -N in every channel, and steps from 0.001 to 0.1 before anything is learned (section 3.6); what
        each block adds is made smaller with depth, as in the authors' code.
        """
        nn.init.normal_(self.embedding.weight, std=0.02)
        for module in self.modules():
            if isinstance(module, Mixer):
                reset_mixer(module, self.config)

    @property
    def output_weight(self) -> Tensor:
        """The matrix that turns states into logits, [V, D]."""
        return self.embedding.weight if self.config.tied_embeddings else self.output.weight

    def decode(
        self,
        target: Tensor,
        memory: None = None,
        mask: Mask = CAUSAL,
        *,
        keep: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """target [B, T] -> states [B, T, D].

        `keep` [B, T] is True at real tokens; text that is padded on the right needs none. `positions` [B, T] are those
        of texts that were packed into one row; they say where each begins, and are all that is needed of a mask.
        """
        if mask is not CAUSAL and positions is None:
            raise ValueError(f'this model sees all that was before, and cannot obey the mask "{mask.name}"')
        if keep is None:
            return self._advance(target, None, Place(positions))[0]
        order = (~keep).int().argsort(dim=1, stable=True)
        states, _ = self._advance(target.gather(1, order), None, NOWHERE)
        return states.gather(1, order.argsort(1)[:, :, None].expand_as(states))

    def features(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the logits are made from: states [..., D], weights [V, D], and what is added [V] (None: nothing)."""
        return states, self.output_weight, None

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return linear(*self.features(states))

    def forward(self, tokens: Tensor, keep: Tensor | None = None) -> Tensor:
        """tokens [B, T] -> logits [B, T, V] of the token after each. `keep` [B, T] is True at real tokens."""
        return self.logits(self.decode(tokens, keep=keep))

    def start(self, memory: None = None, *, sentences: int = 1) -> MambaState:
        """Nothing read yet, in so many rows."""
        return MambaState([layer.mixer.at_rest(sentences) for layer in self._layers()])

    def read(self, tokens: Tensor, state: MambaState, keep: Tensor | None = None) -> tuple[Tensor, MambaState]:
        """Appends many tokens [B, T] to each row at once -> the logits [B, V] after its last one, and the new state.

        `keep` [B, T] is True at real tokens, on either side of the padding.
        """
        if keep is None:
            states, state = self._advance(tokens, state, NOWHERE)
            return self.logits(states[:, -1]), state
        lengths = keep.sum(1)
        left = tokens.gather(1, (~keep).int().argsort(dim=1, stable=True))  # the real tokens first
        states, state = self._advance(left, state, Place(lengths=lengths))
        return self.logits(states[torch.arange(len(keep)), lengths - 1]), state

    def step(self, tokens: Tensor, state: MambaState) -> tuple[Tensor, MambaState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state."""
        states, state = self._advance(tokens[:, None], state, NOWHERE)
        return self.logits(states[:, 0]), state

    def _advance(self, tokens: Tensor, state: MambaState | None, place: Place) -> tuple[Tensor, MambaState]:
        """tokens [R, T] after a state, or None where they begin a text -> states [R, T, D], and what is remembered."""
        x = self.embedding(tokens)
        layers: list[Past] = []
        own = self._layers()
        for layer, past in zip(own, [None] * len(own) if state is None else state.layers, strict=True):
            x, past = layer(x, past, place)
            layers.append(past)
        return self.norm(x), MambaState(layers)

    def _layers(self) -> list[MambaLayer]:
        return [layer for layer in self.layers if isinstance(layer, MambaLayer)]

    def extra_loss(self) -> float:
        """Nothing is added to the loss."""
        return 0.0


def reset_mixer(mixer: Mixer, config: MambaConfig) -> None:
    """First weights of one block."""
    channels, rank = config.n_channels, config.step_rank
    for matrix in (mixer.input, mixer.selection, mixer.output):
        nn.init.kaiming_uniform_(matrix.weight, a=math.sqrt(5))
    nn.init.kaiming_uniform_(mixer.convolution, a=math.sqrt(5))
    nn.init.uniform_(mixer.step.weight, -(rank**-0.5), rank**-0.5)
    nn.init.ones_(mixer.skip)
    for bias in (mixer.input.bias, mixer.convolution_bias, mixer.output.bias):
        if bias is not None:
            nn.init.zeros_(bias)
    with torch.no_grad():
        mixer.output.weight.div_(math.sqrt(config.n_layers))
        nn.init.uniform_(mixer.step.bias, math.log(0.001), math.log(0.1))
        first = mixer.step.bias.exp()
        mixer.step.bias.copy_(first + torch.log(-torch.expm1(-first)))  # softplus gives it back
        numbers = torch.arange(1.0, config.d_state + 1, device=mixer.rates_log.device)
        mixer.rates_log.copy_(numbers.log()[:, None].expand(-1, channels))
