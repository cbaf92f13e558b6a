"""What tasks, searches and pipelines ask of a model, whatever it is made of."""

from typing import Any, Protocol

from torch import Tensor, nn


class Steps(Protocol):
    """What reads and writes token by token. Each model has states of its own kind."""

    def start(self, memory: Any = None, *, sentences: int = 1) -> Any:
        """Nothing written yet: one row a sentence."""
        ...

    def read(self, tokens: Tensor, state: Any, keep: Tensor | None = None) -> tuple[Tensor, Any]:
        """Appends many tokens [B, T] to each row -> the logits [B, V] after its last one, and the new state."""
        ...

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Appends tokens [R] -> the next token's logits [R, V], and the new state."""
        ...


class TextModel(Steps, Protocol):
    """A model over one vocabulary of tokens."""

    training: bool
    embedding: nn.Embedding

    @property
    def config(self) -> Any:
        """Its numbers, `vocab_size`, `max_length` and `line` among them."""
        ...

    def features(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the logits are made from: states [..., D], weights [V, D], and what is added [V] (None: nothing)."""
        ...

    def logits(self, states: Tensor) -> Tensor:
        """States [..., D] -> logits [..., V]."""
        ...

    def extra_loss(self) -> Tensor | float:
        """What the model itself adds to the loss of a token, in training."""
        ...


class EncoderDecoder(TextModel, Protocol):
    """A model that reads one text and writes another."""

    def encode(self, source: Tensor, keep: Tensor | None = None) -> Any:
        """source [B, S] -> what the decoder is given of it. `keep` [B, S] is True at real tokens."""
        ...

    def decode(self, target: Tensor, memory: Any) -> Tensor:
        """target [B, T], padded on the right -> states [B, T, D], each from the tokens up to its own."""
        ...
