"""What int8 weights cost in BLEU: the shipped model on sentences that it was not trained on, written both ways."""

from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

from allyouneed.parts.packed import Precision
from allyouneed.pipeline import Translator, load
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.text import everyday
from allyouneed.text.corpus import read_pairs

MODEL = "zoo:en-fr"


def held_out(file: Path | None, count: int) -> tuple[list[str], list[str]]:
    """Sources and references: the first `count` of a file, or of the everyday grammar's held-out frames."""
    if file is None:
        pairs = list(everyday.sentences(seed=1, count=count, split="test", languages=("en", "fr")))
    else:
        pairs = [(pair.source, pair.target) for pair, _ in zip(read_pairs(file, None), range(count), strict=False)]
    return [source for source, _ in pairs], [target for _, target in pairs]


def translate(pipe: Translator, texts: list[str], precision: Precision) -> list[str]:
    """Beam 4, with the decoder's weights in this precision."""
    found = hypotheses(pipe.model, pipe.encode(texts), beam=4, precision=precision)
    return [pipe.tokenizer.decode(ranked[0].tokens) for ranked in found]


def measure(file: Path | None, count: int) -> dict[str, str]:
    """BLEU in each precision, and sacreBLEU's signature."""
    sources, references = held_out(file, count)
    pipe, metric = load(MODEL), BLEU()
    scores: dict[str, str] = {}
    for precision in ("float32", "int8"):
        score = metric.corpus_score(translate(pipe, sources, precision), [references]).score
        scores[precision] = f"{score:.2f}"
    text = file.name if file else "held-out frames of the everyday grammar"
    return scores | {"signature": str(metric.get_signature()), "text": text, "sentences": f"{len(sources)}"}
