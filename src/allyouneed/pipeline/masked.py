"""Encoders: they guess what stands behind a mask, and make one vector of a text."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from allyouneed.errors import InputError, UsageError, check_whole
from allyouneed.lens.attention import Attention, recording
from allyouneed.pipeline.common import Pipeline, Score, TextError, logprobs_of, one_text
from allyouneed.pipeline.gaps import Filling, Guess, check_gaps, with_masks
from allyouneed.tasks.hypotheses import batches, padded


class MaskedModel(Pipeline):
    """An encoder alone: it reads the whole of a text, both ways."""

    what: ClassVar[str] = "an encoder, which only reads"

    @property
    def mask(self) -> int:
        """The token that hides another. Raises InputError where the model has none."""
        if self.tokenizer.mask is None:
            raise InputError(f"{self.name} has no mask among its tokens, so it cannot guess hidden ones.")
        return self.tokenizer.mask

    def fill(
        self, texts: Sequence[str], *, k: int = 5, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[Filling]:
        """The `k` likeliest tokens at each mask of each text, written as ___, <mask>, [MASK] or the tokenizer's own
        piece. Several masks of a text are guessed apart from each other.

        Raises TextError for a text without a mask, and TooLongError.
        """
        one_text(texts)
        check_whole(k=k)
        if k < 1:
            raise UsageError(f"k = {k}: at least 1 is needed.")
        mask, rows = self.mask, [with_masks(self.tokenizer, text, self.mask) for text in texts]
        self.check(rows)
        rows = [self.tokenizer.wrap(row) for row in rows]
        places = [[place for place, token in enumerate(row) if token == mask] for row in rows]
        check_gaps([len(found) for found in places])
        fillings: list[Filling] = []
        for row, found, states in zip(rows, places, self.states_at(rows, places), strict=True):
            guesses = [self._guesses(state, k) for state in states]
            for place, (tokens, _) in zip(found, guesses, strict=True):
                row[place] = tokens[0]
            named = [list(map(Guess, self.tokenizer.pieces(tokens), chances)) for tokens, chances in guesses]
            fillings.append(Filling(self.tokenizer.decode(row), named))
            on_progress(len(fillings))
        return fillings

    @torch.inference_mode()
    def _guesses(self, state: Tensor, k: int) -> tuple[list[int], list[float]]:
        """The `k` likeliest tokens by a state [D] that are no marks, and their probabilities."""
        marks = self.tokenizer.marks
        ids = {marks.bos, marks.eos, marks.unk, marks.mask, *marks.prefix, *marks.suffix}
        hidden = [token for token in ids if token is not None]
        chances = self.model.logits(state).softmax(-1)
        chances[hidden] = -1.0
        best = chances.topk(min(k, len(chances) - len(hidden)))
        return best.indices.tolist(), best.values.tolist()

    def score(self, texts: Sequence[str], *, on_progress: Callable[[int], None] = lambda done: None) -> list[Score]:
        """The log-probability of each token of each text given all others: it alone is masked (Salazar 2020, section
        2). They add up to the text's pseudo-log-likelihood. Raises TooLongError.
        """
        one_text(texts)
        mask, first = self.mask, len(self.tokenizer.prefix)
        scores: list[Score] = []
        for tokens in self.encode(texts):
            whole = self.tokenizer.wrap(tokens)
            places = range(first, first + len(tokens))
            hidden = [[*whole[:place], mask, *whole[place + 1 :]] for place in places]
            states = self.states_at(hidden, [[place] for place in places])
            logprobs = self._logprobs(states, tokens) if tokens else []
            scores.append(Score(self.tokenizer.pieces(tokens), logprobs))
            on_progress(len(scores))
        return scores

    @torch.inference_mode()
    def _logprobs(self, states: Sequence[Tensor], tokens: Sequence[int]) -> list[float]:
        """The log-probability of each token by the state [1, D] in its place."""
        return logprobs_of(self.model, torch.cat([*states]), torch.tensor(tokens, device=self.device)).tolist()

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], *, on_progress: Callable[[int], None] = lambda done: None) -> Tensor:
        """One vector of length 1 for each text, [N, D]: the mean of its tokens' states, marks included. Their products
        are cosines. Raises TooLongError, and TextError for a text without tokens.
        """
        one_text(texts)
        rows = [self.tokenizer.wrap(tokens) for tokens in self.encode(texts)]
        for index, row in enumerate(rows):
            if not row:
                raise TextError(index, "is empty: there is nothing to make a vector of")
        vectors = torch.empty(len(rows), self.config.d_model, device=self.device)
        done = 0
        for run in batches(list(map(len, rows))):
            states, keep = self._encode([rows[row] for row in run])
            weights = torch.ones_like(states[..., :1]) if keep is None else keep[..., None].to(states)
            vectors[run] = (states * weights).sum(1) / weights.sum(1)
            done += len(run)
            on_progress(done)
        return normalize(vectors, dim=-1)

    @torch.inference_mode()
    def states_at(self, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> list[Tensor]:
        """The states at some places of each row of tokens, marks included: [P, D] each."""
        found = [torch.empty(0)] * len(rows)
        for run in batches(list(map(len, rows))):
            states, _ = self._encode([rows[row] for row in run])
            for number, row in enumerate(run):
                found[row] = states[number, [*places[row]]]
        return found

    def _encode(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor | None]:
        """The states [B, S, D] of rows with their marks, and which are real."""
        tokens, keep = padded(rows, self.tokenizer.pad)
        keep = None if keep is None else keep.to(self.device)
        return self.model.encode(tokens.to(self.device), keep).states, keep

    def attend(self, text: str, target: str | None = None) -> Attention:
        """Where the model looks while it reads the text: the only side is "encoder"."""
        if target is not None:
            raise UsageError("An encoder writes nothing: it has no target beside its text.")
        return self.look(self.tokenizer.wrap(self.encode([text])[0]))

    @torch.inference_mode()
    def look(self, tokens: Sequence[int]) -> Attention:
        """The attention within a sequence of tokens."""
        if not tokens:
            raise TextError(0, "is empty: there is nothing to look at")
        with recording(self.model) as lookups:
            self.model.encode(torch.tensor([tokens], device=self.device))
        names = self.tokenizer.pieces(tokens)
        return Attention(lookups, {"encoder": (names, names)})
