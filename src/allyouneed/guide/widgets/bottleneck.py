"""A whole sentence squeezed into one vector, and what is left in it of each word."""

from functools import lru_cache
from typing import Any

from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.recall import LENGTHS, recall, recovered
from allyouneed.guide.widgets.recurrences import LONG, influence, recurrent, vector_of
from allyouneed.guide.widgets.texts import encoded, named
from allyouneed.models.recurrent import Recurrent
from allyouneed.models.recurrent.model import Encoder
from allyouneed.parts.recurrent import RecurrentStack
from allyouneed.text.vocabulary import Vocabulary

BOOK = (0.1, -0.2, 0.8, 1.3, -0.3)  # the vector of the well-known drawing
MOST = 60
SHOWN = 5
CHECKED = (6, 12, 24, 48)
HARDLY = 1.5  # times as often as a guess


class BottleneckInputs(Inputs):
    """The first `n` words of a text; an empty `text` is a long one that is here. `probe` asks what can be read out of
    the vector again, which takes some seconds the first time.
    """

    n: int = Field(6, ge=1, le=MOST)
    text: str = Field("", max_length=2000)
    all: bool = False
    probe: bool = False
    model: str = any_model("zoo:rnnencdec-en-fr", "recurrent-both")


@lru_cache(maxsize=8)
def first_word(tokenizer: Vocabulary, model: Recurrent) -> list[float]:
    """How strongly the first word still moves the vector, in texts of several lengths."""
    texts = [" ".join(LONG.split()[:count]) for count in CHECKED]
    return [influence(model, tokenizer.wrap(tokenizer.encode(text)))[1][0] for text in texts]


def forgetting(curves: list[list[dict[str, float]]]) -> list[dict[str, Any]]:
    """The claims that the first words are found less often in long texts than in short ones, as a share, and that in
    the middle third of long texts the probe finds hardly more than a guess.
    """
    short, long = (sum(place["probe"] for place in curve[: LENGTHS[0]]) for curve in curves)
    third = LENGTHS[-1] // 3
    middle = curves[-1][third:-third]
    found, guessed = (sum(place[kind] for place in middle) for kind in ("probe", "guess"))
    less, times = long / max(short, 1e-9), found / max(guessed, 1e-9)
    words = {"word": str(LENGTHS[0]), "origin": str(LENGTHS[-1])}
    return [
        {"key": "bottleneck.claim-probe", **words, "value": less, "holds": less < 1},
        {
            "key": "bottleneck.claim-middle",
            "word": "middle",
            "origin": words["origin"],
            "value": times,
            "holds": times < HARDLY,
        },
    ]


def compute(inputs: BottleneckInputs, models: Models) -> dict[str, Any]:
    """The vector, what each word still does to it, and what the decoder makes of it."""
    words = (inputs.text.strip() or LONG).split()[: inputs.n]
    with recurrent(models, inputs.model) as (pipe, model):
        if model.config.attention != "none":
            raise FigureError("error.no-vector")
        text = " ".join(words)
        ids = pipe.tokenizer.wrap(encoded(pipe.tokenizer, text, "text", pipe.config.max_length - pipe.n_marks))
        vector, strengths = influence(model, ids)
        translation = pipe.translate([text], beam=1)[0].text
        names = named(pipe.tokenizer, ids)
        curve = first_word(pipe.tokenizer, model)
        read = [recall(model, pipe.tokenizer, length) for length in LENGTHS] if inputs.probe else []
    return {
        "text": text,
        "words": len(words),
        "tokens": names,
        "vector": vector if inputs.all else vector[:SHOWN],
        "width": len(vector),
        "book_width": len(BOOK),
        "book": BOOK,
        "burden": {"book": len(words) / len(BOOK), "own": len(words) / len(vector)},
        "influence": strengths,
        "checked": CHECKED,
        "first": curve,
        "read": read,
        "lengths": LENGTHS,
        "translation": translation,
        "claims": [
            {
                "key": "bottleneck.claim",
                "word": str(CHECKED[0]),
                "origin": str(CHECKED[-1]),
                "value": curve[0] / max(curve[-1], 1e-12),
                "holds": curve[-1] < curve[0],
            },
            *(forgetting(read) if read else []),
        ],
        "model": models.card(inputs.model),
        "used": {"n": len(words)},
    }


WIDGET = Widget(BottleneckInputs, compute, (influence, vector_of, recovered, Encoder.forward, RecurrentStack.forward))
