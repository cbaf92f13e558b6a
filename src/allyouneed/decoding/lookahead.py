"""Writing texts that repeat themselves in fewer passes: what followed the same words before is guessed, and several
guesses are checked at once. The texts are those that a step for each token would have written.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from allyouneed.decoding.interface import State
from allyouneed.decoding.scorers import worth_leaving

SPANS = (3, 2)  # last tokens by which a text finds where it was before; the longer come first
MOST = 7  # guesses of a text: with the token before them as many rows as read the weights where they lie
FREE = 12  # rows that a pass costs before its first one: it reads all weights
DEAR = 0.3  # of a pass with a token a text, which one with any guesses costs more, however few they are
PACE = 0.1  # of a guess's coming true in what is expected of the next


class Reversible(State, Protocol):
    """A state whose rows can each forget what was written last."""

    def back(self, counts: Sequence[int]) -> Self:
        """Each row as it was so many tokens ago."""
        ...


AnyReversible = TypeVar("AnyReversible", bound=Reversible)


class Reader(Protocol[AnyReversible]):
    """What reads many tokens in hardly more time than one."""

    def read_each(self, texts: Sequence[Sequence[int]], state: AnyReversible) -> tuple[Tensor, AnyReversible]:
        """Appends to each row its own tokens, N in all and none to some -> the logits [N, V] after each token, in
        order, and the new state.
        """
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


@dataclass
class Ahead:
    """A text of which more may be read than is written."""

    recall: Recall
    left: int  # tokens that may come yet, besides the one that is chosen next
    chance: float = 0.2  # that a guess comes true, as far as the last ones did, whether they were checked or not
    guesses: Sequence[int] = ()  # that were read, and may come yet
    place: int = 0  # the row of what follows its last token among the logits that were found last

    def comes(self, token: int) -> bool:
        """Appends the token that was chosen -> was it guessed?"""
        for guess in self.recall.guess(1):
            self.chance += PACE * ((guess == token) - self.chance)
        self.recall.add(token)
        self.left -= 1
        if not self.guesses or self.guesses[0] != token:
            return False
        self.place, self.guesses = self.place + 1, self.guesses[1:]
        return True

    def forget(self) -> int:
        """Drops the guesses that did not come -> how many."""
        count, self.guesses = len(self.guesses), ()
        return count

    def likely(self, worth: float) -> list[int]:
        """What may follow, as far as that is likely enough to be `worth` its row."""
        count, hope = 0, self.chance
        while count < min(MOST, self.left) and hope >= worth:
            count, hope = count + 1, hope * self.chance
        return self.recall.guess(count)

    def look(self, guesses: Sequence[int], place: int) -> list[int]:
        """What is to be read next: the last token, and these. What follows the token will be in this row."""
        self.place, self.guesses = place, guesses
        return [self.recall.text[-1], *guesses]


class Lookahead(Generic[AnyReversible]):
    """The pace of texts that are written several guesses at a time. `state` has one row a text and has read its part of
    `read`, `logits` [R, V] are of what follows each, and at most `max_tokens` are written.

    Guesses change no text, whether its tokens are the likeliest or drawn: each token is chosen from the logits that
    follow the ones before it, and the first that is another than guessed ends what the guess is good for (Leviathan
    2023, for guesses without chances). One is checked where it is likely enough to be worth a row more: the more texts,
    the surer it must be. Each text has its turn until it meets something that was not guessed; when all have, one pass
    reads on in all of them.
    """

    def __init__(
        self,
        logits: Tensor,
        state: AnyReversible,
        model: Reader[AnyReversible],
        *,
        read: Sequence[Sequence[int]],
        max_tokens: Sequence[int],
    ) -> None:
        self.logits, self.state, self.model = logits, state, model
        self.ahead = [Ahead(Recall(text), limit - 1) for text, limit in zip(read, max_tokens, strict=True)]
        self.texts = list(range(len(self.ahead)))
        self.rows = self.texts  # the text of each row of the state
        self.found = logits  # of all that was read last

    def advance(self, tokens: Tensor, over: Collection[int]) -> None:
        """Appends tokens [R], one to each of `texts`: those whose token was guessed go on, or all after a pass."""
        turns = zip(self.texts, tokens.tolist(), strict=True)
        guessed = [text for text, token in turns if self.ahead[text].comes(token) and text not in over]
        self.texts = guessed or self._read(over)
        self.logits = self.found[[self.ahead[text].place for text in self.texts]]

    def _read(self, over: Collection[int]) -> list[int]:
        """One pass over what comes next -> the texts in which something does."""
        wrong = [self.ahead[text].forget() for text in self.rows]
        if any(wrong):
            self.state = self.state.back(wrong)
        live = [text for text in self.rows if text not in over]
        if worth_leaving(len(self.rows) - len(live), len(self.rows)):
            stay = [row for row, text in enumerate(self.rows) if text not in over]
            self.state, self.rows = self.state.select(torch.tensor(stay, device=self.state.device)), live
        guesses = self._guesses(live)
        parts: list[list[int]] = []
        for text in self.rows:
            parts.append(self.ahead[text].look(guesses[text], sum(map(len, parts))) if text in guesses else [])
        if all(len(part) == 1 for part in parts):
            tokens = torch.tensor(parts, device=self.state.device)[:, 0]
            self.found, self.state = self.model.step(tokens, self.state)
        else:
            self.found, self.state = self.model.read_each(parts, self.state)
        return live

    def _guesses(self, live: list[int]) -> dict[int, Sequence[int]]:
        """For each text what is worth being read ahead, or nothing at all where that would not pay."""
        worth = len(live) / (len(live) + FREE)
        guesses: dict[int, Sequence[int]] = {text: self.ahead[text].likely(worth) for text in live}
        saved = sum(self.ahead[text].chance ** (n + 1) for text in live for n, _ in enumerate(guesses[text]))
        return guesses if saved >= DEAR * len(live) else dict.fromkeys(live, ())
