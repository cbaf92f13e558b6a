"""From source tokens to the best translations of each, many at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from allyouneed.decoding.constraints import Constraints
from allyouneed.decoding.search import Hypothesis, beam_search
from allyouneed.errors import InputError
from allyouneed.models.interface import EncoderDecoder
from allyouneed.models.stepper import Precision, steps_of
from allyouneed.text.vocabulary import Vocabulary

ROWS = 64  # sentences searched at a time, at most
TOKENS = 2048  # and their padded source tokens


@torch.inference_mode()
def hypotheses(
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    sources: Sequence[Sequence[int]],
    *,
    beam: int,
    nbest: int = 1,
    length_penalty: float = 0.6,
    precision: Precision = "float32",
    growth: int = 2,
    prefixes: Sequence[Sequence[int]] | None = None,
    ends: Sequence[int] | None = None,
    forbidden: Sequence[int] = (),
    constraints: Constraints | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[list[Hypothesis]]:
    """The `nbest` best translations of each source (tokens without marks), in the order of the sources.

    Sentences of like length are searched together; a translation may have `growth` times its source's tokens and 20
    more, beside the tokens that it must begin with, where there are `prefixes`, and those of the `constraints`, which
    it must hold. It ends with one of `ends` (None: as texts do), and holds no `forbidden` token.
    `precision` "int8" writes with weights in bytes: faster with many sentences, and less exact.
    """
    stepper = steps_of(model, precision)
    found: list[list[Hypothesis]] = [[] for _ in sources]
    begun = [[] for _ in sources] if prefixes is None else prefixes
    bound = Constraints([[] for _ in sources]) if constraints is None else constraints
    given = [
        len(prefix) + sum(max(map(len, phrase)) for phrase in own)
        for prefix, own in zip(begun, bound.phrases, strict=True)
    ]
    done = 0
    for rows in batches([len(vocabulary.wrap(source)) for source in sources]):
        results = beam_search(
            stepper.start(encode(model, vocabulary, [sources[row] for row in rows])),
            stepper.step,
            bos=start_of(vocabulary),
            eos=vocabulary.ends if ends is None else ends,
            beam=beam,
            nbest=nbest,
            max_tokens=[longest(model, sources[row], growth, given[row]) for row in rows],
            length_penalty=length_penalty,
            prefix=[begun[row] for row in rows],
            forbidden=[*never_written(vocabulary, vocabulary.start), *forbidden],
            constraints=replace(bound, phrases=[bound.phrases[row] for row in rows]),
        )
        for row, result in zip(rows, results, strict=True):
            found[row] = result
        done += len(rows)
        on_progress(done)
    return found


def encode(model: EncoderDecoder, vocabulary: Vocabulary, sources: Sequence[Sequence[int]]) -> Any:
    """The encoder's states for sources without marks: each gets its marks and is padded."""
    tokens, keep = padded([vocabulary.wrap(source) for source in sources], vocabulary.pad)
    device = model.embedding.weight.device
    return model.encode(tokens.to(device), None if keep is None else keep.to(device))


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor | None]:
    """Rows of unequal length as one tensor [B, T], padded on the right, and which tokens are real [B, T]; None where
    all are.
    """
    lengths = torch.tensor([len(row) for row in rows])
    width = int(lengths.max())
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], dtype=torch.long).view(-1, width)
    keep = torch.arange(width) < lengths[:, None]
    return tokens, None if bool(keep.all()) else keep


def start_of(vocabulary: Vocabulary) -> int:
    """The mark that a decoder beside an encoder begins with."""
    if vocabulary.start is None:
        raise InputError("This model's tokenizer has no mark for its decoder to begin with.")
    return vocabulary.start


def never_written(vocabulary: Vocabulary, *marks: int | None) -> list[int]:
    """Those of padding, mask and `marks` that stand for no text: no text that ends by `ends` holds them."""
    ids = {token for token in (vocabulary.pad, vocabulary.mask, *marks) if token is not None}
    return sorted(token for token in ids - {*vocabulary.ends} if not vocabulary.decode([token]))


def longest(model: EncoderDecoder, source: Sequence[int], growth: int, given: int = 0) -> int:
    """How many tokens a translation may have, its end mark included, of which so many are `given`."""
    return min(given + growth * len(source) + 20, model.config.max_length)


def batches(lengths: Sequence[int], *, tokens: int = TOKENS) -> list[list[int]]:
    """Rows sorted by length and cut into runs of at most `ROWS` rows and `tokens` padded tokens, longest first."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    runs: list[list[int]] = []
    start = 0
    while start < len(order):
        size = max(1, min(ROWS, tokens // lengths[order[start]]))
        runs.append(order[start : start + size])
        start += size
    return runs
