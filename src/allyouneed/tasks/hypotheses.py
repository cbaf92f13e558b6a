"""From source tokens to the best translations of each, many at a time."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from allyouneed.decoding.search import Hypothesis, beam_search
from allyouneed.models.stepper import Precision, Stepper
from allyouneed.models.transformer import Memory, Transformer
from allyouneed.tasks.encoded import pad
from allyouneed.text.tokenizer import BOS, EOS, PAD, UNK

ROWS = 64  # sentences searched at a time, at most
TOKENS = 2048  # and their padded source tokens


@torch.inference_mode()
def hypotheses(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    beam: int,
    nbest: int = 1,
    length_penalty: float = 0.6,
    precision: Precision = "float32",
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[list[Hypothesis]]:
    """The `nbest` best translations of each source (tokens without marks), in the order of the sources.

    Sentences of like length are searched together; a translation may have twice its source's tokens and 20 more.
    `precision` "int8" writes with weights in bytes: faster with many sentences, and less exact.
    """
    stepper = Stepper.of(model, precision=precision)
    found: list[list[Hypothesis]] = [[] for _ in sources]
    done = 0
    for rows in batches([len(source) + 1 for source in sources]):
        limits = [min(2 * len(sources[row]) + 20, model.config.max_length) for row in rows]
        results = beam_search(
            stepper.start(encode(model, [sources[row] for row in rows])),
            stepper.step,
            bos=BOS,
            eos=EOS,
            beam=beam,
            nbest=nbest,
            max_tokens=limits,
            length_penalty=length_penalty,
            forbidden=(PAD, BOS, UNK),
        )
        for row, result in zip(rows, results, strict=True):
            found[row] = result
        done += len(rows)
        on_progress(done)
    return found


def encode(model: Transformer, sources: Sequence[Sequence[int]]) -> Memory:
    """The encoder's states for sources without marks: each gets its end mark and is padded."""
    source = pad([[*tokens, EOS] for tokens in sources]).to(model.embedding.weight.device)  # [B, S]
    keep: Tensor = source != PAD
    return model.encode(source, None if bool(keep.all()) else keep)


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows sorted by length and cut into runs of at most `ROWS` rows and `TOKENS` padded tokens, longest first."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    runs: list[list[int]] = []
    start = 0
    while start < len(order):
        size = max(1, min(ROWS, TOKENS // lengths[order[start]]))
        runs.append(order[start : start + size])
        start += size
    return runs
