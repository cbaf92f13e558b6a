"""The figures, by name: one module each, with its inputs and the function that computes its numbers."""

from allyouneed.guide.widgets import causal_mask, cross_attention, lookup, scaling
from allyouneed.guide.widgets.base import Widget

WIDGETS: dict[str, Widget] = {
    "scaling": scaling.WIDGET,
    "lookup": lookup.WIDGET,
    "causal-mask": causal_mask.WIDGET,
    "cross-attention": cross_attention.WIDGET,
}
