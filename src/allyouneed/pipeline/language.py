"""Language models: they go on with a text, and say how likely each of its tokens is."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.lens.attention import Attention, recording
from allyouneed.pipeline.common import Score, TextError, logprobs_of, one_text
from allyouneed.pipeline.writing import Writer
from allyouneed.tasks.hypotheses import batches, never_written, padded


class LanguageModel(Writer):
    """A decoder alone: what it reads and what it writes are one text."""

    what: ClassVar[str] = "a decoder, which goes on with a text"

    @property
    def opening(self) -> tuple[int, ...]:
        """What stands before a text. A mark that ends a text also begins the next where texts were read in a row."""
        bos, prefix = self.tokenizer.bos, self.tokenizer.prefix
        return prefix or ((bos,) if bos is not None and bos in self.tokenizer.ends else ())

    @property
    def n_marks(self) -> int:
        """How many marks stand with a text."""
        return len(self.opening)

    @property
    def forbidden(self) -> list[int]:
        """Marks that stand nowhere in a text, or only before it."""
        return never_written(self.tokenizer, *self.tokenizer.prefix)

    def prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each prompt. Where it is empty the model writes a text from its beginning.

        Raises TextError for a prompt that is too long, or for an empty one if nothing marks a beginning.
        """
        rows = [[*self.tokenizer.prefix, *tokens] or [*self.opening] for tokens in self.encode(texts)]
        for index, row in enumerate(rows):
            if not row:
                raise TextError(
                    index, "is empty, and no mark begins a text of this model: give it a word to go on from"
                )
        return rows

    def before(self, prompt: Sequence[int]) -> Sequence[int]:
        """All of the prompt."""
        return prompt

    @torch.inference_mode()
    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Any]:
        """What follows each prompt, when all of it was read at once."""
        stepper = self.stepper
        tokens, keep = padded(prompts, self.tokenizer.pad)
        keep = None if keep is None else keep.to(self.device)
        return stepper.read(tokens.to(self.device), stepper.start(sentences=len(prompts)), keep)

    def score(self, texts: Sequence[str], *, on_progress: Callable[[int], None] = lambda done: None) -> list[Score]:
        """The log-probability of each token of each text given those before it (the chain rule). Its end is not scored.

        Where no mark begins a text, nothing is known of its first token: the score holds it as `given`. Raises
        TooLongError.
        """
        one_text(texts)
        rows = [[*self.opening, *tokens] for tokens in self.encode(texts)]
        found = self.logprobs(rows, on_progress=on_progress)
        scores: list[Score] = []
        for row, logprobs in zip(rows, found, strict=True):
            start = max(self.n_marks, 1)
            pieces = self.tokenizer.pieces(row)
            scores.append(Score(pieces[start:], logprobs[start - 1 :], pieces[self.n_marks : start]))
        return scores

    @torch.inference_mode()
    def logprobs(
        self, rows: Sequence[Sequence[int]], *, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[list[float]]:
        """The log-probability of each token of each row given those before it, by one pass; the first has none."""
        found: list[list[float]] = [[] for _ in rows]
        long = [row for row, tokens in enumerate(rows) if len(tokens) > 1]
        done = len(rows) - len(long)
        for run in batches([len(rows[row]) for row in long]):
            chosen = [rows[long[place]] for place in run]
            tokens, keep = padded([row[:-1] for row in chosen], self.tokenizer.pad)
            states = self.model.decode(tokens.to(self.device)).flatten(0, 1)  # nothing looks at padding on the right
            states = states if keep is None else states[keep.flatten().to(self.device)]
            gold = torch.tensor([token for row in chosen for token in row[1:]], device=self.device)
            parts = logprobs_of(self.model, states, gold).split([len(row) - 1 for row in chosen])
            for place, part in zip(run, parts, strict=True):
                found[long[place]] = part.tolist()
            done += len(run)
            on_progress(done)
        return found

    def attend(self, text: str, target: str | None = None) -> Attention:
        """Where the model looks while it reads the text: the only side is "decoder"."""
        if target is not None:
            raise UsageError("A decoder reads and writes one text: it has no target beside it.")
        return self.look([*self.opening, *self.encode([text])[0]])

    @torch.inference_mode()
    def look(self, tokens: Sequence[int]) -> Attention:
        """The attention within a sequence of tokens."""
        if not tokens:
            raise TextError(0, "is empty: there is nothing to look at")
        with recording(self.model) as lookups:
            self.model.decode(torch.tensor([tokens], device=self.device))
        if not lookups:
            raise UsageError(f"{self.name} has no attention: there is nothing to look at.")
        names = self.tokenizer.pieces(tokens)
        return Attention(lookups, {"decoder": (names, names)})
