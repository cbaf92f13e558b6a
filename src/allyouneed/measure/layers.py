"""Kinds of layers that map [1, n, D] to [1, n, D]: every way to look at a text here, and those without attention.

All see nothing that comes later, except for the two-way ones.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from allyouneed.measure.memory import Peak
from allyouneed.measure.turns import Pass, timed
from allyouneed.models.mamba import MambaConfig, Mixer, reset_mixer
from allyouneed.parts import masks
from allyouneed.parts.attention import MultiHeadAttention, attend
from allyouneed.parts.backends import Backend
from allyouneed.parts.masks import Mask
from allyouneed.parts.patterns import blocks_around, window_around
from allyouneed.parts.recurrent import RecurrentLayer

WIDTH, HEADS = 512, 8
WEIGHTS_LIMIT = 8192  # tokens beyond which what holds all weights takes many gigabytes
REFERENCE = "full, fused"


@dataclass(frozen=True)
class Setting:
    """What a layer is measured on: a text's length, what a window holds, and where."""

    length: int
    window: int
    device: str = "cpu"


class Attending(nn.Module):
    """Attention through one backend, under a mask."""

    def __init__(self, backend: Backend, mask: Mask) -> None:
        super().__init__()
        self.backend: Backend = backend
        self.mask = mask
        self.heads = MultiHeadAttention(WIDTH, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        keys, values = self.heads.keys_values(x)
        mixed = attend(self.heads.queries(x), keys, values, self.mask, backend=self.backend)
        return self.heads.output(mixed.transpose(1, 2).flatten(2))


class StateSpace(nn.Module):
    """A block with a selective state space."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.mixer = Mixer(MambaConfig(d_model=width, n_layers=1))
        reset_mixer(self.mixer, self.mixer.config)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        return self.mixer(x, self.mixer.at_rest(len(x)))[0]


class Recurrent(nn.Module):
    """One LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = RecurrentLayer("lstm", WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        return self.cells(x)[0]


class Convolutional(nn.Module):
    """A convolution over five tokens, the last one included."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Conv1d(WIDTH, WIDTH, 5)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        return self.filters(pad(x.transpose(1, 2), (4, 0))).transpose(1, 2)


def causal(setting: Setting) -> Mask:
    """All that was before."""
    return masks.causal()


def windowed(setting: Setting) -> Mask:
    """The last keys."""
    return masks.causal() & masks.sliding_window(setting.window)


def around(setting: Setting) -> Mask:
    """A window to both sides, and two tokens that look at all and that all look at (Beltagy 2020, section 3.1)."""
    return window_around(setting.window // 2) | masks.global_tokens(2)


def blocks(setting: Setting) -> Mask:
    """Of blocks of 64 keys the three around, the two ends, and three that are drawn (Zaheer 2020, section 2)."""
    return blocks_around(setting.length, block=64, drawn=3, seed=0, ends=True)


@dataclass(frozen=True)
class Kind:
    """A layer of some kind: how it is made, and how far it is measured on a processor."""

    make: Callable[[Setting], nn.Module]
    longest: int | None = None  # None: any length
    backward: bool = True  # has it a backward pass there?


def attending(backend: Backend, mask: Callable[[Setting], Mask], **limits: Any) -> Kind:
    """Attention through a backend, under the mask of a setting."""
    return Kind(lambda setting: Attending(backend, mask(setting)), **limits)


KINDS: dict[str, Kind] = {
    "full, naive": attending("naive", causal, longest=WEIGHTS_LIMIT),
    "full, tiled": attending("tiled", causal),
    REFERENCE: attending("fused", causal),
    "full, flex": attending("flex", causal, longest=WEIGHTS_LIMIT // 2, backward=False),
    "window, fused": attending("fused", windowed, longest=2 * WEIGHTS_LIMIT),
    "window, tiled": attending("tiled", windowed),
    "window, sparse": attending("sparse", windowed),
    "Longformer, two-way": attending("sparse", around),
    "BigBird, two-way": attending("sparse", blocks),
    "Mamba": Kind(lambda setting: StateSpace()),
    "recurrent, LSTM": Kind(lambda setting: Recurrent()),
    "convolutional": Kind(lambda setting: Convolutional()),
}


def fits(kind: str, setting: Setting) -> bool:
    """Is this kind measured at this length?"""
    longest = KINDS[kind].longest
    return longest is None or setting.length <= longest


def prepare(kind: str, setting: Setting) -> Pass:
    """What measures one layer: seconds forward, seconds backward (not a number where there is no such pass), and the
    megabytes that came on top of weights and input.
    """
    # The plain form of flex-attention is what is measured on a processor.
    warnings.filterwarnings("ignore", "flex_attention called without torch.compile")
    torch.manual_seed(0)
    backward = KINDS[kind].backward or setting.device != "cpu"
    return passes(KINDS[kind].make(setting), setting.length, WIDTH, device=setting.device, backward=backward)


def passes(layer: nn.Module, length: int, width: int, *, device: str = "cpu", backward: bool = True) -> Pass:
    """What measures a layer that maps [1, n, width] to the same; see `prepare`."""
    layer = layer.to(device)
    x, upstream = (torch.randn(1, length, width, device=device) for _ in range(2))
    inputs = [x.requires_grad_(), *layer.parameters()]
    peak = Peak(device)

    def settled(work: Callable[[], Any]) -> Any:
        found = work()
        if device != "cpu":
            torch.cuda.synchronize()
        return found

    def run() -> list[float]:
        peak.begin()
        if not backward:
            with torch.no_grad():
                return [*timed([lambda: settled(lambda: layer(x))]), float("nan"), peak.megabytes()]
        found: list[Tensor] = []
        forward = timed([lambda: settled(lambda: found.append(layer(x)))])
        seconds = timed([lambda: settled(lambda: torch.autograd.grad(found[0], inputs, upstream))])
        return [*forward, *seconds, peak.megabytes()]

    return run
