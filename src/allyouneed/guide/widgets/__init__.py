"""The figures, by name: one module each, with its inputs and the function that computes its numbers."""

from allyouneed.guide.widgets import causal_mask, cross_attention, lookup, scaling, self_attention, sentences
from allyouneed.guide.widgets.base import Widget

WIDGETS: dict[str, Widget] = {
    "sentences": sentences.WIDGET,
    "scaling": scaling.WIDGET,
    "lookup": lookup.WIDGET,
    "self-attention": self_attention.WIDGET,
    "causal-mask": causal_mask.WIDGET,
    "cross-attention": cross_attention.WIDGET,
}
