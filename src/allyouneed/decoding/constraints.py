"""Phrases that a text must hold: how far each hypothesis has come with them, and which candidates go on (Post and Vilar
2018, section 3).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import torch
from torch import Tensor

from allyouneed.errors import InputError, UsageError

Spelling = tuple[int, ...]
WIDEST = 64  # beam: each of its hypotheses is weighed with as many tokens
Phrase = Sequence[Sequence[int]]  # its spellings, of which any will do; none is empty


@dataclass(frozen=True)
class Constraints:
    """What the texts of a search must hold."""

    phrases: Sequence[Sequence[Phrase]]  # for each sentence its own
    inside: Sequence[int] = ()  # tokens that go on with a word: they may not follow where a phrase ends

    def check(self, limits: Sequence[int], *, beam: int, never: set[int]) -> None:
        """Raises InputError for what no search can hold that may write so many tokens for each sentence, and `never`
        these; UsageError for a beam that is too narrow or too wide.
        """
        if len(self.phrases) != len(limits):
            raise InputError(
                f"{len(limits)} sentences and constraints for {len(self.phrases)}: one list each is needed"
            )
        if any(self.phrases) and not 2 <= beam <= WIDEST:
            raise UsageError(f"beam = {beam}: with constraints 2 to {WIDEST} is needed.")
        for sentence, (limit, own) in enumerate(zip(limits, self.phrases, strict=True)):
            if not all(phrase and all(phrase) for phrase in own):
                raise InputError(f"sentence {sentence}: one of its constraints holds no token")
            for token in chain(*chain(*own)):
                if token < 0 or token in never:
                    raise InputError(
                        f"sentence {sentence}: one of its constraints holds {token}, which is never written"
                    )
            if (needed := Progress.of(own).tokens_left) >= limit:
                raise InputError(
                    f"sentence {sentence}: max_tokens {limit} must exceed its constraints' {needed} tokens"
                )


@dataclass(frozen=True)
class Progress:
    """What of its phrases a hypothesis does not hold yet."""

    left: tuple[tuple[Spelling, ...], ...]  # phrases, each in all its spellings
    begun: Spelling = ()  # the last tokens, where they begin a spelling
    closed: bool = False  # whether a phrase ends with the last token

    @classmethod
    def of(cls, phrases: Sequence[Phrase]) -> "Progress":
        """Where nothing is written yet."""
        return cls(tuple(tuple(map(tuple, phrase)) for phrase in phrases))

    @cached_property
    def tokens(self) -> set[int]:
        """All that the spellings hold."""
        return {*chain(*chain(*self.left))}

    @property
    def under_way(self) -> list[tuple[int, Spelling]]:
        """The spellings that what is begun may become, each with the length of its phrase's shortest one."""
        size = len(self.begun)
        spellings = ((min(map(len, phrase)), spelling) for phrase in self.left for spelling in phrase)
        return [(shortest, spelling) for shortest, spelling in spellings if spelling[:size] == self.begun]

    @cached_property
    def elsewhere(self) -> "Progress":
        """The progress with a token that no phrase begins with: most candidates share it."""
        return Progress(self.left) if self.begun or self.closed else self

    @cached_property
    def tokens_left(self) -> int:
        """How many tokens must still be written at least, if what is begun is carried on."""
        shortest = sum(min(map(len, phrase)) for phrase in self.left)
        return shortest + min((len(spelling) - own for own, spelling in self.under_way), default=0) - len(self.begun)

    @property
    def wanted(self) -> set[int]:
        """The tokens that lead on."""
        return {spelling[len(self.begun)] for _, spelling in self.under_way}

    def after(self, token: int) -> "Progress":
        """The progress with one more token. A phrase that is broken off may leave the beginning of another, or of
        itself; one that begins another, or stands inside it, may be missed there, and is then wanted again.
        """
        if token not in self.tokens:
            return self.elsewhere
        written = (*self.begun, token)
        for start in range(len(written)):
            tail = written[start:]
            for place, phrase in enumerate(self.left):
                if tail in phrase:
                    return Progress(self.left[:place] + self.left[place + 1 :], closed=True)
            if any(spelling[: len(tail)] == tail for phrase in self.left for spelling in phrase):
                return Progress(self.left, tail)
        return self.elsewhere


class Tracker:
    """The progress of every live hypothesis of a search: B sentences, W hypotheses each.

    Hypotheses that lack equally many tokens compete with one another alone (a bank), and the banks share the beam. So
    those that are on their way to a phrase, which at first costs much probability, are not crowded out by those that
    leave it for later.
    """

    def __init__(self, constraints: Constraints, device: torch.device) -> None:
        self.progress = [[Progress.of(own)] for own in constraints.phrases]
        self.inside = torch.tensor([*constraints.inside], dtype=torch.long, device=device)

    def unmet(self, totals: Tensor) -> Tensor:
        """Which of the hypotheses [B, W] lack something."""
        return torch.tensor([[bool(one.left) for one in row] for row in self.progress], device=totals.device)

    def restrict(self, logprobs: Tensor) -> None:
        """Takes from `logprobs` [R, V] what would go on with the word that a phrase ends with."""
        closed = [row for row, one in enumerate(chain(*self.progress)) if one.closed]
        if closed and len(self.inside):
            logprobs[torch.tensor(closed, device=logprobs.device)[:, None], self.inside] = -math.inf

    def with_wanted(self, logprobs: Tensor, best: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The candidates [R, k] of each row, and behind them the tokens that its phrases want [R, k + M]."""
        wanted = [sorted(one.wanted) for one in chain(*self.progress)]
        width = max(map(len, wanted))
        if width == 0:
            return best, tokens
        more = torch.tensor([row + [-1] * (width - len(row)) for row in wanted], device=tokens.device)
        if int(more.max()) >= logprobs.shape[1]:
            raise InputError(f"constraint token {int(more.max())} is outside the vocabulary of {logprobs.shape[1]}")
        is_known = (more[:, :, None] == tokens[:, None]).any(2) | (more < 0)
        more = more.clamp_min(0)
        scores = logprobs.gather(1, more).masked_fill(is_known, -math.inf)
        return torch.cat((best, scores), 1), torch.cat((tokens, more), 1)

    def choose(self, totals: Tensor, tokens: Tensor, width: int, room: Tensor) -> tuple[Tensor, Tensor]:
        """Candidates of each sentence, with their log-probabilities [B, W·k] and tokens -> the `width` that go on, the
        likeliest first, and which they are. None lacks more tokens than there is `room` [B] for, if that can be.
        """
        each = totals.shape[1] // len(self.progress[0])
        after = [
            [row[place // each].after(token) for place, token in enumerate(own)]
            for row, own in zip(self.progress, tokens.tolist(), strict=True)
        ]
        lefts = [[one.tokens_left for one in row] for row in after]
        fits = torch.tensor(lefts, device=totals.device) <= room[:, None]
        possible = totals.masked_fill(~fits, -math.inf)
        scores = torch.where(possible.amax(1, keepdim=True) > -math.inf, possible, totals)
        if bool(totals.isnan().any()):  # it has no order: the search will say so
            picks = totals.topk(width).indices
        else:
            chosen = [share(*row, width) for row in zip(scores.tolist(), lefts, strict=True)]
            picks = torch.tensor(chosen, device=totals.device)
        self.progress = [[row[place] for place in own] for row, own in zip(after, picks.tolist(), strict=True)]
        return totals.gather(1, picks), picks

    def keep(self, sentences: list[int]) -> None:
        """Leaves only these sentences."""
        self.progress = [self.progress[sentence] for sentence in sentences]


def share(scores: Sequence[float], left: Sequence[int], width: int) -> list[int]:
    """Which `width` candidates go on, the likeliest first: in turns the next best of every bank, that is of those with
    equally many tokens `left`, and where places are few, of the banks with the fewest left.
    """
    taken: Counter[int] = Counter()
    turns: dict[int, int] = {}
    for place in sorted(range(len(scores)), key=lambda place: -scores[place]):
        turns[place] = taken[left[place]]
        taken[left[place]] += 1
    order = sorted(turns, key=lambda place: (scores[place] == -math.inf, turns[place], left[place]))
    return sorted(order[:width], key=lambda place: -scores[place])
