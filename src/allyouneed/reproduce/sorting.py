"""Reading a set (Vinyals 2016): how often must it be looked at before it is sorted?"""

from collections.abc import Mapping

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, quick_budget
from allyouneed.reproduce.result import Cited, Row

STEPS = (0, 1, 5, 10)
RECIPE_STEPS = 5  # those that the recipe has without being told
TABLE = "Vinyals 2016, table 1 (10 numbers, 1 glimpse)"


class Sorting(Experiment):
    """Read-process-write models that look 0 to 10 times before they write."""

    name = "sorting"
    title = "How often to look before writing"
    note = (
        "Read-process-write models sort 10 random numbers by pointing at them, and look at the whole set 0, 1, 5 or 10 "
        "times before they write. Share of 1,000 sets that are sorted without a mistake, and the same where no "
        "number may be pointed at twice."
    )
    paper = tuple(
        Cited(what=f"sorted, {steps} looks", value=value, source=TABLE, confirmed=True)
        for steps, value in zip(STEPS, (0.30, 0.44, 0.57, 0.50), strict=True)
    )
    keys = ("looks",)
    charts = (Chart("bars", x="looks", y="sorted", unit="share of sets"),)

    def arms(self, setting: Setting) -> list[Arm]:
        """The recipe with each number of looks."""
        quick = (*quick_budget(200), "data.dev=50", "model.d_model=16") if setting.quick else ()
        own = {steps: () if steps == RECIPE_STEPS else (f"model.process_steps={steps}",) for steps in STEPS}
        return [Arm(f"{steps} looks", "sort", (*quick, *own[steps])) for steps in STEPS]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """The share of sets, and of pointers, that are right."""
        rows: list[Row] = []
        for name, arm in trained.items():
            found = arm.validate()
            measures = {measure: found[measure] for measure in ("sorted", "sorted once", "pointers")}
            rows.append({"looks": int(name.split()[0]), **measures})
        return rows
