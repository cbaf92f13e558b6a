"""What recurrent models differ in, as numbers and names."""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from allyouneed.parts.cells import Cell
from allyouneed.parts.recurrent import Initialisation

Attention = Literal["none", "additive"]
Bridge = Literal["copy", "tanh"]
Summary = Literal["start", "every-step"]
Readout = Literal["none", "maxout", "leaky-relu"]
ReadoutInputs = Literal["state", "all"]


@dataclass(frozen=True)
class RecurrentConfig:
    """Every number of a recurrent model. The defaults are those of RNNsearch (Bahdanau 2015, sections 4.2 and A.2).

    Without encoder layers it is a language model.
    """

    vocab_size: int = 30_000
    source_vocab_size: int | None = None  # of what is read; None: as `vocab_size`
    cell: Cell = "gru"
    n_encoder_layers: int = 1
    n_decoder_layers: int = 1
    bidirectional: bool = True  # the encoder reads from both ends
    reverse_source: bool = False  # the source is read backward (Sutskever 2014, section 3.3)
    d_embedding: int = 620
    d_hidden: int = 1000  # of each layer and each direction
    max_length: int = 256  # nothing in the model depends on it

    # What of the source reaches the decoder.
    attention: Attention = "additive"
    d_attention: int = 1000
    bridge: Bridge = "tanh"  # the decoder begins with the encoder's last states, or with a layer's view of the last one
    summary: Summary = "start"  # "every-step": a summary of the source goes into every step, too (Cho 2014)

    # From the decoder's state to the output.
    readout: Readout = "maxout"
    d_readout: int = 500
    readout_inputs: ReadoutInputs = "all"  # "all": also the token before, and what was found in the source
    tied_embeddings: bool = False  # the output is the target embedding's transpose
    shared_embeddings: bool = False  # encoder and decoder read one table
    output_bias: bool = True

    initialisation: Initialisation = "orthogonal"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        sizes = ("vocab_size", "n_decoder_layers", "d_embedding", "d_hidden", "max_length")
        sizes += ("d_attention",) * (self.attention == "additive") + ("d_readout",) * (self.readout != "none")
        sizes += ("source_vocab_size",) * (self.source_vocab_size is not None)
        for name in sizes:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: at least 1 is needed")
        if self.n_encoder_layers < 0:
            raise ValueError(f"n_encoder_layers = {self.n_encoder_layers}: 0 or more is needed")
        for name, hint in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if isinstance(value, str) and value not in get_args(hint):
                raise ValueError(f'{name} "{value}" is none of {", ".join(get_args(hint))}')
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout = {self.dropout} is outside [0, 1)")
        self._check_source()
        if self.tied_embeddings and self.d_output != self.d_embedding:
            raise ValueError(
                f"tied_embeddings: what the output is made from has width {self.d_output}, the embeddings "
                f"{self.d_embedding}"
            )

    def _check_source(self) -> None:
        if not self.n_encoder_layers:
            for name, without in (("attention", "none"), ("summary", "start"), ("reverse_source", False)):
                if getattr(self, name) != without:
                    raise ValueError(f"{name} belongs to a model with an encoder, and n_encoder_layers is 0")
            return
        if self.shared_embeddings and self.source_vocab_size not in (None, self.vocab_size):
            raise ValueError(
                f"shared_embeddings: source_vocab_size {self.source_vocab_size} is not vocab_size {self.vocab_size}"
            )
        if self.bridge == "copy" and self.n_encoder_layers * self.directions != self.n_decoder_layers:
            raise ValueError(
                f"bridge copy: the encoder's {self.n_encoder_layers * self.directions} last states cannot begin "
                f"{self.n_decoder_layers} decoder layers"
            )
        if self.summary == "every-step" and self.attention != "none":
            raise ValueError("summary every-step: a model with attention finds its own context at every step")

    @property
    def line(self) -> Literal["both", "decoder"]:
        """Whether it reads one text and writes another, or goes on with a text."""
        return "both" if self.n_encoder_layers else "decoder"

    @property
    def is_encoder_decoder(self) -> bool:
        """Are there both stacks?"""
        return self.n_encoder_layers > 0

    @property
    def directions(self) -> int:
        """How many ways each of the encoder's layers reads."""
        return 2 if self.bidirectional else 1

    @property
    def d_memory(self) -> int:
        """The width of the encoder's states."""
        return self.directions * self.d_hidden

    @property
    def d_context(self) -> int:
        """The width of what a decoder's step is told of the source; 0 where it is nothing."""
        if self.attention == "additive":
            return self.d_memory
        return self.d_hidden if self.summary == "every-step" else 0

    @property
    def d_output(self) -> int:
        """The width of what the output is made from."""
        return self.d_hidden if self.readout == "none" else self.d_readout

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "RecurrentConfig":
        """The config of JSON values."""
        return cls(**values)
