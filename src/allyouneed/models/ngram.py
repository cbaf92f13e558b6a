"""A language model that counts: the next token depends on the few before it, as often as they stood so in a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from allyouneed.errors import UsageError
from allyouneed.models.ngram_counts import NONE, estimate


@dataclass(frozen=True)
class NGramConfig:
    """`order` tokens are looked at together, the predicted one among them. The other numbers are those of a text:
    histories of each length from 0, and the different tokens behind them.
    """

    vocab_size: int
    order: int
    n_histories: tuple[int, ...]
    n_followers: tuple[int, ...]
    max_length: int = 1_048_576  # nothing in the model depends on it

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        if self.vocab_size < 1 or self.order < 1:
            raise ValueError(f"vocab_size = {self.vocab_size}, order = {self.order}: at least 1 is needed")
        for name in ("n_histories", "n_followers"):
            if len(getattr(self, name)) != self.order:
                raise ValueError(f"{name} has {len(getattr(self, name))} numbers, one for each of the order is needed")

    @property
    def line(self) -> Literal["decoder"]:
        """It goes on with a text."""
        return "decoder"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "NGramConfig":
        """The config of JSON values."""
        lists: dict[str, Any] = {name: tuple(values[name]) for name in ("n_histories", "n_followers")}
        return cls(**(values | lists))


@dataclass(frozen=True)
class NGramState:
    """The last tokens of each row, nearest first: [R, order - 1]."""

    history: Tensor

    @property
    def rows(self) -> int:
        """Hypotheses in all."""
        return len(self.history)

    @property
    def device(self) -> torch.device:
        """Where tokens and row numbers must be."""
        return self.history.device

    def select(self, rows: Tensor) -> "NGramState":
        """Row i of the new state goes on from row `rows[i]`."""
        return NGramState(self.history[rows])


class Histories(nn.Module):
    """One level of the model, as a `Level` says it."""

    keys: Tensor
    starts: Tensor
    tokens: Tensor

    def __init__(self, histories: int, followers: int) -> None:
        super().__init__()
        for name, size in (("keys", histories), ("starts", histories + 1), ("tokens", followers)):
            self.register_buffer(name, torch.empty(size, dtype=torch.long))
        self.shares = nn.Parameter(torch.empty(followers), requires_grad=False)
        self.rests = nn.Parameter(torch.empty(histories), requires_grad=False)

    def find(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Which of `keys` [N] are there, and the numbers of their histories, [N'] both."""
        places = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        there = (self.keys[places] == keys).nonzero().squeeze(1)
        return there, places[there]

    def mix(self, chances: Tensor, rows: Tensor, numbers: Tensor) -> None:
        """Puts the chances after histories `numbers` [N'] in place of those of the shorter ones, in `rows` [N'] of
        [N, V].
        """
        first, lengths = self.starts[numbers], self.starts[numbers + 1] - self.starts[numbers]
        offsets = torch.arange(int(lengths.sum()), device=rows.device)
        within = offsets - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        entries = first.repeat_interleave(lengths) + within
        chances[rows] *= self.rests[numbers, None]
        chances[rows.repeat_interleave(lengths), self.tokens[entries]] += self.shares[entries]


class NGram(nn.Module):
    """Interpolated modified Kneser-Ney (`ngram_counts`), through the interface of a decoder that stands alone.

    Its states are histories: [..., order - 1] tokens, nearest first. Its logits are log-probabilities.
    """

    def __init__(self, config: NGramConfig) -> None:
        super().__init__()
        self.config = config
        self.levels = nn.ModuleList(map(Histories, config.n_histories, config.n_followers))

    @classmethod
    def count(cls, rows: Iterable[Sequence[int]], *, order: int, vocab_size: int) -> "NGram":
        """The model of texts in tokens, each behind a mark that begins it, and with one at its end if that is to be
        predicted. Where no text is as long as `order`, the model's is smaller. Raises UsageError where there is nothing
        to count.
        """
        if order < 1:
            raise UsageError(f"order = {order}: at least 1 is needed.")
        levels = estimate(rows, order=order, vocab_size=vocab_size)
        if not len(levels[0].tokens):
            raise UsageError("There is no text to count.")
        levels = [one for one in levels if len(one.keys)]
        sizes = tuple(len(one.keys) for one in levels), tuple(len(one.tokens) for one in levels)
        model = cls(NGramConfig(vocab_size, len(levels), *sizes))
        for part, one in zip(model.levels, levels, strict=True):
            part.load_state_dict(one._asdict())
        return model.eval()

    def decode(self, target: Tensor, memory: None = None) -> Tensor:
        """target [B, T], padded on the right if at all -> states [B, T, order - 1]: what was read up to each token."""
        width = self.config.order - 1
        padded = nn.functional.pad(target, (width, 0), value=NONE)
        return padded.unfold(1, width + 1, 1)[..., 1:].flip(-1)

    @torch.no_grad()
    def logits(self, states: Tensor) -> Tensor:
        """Histories [..., order - 1] -> log-probabilities [..., V]."""
        histories = states.reshape(states.shape[:-1].numel(), self.config.order - 1)
        size = self.config.vocab_size
        rows = torch.arange(len(histories), device=states.device)
        numbers = torch.zeros_like(rows)
        none, *longer = self._levels()
        alike = none.rests.new_full((1, size), 1 / size)
        none.mix(alike, rows[:1], numbers[:1])
        chances = alike.repeat(len(histories), 1)
        for length, level in enumerate(longer):
            older = histories[rows, length]
            there, numbers = level.find(torch.where(older == NONE, NONE, numbers * size + older))
            rows = rows[there]
            level.mix(chances, rows, numbers)
        return chances.log().view(*states.shape[:-1], size)

    def features(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """There are none: counts are looked up, not multiplied. Raises UsageError."""
        raise UsageError(
            "An n-gram model has no states to learn from or to measure: `score` says what it gives a text."
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, T] -> logits [B, T, V] of the token after each."""
        return self.logits(self.decode(tokens))

    def start(self, memory: None = None, *, sentences: int = 1) -> NGramState:
        """Nothing read yet, in so many rows."""
        device = next(self.parameters()).device
        return NGramState(torch.full((sentences, self.config.order - 1), NONE, device=device))

    def read(self, tokens: Tensor, state: NGramState, keep: Tensor | None = None) -> tuple[Tensor, NGramState]:
        """Appends many tokens [B, T] to each row -> the logits [B, V] after its last one, and the new state. `keep`
        [B, T] is True at real tokens, on either side of the padding.
        """
        for place in range(tokens.shape[1]):
            longer = self._after(tokens[:, place], state)
            if keep is not None:
                longer = torch.where(keep[:, place, None], longer, state.history)
            state = NGramState(longer)
        return self.logits(state.history), state

    def step(self, tokens: Tensor, state: NGramState) -> tuple[Tensor, NGramState]:
        """Appends tokens [R] to the rows -> the next token's logits [R, V] and the new state."""
        state = NGramState(self._after(tokens, state))
        return self.logits(state.history), state

    def _after(self, tokens: Tensor, state: NGramState) -> Tensor:
        """The histories with one more token, without their oldest."""
        return torch.cat([tokens[:, None], state.history], 1)[:, : self.config.order - 1]

    def _levels(self) -> list[Histories]:
        return [level for level in self.levels if isinstance(level, Histories)]

    def extra_loss(self) -> float:
        """Nothing is added to the loss."""
        return 0.0
