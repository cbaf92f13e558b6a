"""Named sizes: the fields of a config, the published parameter count, and where that stands. A file a line."""

from dataclasses import replace
from typing import cast

from torch import nn

from allyouneed.errors import UsageError, nearest
from allyouneed.models.architectures import assemble
from allyouneed.models.blueprint import blueprint
from allyouneed.models.presets.both import BOTH
from allyouneed.models.presets.decoders import DECODERS
from allyouneed.models.presets.encoders import ENCODERS
from allyouneed.models.presets.mamba import MAMBAS
from allyouneed.models.presets.pointer import POINTERS
from allyouneed.models.presets.preset import Preset as Preset
from allyouneed.models.presets.preset import Value
from allyouneed.models.presets.recurrent import RECURRENT
from allyouneed.models.presets.sets import SETS
from allyouneed.models.presets.turing import TURING
from allyouneed.models.transformer import Transformer, TransformerConfig

PRESETS: dict[str, Preset] = {**BOTH, **DECODERS, **ENCODERS, **MAMBAS, **POINTERS, **RECURRENT, **TURING, **SETS}


def build(name: str, **overrides: Value) -> Transformer:
    """A new model of a preset's size, with fields replaced: `build("transformer-base", vocab_size=37_000)`."""
    return cast(Transformer, assemble(configure(name, **overrides)))


def configure(name: str, **overrides: Value) -> TransformerConfig:
    """The config of a preset with fields replaced; of another class where the preset is for another kind of model.

    Errors name the nearest preset or field.
    """
    preset = preset_named(name)
    allowed = settings_of(name)
    for key in overrides:
        if key not in allowed:
            raise UsageError(f'The preset "{name}" has no setting "{key}".{nearest(key, allowed)}')
    given = {} if preset.vocab_size is None else {"vocab_size": preset.vocab_size}
    try:
        return preset.config.from_fields({**given, **preset.fields, **overrides})
    except (ValueError, TypeError) as error:
        raise UsageError(f'Preset "{name}": {error}.') from error


def preset_named(name: str) -> Preset:
    """A preset. Raises UsageError with the nearest name where there is none."""
    if name not in PRESETS:
        raise UsageError(f'There is no preset "{name}"; there are {", ".join(PRESETS)}.{nearest(name, PRESETS)}')
    return PRESETS[name]


def settings_of(name: str) -> list[str]:
    """The fields of a preset's config."""
    return list(preset_named(name).config.__dataclass_fields__)


def count_parameters(config: TransformerConfig) -> int:
    """How many numbers a model of this config learns, counted without making them.

    The layers of a Transformer's stack are alike, so one of each is laid out.
    """
    if type(config) is not TransformerConfig:
        return count(blueprint(config))
    both = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    deeper = {} if config.shared_depth else {stack: depth - 1 for stack, depth in both.items() if depth}
    few: dict[str, int] = {f"n_{stack}_layers": 1 for stack in deeper}
    if config.positions != "learned":
        few["max_length"] = 1  # tables that are not learned have room for so many
    model = blueprint(replace(config, **few))
    layers = {stack: count(getattr(model, stack)[0]) for stack in deeper}
    return count(model) + sum(more * layers[stack] for stack, more in deeper.items())


def count(module: nn.Module) -> int:
    """How many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())
