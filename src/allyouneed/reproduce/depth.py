"""One layer again and again, or as many layers? Pointers to follow (Dehghani 2018)."""

from collections.abc import Mapping

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained
from allyouneed.reproduce.result import Cited, Row

ORDINARY = ("model.halting=false", "model.shared_depth=false")
ARMS: dict[str, tuple[str, ...]] = {
    "one layer, as often as needed": (),
    "one layer, six times": ("model.halting=false",),
    "six layers": ORDINARY,
    "six narrow layers": (*ORDINARY, "model.d_model=32", "model.d_ff=48"),
    "a single layer": (*ORDINARY, "model.n_encoder_layers=1"),
}
COPYING = "Dehghani 2018, table on algorithmic tasks"


class Depth(Experiment):
    """Universal Transformers and ordinary ones on chains of pointers."""

    name = "depth"
    title = "One layer again and again, or many layers?"
    note = (
        "Each place of a text names another place or holds a value; asked is the value at the end of the chain. "
        "Accuracy by how many names lead there, on 500 texts. The layer that is repeated as often as needed decides "
        "for each place when to halt; steps are how often it was applied there."
    )
    paper = (
        Cited(what="copying, characters right, Transformer", value=0.53, source=COPYING),
        Cited(what="copying, characters right, Universal Transformer", value=0.91, source=COPYING),
        Cited(
            what="BLEU English to German, Universal Transformer base",
            value=28.9,
            source="Dehghani 2018, table on translation",
        ),
    )
    keys = ("model", "pointers")
    charts = (Chart("lines", x="pointers", y="accuracy", by=("model",)),)

    def arms(self, setting: Setting) -> list[Arm]:
        """The Universal Transformer, and what is left of it without halting and without sharing."""
        quick = ("training.updates=20", "training.cooldown=5", "training.warmup=5", "training.validate_every=20")
        common = (*quick, "data.dev_texts=50") if setting.quick else ()
        return [Arm(name, "universal", (*common, *overrides)) for name, overrides in ARMS.items()]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Accuracy by depth, and steps where there is a choice."""
        rows: list[Row] = []
        for name, arm in trained.items():
            found = arm.validate()
            always = float(arm.recipe.model.model_dump().get("n_encoder_layers", 0))
            rows += [
                {
                    "model": name,
                    "pointers": int(measure.split()[1]),
                    "accuracy": value,
                    "steps": found.get(f"steps {measure.split()[1]}", always),
                }
                for measure, value in found.items()
                if measure.startswith("depth ")
            ]
        return rows
