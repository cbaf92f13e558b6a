"""A tape beside the network (Graves 2014): what is copied beyond the lengths that were trained on?"""

from collections.abc import Mapping
from typing import Any

import torch

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, quick_budget
from allyouneed.reproduce.result import Cited, Row
from allyouneed.tasks.bits.task import Copy, wrong_bits

LENGTHS = (1, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120)
FEW = (1, 4, 6)


class Copying(Experiment):
    """Neural Turing Machines that copy rows of bits."""

    name = "copying"
    title = "Copying beyond the trained length"
    note = (
        "Neural Turing Machines that learned to copy 1 to 20 rows of 8 random bits, on up to 120 rows. Wrong bits of a "
        "sequence, each written as what is likelier: the mean of 20 sequences of a length; of 120 rows there are 960."
    )
    paper = (
        Cited(what="longest sequence that was trained on", value=20, source="Graves 2014, section 4.1"),
        Cited(what="longest sequence that was tried", value=120, source="Graves 2014, section 4.1"),
    )
    keys = ("rows",)
    charts = (Chart("lines", x="rows", y="wrong bits"),)
    seeds = (1, 2, 3)

    def arms(self, setting: Setting) -> list[Arm]:
        """The recipe as it is."""
        quick = (*quick_budget(60), "model.d_controller=16", "model.n_slots=16", "data.max_length=4", "data.beyond=[6]")
        return [Arm("machine", "copy", quick if setting.quick else ())]

    @torch.inference_mode()
    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Wrong bits by length."""
        arm = trained["machine"]
        task, model = arm.task, arm.model
        assert isinstance(task, Copy)
        return [
            {"rows": length, "wrong bits": wrong_at(task, model, length)}
            for length in (FEW if setting.quick else LENGTHS)
        ]


def wrong_at(task: Copy, model: Any, length: int) -> float:
    """The mean number of wrong bits of a sequence of this length."""
    batch = task.dev((length,))
    return float(wrong_bits(batch.logits(model), batch.asked)) / task.settings.dev
