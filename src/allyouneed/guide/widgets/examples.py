"""The sentences that a figure shows before the reader types any."""

from typing import NamedTuple

from allyouneed.pipeline import Translator


class Example(NamedTuple):
    """A source and what the decoder reads as its beginning."""

    source: str
    target: str


SHIPPED = {
    "zoo:fr-en": Example("Je vais à l'école", "I am going to school"),
    "zoo:en-fr": Example("I am going to school", "Je vais à l'école"),
}
OTHER = "The mouse ate the cheese."


def example(pipe: Translator) -> Example:
    """The model's own example; a user's model gets an English sentence and its own translation of it."""
    if pipe.name in SHIPPED:
        return SHIPPED[pipe.name]
    return Example(OTHER, pipe.translate([OTHER], beam=1)[0].text.strip() or OTHER)
