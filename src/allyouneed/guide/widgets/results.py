"""What the paper reported, and what the models that ship here reached: two scales, side by side."""

import json
import tomllib
from dataclasses import dataclass
from typing import Any

from allyouneed.checkpoints.native import METRICS, RECIPE
from allyouneed.checkpoints.places import place_of, shipped
from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.experiments import how, means
from allyouneed.pipeline import Translator
from allyouneed.reproduce.result import stored


class ResultsInputs(Inputs):
    """Nothing to set: the numbers are those of the models that ship."""


@dataclass(frozen=True)
class Cited:
    """A number of a paper: a name for it, and where it stands there."""

    key: str
    value: float
    source: str


CITED = (
    Cited("en-fr", 41.0, "vaswani2017:version 1, table 2"),
    Cited("en-fr-later", 41.8, "vaswani2017:version 5, table 2"),
    Cited("en-de", 28.4, "vaswani2017:table 2"),
    Cited("hours", 12, "vaswani2017:section 5.2"),
    Cited("processors", 8, "vaswani2017:section 5.2"),
    Cited("parsing", 91.3, "vaswani2017:table 4"),
    Cited("base", 65, "vaswani2017:table 3"),
    Cited("big", 213, "vaswani2017:table 3"),
)


def reached(name: str) -> dict[str, Any]:
    """The last line of a training's record: what the model reached, how long that took, and on which kind of text."""
    folder = place_of(name)
    last = json.loads((folder / METRICS).read_text(encoding="utf-8").splitlines()[-1])
    data = tomllib.loads((folder / RECIPE).read_text(encoding="utf-8"))["data"]["train"]
    return {
        "text": "everyday" if all("everyday" in part for part in data) else "public",
        "bleu": last.get("validation_bleu"),
        "perplexity": last["validation_perplexity"],
        "minutes": last["seconds"] / 60,
    }


def compared() -> dict[str, Any]:
    """Kinds of models alike in size, text and updates: BLEU by the length of the source, and minutes of training."""
    scores = means("bottleneck", ["model", "source words"], "BLEU")
    result = stored("bottleneck")
    minutes = {arm.name: arm.minutes for arm in result.made.arms} if result else {}
    models = list(dict.fromkeys(str(model) for model, _ in scores))
    return {
        "lengths": sorted({int(words) for _, words in scores}),
        "rows": [
            {
                "model": model,
                "minutes": minutes.get(model),
                "bleu": [score for (other, _), score in scores.items() if other == model],
            }
            for model in models
        ],
        "made": how("bottleneck"),
    }


def compute(inputs: ResultsInputs, models: Models) -> dict[str, Any]:
    """The paper's numbers, kinds of models compared at one scale, and a row for each translator that ships."""
    cards = [models.card(name) for name in shipped("both")]
    usable = [card for card in cards if "problem" not in card]
    rows = [{"name": card["name"], "parameters": card["parameters"], **reached(card["name"])} for card in usable]
    return {
        "cited": [vars(cited) for cited in CITED],
        "compared": compared(),
        "rows": sorted(rows, key=lambda row: row["text"] == "everyday"),
    }


WIDGET = Widget(ResultsInputs, compute, (reached, compared, Translator.translate))
