"""Models that are tables of log-probabilities, to drive the search and the sampler alone."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from allyouneed.decoding.search import Hypothesis, beam_search

BOS, EOS = 1, 2


@dataclass(frozen=True)
class TextState:
    """Remembers every token of every row, so that no mistake in `select` can hide."""

    sentence: Tensor  # [R]
    text: Tensor  # [R, T]
    log: list[list[int]]  # the rows of every selection

    @property
    def rows(self) -> int:
        return len(self.sentence)

    @property
    def device(self) -> torch.device:
        return self.sentence.device

    def select(self, rows: Tensor) -> Self:
        sentence = self.sentence[rows]
        assert sentence.diff().min() >= 0 if len(rows) > 1 else True, "rows of a sentence must stand side by side"
        self.log.append(rows.tolist())
        return replace(self, sentence=sentence, text=self.text[rows])


class Mock:
    """Logits drawn once for each sentence and each `order` last tokens; the longer a text, the likelier its end."""

    def __init__(self, vocabulary: int, *, order: int = 1, sharpness: float = 2.0) -> None:
        self.vocabulary, self.order, self.sharpness = vocabulary, order, sharpness
        self.calls: list[int] = []

    def start(self, sentences: list[int]) -> TextState:
        return TextState(torch.tensor(sentences), torch.zeros(len(sentences), 0, dtype=torch.long), [])

    def logits(self, sentence: int, text: list[int]) -> Tensor:
        seed = hash((sentence, *text[-self.order :])) % 2**31
        logits = self.sharpness * torch.randn(self.vocabulary, generator=torch.Generator().manual_seed(seed))
        logits[EOS] += len(text) / 4
        return logits

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        self.calls.append(len(tokens))
        assert tokens.shape == (state.rows,)
        text = torch.cat((state.text, tokens[:, None]), 1)
        pairs = zip(state.sentence.tolist(), text.tolist(), strict=True)
        return torch.stack([self.logits(*pair) for pair in pairs]), replace(state, text=text)

    def logprob(self, sentence: int, tokens: list[int]) -> float:
        """Of the tokens, one at a time from their whole past."""
        text = [BOS, *tokens]
        total = 0.0
        for length in range(1, len(text)):
            total += float(self.logits(sentence, text[:length]).log_softmax(0)[text[length]])
        return total

    def search(self, sentences: list[int], *, max_tokens: Any = 12, **settings: Any) -> list[list[Hypothesis]]:
        settings = {"bos": BOS, "eos": EOS} | settings
        return beam_search(self.start(sentences), self.step, max_tokens=max_tokens, **settings)
