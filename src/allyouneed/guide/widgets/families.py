"""One sentence, three families: what each may see, what it learned to guess, and what it guesses here."""

from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget
from allyouneed.guide.widgets.texts import covering, encoded, named, readable, row
from allyouneed.models.transformer import Transformer
from allyouneed.parts.masks import causal
from allyouneed.pipeline import LanguageModel, MaskedModel, Translator
from allyouneed.tasks.hypotheses import start_of

EXAMPLE = "The cat sat on the mat."
WORD = "sat"
SHOWN = 5
LONGEST_SENTENCE = 40  # tokens
ENCODER, DECODER, BOTH = "zoo:mlm-en", "zoo:lm-en", "zoo:en-fr"


class FamiliesInputs(Inputs):
    """A sentence and one of its words, which the encoder does not see and the decoder has not yet read."""

    sentence: str = Field("", max_length=2000)
    word: str = Field(WORD, max_length=60)


def likeliest(tokenizer: Any, probabilities: Tensor) -> list[dict[str, Any]]:
    """The likeliest tokens with their probabilities. [V]"""
    best = probabilities.topk(SHOWN)
    names = named(tokenizer, best.indices.tolist())
    return [{**name, "p": p} for name, p in zip(names, best.values.tolist(), strict=True)]


def fill_in(pipe: MaskedModel, text: str, word: str) -> dict[str, Any]:
    """What the encoder puts where the word is hidden: it has read both sides."""
    ids = encoded(pipe.tokenizer, text, "sentence", pipe.config.max_length - pipe.n_marks, LONGEST_SENTENCE)
    hidden, mask = covering(pipe.tokenizer, ids, word), pipe.tokenizer.mask
    if not hidden or mask is None:
        raise FigureError("error.word", "word", word=word)
    ids[hidden[0] : hidden[-1] + 1] = [mask]
    tokens = pipe.tokenizer.wrap(ids)
    at = tokens.index(mask)
    states = pipe.model.encode(row(tokens)).states[0]
    names = named(pipe.tokenizer, tokens)
    names[at] = {"text": "?", "kind": "piece"}
    shape = torch.ones(len(tokens), len(tokens))
    return {"read": names, "mask": shape, "top": likeliest(pipe.tokenizer, pipe.model.logits(states[at]).softmax(-1))}


def go_on(pipe: LanguageModel, text: str, word: str) -> dict[str, Any]:
    """What the decoder expects next, having read up to the word."""
    before = text[: text.index(word)].rstrip()
    most = pipe.config.max_length - len(pipe.opening)
    ids = [*pipe.opening, *(encoded(pipe.tokenizer, before, "word", most, LONGEST_SENTENCE) if before else [])]
    if not ids:
        raise FigureError("error.empty", "word")
    states = pipe.model.decode(row(ids))[0]
    probabilities = pipe.model.logits(states[-1]).softmax(-1)
    shape = causal().dense(len(ids), len(ids)).float()
    return {"read": named(pipe.tokenizer, ids), "mask": shape, "top": likeliest(pipe.tokenizer, probabilities)}


def translate(pipe: Translator, text: str) -> dict[str, Any]:
    """What both together write: every word looks at the whole source and at what is written so far."""
    source = encoded(pipe.tokenizer, text, "sentence", pipe.config.max_length - pipe.n_marks, LONGEST_SENTENCE)
    target = pipe.tokenizer.encode(pipe.translate([text], beam=1)[0].text)
    read = pipe.tokenizer.wrap(source)
    written = [start_of(pipe.tokenizer), *target]
    own = causal().dense(len(written), len(written)).float()
    shape = torch.cat((torch.ones(len(written), len(read)), own), 1)
    return {
        "read": named(pipe.tokenizer, read),
        "written": named(pipe.tokenizer, written),
        "mask": shape,
        "translation": readable(pipe.tokenizer, target),
    }


@torch.no_grad()
def compute(inputs: FamiliesInputs, models: Models) -> dict[str, Any]:
    """Mask and answer of each of the three."""
    text = inputs.sentence.strip() or EXAMPLE
    if not inputs.word.strip():
        raise FigureError("error.no-word", "word")
    if inputs.word not in text:
        raise FigureError("error.word", "word", word=inputs.word)
    with models.use(ENCODER, MaskedModel) as pipe:
        encoder = fill_in(pipe, text, inputs.word)
    with models.use(DECODER, LanguageModel) as pipe:
        decoder = go_on(pipe, text, inputs.word)
    with models.use(BOTH, Translator) as pipe:
        both = translate(pipe, text)
    return {
        "sentence": text,
        "encoder": encoder | {"name": ENCODER},
        "decoder": decoder | {"name": DECODER},
        "both": both | {"name": BOTH},
        "model": models.card(ENCODER),
    }


WIDGET = Widget(FamiliesInputs, compute, (fill_in, go_on, translate, Transformer.encode, Transformer.decode))
