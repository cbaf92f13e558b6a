"""The soft lookup as a library: a word comes with its question, every word has a title and contents."""

from typing import Any

import torch
from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, any_model
from allyouneed.guide.widgets.heads import Places, one_value
from allyouneed.guide.widgets.self_attention import by_words, look, names_of
from allyouneed.guide.widgets.texts import encoded, words_of
from allyouneed.parts.attention import attention_weights, naive_attend
from allyouneed.pipeline import Pipeline

EXAMPLE = "The cat sat on the mat"
VISITOR = 3  # "sat" asks
LONGEST_SENTENCE = 64  # tokens, marks included
CONTENTS = 16  # numbers of a value that are shown


class LibraryInputs(Inputs):
    """The visitor is a word of the sentence, from 1; `head` -1 is the mean of all."""

    sentence: str = Field("", max_length=2000)
    visitor: int = Field(VISITOR, ge=1, le=LONGEST_SENTENCE)
    layer: int = Field(2, ge=0, le=127)
    head: int = Field(2, ge=-1, le=127)
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


@torch.no_grad()
def compute(inputs: LibraryInputs, models: Models) -> dict[str, Any]:
    """How much of each book the visitor reads, and the contents of each."""
    with models.use(inputs.model, Pipeline) as pipe:
        most = pipe.config.max_length - pipe.n_marks
        written = encoded(pipe.tokenizer, inputs.sentence or EXAMPLE, "sentence", most, LONGEST_SENTENCE - pipe.n_marks)
        ids, lookups = look(pipe, written)
        places = Places.within(inputs.layer, inputs.head, lookups)
        seen = lookups[places.layer]
        words = words_of(pipe.tokenizer, ids)
        names, sentence = names_of(pipe.tokenizer, ids, words), pipe.tokenizer.decode(written)
        every = seen.weights()
        value = one_value(seen, max(places.head, 0))[0, 0]
    weights = by_words(every.mean(0) if places.head < 0 else every[places.head], words)
    visitor = min(inputs.visitor + (names[0]["kind"] == "bos"), len(names))
    row = weights[visitor - 1]
    contents = torch.stack([value[places].mean(0)[:CONTENTS] for places in words])
    return {
        "names": names,
        "sentence": sentence,
        "weights": row,
        "sum": row.sum().item(),
        "contents": contents,
        "read": row @ contents,
        "model": models.card(inputs.model),
        "used": {"visitor": min(inputs.visitor, len(names)), "layer": places.layer, "head": places.head},
        "limits": {"visitor": len(names), "layer": places.layers - 1, "head": places.heads - 1},
        "at": visitor,
    }


WIDGET = Widget(LibraryInputs, compute, (attention_weights, by_words, naive_attend))
