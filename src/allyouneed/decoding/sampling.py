"""Drawing texts: what may come next, how likely each is let be, and one token after another for many texts at once."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, NamedTuple, Protocol, TypedDict

import torch
from torch import Tensor

from allyouneed.decoding.interface import AnyState, Step
from allyouneed.decoding.scorers import worth_leaving
from allyouneed.decoding.search import best_of_rows
from allyouneed.errors import InputError, UsageError


def penalise_repetition(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Makes what stands in the text already less likely: logits [R, V], `seen` [R, V] -> [R, V] (Keskar 2019, section
    4.1). A positive logit is divided by the penalty and a negative one multiplied, so that both sink.
    """
    return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Leaves the `k` likeliest tokens of each row, and those that are as likely as the last of them: [R, V] -> [R, V]
    (Fan 2018).
    """
    if k >= logits.shape[-1]:
        return logits
    return logits.masked_fill(logits < best_of_rows(logits, k)[0][:, -1:], -math.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Leaves the fewest likeliest tokens whose probabilities add up to at least `p`: [R, V] -> [R, V] (Holtzman 2020,
    section 3.1).
    """
    ordered, places = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities  # 0 at the likeliest, which therefore stays
    return logits.masked_fill(torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, before >= p), -math.inf)


def keep_min_p(logits: Tensor, p: float) -> Tensor:
    """Leaves the tokens that are at least `p` times as likely as the likeliest: [R, V] -> [R, V] (Nguyen 2024)."""
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True) + math.log(p), -math.inf)


def draw(logits: Tensor, uniform: Tensor) -> Tensor:
    """Tokens [R] from logits [R, V]: the first at which the probabilities, added up, exceed `uniform` [R] in [0, 1)."""
    reached = logits.softmax(-1, dtype=torch.float64).cumsum(-1)
    places = torch.searchsorted(reached, (uniform * reached[:, -1])[:, None], right=True)[:, 0]
    return places.clamp_max(logits.shape[-1] - 1)  # beyond it are only rows that are not numbers


class Settings(TypedDict, total=False):
    """The fields of `Sampling`, as keywords."""

    temperature: float
    top_k: int | None
    top_p: float
    min_p: float
    repetition_penalty: float


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn: the penalty, the temperature, then each filter over what the one before it left.

    Temperature 0 takes the likeliest token each time; the filters then change nothing.
    """

    temperature: float = 0.8  # logits are divided by it
    top_k: int | None = None  # None: all
    top_p: float = 1.0  # 1: all
    min_p: float = 0.05  # 0: all
    repetition_penalty: float = 1.0  # 1: none

    def __post_init__(self) -> None:
        """Refuses what says nothing."""
        for name, value, allowed, needed in (
            ("temperature", self.temperature, 0 <= self.temperature < math.inf, "0 (the likeliest token) or more"),
            ("top_k", self.top_k, self.top_k is None or self.top_k >= 1, "at least 1"),
            ("top_p", self.top_p, 0 < self.top_p <= 1, "more than 0 and at most 1"),
            ("min_p", self.min_p, 0 <= self.min_p <= 1, "between 0 and 1"),
            ("repetition_penalty", self.repetition_penalty, 0 < self.repetition_penalty < math.inf, "more than 0"),
        ):
            if not allowed:
                raise UsageError(f"{name} = {value}: {needed} is needed.")

    def filtered(self, logits: Tensor, seen: Tensor | None = None) -> Tensor:
        """The logits to draw from: [R, V] -> [R, V]. `seen` [R, V] are the tokens that stand in each text."""
        if seen is not None:
            logits = penalise_repetition(logits, seen, self.repetition_penalty)
        if self.temperature == 0:
            return logits
        logits = logits / self.temperature
        if self.top_k is not None:
            logits = keep_top_k(logits, self.top_k)
        if self.top_p < 1:
            logits = keep_top_p(logits, self.top_p)
        return keep_min_p(logits, self.min_p) if self.min_p > 0 else logits


class Draw(NamedTuple):
    """One token of one text."""

    text: int  # which one, as the rows of the first state were counted
    token: int
    logprob: float  # what the model gives it, whatever the filters left
    ends: bool  # is it an end token


class Pace(Protocol):
    """How texts advance: each at every turn, or those alone of which it is known what may follow."""

    texts: list[int]  # whose turn it is, one a row of the logits
    logits: Tensor  # [R, V], of what follows each

    def advance(self, tokens: Tensor, over: Collection[int]) -> None:
        """Appends tokens [R], one to each of `texts`, and gives others their turn. Those that are `over` have none."""
        ...


class InStep(Generic[AnyState]):
    """All texts advance by a token at a time. `state` has one row a text, `logits` [R, V] are of what follows each."""

    def __init__(self, logits: Tensor, state: AnyState, step: Step[AnyState]) -> None:
        if state.rows != len(logits):
            raise InputError(f"{state.rows} rows and {len(logits)} rows of logits: one each is needed")
        self.logits, self.state, self.step = logits, state, step
        self.texts = list(range(state.rows))

    def advance(self, tokens: Tensor, over: Collection[int]) -> None:
        """Appends a token to every text; those that are over leave the batch, where that pays."""
        stay = [row for row, text in enumerate(self.texts) if text not in over]
        if worth_leaving(len(self.texts) - len(stay), len(self.texts)):
            rows = torch.tensor(stay, device=tokens.device)
            self.state, tokens = self.state.select(rows), tokens[rows]
            self.texts = [self.texts[row] for row in stay]
        self.logits, self.state = self.step(tokens, self.state)


class Sampler:
    """Texts being drawn: iterate for the next token of every text whose turn it is.

    A text ends with an end token, with its `max_tokens` (which count that token), or by `stop`. Its chance comes from
    its own of the `seeds`, so it is the same in any company and at any pace. `forbidden` tokens are never drawn; `read`
    are the tokens that stand before each text, for the repetition penalty.

    Raises InputError where the model's scores are not numbers, or nothing may follow.
    """

    def __init__(
        self,
        pace: Pace,
        *,
        seeds: Sequence[int | str],
        max_tokens: Sequence[int],
        sampling: Sampling,
        ends: Sequence[int] = (),
        forbidden: Sequence[int] = (),
        read: Sequence[Sequence[int]] = (),
    ) -> None:
        if not len(pace.texts) == len(seeds) == len(max_tokens):
            counts = f"{len(seeds)} seeds and {len(max_tokens)} max_tokens"
            raise InputError(f"{len(pace.texts)} texts, {counts}: one each is needed")
        self.pace, self.sampling = pace, sampling
        self.chances = [Random(seed) for seed in seeds]
        self.limits = list(max_tokens)
        self.ends = frozenset(ends)
        device = pace.logits.device
        self.forbidden = torch.tensor([*forbidden], dtype=torch.long, device=device)
        self.tokens = torch.empty(0, dtype=torch.long, device=device)  # those drawn last
        self.drawn = [0] * len(self.limits)  # tokens of each text
        self.over = {text for text, limit in enumerate(self.limits) if limit < 1}
        self.seen = self._read(read) if sampling.repetition_penalty != 1 else None

    def __iter__(self) -> Iterator[list[Draw]]:
        while len(self.over) < len(self.limits):
            yield self._advance()

    def stop(self, text: int) -> None:
        """Ends a text: nothing more is drawn for it."""
        self.over.add(text)

    @torch.inference_mode()
    def _advance(self) -> list[Draw]:
        if len(self.tokens):
            self.pace.advance(self.tokens, self.over)
        logits, texts = self.pace.logits, self.pace.texts
        allowed = logits.index_fill(1, self.forbidden, -math.inf) if len(self.forbidden) else logits
        left = self.sampling.filtered(allowed, None if self.seen is None else self.seen[texts])
        self.tokens = self._choose(left)
        if self.seen is not None:
            self.seen[texts, self.tokens] = True
        chosen = self.tokens[:, None]
        logprobs = logits.gather(1, chosen)[:, 0].float() - logits.float().logsumexp(-1)
        possible = left.gather(1, chosen)[:, 0] > -math.inf
        draws: list[Draw] = []
        rows = zip(texts, self.tokens.tolist(), logprobs.tolist(), possible.tolist(), strict=True)
        for text, token, logprob, is_possible in rows:
            if text in self.over:
                continue
            self.drawn[text] += 1
            if not is_possible:
                why = "the model's scores are not numbers (NaN)" if math.isnan(logprob) else "nothing may stand here"
                raise InputError(f"text {text}, token {self.drawn[text]}: {why}")
            draws.append(Draw(text, token, logprob, token in self.ends))
            if token in self.ends or self.drawn[text] >= self.limits[text]:
                self.over.add(text)
        return draws

    def _choose(self, logits: Tensor) -> Tensor:
        if self.sampling.temperature == 0:
            return logits.argmax(-1)
        numbers = [self.chances[text].random() for text in self.pace.texts]
        return draw(logits, torch.tensor(numbers, dtype=torch.float64, device=logits.device))

    def _read(self, read: Sequence[Sequence[int]]) -> Tensor:
        """Which tokens each text holds at first: [texts, V]."""
        seen = torch.zeros_like(self.pace.logits, dtype=torch.bool)
        for text, tokens in enumerate(read):
            seen[text, [*tokens]] = True
        return seen
