"""The attention story in one package: sequence models built from the same few parts, trained, searched and seen.

The names below are loaded when they are first used, so that `import allyouneed` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allyouneed.checkpoints.native import load_model, save_model
    from allyouneed.errors import InputError, UsageError
    from allyouneed.guide import widget
    from allyouneed.lens.attention import Attention
    from allyouneed.models.presets import PRESETS, build
    from allyouneed.models.transformer import Transformer, TransformerConfig
    from allyouneed.pipeline import (
        Filling,
        Generation,
        LanguageModel,
        MaskedModel,
        Score,
        Translation,
        Translator,
        load,
    )
    from allyouneed.text.tokenizer import Tokenizer

__all__ = [
    "PRESETS",
    "Attention",
    "Filling",
    "Generation",
    "InputError",
    "LanguageModel",
    "MaskedModel",
    "Score",
    "Tokenizer",
    "Transformer",
    "TransformerConfig",
    "Translation",
    "Translator",
    "UsageError",
    "build",
    "load",
    "load_model",
    "save_model",
    "widget",
]

_HOMES = {
    "PRESETS": "models.presets",
    "Attention": "lens.attention",
    "Filling": "pipeline",
    "Generation": "pipeline",
    "InputError": "errors",
    "LanguageModel": "pipeline",
    "MaskedModel": "pipeline",
    "Score": "pipeline",
    "Tokenizer": "text.tokenizer",
    "Transformer": "models.transformer",
    "TransformerConfig": "models.transformer",
    "Translation": "pipeline",
    "Translator": "pipeline",
    "UsageError": "errors",
    "build": "models.presets",
    "load": "pipeline",
    "load_model": "checkpoints.native",
    "save_model": "checkpoints.native",
    "widget": "guide",
}


def __getattr__(name: str) -> Any:
    """Loads a public name, or the version, when it is first asked for."""
    if name == "__version__":
        return import_module("importlib.metadata").version("allyouneed")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"allyouneed.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
