"""What attention costs in time and memory, and what exact tiles, windows, shared heads and a state save."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import Inputs, Widget
from allyouneed.guide.widgets.clock import exponent, seconds
from allyouneed.measure.lengths import published
from allyouneed.models.mamba import MambaConfig
from allyouneed.parts.attention import attend, naive_attend
from allyouneed.parts.masks import causal, sliding_window
from allyouneed.parts.scan import Selection, selective_scan
from allyouneed.parts.sparse import sparse_attend
from allyouneed.parts.tiled import SIZE, tiled_attend

LENGTHS = (64, 128, 256, 512, 1024)
Kind = Literal["naive", "tiled", "window", "state"]
KINDS: tuple[Kind, ...] = ("naive", "tiled", "window", "state")
MEASURED_WINDOW = 128  # at most: the lengths that are measured are short
HEADS, WIDTH = 2, 32  # of what is measured
NUMBER = 4  # bytes of a weight while it is computed
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")  # each 1,024 of the one before
PAYING = {
    "window": "window, sparse",
    "bigbird": "BigBird, two-way",
    "longformer": "Longformer, two-way",
    "state": "Mamba",
    "lstm": "recurrent, LSTM",
}


class CostInputs(Inputs):
    """A decoder of `layers` layers whose `heads` query heads of width `width` share `kv_heads` keys and values, over a
    text of `n` tokens; numbers of the cache take `bytes`, and a window sees `window` tokens.
    """

    n: Literal[512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072] = 4096
    layers: int = Field(32, ge=1, le=126)
    heads: Literal[1, 2, 4, 8, 16, 32, 64, 128] = 32
    kv_heads: Literal[1, 2, 4, 8, 16, 32, 64, 128] = 8
    width: Literal[32, 64, 128, 256] = 128
    bytes: Literal[1, 2, 4] = 2
    window: Literal[64, 128, 256, 512, 1024, 4096] = 256
    again: int = Field(0, ge=0, le=9999)


def cache_bytes(inputs: CostInputs, kv_heads: int, n: int) -> int:
    """Keys and values of every layer: 2 · L · h_kv · d · n numbers."""
    return 2 * inputs.layers * kv_heads * inputs.width * n * inputs.bytes


def sized(count: int) -> dict[str, float | str]:
    """Bytes in the unit in which they are read best."""
    power = min((max(count, 1).bit_length() - 1) // 10, len(UNITS) - 1)
    return {"number": count / 1024**power, "unit": UNITS[power]}


def state_bytes(inputs: CostInputs) -> int:
    """What a state-space decoder (Gu & Dao 2023) as wide and deep keeps instead: of each channel its state and the last
    inputs of its convolution, however long the text is.
    """
    channels = MambaConfig.expand * inputs.heads * inputs.width
    return inputs.layers * channels * (MambaConfig.d_state + MambaConfig.d_convolution - 1) * inputs.bytes


def triple(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random queries, keys and values."""
    query, key, value = torch.randn(3, 1, HEADS, n, WIDTH, generator=torch.Generator().manual_seed(n))
    return query, key, value


def scan(n: int) -> Callable[[], object]:
    """A selective scan over as many channels as the lookups are wide."""
    random = torch.Generator().manual_seed(n)
    channels, numbers = HEADS * WIDTH, MambaConfig.d_state
    x, steps = torch.randn(1, n, channels, generator=random), torch.rand(1, n, channels, generator=random)
    write, read = torch.randn(2, 1, n, numbers, generator=random)
    return partial(selective_scan, x, Selection(0.1 * steps, -torch.ones(numbers, channels), write, read))


def lookup_of(kind: Kind, window: int, n: int) -> Callable[[], object]:
    """One causal lookup over n tokens, or a state-space scan."""
    match kind:
        case "naive":
            return partial(naive_attend, *triple(n), causal())
        case "tiled":
            return partial(tiled_attend, *triple(n), causal())
        case "window":
            return partial(sparse_attend, *triple(n), causal() & sliding_window(window))
        case "state":
            return scan(n)


@lru_cache(maxsize=64)
def measured(kind: Kind, window: int, again: int) -> list[float]:
    """Milliseconds of each kind at each length, on this machine."""
    with torch.inference_mode():
        return [1000 * seconds(lookup_of(kind, window, n)) for n in LENGTHS]


@lru_cache(maxsize=1)
def difference() -> float:
    """How far the tiled form lies from the definition at the greatest length, at most."""
    with torch.inference_mode():
        x = triple(LENGTHS[-1])
        return (tiled_attend(*x, causal()) - naive_attend(*x, causal())).abs().max().item()


def paying() -> dict[str, Any]:
    """From how many tokens on a whole layer is faster than full attention, as it was measured once."""
    found = published()
    lengths = {name: found["kinds"][kind]["faster_from"] for name, kind in PAYING.items()}
    return {"lengths": lengths, **{name: found[name] for name in ("window", "width", "threads", "machine")}}


def compute(inputs: CostInputs, models: Models) -> dict[str, Any]:
    """Formulas as numbers, and times."""
    kv_heads = min(inputs.kv_heads, inputs.heads)
    n, seen = inputs.n, min(inputs.window, inputs.n)
    window: dict[Kind, int] = {"window": min(inputs.window, MEASURED_WINDOW)}  # which changes no other kind
    times = {kind: measured(kind, window.get(kind, 0), inputs.again) for kind in KINDS}
    weights = {"naive": inputs.heads * n * n * NUMBER, "tiled": inputs.heads * min(SIZE, n) ** 2 * NUMBER}
    cache = {
        "own": cache_bytes(inputs, kv_heads, n),
        "all": cache_bytes(inputs, inputs.heads, n),
        "window": cache_bytes(inputs, kv_heads, seen),
        "state": state_bytes(inputs),
    }
    return {
        "operations": {
            "full": 4 * n * n * inputs.heads * inputs.width,
            "window": 4 * n * seen * inputs.heads * inputs.width,
        },
        "weights": weights,
        "cache": cache,
        "sizes": {
            "weights": {name: sized(count) for name, count in weights.items()},
            "cache": {name: sized(count) for name, count in cache.items()},
        },
        "saved": inputs.heads / kv_heads,
        "groups": [inputs.heads // kv_heads] * kv_heads,
        "lengths": LENGTHS,
        "times": times,
        "exponents": {name: exponent(list(LENGTHS), curve) for name, curve in times.items()},
        "difference": difference(),
        "paying": paying(),
        "measured": {"heads": HEADS, "width": WIDTH},
        "used": {"kv_heads": kv_heads},
    }


WIDGET = Widget(
    CostInputs, compute, (cache_bytes, state_bytes, tiled_attend, sparse_attend, selective_scan, attend, naive_attend)
)
