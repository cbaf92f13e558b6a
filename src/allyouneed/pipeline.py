"""`load` and the loaded thing: a model, its tokenizer and what they can do together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from allyouneed.checkpoints.native import CARD, load_model, read_text
from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import InputError, UsageError, nearest
from allyouneed.lens.attention import Attention, recording
from allyouneed.models.stepper import Precision, Stepper
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks.hypotheses import batches, encode, hypotheses
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer

ZOO = Path(__file__).parent / "zoo"
START, END = "<s>", "</s>"  # how the marks are shown


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
    score: float  # log-probability / length penalty
    tokens: list[str]
    alignment: Alignment | None = None
    nbest: "tuple[Translation, ...]" = ()  # best first, this one included


@dataclass(frozen=True)
class Score:
    """What a model gives a target, by the chain rule: natural logarithms, the end mark last."""

    tokens: list[str]
    logprobs: list[float]

    @property
    def total(self) -> float:
        """The log-probability of the whole."""
        return math.fsum(self.logprobs)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of a token."""
        return math.exp(-self.total / len(self.logprobs))


class TooLongError(InputError):
    """A text has more tokens than the model has positions; `index` says which of the texts."""

    def __init__(self, index: int, tokens: int, allowed: int) -> None:
        self.index, self.tokens, self.allowed = index, tokens, allowed
        super().__init__(f"Text {index + 1} {self.excess}.")

    @property
    def excess(self) -> str:
        """What is wrong, to stand behind a name of the text."""
        return f"has {self.tokens:,} tokens, and this model reads at most {self.allowed:,}"


class Translator:
    """A translation model with its tokenizer. `name` is what it was loaded by, `card` the text of its model card.

    `precision` "int8" translates with the decoder's weights in bytes: faster with many sentences, and less exact.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        name: str,
        card: str = "",
        recipe: str | None = None,
        precision: Precision = "float32",
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.name, self.card, self.recipe = name, card, recipe
        self.precision: Precision = precision

    @property
    def config(self) -> TransformerConfig:
        """The model's numbers."""
        return self.model.config

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, without marks. Raises TooLongError for the first that leaves no room for its mark."""
        tokens = self.tokenizer.encode_batch(list(texts))
        for index, row in enumerate(tokens):
            if len(row) >= self.config.max_length:
                raise TooLongError(index, len(row), self.config.max_length - 1)
        return tokens

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 4,
        nbest: int = 1,
        length_penalty: float = 0.6,
        align: bool = False,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> list[Translation]:
        """The best translation of each text, in order; `nbest` > 1 also gives the runners-up, `align` the alignments.

        Raises TooLongError before anything is translated.
        """
        one_text(texts)
        sources = self.encode(texts)
        there = [index for index, text in enumerate(texts) if text.strip()]
        found = hypotheses(
            self.model,
            [sources[index] for index in there],
            beam=beam,
            nbest=nbest,
            length_penalty=length_penalty,
            precision=self.precision,
            on_progress=on_progress,
        )
        results = [Translation("", 0.0, []) for _ in texts]
        for index, ranked in zip(there, found, strict=True):
            made = tuple(self._translation(sources[index], hypothesis, align) for hypothesis in ranked)
            results[index] = replace(made[0], nbest=made)
        return results

    def _translation(self, source: list[int], hypothesis: Hypothesis, align: bool) -> Translation:
        tokens = hypothesis.tokens
        alignment = self.align(source, tokens) if align else None
        return Translation(self.tokenizer.decode(tokens), hypothesis.score, self.tokenizer.pieces(tokens), alignment)

    @torch.inference_mode()
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, on_progress: Callable[[int], None] = lambda done: None
    ) -> list[Score]:
        """The log-probability of each target given its source, token by token. Raises TooLongError for either side."""
        one_text(sources)
        one_text(targets)
        if len(sources) != len(targets):
            raise UsageError(f"{len(sources)} sources and {len(targets)} targets: each source needs one target.")
        encoded = list(zip(self.encode(sources), self.encode(targets), strict=True))
        stepper = Stepper.of(self.model, precision=self.precision)  # the search's own: its scores are these
        scores, done = [Score([], []) for _ in encoded], 0
        for rows in batches([max(map(len, pair)) + 1 for pair in encoded]):
            memory = encode(self.model, [encoded[row][0] for row in rows])
            goals = [encoded[row][1] for row in rows]
            found = forced_score(stepper.start(memory), stepper.step, goals, bos=BOS, eos=EOS)
            for row, goal, logprobs in zip(rows, goals, found, strict=True):
                scores[row] = Score([*self.tokenizer.pieces(goal), END], logprobs)
            done += len(rows)
            on_progress(done)
        return scores

    def attend(self, text: str, target: str | None = None) -> Attention:
        """Where the model looks while it reads the text and writes the target (None: its own translation).

        The rows of "decoder" are the tokens that were read (the start mark first); those of "cross" are the tokens that
        were predicted there (the end mark last).
        """
        source = self.encode([text])[0]
        if target is not None:
            return self.look(source, self.encode([target])[0])
        return self.look(source, hypotheses(self.model, [source], beam=4)[0][0].tokens)

    @torch.inference_mode()
    def look(self, source: Sequence[int], target: Sequence[int]) -> Attention:
        """The attention of a pair of token sequences without marks."""
        read = [*self.tokenizer.pieces(source), END]
        written = self.tokenizer.pieces(target)
        inputs = [START, *written]
        given = torch.tensor([[BOS, *target]], device=self.model.embedding.weight.device)
        with recording(self.model) as lookups:
            self.model.decode(given, encode(self.model, [source]))
        tokens = {"encoder": (read, read), "decoder": (inputs, inputs), "cross": ([*written, END], read)}
        return Attention(lookups, tokens)

    def align(self, source: Sequence[int], target: Sequence[int]) -> Alignment:
        """For each target token the source token that the last decoder layer, its heads together, looks at most."""
        matrix = self.look(source, target)["cross", -1, "mean"][:-1, :-1]  # the end marks align with nothing
        between = (self.word_of(target), self.word_of(source))
        return Alignment(
            source=self.tokenizer.pieces(source),
            target=self.tokenizer.pieces(target),
            pairs=[(place, row, weight) for row, (place, weight) in enumerate(strongest(matrix))],
            words=[(place, row) for row, (place, _) in enumerate(strongest(gathered(matrix, *between)))],
            matrix=matrix,
        )

    def word_of(self, tokens: Sequence[int]) -> list[int]:
        """Which word, counted from 0, each token ends in."""
        return [max(0, len(self.tokenizer.decode(tokens[:end]).split()) - 1) for end in range(1, len(tokens) + 1)]


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


def one_text(texts: Sequence[str]) -> None:
    """Refuses a bare string, which would be taken for a list of letters."""
    if isinstance(texts, str):
        raise UsageError(f"Texts come as a list: write [{texts[:40]!r}].")


def shipped() -> list[str]:
    """Names of the models in the package."""
    return sorted(f"zoo:{path.parent.name}" for path in ZOO.glob("*/config.json"))


def load(name: str | Path, *, precision: Precision = "float32") -> Translator:
    """A shipped model ("zoo:en-fr") or a model folder, ready to use.

    Raises UsageError for an unknown name, with the nearest one, and InputError for a folder that holds no usable model.
    """
    text = str(name)
    if text.startswith("zoo:"):
        if text not in shipped():
            raise UsageError(
                f'There is no shipped model "{text}", but {", ".join(shipped()) or "none"}.{nearest(text, shipped())}'
            )
        folder = ZOO / text.removeprefix("zoo:")
    else:
        folder = Path(name)
        if not folder.exists():
            hint = nearest(f"zoo:{text}", shipped())
            raise UsageError(
                f'"{text}" is neither a folder nor a shipped model ({", ".join(shipped()) or "none"}).{hint}'
            )
    saved = load_model(folder)
    card = read_text(folder / CARD) or ""
    return Translator(saved.model, saved.tokenizer, name=text, card=card, recipe=saved.recipe, precision=precision)
