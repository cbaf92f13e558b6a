"""Nothing but numbers: named sizes, each with its published parameter count and where that stands."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from allyouneed.errors import UsageError, nearest
from allyouneed.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True)
class Preset:
    """Fields of a config, and what the paper says it weighs."""

    fields: Mapping[str, int | float | bool | str]
    vocab_size: int
    published: int | None
    source: str


PRESETS: dict[str, Preset] = {
    "transformer-base": Preset({}, 37_000, 65_000_000, "Vaswani 2017, table 3 (base)"),
    "transformer-big": Preset(
        {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3},
        37_000,
        213_000_000,
        "Vaswani 2017, table 3 (big)",
    ),
    "transformer-small": Preset(
        {
            "d_model": 256,
            "n_heads": 4,
            "d_ff": 1024,
            "n_encoder_layers": 4,
            "n_decoder_layers": 2,
            "norm_placement": "pre",
            "final_norm": True,
        },
        8_000,
        None,
        "for two cores: a deeper encoder and a shallower decoder (Kasai 2021), pre-norm (Xiong 2020)",
    ),
    "transformer-tiny": Preset(
        {
            "d_model": 128,
            "n_heads": 4,
            "d_ff": 512,
            "n_encoder_layers": 2,
            "n_decoder_layers": 2,
            "norm_placement": "pre",
            "final_norm": True,
        },
        4_000,
        None,
        "for a first run of a few minutes",
    ),
}


def build(name: str, **overrides: int | float | bool | str | None) -> Transformer:
    """A new model of a preset's size, with fields replaced: `build("transformer-base", vocab_size=37_000)`."""
    return Transformer(configure(name, **overrides))


def configure(name: str, **overrides: int | float | bool | str | None) -> TransformerConfig:
    """The config of a preset with fields replaced. Errors name the nearest preset or field."""
    if name not in PRESETS:
        raise UsageError(f'There is no preset "{name}"; there are {", ".join(PRESETS)}.{nearest(name, PRESETS)}')
    preset = PRESETS[name]
    allowed = TransformerConfig.__dataclass_fields__
    for key in overrides:
        if key not in allowed:
            raise UsageError(f'A Transformer has no setting "{key}".{nearest(key, allowed)}')
    fields = {"vocab_size": preset.vocab_size, **preset.fields, **overrides}
    try:
        return TransformerConfig(**fields)  # pyright: ignore[reportArgumentType]  # checked by the config itself
    except (ValueError, TypeError) as error:
        raise UsageError(f'Preset "{name}": {error}.') from error


def count_parameters(config: TransformerConfig) -> int:
    """How many numbers a model of this config learns, counted without making them."""
    with torch.device("meta"):
        model = Transformer(config)
    return sum(parameter.numel() for parameter in model.parameters())
