"""Models of sets."""

from allyouneed.models.presets.preset import Preset
from allyouneed.models.sets import SetConfig

SETS: dict[str, Preset] = {
    "sets-128": Preset(
        {}, None, None, "Vinyals 2016, section 4.3: the shape; the paper names no widths", config=SetConfig
    ),
    "sets-small": Preset({"d_model": 64}, None, None, "for two cores: the shape of Vinyals 2016", config=SetConfig),
}
