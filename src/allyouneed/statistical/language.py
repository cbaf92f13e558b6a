"""An n-gram model of words for a search that asks for one word at a time: the estimates of `models.ngram_counts`,
looked up in dictionaries.
"""

from collections.abc import Iterable, Sequence
from math import log

from allyouneed.models.ngram_counts import estimate

BEGIN, UNKNOWN = 0, 1


class WordModel:
    """Interpolated modified Kneser-Ney over words. A word that was never seen has the chance of a rare one."""

    def __init__(self, sentences: Iterable[Sequence[str]], *, order: int = 3) -> None:
        held = [list(sentence) for sentence in sentences]
        words = sorted({word for sentence in held for word in sentence})
        self.numbers = {word: number for number, word in enumerate(words, 2)}
        self.size = len(words) + 2
        self.order = order
        self._shares: dict[tuple[int, ...], float] = {}
        self._rests: dict[tuple[int, ...], float] = {}
        self._known: dict[tuple[int, ...], float] = {}
        rows = ([BEGIN, *(self.numbers[word] for word in sentence)] for sentence in held)
        histories: list[tuple[int, ...]] = [()]  # of the level before
        for length, level in enumerate(estimate(rows, order=order, vocab_size=self.size)):
            if length:
                keys = level.keys.tolist()
                histories = [(key % self.size, *histories[key // self.size]) for key in keys]
            starts, tokens, shares = level.starts.tolist(), level.tokens.tolist(), level.shares.tolist()
            self._rests |= zip(histories, level.rests.tolist(), strict=True)
            for number, history in enumerate(histories):
                for at in range(starts[number], starts[number + 1]):
                    self._shares[(*history, tokens[at])] = shares[at]

    def score(self, words: Sequence[str], before: Sequence[str] = ()) -> float:
        """The log-probability of words behind others; without these, at the beginning of a sentence.

        Of `before` the last `order` - 1 are enough; where there are fewer, the sentence begins with them.
        """
        numbers = [self.numbers.get(word, UNKNOWN) for word in (*before, *words)]
        if len(before) < self.order - 1:
            numbers = [BEGIN, *numbers]
        start = len(numbers) - len(words)
        return sum(
            self._logprob(tuple(numbers[max(0, at - self.order + 1) : at + 1])) for at in range(start, len(numbers))
        )

    def _logprob(self, gram: tuple[int, ...]) -> float:
        """log p of the last token behind the others."""
        if gram not in self._known:
            self._known[gram] = log(self._chance(gram))
        return self._known[gram]

    def _chance(self, gram: tuple[int, ...]) -> float:
        history = gram[:-1]
        shorter = self._chance(gram[1:]) if history else 1 / self.size
        return self._shares.get(gram, 0.0) + self._rests.get(history, 1.0) * shorter
