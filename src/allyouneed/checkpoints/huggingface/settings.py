"""Configs of published models against ours: what one asks for and the other cannot do is collected and said at once."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar, cast

from allyouneed.errors import InputError
from allyouneed.models.config import TransformerConfig
from allyouneed.parts.feedforward import Activation

T = TypeVar("T")

ACTIVATIONS: dict[str, Activation] = {  # their names; the first of each of ours is the one that is written
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu_fast": "gelu-tanh",
    "silu": "silu",
    "swish": "silu",
}


class Refused(InputError):  # noqa: N818 - it says what happened to the model: no error did
    """A model that a family cannot hold, or that this package cannot; `reasons` are all that there are."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        super().__init__(f"{what}: {'; '.join(reasons)}.")
        self.what, self.reasons = what, tuple(reasons)


@dataclass
class Settings:
    """The values of a `config.json`, asked for one by one. What cannot be used is collected in `reasons`."""

    values: Mapping[str, Any]
    reasons: list[str] = field(default_factory=list[str])

    def get(self, name: str, default: T) -> T:
        """A value of the default's type; the default where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return default
        kind = type(default)
        good = isinstance(value, int | float) and not isinstance(value, bool) if kind is float else type(value) is kind
        if not good:
            self.reasons.append(f"{name} is {value!r}, not of type {kind.__name__}")
            return default
        return cast(T, value)

    def need(self, name: str) -> int:
        """A whole number that has to be there."""
        if self.values.get(name) is None:
            self.reasons.append(f"{name} is missing")
        return self.get(name, 1)

    def optional(self, name: str, kind: type[T]) -> T | None:
        """A value of this type, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None or type(value) is kind:
            return value
        self.reasons.append(f"{name} is {value!r}, not of type {kind.__name__}")
        return None

    def only(self, name: str, *allowed: object) -> None:
        """Only these values can be used here; the first of them is meant where the name is missing."""
        value = self.values.get(name, allowed[0])
        if value not in allowed:
            self.reasons.append(f"{name} is {value!r}, and here it can only be {' or '.join(map(repr, allowed))}")

    def activation(self, name: str, default: str) -> Activation:
        """The activation function that a name stands for."""
        value = self.get(name, default)
        if value not in ACTIVATIONS:
            self.reasons.append(f"{name} is {value!r}, which is none of {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS.get(value, "relu")

    def build(self, **config: Any) -> TransformerConfig:
        """The config, or `Refused` with all reasons."""
        self.only("quantization_config", None)
        if not self.reasons:
            try:
                return TransformerConfig(**config)
            except ValueError as error:
                self.reasons.append(str(error))
        raise Refused("it asks for what this package cannot do", self.reasons)


def their_activation(activation: Activation) -> str:
    """The name of an activation function in a `config.json`."""
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == activation)


# Fields that change how a model is trained, never what it computes: no family has to hold them.
TRAINING = ("dropout", "attention_dropout", "balance_weight", "ponder_weight")
SCALED_BY_TURNS = ("yarn", "llama3")


def idle_fields(config: TransformerConfig) -> list[str]:
    """The fields that have no effect beside the others of this config."""
    rotary, scaling = config.positions == "rotary", config.rotary_scaling
    has_effect = {
        "window_layers": config.window is not None,
        "reach_window": config.reach == "window",
        "reach_block": config.reach == "blocks",
        "end_blocks": config.reach == "blocks",
        "random_blocks": config.reach == "blocks",
        "random_choice": config.reach == "blocks" and config.random_blocks > 0,
        "position_offset": config.positions == "learned",
        "rotary_base": rotary,
        "rotary_share": rotary,
        "rotary_layout": rotary,
        "rotary_scaling": rotary,
        "rotary_factor": rotary and scaling != "none",
        "rotary_trained_length": rotary and scaling in SCALED_BY_TURNS,
        "rotary_low": rotary and scaling in SCALED_BY_TURNS,
        "rotary_high": rotary and scaling in SCALED_BY_TURNS,
        "rotary_attention": rotary and scaling == "yarn",
        "relative_buckets": config.positions == "t5",
        "relative_distance": config.positions in ("t5", "shaw"),
        "experts_per_token": config.n_experts > 0,
        "halting_threshold": config.halting,
    }
    return [name for name, effect in has_effect.items() if not effect]


def settled(config: TransformerConfig) -> dict[str, Any]:
    """A config's fields as far as they count: configs of models that compute the same have the same ones.

    Fields without effect have their defaults, and None is replaced by what it stands for.
    """
    values = asdict(config)
    defaults = {field.name: field.default for field in fields(TransformerConfig)}
    for name in (*TRAINING, *idle_fields(config)):
        values[name] = defaults[name]
    values["n_kv_heads"] = config.n_kv_heads or config.n_heads
    values["d_head"] = config.head_width
    for name in ("qkv_bias", "attention_output_bias"):
        values[name] = config.bias if values[name] is None else values[name]
    if config.attention_scale is None:
        values["attention_scale"] = 1 / math.sqrt(config.head_width)
    values["shared_embeddings"] = config.reads_one_table or not config.is_encoder_decoder
    if config.window is not None and config.window_layers is None:
        values["window_layers"] = tuple(range(config.n_decoder_layers))
    if values["rotary_scaling"] == "yarn" and config.rotary_attention is None:
        values["rotary_attention"] = 0.1 * math.log(config.rotary_factor) + 1
    return values


def hold(family: str, config: TransformerConfig, *, free: Collection[str], **fixed: Any) -> None:
    """Raises `Refused` with all that keeps a family from holding a config.

    The family carries the fields in `free` whatever they are; those in `fixed` must be as it says (a tuple names
    several allowed values); all others must be the defaults. Fields without effect are never a reason.
    """
    reasons = misfits(config, free=free, fixed=fixed)
    if reasons:
        raise Refused(f"{family} cannot hold this model", reasons)


def misfits(config: TransformerConfig, *, free: Collection[str], fixed: Mapping[str, Any]) -> list[str]:
    """The reasons of `hold`, a clause for each field."""
    values = settled(config)
    plain = settled(TransformerConfig(1, config.d_model, config.n_heads, d_head=config.d_head, bias=config.bias))
    plain["bias"] = True  # but projections that are said to have none are no second reason
    reasons: list[str] = []
    for name, value in values.items():
        wanted = fixed.get(name, plain[name])
        allowed: tuple[Any, ...] = wanted if isinstance(wanted, tuple) else (wanted,)
        if name not in free and not any(equal(value, one) for one in allowed):
            reasons.append(f"{name} is {value}, not {' or '.join(map(str, allowed))}")
    return reasons


def equal(value: object, other: object) -> bool:
    """Equality of field values; numbers that were computed may differ in their last digits."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-6)
    return value == other


def attention_biases(config: TransformerConfig) -> tuple[bool, bool]:
    """Whether the projections before the heads have a bias, and the one after them."""
    values = settled(config)
    return values["qkv_bias"], values["attention_output_bias"]
