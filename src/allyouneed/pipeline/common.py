"""What all loaded models share: a tokenizer, room for so many tokens, and what they give a text."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from allyouneed.errors import InputError, UsageError
from allyouneed.lens.attention import Attention
from allyouneed.models.stepper import Precision
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.vocabulary import Vocabulary

POSITIONS = 256  # whose logits are held at a time
MOST_NATS = 709.0  # whose exponential is a float


@dataclass(frozen=True)
class Score:
    """What a model gives a text, token by token: natural logarithms. What they add up to depends on the model's kind.

    `given` are tokens at the head that nothing comes before: a model that knows no mark for a beginning says nothing of
    the first one.
    """

    tokens: list[str]
    logprobs: list[float]
    given: list[str] = field(default_factory=list[str])

    @property
    def total(self) -> float:
        """The log-probability of the whole."""
        return math.fsum(self.logprobs)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of a token, as far as a float goes; 1 where there is none."""
        return math.exp(min(-self.total / max(len(self.logprobs), 1), MOST_NATS))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = {"total": self.total, "perplexity": self.perplexity, "tokens": self.tokens, "logprobs": self.logprobs}
        return plain | ({"given": self.given} if self.given else {})


class TextError(InputError):
    """One of several texts cannot be used: `index` says which, and `problem` why, to stand behind a name of it."""

    def __init__(self, index: int, problem: str) -> None:
        self.index, self.problem = index, problem
        super().__init__(f"Text {index + 1} {problem}.")


class TooLongError(TextError):
    """A text has more tokens than the model has positions."""

    def __init__(self, index: int, tokens: int, allowed: int) -> None:
        self.tokens, self.allowed = tokens, allowed
        super().__init__(index, f"has {tokens:,} tokens, and this model reads at most {allowed:,}")


class Loaded:
    """A model that was loaded: by the `name`, with the texts of its model card and of the recipe that made it."""

    what: ClassVar[str] = "a model"

    def __init__(self, model: Any, *, name: str, card: str = "", recipe: str | None = None) -> None:
        self.model = model.eval()
        self.name, self.card, self.recipe = name, card, recipe

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return f"<{type(self).__name__} {self.name}: {self.what}, {parameters:,} parameters>"

    @property
    def config(self) -> Any:
        """The model's numbers."""
        return self.model.config

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device


class Pipeline(Loaded, ABC):
    """A model of text with its tokenizer.

    `precision` "int8" writes with the decoder's weights in bytes: faster, and less exact.
    """

    what: ClassVar[str] = "a model of text"
    model: Transformer  # or what has its methods

    def __init__(
        self,
        model: Transformer,
        tokenizer: Vocabulary,
        *,
        name: str,
        card: str = "",
        recipe: str | None = None,
        precision: Precision = "float32",
    ) -> None:
        super().__init__(model, name=name, card=card, recipe=recipe)
        self.tokenizer = tokenizer
        self.precision: Precision = precision

    @property
    def config(self) -> TransformerConfig:
        """The model's numbers."""
        return self.model.config

    @property
    def n_marks(self) -> int:
        """How many marks stand with a text."""
        return len(self.tokenizer.wrap([]))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without marks. Raises TooLongError for the first that leaves no room for its marks."""
        tokens = self.tokenizer.encode_batch(list(texts))
        self.check(tokens)
        return tokens

    def check(self, rows: Sequence[Sequence[int]]) -> None:
        """Raises TooLongError for the first text, in tokens without marks, that leaves no room for its marks."""
        allowed = self.config.max_length - self.n_marks
        for index, row in enumerate(rows):
            if len(row) > allowed:
                raise TooLongError(index, len(row), allowed)

    @abstractmethod
    def attend(self, text: str, target: str | None = None) -> Attention:
        """Where the model looks while it reads the text, and writes the target where there is a place for one."""


def one_text(texts: Sequence[object]) -> None:
    """Refuses a bare string, which would be taken for a list of letters, and what has no length."""
    if isinstance(texts, str):
        raise UsageError(f"Texts come as a list: write [{texts[:40]!r}].")
    if not hasattr(texts, "__len__"):
        raise UsageError(f"Texts come as a list, and not as {type(texts).__name__}.")


def logprobs_of(model: Transformer, states: Tensor, gold: Tensor) -> Tensor:
    """The log-probability of each token of `gold` [N] by the states [N, D] that predict them, [N]."""
    found = states.new_empty(len(gold), dtype=torch.float32)
    for start in range(0, len(gold), POSITIONS):
        part = slice(start, start + POSITIONS)
        logits = model.logits(states[part]).float()
        found[part] = logits.gather(1, gold[part, None])[:, 0] - logits.logsumexp(-1)
    return found
