"""Writing a text that repeats itself in fewer passes: what followed the same words before is guessed, and several
guesses are checked at once. The text is the one that a step for each token would have written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from allyouneed.decoding.interface import State

SPANS = (3, 2)  # last tokens by which a text finds where it was before; the longer come first
MOST = 7  # guesses checked at once: with the token before them as many rows as read the weights where they lie


class Reversible(State, Protocol):
    """A state that can forget what was written last."""

    def back(self, tokens: int) -> Self:
        """The state as it was so many tokens ago."""
        ...


AnyReversible = TypeVar("AnyReversible", bound=Reversible)


class Reader(Protocol[AnyReversible]):
    """What reads many tokens in hardly more time than one."""

    def read_all(self, tokens: Tensor, state: AnyReversible) -> tuple[Tensor, AnyReversible]:
        """Appends tokens [B, T] -> the logits [B, T, V] after each, and the new state."""
        ...

    def step(self, tokens: Tensor, state: AnyReversible) -> tuple[Tensor, AnyReversible]:
        """Appends tokens [R] -> the next token's logits [R, V], and the new state."""
        ...


class Recall:
    """Guesses that a text goes on as it did the last time that it came to the same tokens (Yang 2023)."""

    def __init__(self, text: Sequence[int]) -> None:
        self.text: list[int] = []
        self.next: dict[tuple[int, ...], int] = {}  # for a span of tokens, where the token stands that followed it last
        for token in text:
            self.add(token)

    def add(self, token: int) -> None:
        """Appends the text's next token."""
        for span in SPANS:
            self.next[tuple(self.text[-span:])] = len(self.text)
        self.text.append(token)

    def guess(self, count: int) -> list[int]:
        """So many tokens to come, or none where the text was never here."""
        for span in SPANS:
            start = self.next.get(tuple(self.text[-span:]))
            if start is not None:
                again = self.text[start:]  # and then again: who copies it meets the copy at its end
                return [again[i % len(again)] for i in range(count)]
        return []


@dataclass(frozen=True)
class Foreseen(Generic[AnyReversible]):
    """A state of one row that has read tokens which may not come."""

    state: AnyReversible
    guesses: Sequence[int] = ()
    logits: Tensor | None = None  # [guesses, V], of what follows each

    @property
    def rows(self) -> int:
        """One."""
        return self.state.rows

    @property
    def device(self) -> torch.device:
        """Where tokens must be."""
        return self.state.device

    def select(self, rows: Tensor) -> Self:
        """Refused: one text has nothing to choose among."""
        raise ValueError(f"a state of one row that reads ahead cannot become the rows {rows.tolist()}")


class Lookahead(Generic[AnyReversible]):
    """The `step` of a model that writes one text of at most `max_tokens` after `read`, several guesses at a time.

    Guesses change no text, whether its tokens are the likeliest or drawn: each token is chosen from the logits that
    follow the ones before it, and the first that is another than guessed ends what the guess is good for (Leviathan
    2023, for guesses without chances). Twice as many are made as came true the last time, so that a text without
    repetitions costs little.
    """

    def __init__(self, model: Reader[AnyReversible], read: Sequence[int], *, max_tokens: int) -> None:
        self.model, self.recall = model, Recall(read)
        self.left = max_tokens - 1  # the first is chosen from what the prompt's reading gave
        self.right = 1  # guesses of the last ones that came true

    def step(self, tokens: Tensor, foreseen: Foreseen[AnyReversible]) -> tuple[Tensor, Foreseen[AnyReversible]]:
        """Appends one token [1] -> the next one's logits [1, V], and the new state."""
        token = int(tokens)
        self.recall.add(token)
        self.left -= 1
        state, guesses, logits = foreseen.state, foreseen.guesses, foreseen.logits
        if logits is not None and guesses and guesses[0] == token:
            self.right += 1
            return logits[:1], Foreseen(state, guesses[1:], logits[1:])
        if guesses:
            state = state.back(len(guesses))
        guesses = self.recall.guess(min(max(2 * self.right, 1), MOST, self.left))
        if not guesses:
            logits, state = self.model.step(tokens, state)
            return logits, Foreseen(state)
        self.right = 0
        row = torch.tensor([[token, *guesses]], device=state.device)
        logits, state = self.model.read_all(row, state)
        return logits[0, :1], Foreseen(state, guesses, logits[0, 1:])
