"""Answers that point at their question (Vinyals 2015): convex hulls by three models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, budget, quick_budget
from allyouneed.reproduce.result import Cited, Row
from allyouneed.tasks.pointing.questions import answers
from allyouneed.tasks.pointing.task import Pointing as Task
from allyouneed.tasks.pointing.task import draw_sets

ARMS: dict[str, tuple[str, ...]] = {  # the settings that are a model's own
    "LSTM": ("model.preset=positions-small", "training.peak_rate=4e-3"),
    "LSTM with attention": ("model.preset=positions-attention-small", "training.peak_rate=4e-3"),
    "pointer network": ("model.preset=pointer-small", "training.peak_rate=1e-2"),
}
SIZES = (5, 10, 20, 30, 40, 50)  # points that all three were trained on
BEYOND = (100, 200, 500)  # which only pointing can answer at all
FEW = (5, 10)
TABLE = "Vinyals 2015, table 1"


class Pointing(Experiment):
    """The hulls of a pointer network, and of two models that name positions."""

    name = "pointing"
    title = "Answers that point at their question"
    note = (
        "Convex hulls of random points. All three models were trained on as many sets of 5 to 50 points; those "
        "that name positions know no more than 50, and a pointer network answers any number. Share of hulls that are "
        "exact, of those that are a simple polygon, and the area of these by that of the true hull; greedy answers to "
        "sets that were not trained on."
    )
    paper = (
        Cited(what="exact at 50 points, LSTM trained on 50", value=0.019, source=TABLE),
        Cited(what="exact at 50 points, LSTM with attention trained on 50", value=0.389, source=TABLE),
        Cited(what="exact at 50 points, pointer network trained on 50", value=0.726, source=TABLE),
        Cited(what="exact at 50 points, pointer network trained on 5 to 50", value=0.696, source=TABLE),
        Cited(what="area at 500 points, pointer network trained on 5 to 50", value=0.992, source=TABLE),
    )
    keys = ("model", "points")
    charts = (
        Chart("lines", x="points", y="exact", by=("model",), unit="share of sets", logarithmic=True),
        Chart("lines", x="points", y="area", by=("model",), unit="share of the hull's", logarithmic=True),
    )

    def arms(self, setting: Setting) -> list[Arm]:
        """All three on the same sets."""
        if setting.quick:
            small = ("model.d_model=16", "model.d_attention=16", "data.max_points=10", "data.dev_sets=20")
            common = (*quick_budget(60), *small, "data.dev_sizes=[5, 10]")
        else:
            common = (*budget(setting, updates=6000, batch_tokens=1792), "data.max_points=50", "data.dev_sizes=[50]")
        return [Arm(model, "hull", (*own, *common, "data.min_points=5")) for model, own in ARMS.items()]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """How good answers to sets of each size are."""
        rows: list[Row] = []
        for name, arm in trained.items():
            task = arm.task
            model: Any = arm.model
            assert isinstance(task, Task)
            for size in FEW if setting.quick else (*SIZES, *(BEYOND if name == "pointer network" else ())):
                sets = draw_sets(
                    setting.choose(100 if size > max(SIZES) else 500, 10), size, np.random.default_rng(size)
                )
                exact = answers(task.settings.problem, sets)
                found = task.measured(model, sets, exact, max(4096 // size, 1))
                measures = {measure.split()[0]: value for measure, value in found.items()}
                rows.append({"model": name, "points": size, **measures})
        return rows
