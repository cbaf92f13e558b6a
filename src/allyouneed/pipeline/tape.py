"""A loaded machine with a tape, and all that can be seen of it while it copies."""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.lens.attention import write_whole
from allyouneed.lens.tape import tape_image
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig
from allyouneed.parts.addressing import Addresses, Similarity
from allyouneed.parts.tape import Turn
from allyouneed.pipeline.common import Loaded
from allyouneed.tasks.bits.episodes import CopyData

Floats = npt.NDArray[np.float32]
BITS = {"0": 0, "1": 1}


@dataclass(frozen=True)
class Copied:
    """What a machine wrote when it was to copy L rows of O bits, and all that happened in its T = 2L + 1 steps.

    `chances` [L, O] are those of a 1. `inputs` [T, I] is what came in, and `turns` what happened: heads that read come
    first in its weightings [T, H, N].
    """

    asked: list[list[int]]
    chances: Floats
    inputs: Floats
    turns: Turn
    n_readers: int

    @property
    def written(self) -> list[list[int]]:
        """The likelier bits."""
        return (self.chances > 0.5).astype(int).tolist()

    @property
    def wrong(self) -> int:
        """How many bits are not what they were."""
        return int((np.array(self.written) != np.array(self.asked)).sum())

    @property
    def size(self) -> int:
        """How many bits there are."""
        return self.chances.size

    @property
    def weights(self) -> Floats:
        """Where the heads were, [T, H, N]."""
        return self.turns.addresses.sharpened.numpy()

    @property
    def written_slots(self) -> list[int]:
        """The slot in which each row was written: where the first head that writes was most."""
        return self.weights[: len(self.asked), self.n_readers].argmax(-1).tolist()

    @property
    def lead(self) -> int:
        """How many steps before it is written out a row is read: 1 where the machine reads ahead, into its controller,
        which meets more of the rows in the slots that they were written in; else 0.
        """
        return max((0, 1), key=lambda lead: sum(map(int.__eq__, self.read_with(lead), self.written_slots)))

    @property
    def read_slots(self) -> list[int]:
        """The slot from which each row was read: where the first head that reads was most, `lead` steps before."""
        return self.read_with(self.lead)

    def read_with(self, lead: int) -> list[int]:
        """Where the first head that reads was most, so many steps before each row is written out."""
        end = len(self.weights) - lead
        return self.weights[end - len(self.asked) : end, 0].argmax(-1).tolist()

    def stages(self, step: int, head: int) -> dict[str, list[float]]:
        """One head's weighting after each stage of a step, [N] each, and the numbers that the controller said."""
        directions = self.turns.orders.directions
        found = {name: stage[step, head] for name, stage in zip(Addresses._fields, self.turns.addresses, strict=True)}
        found |= {name: said[step, head] for name, said in directions._asdict().items()}
        return {name: values.tolist() for name, values in found.items()}

    def arrays(self) -> dict[str, Floats]:
        """Everything as arrays by name."""
        turns = self.turns
        found = {"inputs": self.inputs, "chances": self.chances, "memory": turns.memory.numpy()}
        found |= {name: stage.numpy() for name, stage in turns.addresses._asdict().items()}
        found |= {name: said.numpy() for name, said in turns.orders.directions._asdict().items()}
        return found | {name: getattr(turns.orders, name).numpy() for name in ("erase", "add")}

    def to_dict(self) -> dict[str, Any]:
        """The answer and where heads were, as plain values."""
        return {
            "asked": self.asked,
            "written": self.written,
            "wrong": self.wrong,
            "chances": self.chances.tolist(),
            "written_slots": self.written_slots,
            "read_slots": self.read_slots,
            "lead": self.lead,
            "weights": self.weights.tolist(),
        }

    def save(self, path: str | Path) -> None:
        """Writes a picture (.png, .svg), the answer and where heads were (.json), or all stages and the memory (.npz).

        Raises UsageError for another suffix and InputError where the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            content = (json.dumps(self.to_dict()) + "\n").encode()
        elif suffix == ".npz":
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **self.arrays())
            content = buffer.getvalue()
        elif suffix in (".png", ".svg"):
            content = self.picture(suffix)
        else:
            raise UsageError(f"{path}: the ending says the format, and it is one of .png, .svg, .json and .npz.")
        write_whole(path, content)

    def picture(self, suffix: str) -> bytes:
        """What came in and went out, what was added, and where the heads were, step by step."""
        written = np.zeros((len(self.inputs), self.chances.shape[1]), np.float32)
        written[-len(self.asked) :] = self.chances
        panels = {
            "in": self.inputs.T,
            "out": written.T,
            "added": self.turns.orders.add[:, 0].numpy().T,
            "read": self.turns.reads[:, 0].numpy().T,
        }
        weights = {"writes": self.weights[:, self.n_readers], "reads": self.weights[:, 0]}
        title = f"{len(self.asked)} rows copied, {self.wrong} of {self.size} bits wrong"
        return tape_image(panels, weights, title=title, suffix=suffix)


class TapeMachine(Loaded):
    """A machine that reads and writes bits."""

    what = "a machine with a tape, which reads and writes bits"
    model: NeuralTuringMachine

    @property
    def config(self) -> TuringConfig:
        """The model's numbers."""
        return self.model.config

    def copy(
        self,
        bits: Sequence[Sequence[int]],
        *,
        similarity: Similarity | None = None,
        by_location: bool | None = None,
    ) -> Copied:
        """Shows rows of bits and asks for the same again. `similarity` and `by_location` let other rules stand in for
        those that the model learned by.

        Raises UsageError for a model of another width, and InputError for no rows or what is no bit.
        """
        config = self.config
        if config.n_inputs != config.n_outputs + 1:
            raise UsageError(
                f"{self.name} has {config.n_inputs} inputs and {config.n_outputs} outputs: it is no copier."
            )
        check_bits(bits, config.n_outputs, self.name)
        rows = np.array([bits], np.float32)
        episodes = CopyData(bits=config.n_outputs).episodes(rows)
        rules = {"similarity": similarity, "by_location": by_location}
        changed = {name: value for name, value in rules.items() if value is not None}
        model = self.model.altered(**changed) if changed else self.model
        logits, turns = model.trace(torch.from_numpy(episodes.inputs).to(self.device))
        chances = logits[0, -len(bits) :].sigmoid().cpu().numpy()
        return Copied([list(row) for row in bits], chances, episodes.inputs[0], first_row(turns), config.n_read_heads)


def first_row(turns: Any) -> Any:
    """Nested tuples of tensors [B, ...] without B: the first row of each."""
    if isinstance(turns, torch.Tensor):
        return turns[0].cpu()
    return type(turns)(*(first_row(part) for part in turns))


def check_bits(bits: Sequence[Sequence[int]], width: int, name: str) -> None:
    """Refuses what cannot be copied."""
    if not len(bits):
        raise InputError("There are no bits: give one row or more.")
    for number, row in enumerate(bits, 1):
        if len(row) != width:
            raise InputError(f"Row {number} has {len(row)} bits, and {name} copies rows of {width}.")
        for value in row:
            if value not in (0, 1):
                raise InputError(f"Row {number} holds {value!r}: a bit is 0 or 1.")


def read_bits(lines: Iterable[str], name: str) -> list[list[int]]:
    """Rows of bits, one a line: 0 and 1, with or without spaces. Blank lines at the end are nothing.

    Raises InputError with the line for what is no bit, and for a row that is not as long as the first.
    """
    text, rows = "\n".join(lines).rstrip(), list[list[int]]()
    for number, line in enumerate(text.split("\n") if text else [], 1):
        marks = "".join(line.split())
        strange = next((mark for mark in marks if mark not in BITS), None)
        if strange is not None:
            raise InputError(f'{name}, line {number}: "{strange}" is no bit, but 0 and 1 are.')
        if not rows and not marks:
            raise InputError(f"{name}, line {number} has no bits.")
        if rows and len(marks) != len(rows[0]):
            raise InputError(f"{name}, line {number} has {len(marks)} bits, and line 1 has {len(rows[0])}.")
        rows.append([BITS[mark] for mark in marks])
    return rows


def draw_bits(rows: int, width: int, seed: int) -> list[list[int]]:
    """Random rows."""
    return np.random.default_rng(seed).integers(0, 2, (rows, width)).tolist()
