"""A tree as a text (Vinyals 2016): does the order in which it is written matter?"""

from collections.abc import Mapping

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, quick_budget
from allyouneed.reproduce.result import Cited, Row

RECIPES = {"depth first": "parse-depth-first", "breadth first": "parse-breadth-first"}
SECTION = "Vinyals 2016, section 5.1.2 (Penn Treebank)"


class Parsing(Experiment):
    """Parsers that write trees depth first and breadth first."""

    name = "parsing"
    title = "A tree, written in two orders"
    note = (
        "Transformers that translate sentences of the everyday grammar into their phrase-structure trees, written "
        "depth first or breadth first. F1 of the brackets as EVALB counts them, sentences with no bracket wrong, "
        "and outputs that said no tree and were mended, all in per cent, on sentences that are held out."
    )
    paper = (
        Cited(what="F1, depth first", value=89.5, source=SECTION, confirmed=True),
        Cited(what="F1, breadth first", value=81.5, source=SECTION, confirmed=True),
    )
    keys = ("order",)
    charts = (Chart("bars", x="order", y="F1"),)

    def arms(self, setting: Setting) -> list[Arm]:
        """The recipes as they are."""
        quick = (
            *quick_budget(600),
            "model.d_model=32",
            "model.d_ff=32",
            "tokenizer.vocab_size=600",
            'data.train=[{everyday=["en"], count=200}]',
            'data.dev=[{everyday=["en"], count=20, split="dev"}]',
        )
        return [Arm(order, recipe, quick if setting.quick else ()) for order, recipe in RECIPES.items()]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Brackets, sentences and outputs."""
        rows: list[Row] = []
        for order, arm in trained.items():
            found = arm.validate(sentences=setting.choose(500, 4))
            rows.append({"order": order, "F1": found["f1"], "exact": found["exact"], "mended": found["mended"]})
        return rows
