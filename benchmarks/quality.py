"""What int8 weights cost: the shipped models on sentences that they were not trained on, both ways."""

import math
from pathlib import Path
from typing import cast

from sacrebleu.metrics.bleu import BLEU

from allyouneed.decoding.scorers import forced_score
from allyouneed.models.stepper import Stepper
from allyouneed.parts.packed import Precision
from allyouneed.pipeline import LanguageModel, Translator, load
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.text import everyday
from allyouneed.text.corpus import read_pairs

MODEL, LANGUAGE_MODEL = "zoo:en-fr", "zoo:lm-en"
ROWS = 64  # sentences scored at a time


def held_out(file: Path | None, count: int) -> tuple[list[str], list[str]]:
    """Sources and references: the first `count` of a file, or of the everyday grammar's held-out frames."""
    if file is None:
        pairs = list(everyday.sentences(seed=1, count=count, split="test", languages=("en", "fr")))
    else:
        pairs = [(pair.source, pair.target) for pair, _ in zip(read_pairs(file, None), range(count), strict=False)]
    return [source for source, _ in pairs], [target for _, target in pairs]


def translate(pipe: Translator, texts: list[str], precision: Precision) -> list[str]:
    """Beam 4, with the decoder's weights in this precision."""
    found = hypotheses(pipe.model, pipe.tokenizer, pipe.encode(texts), beam=4, precision=precision)
    return [pipe.tokenizer.decode(ranked[0].tokens) for ranked in found]


def perplexity(lm: LanguageModel, texts: list[str], precision: Precision) -> float:
    """Of a token, end marks included, with the weights in this precision."""
    stepper = Stepper(lm.model, precision=precision)
    bos, eos = cast(int, lm.tokenizer.bos), cast(int, lm.tokenizer.eos)
    logprobs: list[float] = []
    for start in range(0, len(texts), ROWS):
        rows = lm.tokenizer.encode_batch(texts[start : start + ROWS])
        for found in forced_score(stepper.start(sentences=len(rows)), stepper.step, rows, bos=bos, eos=eos):
            logprobs += found
    return math.exp(-sum(logprobs) / len(logprobs))


def measure(file: Path | None, count: int) -> dict[str, str]:
    """BLEU and perplexity in each precision, and sacreBLEU's signature."""
    sources, references = held_out(file, count)
    pipe, lm, metric = load(MODEL, Translator), load(LANGUAGE_MODEL, LanguageModel), BLEU()
    scores: dict[str, str] = {}
    for precision in ("float32", "int8"):
        score = metric.corpus_score(translate(pipe, sources, precision), [references]).score
        scores[precision] = f"{score:.2f}"
        scores[f"perplexity {precision}"] = f"{perplexity(lm, sources, precision):.2f}"
    text = file.name if file else "held-out frames of the everyday grammar"
    return scores | {"signature": str(metric.get_signature()), "text": text, "sentences": f"{len(sources)}"}
