"""Models that write: texts drawn token by token, or found by the search, for many prompts at once or as they come."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, ClassVar, Unpack

from torch import Tensor

from allyouneed.decoding.lookahead import FREE, Lookahead
from allyouneed.decoding.sampling import Draw, InStep, Pace, Sampler, Sampling, Settings
from allyouneed.decoding.search import Hypothesis, beam_search
from allyouneed.decoding.stops import Cutter
from allyouneed.errors import UsageError, check_numbers, check_whole, nearest
from allyouneed.models.interface import Steps
from allyouneed.models.stepper import Stepper, steps_of
from allyouneed.pipeline.common import Pipeline, one_text
from allyouneed.tasks.hypotheses import batches
from allyouneed.text.vocabulary import Vocabulary

HELD = 16_384  # tokens whose keys and values are held at a time, at most
MAX_TOKENS = 128


@dataclass(frozen=True)
class Generation:
    """What a model wrote. `finished` is False where the longest allowed length cut it off."""

    text: str
    tokens: list[str]  # those of a stop string too
    logprob: float  # what the model gives them, and the end mark where it came to one
    finished: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class Writer(Pipeline):
    """A model that writes a text after a prompt."""

    what: ClassVar[str] = "a model that writes"

    @abstractmethod
    def prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each prompt. Raises TextError for one that the model cannot read."""

    @abstractmethod
    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Any]:
        """The logits [R, V] of what follows each prompt, and a state that has read them."""

    @abstractmethod
    def before(self, prompt: Sequence[int]) -> Sequence[int]:
        """The part of a prompt that stands before what is written, in one text with it."""

    @property
    @abstractmethod
    def forbidden(self) -> list[int]:
        """Tokens that are never written."""

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int = MAX_TOKENS,
        stop: Sequence[str] = (),
        seed: int | None = None,
        numbers: Sequence[int] | None = None,
        beam: int | None = None,
        on_progress: Callable[[int], None] = lambda done: None,
        **settings: Unpack[Settings],
    ) -> list[Generation]:
        """What the model writes after each prompt, in order: at most `max_tokens`, and up to the first string of
        `stop`. `settings` are the fields of `Sampling`.

        The same `seed` gives the same texts; None is a new one each time. Every text has a chance of its own, by its
        number (from 0, or as in `numbers`), so that it does not depend on the others. With `beam` nothing is drawn:
        the likeliest text is searched.

        Raises TextError, before anything is written, for a prompt that cannot be read.
        """
        one_text(prompts)
        sampling, stops = checked(max_tokens, stop, settings, seed, beam)
        rows = self.prompts(prompts)
        limits = [self.limit(row, max_tokens) for row in rows]
        seeds = seeds_of(seed, range(len(rows)) if numbers is None else numbers)
        found: list[Generation | None] = [None] * len(rows)
        done = 0
        for run in batches([len(row) + limit for row, limit in zip(rows, limits, strict=True)], tokens=HELD):
            texts = [_Text(self.tokenizer, self.before(rows[row]), stops) for row in run]
            if beam is None:
                sampler = self._sampler([rows[row] for row in run], [limits[row] for row in run], sampling, seeds, run)
                for draws in sampler:
                    for draw in draws:
                        texts[draw.text].add(draw)
                        if texts[draw.text].stopped:
                            sampler.stop(draw.text)
            else:
                searched = self._search([rows[row] for row in run], [limits[row] for row in run], beam)
                for text, hypothesis in zip(texts, searched, strict=True):
                    text.take(hypothesis)
            for row, text in zip(run, texts, strict=True):
                found[row] = text.whole()
            done += len(run)
            on_progress(done)
        return [generation for generation in found if generation is not None]

    def stream(
        self,
        prompt: str,
        *,
        max_tokens: int = MAX_TOKENS,
        stop: Sequence[str] = (),
        seed: int | None = None,
        number: int = 0,
        **settings: Unpack[Settings],
    ) -> Iterator[str]:
        """What `generate` gives for one prompt, piece by piece as it is written: whole characters, and nothing of a
        stop string.
        """
        sampling, stops = checked(max_tokens, stop, settings, seed, None)
        rows = self.prompts([prompt])
        text = _Text(self.tokenizer, self.before(rows[0]), stops)
        sampler = self._sampler(rows, [self.limit(rows[0], max_tokens)], sampling, seeds_of(seed, [number]), [0])

        def shown() -> Iterator[str]:
            for draws in sampler:
                for draw in draws:
                    yield text.add(draw)
                    if text.stopped:
                        sampler.stop(draw.text)
            yield text.rest()

        return (part for part in shown() if part)

    def limit(self, prompt: Sequence[int], max_tokens: int) -> int:
        """How many tokens can be written after a prompt: the last one needs no position."""
        before = max(len(self.before(prompt)), 1)
        return min(max_tokens, self.config.max_length - before + 1)

    @property
    def stepper(self) -> Steps:
        """What reads and writes, in the precision that was asked for."""
        return steps_of(self.model, self.precision)

    def _sampler(
        self,
        rows: Sequence[Sequence[int]],
        limits: Sequence[int],
        sampling: Sampling,
        seeds: Sequence[str],
        run: Sequence[int],
    ) -> Sampler:
        stepper, (logits, state) = self.stepper, self.begin(rows)
        before = [self.before(row) for row in rows]
        pace: Pace
        # More texts fill a pass by themselves.
        if len(rows) <= FREE and isinstance(stepper, Stepper) and state.is_reversible:
            pace = Lookahead(logits, state, stepper, read=before, max_tokens=limits)
        else:
            pace = InStep(logits, state, stepper.step)
        return Sampler(
            pace,
            seeds=[seeds[row] for row in run],
            max_tokens=limits,
            sampling=sampling,
            ends=self.tokenizer.ends,
            forbidden=self.forbidden,
            read=before,
        )

    def _search(self, rows: Sequence[Sequence[int]], limits: Sequence[int], beam: int) -> list[Hypothesis]:
        logits, state = self.begin(rows)
        found = beam_search(
            state,
            self.stepper.step,
            bos=logits,
            eos=self.tokenizer.ends,
            max_tokens=limits,
            beam=beam,
            forbidden=self.forbidden,
        )
        return [ranked[0] for ranked in found]


class _Text:
    """One text under way: its tokens, and what of it can be shown."""

    def __init__(self, vocabulary: Vocabulary, before: Sequence[int], stops: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.stream, self.cutter = vocabulary.stream(before), Cutter(stops)
        self.tokens: list[int] = []
        self.logprob = 0.0
        self.shown = ""
        self.ended = False

    @property
    def stopped(self) -> bool:
        """Has a stop string come?"""
        return self.cutter.stopped

    def add(self, draw: Draw) -> str:
        """Takes the next token -> what can be shown of it."""
        self.logprob += draw.logprob
        if draw.ends:
            self.ended = True
            return ""
        self.tokens.append(draw.token)
        return self._show(self.cutter.add(self.stream.add(draw.token)))

    def take(self, hypothesis: Hypothesis) -> None:
        """Takes all tokens of a text that was searched, up to a stop string."""
        for token, logprob in zip(hypothesis.tokens, hypothesis.token_logprobs, strict=False):
            self.add(Draw(0, token, logprob, ends=False))
            if self.stopped:
                return
        if hypothesis.finished:
            self.add(Draw(0, -1, hypothesis.token_logprobs[-1], ends=True))

    def rest(self) -> str:
        """What was held back until the end."""
        return self._show(self.cutter.add(self.stream.rest()) + self.cutter.rest())

    def whole(self) -> Generation:
        """The text at its end."""
        self.rest()
        pieces = self.vocabulary.pieces(self.tokens)
        return Generation(self.shown, pieces, self.logprob, self.ended or self.stopped)

    def _show(self, part: str) -> str:
        self.shown += part
        return part


def checked(
    max_tokens: int, stop: Sequence[str], settings: Settings, seed: int | None, beam: int | None
) -> tuple[Sampling, tuple[str, ...]]:
    """The settings and stop strings of one call, or a UsageError."""
    check_whole(max_tokens=max_tokens, seed=seed, beam=beam, top_k=settings.get("top_k"))
    known = ("max_tokens", "stop", "seed", "beam", *Settings.__annotations__)
    for name in settings:
        if name not in known:
            raise UsageError(f'There is no setting "{name}", only {", ".join(known)}.{nearest(name, known)}')
    check_numbers(**{name: value for name, value in settings.items() if name != "top_k"})
    if max_tokens < 1:
        raise UsageError(f"max_tokens = {max_tokens}: at least 1 is needed.")
    of_chance = [*settings, *(() if seed is None else ("seed",))]
    if beam is not None and of_chance:
        raise UsageError(f"beam searches the likeliest text and draws nothing: it goes without {', '.join(of_chance)}.")
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    Cutter(stops)
    return Sampling(**settings), stops


def seeds_of(seed: int | None, numbers: Sequence[int]) -> list[str]:
    """For each text what its chance comes from."""
    seed = Random().getrandbits(32) if seed is None else seed
    return [f"{seed}/{number}" for number in numbers]
