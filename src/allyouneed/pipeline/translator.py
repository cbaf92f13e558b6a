"""Encoder-decoders: they read one text and write another."""

import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from allyouneed.decoding.constraints import Constraints
from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import UsageError, check_numbers, check_whole
from allyouneed.lens.attention import Attention, Lookup, attentions, recording
from allyouneed.pipeline.common import Score, TextError, one_text
from allyouneed.pipeline.coverage import by_coverage, check_penalty, coverage
from allyouneed.pipeline.gaps import Filling, Guess, check_gaps, sentinels_of, with_masks
from allyouneed.pipeline.phrases import inside_words, spelt
from allyouneed.pipeline.writing import Writer
from allyouneed.tasks.hypotheses import batches, encode, hypotheses, never_written, padded, start_of
from allyouneed.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Alignment:
    """Which source token each target token came from, and the same for words (what stands between spaces)."""

    source: list[str]
    target: list[str]
    pairs: list[tuple[int, int, float]]  # for each target token: source index, target index, weight
    words: list[tuple[int, int]]  # for each target word: source index, target index
    matrix: Tensor  # [T, S] without the end marks


@dataclass(frozen=True)
class Translation:
    """One translation. A blank source has a blank one."""

    text: str
    score: float  # log-probability / length penalty, and the coverage penalty where one is asked for
    tokens: list[str]
    alignment: Alignment | None = None
    nbest: "tuple[Translation, ...]" = ()  # best first, this one included

    def to_dict(self, *, ranked: bool = False) -> dict[str, Any]:
        """As plain values; `ranked`: with the `nbest`."""
        plain: dict[str, Any] = {"text": self.text, "score": self.score, "tokens": self.tokens}
        if self.alignment is not None:
            plain["alignment"] = {
                "source_tokens": self.alignment.source,
                "pairs": self.alignment.pairs,
                "words": self.alignment.words,
                "matrix": self.alignment.matrix.tolist(),
            }
        return plain | ({"nbest": [one.to_dict() for one in self.nbest]} if ranked else {})


class Translator(Writer):
    """An encoder and a decoder: a translation model, or any other that turns one text into another."""

    what: ClassVar[str] = "an encoder-decoder, which reads one text and writes another"

    @property
    def n_marks(self) -> int:
        """How many marks stand with a text: on the target's side there is at least the one to begin with."""
        return max(super().n_marks, 1)

    @property
    def forbidden(self) -> list[int]:
        """Marks that stand nowhere in a target, or only before it."""
        return never_written(self.tokenizer, self.tokenizer.start)

    @cached_property
    def _inside_words(self) -> list[int]:
        return inside_words(self.tokenizer)

    def prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each source, as its vocabulary makes it readable."""
        return self.encode([self.tokenizer.readable(text) for text in texts])

    def before(self, prompt: Sequence[int]) -> Sequence[int]:
        """Nothing: what is written is a text of its own."""
        return ()

    @torch.inference_mode()
    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Any]:
        """What follows the first mark, where the sources were read."""
        memory = encode(self.model, self.tokenizer, prompts)
        marks = torch.full((len(prompts),), start_of(self.tokenizer), device=self.device)
        return self.stepper.step(marks, self.stepper.start(memory))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 4,
        nbest: int = 1,
        length_penalty: float = 0.6,
        coverage_penalty: float = 0.0,
        align: bool = False,
        constraints: Sequence[Sequence[str]] | None = None,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> list[Translation]:
        """The best translation of each text, in order; `nbest` > 1 also gives the runners-up, `align` the alignments.

        With a `coverage_penalty` all that the beam found is ranked by what it leaves out of the source, too (Wu 2016).
        This takes one more pass over a text's translations.

        `constraints` are phrases that the translation of each text must hold (Post and Vilar 2018): for each text a
        list. They want a beam of 2 to 64, and are held the better, the wider it is.

        Raises TooLongError before anything is translated, TextError for phrases that cannot be written, and UsageError
        where a model without attention is to align or to cover, or the beam does not suit what is asked.
        """
        one_text(texts)
        check_numbers(length_penalty=length_penalty, coverage_penalty=coverage_penalty)
        check_penalty(coverage_penalty, beam)
        if align or coverage_penalty:
            attentions(self.model)
        sources = self.prompts(texts)
        phrases = spelt(self.tokenizer, constraints, texts=len(texts), room=self.config.max_length)
        there = [index for index, text in enumerate(texts) if text.strip()]
        held = [phrases[index] for index in there]
        found = hypotheses(
            self.model,
            self.tokenizer,
            [sources[index] for index in there],
            beam=beam,
            nbest=max(beam, nbest) if coverage_penalty else nbest,
            length_penalty=length_penalty,
            precision=self.precision,
            constraints=Constraints(held, self._inside_words) if any(held) else None,
            on_progress=on_progress,
        )
        results = [Translation("", 0.0, []) for _ in texts]
        for index, best in zip(there, found, strict=True):
            if coverage_penalty:
                best = by_coverage(best, self.coverage(sources[index], best), coverage_penalty)[:nbest]
            made = tuple(self._translation(sources[index], hypothesis, align) for hypothesis in best)
            results[index] = replace(made[0], nbest=made)
        return results

    def _translation(self, source: list[int], hypothesis: Hypothesis, align: bool) -> Translation:
        tokens = self.bare(hypothesis.tokens)
        alignment = self.align(source, tokens) if align else None
        return Translation(self.tokenizer.decode(tokens), hypothesis.score, self.tokenizer.pieces(tokens), alignment)

    @torch.inference_mode()
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[Score]:
        """The log-probability of each target given its source, token by token, the end mark last. Raises TooLongError
        for either side.
        """
        one_text(sources)
        one_text(targets)
        if len(sources) != len(targets):
            raise UsageError(f"{len(sources)} sources and {len(targets)} targets: each source needs one target.")
        encoded = list(zip(self.prompts(sources), self.encode(targets), strict=True))
        stepper = self.stepper  # the search's own: its scores are these
        scores, done = [Score([], []) for _ in encoded], 0
        for rows in batches([max(map(len, pair)) + self.n_marks for pair in encoded]):
            memory = encode(self.model, self.tokenizer, [encoded[row][0] for row in rows])
            goals = [self.goal(encoded[row][1]) for row in rows]
            found = forced_score(
                stepper.start(memory),
                stepper.step,
                [goal[:-1] for goal in goals],
                bos=start_of(self.tokenizer),
                eos=goals[0][-1],
            )
            for row, goal, logprobs in zip(rows, goals, found, strict=True):
                scores[row] = Score(self.tokenizer.pieces(goal), logprobs)
            done += len(rows)
            on_progress(done)
        return scores

    def fill(
        self,
        texts: Sequence[str],
        *,
        k: int = 5,
        beam: int = 4,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> list[Filling]:
        """Each text with its gaps, written ___, filled by the likeliest tokens, as many as they may be: for models that
        learned to write what is missing (Raffel 2020), or the whole text (Lewis 2020), which name no guesses.

        Gaps are filled from left to right, each by the likeliest of `k` guesses given those before it. A whole text is
        searched for with `beam`.

        Raises TextError for a text without a gap or with too many, TooLongError, and UsageError for other models.
        """
        one_text(texts)
        check_whole(k=k)
        if k < 1:
            raise UsageError(f"k = {k}: at least 1 is needed.")
        sentinels = sentinels_of(self.tokenizer)
        mask = sentinels[0] if sentinels else self.mask
        rows = [with_masks(self.tokenizer, text, mask) for text in texts]
        self.check(rows)
        places = [[place for place, token in enumerate(row) if token == mask] for row in rows]
        check_gaps([len(found) for found in places])
        if not sentinels:
            found = hypotheses(self.model, self.tokenizer, rows, beam=beam, on_progress=on_progress)
            return [Filling(self.tokenizer.decode(ranked[0].tokens), []) for ranked in found]
        for index, (row, gaps) in enumerate(zip(rows, places, strict=True)):
            if len(gaps) >= len(sentinels):
                raise TextError(index, f"has {len(gaps)} gaps, and this model tells {len(sentinels) - 1} apart")
            for place, sentinel in zip(gaps, sentinels, strict=False):
                row[place] = sentinel
        written, guesses = [list[int]() for _ in rows], [list[list[Guess]]() for _ in rows]
        filled = [list(row) for row in rows]
        for gap in range(max(map(len, places))):
            there = [index for index, gaps in enumerate(places) if gap < len(gaps)]
            for index in there:
                written[index].append(sentinels[gap])
            for index, tokens, named in self._gap(there, rows, written, sentinels, gap, k):
                place = filled[index].index(sentinels[gap])
                filled[index][place : place + 1] = tokens
                written[index] += tokens
                guesses[index].append(named)
            on_progress(sum(len(gaps) <= gap + 1 for gaps in places))
        return list(map(Filling, map(self.tokenizer.decode, filled), guesses))

    @property
    def mask(self) -> int:
        """The token that stands for any number of others. Raises UsageError where the model did not learn one."""
        mask = self.tokenizer.mask
        if mask is None or not self.fills:
            raise UsageError(f"{self.name} did not learn to fill gaps.")
        return mask

    @property
    def fills(self) -> bool:
        """Did the model learn to fill gaps?"""
        if sentinels_of(self.tokenizer) or not isinstance(self.tokenizer, Tokenizer):
            return bool(sentinels_of(self.tokenizer)) or self.tokenizer.mask is not None
        return tomllib.loads(self.recipe or "").get("data", {}).get("objective") == "infilling"

    def _gap(
        self, there: list[int], rows: list[list[int]], written: list[list[int]], sentinels: list[int], gap: int, k: int
    ) -> Iterator[tuple[int, list[int], list[Guess]]]:
        """What may stand in one gap of the rows `there`, whose sentinel is the last of what is `written` so far: each
        row's number, the likeliest tokens, and the guesses. A gap holds something, and ends with the next sentinel.
        """
        for index in there:
            if len(written[index]) >= self.config.max_length:
                raise TextError(index, "has more in its gaps than this model can write")
        others = [sentinel for sentinel in sentinels if sentinel != sentinels[gap + 1]]
        found = hypotheses(
            self.model,
            self.tokenizer,
            [rows[index] for index in there],
            beam=k + 3,
            nbest=k + 1,  # one of them may be empty
            length_penalty=0.0,
            growth=0,
            prefixes=[written[index] for index in there],
            ends=[sentinels[gap + 1], *self.tokenizer.ends],
            forbidden=others,
        )
        for index, ranked in zip(there, found, strict=True):
            start = len(written[index])
            full = [(one.tokens[start:], one.token_logprobs[start:]) for one in ranked if len(one.tokens) > start][:k]
            named = [Guess(self.tokenizer.decode(tokens), math.exp(math.fsum(logprobs))) for tokens, logprobs in full]
            yield index, full[0][0] if full else [], named

    def goal(self, target: Sequence[int]) -> list[int]:
        """All that the decoder writes for a target: its marks too, the end mark last."""
        marks = self.tokenizer.marks
        return [*marks.prefix, *target, *(marks.suffix or marks.ends[:1])]

    def bare(self, written: Sequence[int]) -> list[int]:
        """What the decoder wrote, without the marks that it writes before a text."""
        prefix = self.tokenizer.prefix
        return list(written[len(prefix) :] if tuple(written[: len(prefix)]) == prefix else written)

    def attend(self, text: str, target: str | None = None) -> Attention:
        """Where the model looks while it reads the text and writes the target (None: its own translation).

        The rows of "decoder" are the tokens that were read (the start mark first); those of "cross" are the tokens that
        were predicted there (the end mark last).
        """
        [source] = self.prompts([text])
        if target is not None:
            return self.look(source, self.encode([target])[0])
        return self.look(source, self.bare(hypotheses(self.model, self.tokenizer, [source], beam=4)[0][0].tokens))

    def look(self, source: Sequence[int], target: Sequence[int]) -> Attention:
        """The attention of a pair of token sequences without marks."""
        goal = self.goal(target)
        given = [start_of(self.tokenizer), *goal[:-1]]
        lookups = self._looking(source, [given])
        read, inputs, written = map(self.tokenizer.pieces, (self.tokenizer.wrap(source), given, goal))
        names = {"encoder": (read, read), "decoder": (inputs, inputs), "cross": (written, read)}
        return Attention(lookups, {side: names[side] for side in lookups})

    @torch.inference_mode()
    def _looking(self, source: Sequence[int], given: Sequence[Sequence[int]]) -> dict[str, list[Lookup]]:
        """What a source, and a decoder that is given each of these after it, look at in one pass."""
        tokens, _ = padded(given, self.tokenizer.pad)
        with recording(self.model) as lookups:
            memory = encode(self.model, self.tokenizer, [source] * len(given))
            self.model.decode(tokens.to(self.device), memory)
        return lookups

    def coverage(self, source: Sequence[int], found: Sequence[Hypothesis]) -> list[float]:
        """How well each of a search's translations covers its source (tokens without marks): 0 is all of it, and less
        is less. As for alignments, the last decoder layer counts, its heads together; an end looks where it is written.
        """
        lengths = [len(one.token_logprobs) for one in found]
        start, first = start_of(self.tokenizer), len(self.tokenizer.prefix)  # nobody needs to look at marks
        given = [[start, *one.tokens][:length] for one, length in zip(found, lengths, strict=True)]
        weights = self._looking(source, given)["cross"][-1].each().mean(1)[..., first : first + len(source)]
        return [float(coverage(own[:length])) for own, length in zip(weights, lengths, strict=True)]

    def align(self, source: Sequence[int], target: Sequence[int]) -> Alignment:
        """For each target token the source token that the last decoder layer, its heads together, looks at most."""
        first = len(self.tokenizer.prefix)  # marks align with nothing
        rows, columns = slice(first, first + len(target)), slice(first, first + len(source))
        matrix = self.look(source, target)["cross", -1, "mean"][rows, columns]
        between = (self.word_of(target), self.word_of(source))
        return Alignment(
            source=self.tokenizer.pieces(source),
            target=self.tokenizer.pieces(target),
            pairs=[(place, row, weight) for row, (place, weight) in enumerate(strongest(matrix))],
            words=[(place, row) for row, (place, _) in enumerate(strongest(gathered(matrix, *between)))],
            matrix=matrix,
        )

    def word_of(self, tokens: Sequence[int]) -> list[int]:
        """Which word, counted from 0, each token ends in. A space that is a token belongs to the word after it."""
        texts = [self.tokenizer.decode(tokens[:end]) for end in range(1, len(tokens) + 1)]
        last = len(texts[-1].split()) - 1 if texts else 0
        return [max(0, min(last, len(text.split()) - (not text[-1:].isspace()))) for text in texts]


def strongest(matrix: Tensor) -> list[tuple[int, float]]:
    """For each row of [T, S] the place and the size of its largest weight."""
    if not matrix.numel():
        return []
    weights, places = matrix.max(-1)
    return list(zip(places.tolist(), weights.tolist(), strict=True))


def gathered(matrix: Tensor, rows: list[int], columns: list[int]) -> Tensor:
    """The weights [T, S] of tokens, added up over the words that they belong to."""
    words = matrix.new_zeros(max(rows, default=-1) + 1, max(columns, default=-1) + 1)
    row, column = (torch.tensor(places, dtype=torch.long) for places in (rows, columns))
    return words.index_put((row[:, None], column), matrix, accumulate=True)
