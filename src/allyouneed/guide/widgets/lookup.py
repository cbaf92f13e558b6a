"""The soft lookup on "How are you": three scores become three weights, and the weights mix three value vectors."""

from typing import Any, Literal

import torch
from pydantic import Field

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget, any_model
from allyouneed.guide.widgets.heads import Places, one_head, one_value
from allyouneed.guide.widgets.measures import entropy_bits
from allyouneed.guide.widgets.texts import named, row
from allyouneed.lens.attention import recording
from allyouneed.parts.attention import attention_scores, attention_weights, naive_attend
from allyouneed.pipeline import Translator
from allyouneed.text.tokenizer import EOS

WORDS = ("How", "are", "you")
UPDATED = 1  # "are" is the word that looks


class LookupInputs(Inputs):
    """Three scores set by hand (`scores` = "hand"), or the model's own for the same word (`scores` = "model")."""

    scores: Literal["hand", "model"] = "hand"
    how: float = Field(0.693, ge=-4, le=8)
    are: float = Field(0.0, ge=-4, le=8)
    you: float = Field(1.946, ge=-4, le=8)
    temperature: float = Field(1.0, ge=0.1, le=5)
    layer: int = Field(0, ge=0, le=63)
    head: int = Field(0, ge=0, le=63)
    model: str = any_model("zoo:en-fr", "both")


@torch.no_grad()
def compute(inputs: LookupInputs, models: Models) -> dict[str, Any]:
    """Weights of the scores, the value vectors of a real layer and head, and their mixture."""
    with models.use(inputs.model, Translator) as pipe:
        words = [pipe.tokenizer.encode(word) for word in WORDS]
        ids = [token for word in words for token in word] + [EOS]
        with recording(pipe.model) as lookups:
            pipe.model.encode(row(ids))
        tokens = named(pipe.tokenizer, ids)
    places = Places.within(inputs.layer, inputs.head, lookups["encoder"])
    seen = lookups["encoder"][places.layer]
    query, key = one_head(seen, places.head)
    value = one_value(seen, places.head)
    if inputs.scores == "model":
        query = query[..., sum(map(len, words[: UPDATED + 1])) - 1, :].unsqueeze(-2)  # a word looks from its last token
        scale = key.shape[-1] ** -0.5
    else:
        # Three keys at right angles: the query's components are then the scores themselves.
        query, key, scale = torch.tensor([[[[inputs.how, inputs.are, inputs.you]]]]), torch.eye(3)[None, None], 1.0
        value = torch.stack([part.mean(-2) for part in value[..., :-1, :].split([*map(len, words)], -2)], -2)
        tokens = [{"text": word, "kind": "piece"} for word in WORDS]
    weights = attention_weights(query, key, scale=scale / inputs.temperature)[0, 0, 0]
    mixed = naive_attend(query, key, value, scale=scale / inputs.temperature)[0, 0, 0]
    return {
        "tokens": tokens,
        "scores": attention_scores(query, key, scale=scale)[0, 0, 0],
        "weights": weights,
        "sum": weights.sum().item(),
        "entropy": entropy_bits(weights).item(),
        "values": value[0, 0],
        "weighted": weights[:, None] * value[0, 0],
        "mixed": mixed,
        "model": models.card(inputs.model),
        **places.limits(),
    }


WIDGET = Widget(LookupInputs, compute, (naive_attend, attention_weights, attention_scores, entropy_bits))
