"""A network with a tape beside it, copying bits: where its heads are, and the four stages that move them."""

from functools import lru_cache
from typing import Any, Literal

import torch
from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.models.turing import NeuralTuringMachine
from allyouneed.parts.addressing import address, by_content, interpolate, naive_sharpen, naive_shift
from allyouneed.pipeline import TapeMachine
from allyouneed.pipeline.tape import Copied, draw_bits

Bits = tuple[tuple[int, ...], ...]
Similarity = Literal["cosine", "dot"]

MOST = 60
MARGIN = 4  # slots beyond those that are used
STAGES = ("content", "interpolated", "shifted", "sharpened")


class MemoryInputs(Inputs):
    """`rows` random rows of bits, or those of `bits`: rows of 0 and 1, a space between them. `step` counts from 1."""

    rows: int = Field(8, ge=1, le=MOST)
    bits: str = Field("", max_length=2000)
    seed: int = Field(1, ge=0, le=9999)
    step: int = Field(3, ge=1, le=2 * MOST + 1)
    head: Literal["write", "read"] = "write"
    similarity: Similarity = "cosine"
    by_location: bool = True
    model: str = any_model("zoo:ntm-copy", "turing-bits")


def rows_of(text: str, width: int) -> list[list[int]]:
    """The rows of a text. Raises FigureError for what is no row of bits."""
    rows = text.split()
    for row in rows:
        if len(row) != width or set(row) - {"0", "1"}:
            raise FigureError("error.bits", "bits", value=row[:40], width=width)
    if len(rows) > MOST:
        raise FigureError("error.lines", "bits", most=MOST)
    return [[int(bit) for bit in row] for row in rows]


@lru_cache(maxsize=32)
@torch.inference_mode()  # a third less for its thousands of small sums
def copied(pipe: TapeMachine, bits: Bits, similarity: Similarity, by_location: bool, /) -> Copied:
    """The machine's copy: made once, not with every move of the step."""
    return pipe.copy([list(row) for row in bits], similarity=similarity, by_location=by_location)


def claims(missed: dict[str, int]) -> list[dict[str, Any]]:
    """It copies by location and content both, and by content alone it does not; from the wrong bits of each."""
    return [
        {
            "key": f"memory.claim-{way}",
            "word": way,
            "origin": "",
            "value": wrong,
            "holds": (wrong == 0) == (way == "both"),
        }
        for way, wrong in missed.items()
    ]


def compute(inputs: MemoryInputs, models: Models) -> dict[str, Any]:
    """The copy, where heads wrote and read, and one head's weighting after each stage of one step."""
    with models.use(inputs.model, TapeMachine, NeuralTuringMachine) as pipe:
        width = pipe.config.n_outputs
        asked = rows_of(inputs.bits, width) or draw_bits(inputs.rows, width, inputs.seed)
        bits = tuple(map(tuple, asked))
        found = copied(pipe, bits, inputs.similarity, inputs.by_location)
        missed = {way: copied(pipe, bits, "cosine", way == "both").wrong for way in ("both", "content")}
    steps, count = len(found.inputs), len(asked)
    step = min(inputs.step, steps)
    head = found.n_readers if inputs.head == "write" else 0
    stages = found.stages(step - 1, head)
    weights = torch.from_numpy(found.weights)
    touched = weights.amax((0, 1)).gt(0.01).nonzero().flatten().tolist()
    used = min(max(touched, default=0) + 1 + MARGIN, weights.shape[-1])
    slot = [torch.tensor(stages[name]) for name in STAGES]
    return {
        "asked": asked,
        "chances": found.chances.tolist(),
        "wrong": found.wrong,
        "bits": found.size,
        "writes": weights[:, found.n_readers, :used].T,
        "reads": weights[:, 0, :used].T,
        "slots": used,
        "stages": {name: stage[:used] for name, stage in zip(STAGES, slot, strict=True)},
        "sums": {name: stage.sum().item() for name, stage in zip(STAGES, slot, strict=True)},
        "least": min(stage.min().item() for stage in slot),
        "said": {name: stages[name] for name in ("strength", "gate", "shifts", "power")},
        "memory": found.turns.memory[step - 1, :used],
        "written_slots": found.written_slots,
        "read_slots": found.read_slots,
        "matching": sum(one == other for one, other in zip(found.written_slots, found.read_slots, strict=True)),
        "lead": found.lead,
        "claims": claims(missed),
        "model": models.card(inputs.model),
        "used": {"step": step, "rows": count},
        "limits": {"step": steps},
    }


WIDGET = Widget(
    MemoryInputs, compute, (address, by_content, interpolate, naive_shift, naive_sharpen, NeuralTuringMachine.trace)
)
