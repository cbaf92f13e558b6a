"""Rotary positions in a `config.json`: read as both generations of it say them, written so that both can read them."""

import math
from typing import Any

from allyouneed.checkpoints.huggingface.settings import Refused, Settings
from allyouneed.models.config import TransformerConfig

FREE = (
    *("rotary_base", "rotary_scaling", "rotary_factor", "rotary_trained_length"),
    *("rotary_low", "rotary_high", "rotary_attention"),
)
SCALINGS = ("default", "linear", "yarn", "llama3")


def rotary_fields(ask: Settings, *, max_length: int, base: float = 10_000.0, share: float = 1.0) -> dict[str, Any]:
    """Our fields of `rope_theta` and `rope_scaling`, or of `rope_parameters` that holds both.

    `base` and `share`, of each head that is turned, count where nothing is said.
    """
    base = ask.get("rope_theta", base)
    given: dict[str, Any] = {}
    for name in ("rope_parameters", "rope_scaling"):
        given = {**given, **ask.get(name, dict[str, Any]())}
    if any(isinstance(value, dict) for value in given.values()):
        ask.reasons.append(f"rope_parameters differ between kinds of layers ({', '.join(given)})")
        return {}
    scaling = Settings(given, ask.reasons)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    fields: dict[str, Any] = {
        "rotary_base": scaling.get("rope_theta", base),
        "rotary_share": scaling.get("partial_rotary_factor", ask.get("partial_rotary_factor", share)),
    }
    if kind not in SCALINGS:
        why = {"dynamic": ", whose angles change while a text grows", "longrope": ", which has a table of factors"}
        ask.reasons.append(f'the rope type is "{kind}"{why.get(kind, "")}, and here it can be {", ".join(SCALINGS)}')
    if kind == "default" or kind not in SCALINGS:
        return fields
    fields["rotary_factor"] = scaling.get("factor", 1.0)
    fields["rotary_scaling"] = kind
    if kind == "linear":
        return fields
    fields["rotary_trained_length"] = ask.get(
        "original_max_position_embeddings", scaling.get("original_max_position_embeddings", max_length)
    )
    if kind == "llama3":
        return {
            **fields,
            "rotary_low": scaling.get("low_freq_factor", 1.0),
            "rotary_high": scaling.get("high_freq_factor", 4.0),
        }
    scaling.only("truncate", True)
    fields["rotary_factor"] = scaling.get("factor", max_length / fields["rotary_trained_length"])
    return {
        **fields,
        "rotary_low": scaling.get("beta_slow", 1.0),
        "rotary_high": scaling.get("beta_fast", 32.0),
        "rotary_attention": magnitude(scaling, fields["rotary_factor"]),
    }


def magnitude(scaling: Settings, factor: float) -> float:
    """YaRN's factor on queries and keys (Peng 2023), given or made of two others."""

    def grown(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1

    over, under = scaling.get("mscale", 0.0), scaling.get("mscale_all_dim", 0.0)
    return scaling.get("attention_factor", grown(over) / grown(under) if over and under else grown(1.0))


def rope_settings(family: str, config: TransformerConfig) -> dict[str, Any]:
    """`rope_theta` and `rope_scaling`, which newer readers turn into `rope_parameters` themselves."""
    scaling: dict[str, Any] | None = {"rope_type": config.rotary_scaling, "factor": config.rotary_factor}
    if config.rotary_scaling == "none":
        scaling = None
    elif config.rotary_scaling == "llama3":
        scaling["low_freq_factor"], scaling["high_freq_factor"] = config.rotary_low, config.rotary_high
        scaling["original_max_position_embeddings"] = config.rotary_trained_length
    elif config.rotary_scaling == "yarn":
        scaling["beta_slow"], scaling["beta_fast"] = config.rotary_low, config.rotary_high
        scaling["original_max_position_embeddings"] = config.rotary_trained_length
        if config.rotary_attention is not None:
            scaling["attention_factor"] = config.rotary_attention
    elif config.rotary_scaling == "ntk":
        raise Refused(f"{family} cannot hold this model", ["rotary_scaling is ntk, which has no name there"])
    return {"rope_theta": config.rotary_base, "rope_scaling": scaling}
