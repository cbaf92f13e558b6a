"""How well a translation is as its source grows: one vector beside a decoder that looks back, measured here."""

from functools import lru_cache
from typing import Any, Literal

from pydantic import Field
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.pipeline import Translator
from allyouneed.text import everyday

MODELS = {"vector": "zoo:rnnencdec-en-fr", "search": "zoo:rnnsearch-en-fr"}
BINS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 40))  # words of a source, both ends included
KEPT = 0.6  # of its best score is more than one vector keeps in the longest sentences
DRAWN = 3000  # sentences that are looked through
# BLEU without unknown words (Bahdanau 2015, table 1): one number for all lengths, of other sentences.
PAPER = {"vector": {"name": "RNNencdec-50", "bleu": 26.71}, "search": {"name": "RNNsearch-50", "bleu": 34.16}}
Metric = Literal["bleu", "chrf", "exact"]


class LengthQualityInputs(Inputs):
    """`sentences` held-out ones for each length; another `seed` draws others. Only the first `bins` lengths are
    translated, so that a reader can watch, and stop. `paper` lays the published scores over the curves.
    """

    metric: Metric = "bleu"
    sentences: int = Field(16, ge=4, le=40)
    seed: int = Field(0, ge=0, le=9999)
    bins: int = Field(len(BINS), ge=1, le=len(BINS))
    paper: bool = False


@lru_cache(maxsize=8)
def binned(count: int, seed: int) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Held-out sentences of English and French by the length of the source, at most `count` of each."""
    bins: list[list[tuple[str, str]]] = [[] for _ in BINS]
    for source, target in everyday.sentences(seed=seed, count=DRAWN, split="test"):
        words = len(source.split())
        place = next((at for at, (low, high) in enumerate(BINS) if low <= words <= high), None)
        if place is not None and len(bins[place]) < count:
            bins[place].append((source, target))
        if all(len(found) == count for found in bins):
            break
    return tuple(tuple(found) for found in bins)


@lru_cache(maxsize=256)
def translations(pipe: Translator, place: int, count: int, seed: int) -> tuple[str, ...]:
    """Greedy translations of the sentences of one length."""
    pairs = binned(count, seed)[place]
    return tuple(one.text for one in pipe.translate([source for source, _ in pairs], beam=1)) if pairs else ()


def quality(metric: Metric, found: list[str], wanted: list[str]) -> float:
    """BLEU or chrF of a bin, or the share of translations that are word for word the reference, out of 100."""
    match metric:
        case "bleu":
            return BLEU().corpus_score(found, [wanted]).score
        case "chrf":
            return CHRF().corpus_score(found, [wanted]).score
        case "exact":
            return 100 * sum(one == other for one, other in zip(found, wanted, strict=True)) / len(found)


def curve(metric: Metric, texts: list[tuple[str, ...]], count: int, seed: int) -> list[float | None]:
    """The quality in each bin; None for an empty one, and for one that is yet to be translated."""
    scores = [
        quality(metric, list(found), [target for _, target in pairs]) if pairs else None
        for found, pairs in zip(texts, binned(count, seed), strict=False)
    ]
    return scores + [None] * (len(BINS) - len(scores))


def extremes(values: list[float | None]) -> dict[str, float]:
    """The score where it is best and in the longest sentences; nothing where no bin has any."""
    there = [value for value in values if value is not None]
    return {"best": max(there), "longest": there[-1]} if there else {}


def claims(vector: list[float | None], search: list[float | None]) -> list[dict[str, Any]]:
    """In the longest bin the decoder that looks back is not worse, and the one vector fell far below its own best."""
    ours, theirs = [value for value in vector if value is not None], [value for value in search if value is not None]
    if not ours or not theirs:
        return []
    return [
        {
            "key": "length-quality.claim-ahead",
            "word": "RNNsearch",
            "origin": "RNNencdec",
            "value": theirs[-1] - ours[-1],
            "holds": theirs[-1] >= ours[-1],
        },
        {
            "key": "length-quality.claim-falls",
            "word": "RNNencdec",
            "origin": "",
            "value": ours[-1] / max(*ours, 1e-9),
            "holds": ours[-1] < KEPT * max(ours),
        },
    ]


def compute(inputs: LengthQualityInputs, models: Models) -> dict[str, Any]:
    """The quality of both models for each length."""
    curves: dict[str, list[float | None]] = {}
    for kind, name in MODELS.items():
        with models.use(name, Translator, nn.Module) as pipe:
            texts = [translations(pipe, place, inputs.sentences, inputs.seed) for place in range(inputs.bins)]
        curves[kind] = curve(inputs.metric, texts, inputs.sentences, inputs.seed)
    return {
        "lengths": [high for _, high in BINS],
        "counts": [len(pairs) for pairs in binned(inputs.sentences, inputs.seed)],
        "curves": curves,
        "extremes": {kind: extremes(values) for kind, values in curves.items()},
        "paper": PAPER if inputs.paper and inputs.metric == "bleu" else {},
        "progress": {"done": inputs.bins, "all": len(BINS)},
        "claims": claims(curves["vector"], curves["search"]) if inputs.bins == len(BINS) else [],
        "model": models.card(MODELS["vector"]),
    }


WIDGET = Widget(LengthQualityInputs, compute, (binned, translations, quality))
