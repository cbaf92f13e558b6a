"""Named sizes: the fields of a config, the published parameter count, and where that stands. A file a line."""

from dataclasses import replace

from torch import nn

from allyouneed.errors import UsageError, nearest
from allyouneed.models.blueprint import blueprint
from allyouneed.models.presets.both import BOTH
from allyouneed.models.presets.decoders import DECODERS
from allyouneed.models.presets.encoders import ENCODERS
from allyouneed.models.presets.preset import Preset as Preset
from allyouneed.models.presets.preset import Value
from allyouneed.models.transformer import Transformer, TransformerConfig

PRESETS: dict[str, Preset] = {**BOTH, **DECODERS, **ENCODERS}


def build(name: str, **overrides: Value) -> Transformer:
    """A new model of a preset's size, with fields replaced: `build("transformer-base", vocab_size=37_000)`."""
    return Transformer(configure(name, **overrides))


def configure(name: str, **overrides: Value) -> TransformerConfig:
    """The config of a preset with fields replaced. Errors name the nearest preset or field."""
    if name not in PRESETS:
        raise UsageError(f'There is no preset "{name}"; there are {", ".join(PRESETS)}.{nearest(name, PRESETS)}')
    preset = PRESETS[name]
    allowed = TransformerConfig.__dataclass_fields__
    for key in overrides:
        if key not in allowed:
            raise UsageError(f'A Transformer has no setting "{key}".{nearest(key, allowed)}')
    try:
        return TransformerConfig.from_fields({"vocab_size": preset.vocab_size, **preset.fields, **overrides})
    except (ValueError, TypeError) as error:
        raise UsageError(f'Preset "{name}": {error}.') from error


def count_parameters(config: TransformerConfig) -> int:
    """How many numbers a model of this config learns, counted without making them.

    The layers of a stack are alike, so one of each is laid out.
    """
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
