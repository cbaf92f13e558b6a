"""Models that point at points, and the two that name positions beside them."""

from collections.abc import Mapping

from allyouneed.models.pointer import PointerConfig
from allyouneed.models.presets.preset import Preset, Value

PAPER = "Vinyals 2015, section 4.1: one layer of 256 or 512 units"
SMALL = "for two cores: the shape of Vinyals 2015"
SMALL_FIELDS: Mapping[str, Value] = {"d_model": 128, "d_attention": 64, "first_weights": "scaled"}


def preset(fields: Mapping[str, Value], source: str) -> Preset:
    """A preset for models that read points."""
    return Preset(fields, None, None, source, config=PointerConfig)


POINTERS: dict[str, Preset] = {
    "pointer-256": preset({"d_model": 256}, PAPER),
    "pointer-512": preset({"d_model": 512}, PAPER),
    "positions-attention-512": preset({"d_model": 512, "output": "attention", "max_points": 50}, PAPER),
    "positions-512": preset({"d_model": 512, "output": "plain", "max_points": 50}, PAPER),
    "pointer-small": preset(SMALL_FIELDS, SMALL),
    "positions-attention-small": preset(
        {**SMALL_FIELDS, "d_model": 104, "output": "attention", "max_points": 50}, SMALL
    ),
    "positions-small": preset({**SMALL_FIELDS, "output": "plain", "max_points": 50}, SMALL),
}
