"""How probable a sentence is: the chance of each token given those before it, multiplied along the sentence."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.counts import card, counted, language_of
from allyouneed.guide.widgets.texts import covering, encoded, named, row
from allyouneed.models.ngram import NGram
from allyouneed.models.recurrent import Recurrent
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import LanguageModel, NGramModel, Translator
from allyouneed.text.vocabulary import Vocabulary

LONGEST_TEXT = 8000  # characters of all sentences together
LONGEST_SENTENCE = 4096  # tokens
MOST = 5
SHOWN = 5
READABLE = 0.001  # smaller chances are written as a power of ten
LARGEST_SURPRISE = 20.0  # bits, where the bar over a token has its full height
LAST_WORDS = 40  # characters before a token, as its title says them
DEFAULT = "zoo:lm-en"
# No language model of Korean ships. Its sentences are counted in the tokens of the translator that writes it.
KOREAN = "zoo:rnnencdec-en-ko"

Reader = Literal["model", "counts"]
Unit = Literal["p", "log2", "perplexity"]
Number = float | tuple[float, int]  # a mantissa and its power of ten, where it is too small to be read otherwise


class Examples(NamedTuple):
    """Sentences of a language, the likelier first; two with words between the subject and the verb; that verb, which
    what stood first should tell; and who reads the language.
    """

    sentences: tuple[str, ...]
    apart: tuple[str, str]
    verb: str
    reader: Reader


EXAMPLES = {
    "en": Examples(
        ("The mouse ate the cheese.", "The cheese ate the mouse.", "Mouse the the cheese ate."),
        ("The mouse in the old house ate the cheese.", "The cheese in the old house ate the mouse."),
        "ate",
        "model",
    ),
    "ko": Examples(
        ("쥐는 치즈를 먹었어요.", "치즈는 쥐를 먹었어요.", "먹었어요 쥐는 치즈를."),
        # The object stands beside the verb and is the same, so that the subject alone could tell.
        ("쥐는 오래된 집에서 치즈를 먹었어요.", "문은 오래된 집에서 치즈를 먹었어요."),
        "먹었어요",
        "counts",
    ),
}


class SentencesInputs(Inputs):
    """One to five `sentences`, a line each, read by the model or by counts of `order` tokens, which are those of Korean
    where a letter of the sentences is Korean. `selected` counts them
    from 1, and `token` the tokens of the selected one from 1; token 0 stands for the least likely.
    """

    sentences: str = Field("\n".join(EXAMPLES["en"].sentences), max_length=LONGEST_TEXT)
    unit: Unit = "p"
    reader: Reader = "model"
    order: int = Field(3, ge=2, le=4)
    selected: int = Field(1, ge=1, le=MOST)
    token: int = Field(0, ge=0, le=LONGEST_SENTENCE)
    model: str = any_model(DEFAULT, "decoder", "mamba-decoder", "recurrent-decoder", "ngram-decoder")


def distributions(model: Transformer, states: Tensor) -> Tensor:
    """log2 of the probability of every token of the vocabulary, by each state of the decoder. [T, D] -> [T, V]"""
    return model.logits(states).float().log_softmax(-1) / math.log(2)


def chance(log2: float) -> Number:
    """2^log2 as a number, or as mantissa and power of ten where it is too small to be read otherwise."""
    if 2**log2 >= READABLE:
        return 2**log2
    power = log2 * math.log10(2)
    mantissa = round(10 ** (power % 1), 2)
    return (1.0, math.floor(power) + 1) if mantissa >= 10 else (mantissa, math.floor(power))


def in_unit(unit: Unit, log2: float, tokens: int) -> Number:
    """The probability 2^log2 of so many tokens in the reader's unit; the perplexity is that of one token."""
    match unit:
        case "p":
            return chance(log2)
        case "log2":
            return log2
        case "perplexity":
            return 2 ** (-log2 / tokens)


@dataclass(frozen=True)
class Reading:
    """One sentence as the model read it: its tokens, the `first` of them that is predicted, log2 of the chance of each
    from there on, and the states [T + 1, D] that predict these and the one behind the end.
    """

    ids: list[int]
    first: int
    steps: list[float]
    states: Tensor

    @property
    def total(self) -> float:
        """log2 of the sentence's probability: the chain rule."""
        return math.fsum(self.steps)

    @property
    def cheapest(self) -> int:
        """Which of the steps is the least likely."""
        return min(range(len(self.steps)), key=self.steps.__getitem__)


def read(pipe: LanguageModel, text: str) -> Reading:
    """The sentence after the model's own mark of a beginning. Where there is none, its first token is only given."""
    places, room = (most - pipe.n_marks for most in (pipe.config.max_length, LONGEST_SENTENCE))
    ids = [*pipe.opening, *encoded(pipe.tokenizer, text, "sentences", places, room)]
    first = max(pipe.n_marks, 1)
    if len(ids) <= first:
        raise FigureError("error.short", "sentences")
    states = pipe.model.decode(row(ids))[0, first - 1 :]
    log2 = distributions(pipe.model, states[:-1])
    return Reading(ids, first, log2.gather(1, torch.tensor(ids[first:])[:, None])[:, 0].tolist(), states)


def along(pipe: LanguageModel, reading: Reading, unit: Unit) -> list[dict[str, Any]]:
    """Each token with its chance, the product so far, and what else could have stood there; last, what comes next."""
    tokens, steps = reading.ids[reading.first :], reading.steps
    names = named(pipe.tokenizer, tokens)
    found: list[dict[str, Any]] = []
    for place, log2 in enumerate(distributions(pipe.model, reading.states)):
        best = log2.topk(SHOWN)
        likeliest = zip(named(pipe.tokenizer, best.indices.tolist()), best.values.tolist(), strict=True)
        before = pipe.tokenizer.decode(reading.ids[: reading.first + place])
        at: dict[str, Any] = {
            "before": ("…" if len(before) > LAST_WORDS else "") + before[-LAST_WORDS:],
            "top": [{**name, "p": chance(bits), "share": 2**bits} for name, bits in likeliest],
        }
        if place < len(tokens):
            bits = steps[place]
            at |= names[place] | {
                "p": chance(bits),
                "bits": -bits,
                "share": 2**bits,
                "value": in_unit(unit, bits, 1),
                "running": in_unit(unit, math.fsum(steps[: place + 1]), place + 1),
                "surprise": min(-bits / LARGEST_SURPRISE, 1.0),
                "rank": int((log2 > bits).sum()) + 1,
            }
        found.append(at)
    return found


def scale(unit: Unit, readings: list[Reading]) -> tuple[list[float], list[Number]]:
    """The length of each sentence's bar on a logarithmic axis, 0 to 1, and what stands at its ends and its middle."""
    if unit == "perplexity":
        powers = [-math.log10(2) * reading.total / len(reading.steps) for reading in readings]
        end = math.ceil(max(powers) + 0.05)
        return [power / end for power in powers], [1.0, 10 ** (end / 2), 10.0**end]
    factor, step = (math.log10(2), 2) if unit == "p" else (1.0, 10)
    powers = [reading.total * factor for reading in readings]
    end = step * math.floor(1.05 * min(powers) / step)
    shares = [1 - power / end for power in powers]
    return (shares, [(1.0, end), (1.0, end // 2), 1.0]) if unit == "p" else (shares, [float(end), end / 2, 0.0])


def claims(
    lines: list[str], readings: list[Reading], tokenizer: Vocabulary, examples: Examples
) -> list[dict[str, Any]]:
    """Of two neighbours among the examples the first should be likelier, and by so many bits it is. Where other words
    stand between, what stood first should still be told by the chance of the verb.
    """
    by_line = dict(zip(lines, readings, strict=True))
    found: list[dict[str, Any]] = []
    for word, origin in (*pairwise(examples.sentences), examples.apart):
        if word in by_line and origin in by_line:
            gain = by_line[word].total - by_line[origin].total
            found.append({"key": "sentences.claim", "word": word, "origin": origin, "value": gain, "holds": gain > 0})
    if set(examples.apart) <= set(by_line):
        first, second = (surprise(by_line[line], tokenizer, examples.verb) for line in examples.apart)
        moved, verb = abs(first - second), examples.verb
        found.append({"key": "sentences.claim-far", "word": verb, "origin": "", "value": moved, "holds": moved > 0})
    return found


def surprise(reading: Reading, tokenizer: Vocabulary, word: str) -> float:
    """What a word costs in a sentence, in bits."""
    places = covering(tokenizer, reading.ids[reading.first :], word)
    return -math.fsum(reading.steps[place] for place in places)


def counting(models: Models, beside: LanguageModel, order: int, language: str) -> tuple[NGramModel, dict[str, Any]]:
    """The counts of a language, in the tokens of the model that knows it, and what the chip says of them."""
    if language == "en":
        counts, name = counted(beside.tokenizer, order), beside.name
    else:
        with models.use(KOREAN, Translator, Recurrent) as writer:
            counts, name = counted(writer.tokenizer, order, language), writer.name
    return counts, card(counts, name, order, language)


@torch.no_grad()
def compute(inputs: SentencesInputs, models: Models) -> dict[str, Any]:
    """The probability of each sentence, and of the selected one the steps that it is the product of."""
    lines = [line.strip() for line in inputs.sentences.split("\n")]
    if len(lines) > MOST:
        raise FigureError("error.lines", "sentences", most=MOST)
    language = language_of(inputs.sentences)
    other = EXAMPLES["en" if language == "ko" else "ko"]
    with models.use(inputs.model, LanguageModel, nn.Module) as loaded:
        pipe, chip = loaded, None
        if inputs.reader == "counts":
            pipe, chip = counting(models, loaded, inputs.order, language)
        readings = [read(pipe, line) for line in lines]
        selected = min(inputs.selected, len(lines))
        chosen = readings[selected - 1]
        steps = along(pipe, chosen, inputs.unit)
        names = [named(pipe.tokenizer, reading.ids) for reading in readings]
        found = claims(lines, readings, pipe.tokenizer, EXAMPLES[language])
    shares, ticks = scale(inputs.unit, readings)
    sentences: list[dict[str, Any]] = []
    for line, reading, name, share in zip(lines, readings, names, shares, strict=True):
        at, log2 = reading.cheapest, reading.steps[reading.cheapest]
        place = reading.first + at
        sentences.append(
            {
                "text": line,
                "value": in_unit(inputs.unit, reading.total, len(reading.steps)),
                "share": share,
                "reason": {"token": name[place], "before": name[place - 1], "p": chance(log2), "bits": -log2},
            }
        )
    return {
        "lines": sentences,
        "ticks": ticks,
        "lead": names[selected - 1][: chosen.first],
        "steps": steps,
        "total": {
            "p": chance(chosen.total),
            "log2": chosen.total,
            "perplexity": in_unit("perplexity", chosen.total, len(chosen.steps)),
            "tokens": len(chosen.steps),
        },
        "apart": EXAMPLES[language].apart,
        "other": {"language": language_of(other.verb), "sentences": other.sentences, "reader": other.reader},
        "foreign": language == "ko" and inputs.reader == "model" and inputs.model == DEFAULT,
        "claims": found,
        "model": chip or models.card(inputs.model),
        "used": {"selected": selected, "token": min(inputs.token or chosen.cheapest + 1, len(steps))},
        "limits": {"sentences": MOST, "selected": len(lines), "token": len(steps)},
    }


WIDGET = Widget(
    SentencesInputs, compute, (distributions, read, in_unit, Transformer.decode, Transformer.logits, NGram.logits)
)
