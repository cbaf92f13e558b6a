"""Where a token stands: added to what it is, or turned into its queries and keys."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

RotaryLayout = Literal["halves", "pairs"]
RotaryScaling = Literal["none", "linear", "ntk", "yarn", "llama3"]
Turn = tuple[Tensor, Tensor]  # cosines and sines


def sinusoids(length: int, d_model: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)) -> [length, D] (Vaswani 2017, section
    3.5).

    Computed in log space and float64, so that far positions keep their digits; returned as float32.
    """
    angle = angles(length, d_model)  # [length, ceil(D/2)]
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :d_model].float()


def sinusoids_in_halves(length: int, d_model: int) -> Tensor:
    """The same numbers, all sines before all cosines -> [length, D] (the order of tensor2tensor and Marian)."""
    angle = angles(length, d_model)
    return torch.cat((angle.sin(), angle.cos()), dim=-1)[:, :d_model].float()


def angles(length: int, d_model: int) -> Tensor:
    """p / 10000^(2i/D) of each position and each pair, [length, ceil(D/2)], in float64 and by way of the logarithm."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))
    return position * frequency


def real_positions(keep: Tensor) -> Tensor:
    """Positions counted over real tokens only, so that padding on either side moves nothing: keep [B, S] -> [B, S]."""
    return (keep.long().cumsum(-1) - 1).clamp_min(0)


def last_real(keep: Tensor) -> Tensor:
    """Where the last real token of each row stands: keep [B, T] -> [B]."""
    return keep.shape[1] - 1 - keep.flip(1).int().argmax(1)


def positions_within(documents: Tensor) -> Tensor:
    """Positions that begin again with each document: numbers of documents [B, S] -> [B, S]."""
    place = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return place - torch.where(begins, place, 0).cummax(-1).values


@dataclass(frozen=True)
class Rotary:
    """Each pair of a head's widths is turned by an angle that grows with the position, so that a query and a key meet
    at an angle that depends on their distance alone (RoPE: Su 2021, section 3.2).

    The first `width` of a head are turned. The pairs are (i, i + width/2) in the layout "halves", and (2i, 2i + 1), as
    in the paper, in "pairs".

    For texts longer than `trained_length`: "linear" divides positions by `factor` (Chen 2023), "ntk" raises the base so
    that the slowest pair is slowed by it, and "yarn" (Peng 2023, section 3.2) and "llama3" (Dubey 2024) slow only the
    pairs that make few turns over the trained length: all of it below `low` turns, none above `high`.
    """

    width: int
    base: float = 10_000.0
    layout: RotaryLayout = "halves"
    scaling: RotaryScaling = "none"
    factor: float = 1.0
    trained_length: int = 8192
    low: float = 1.0
    high: float = 4.0
    attention: float | None = None

    def frequencies(self) -> Tensor:
        """Radians a position of each pair, [width / 2], in float64."""
        base = self.base
        if self.scaling == "ntk":
            base *= self.factor ** (self.width / (self.width - 2))
        frequency = base ** (-torch.arange(0, self.width, 2, dtype=torch.float64) / self.width)
        if self.scaling == "linear":
            return frequency / self.factor
        if self.scaling in ("yarn", "llama3"):
            kept = self._share_kept(frequency)
            return kept * frequency + (1 - kept) * frequency / self.factor
        return frequency

    def _share_kept(self, frequency: Tensor) -> Tensor:
        """1 for pairs that keep their frequency, 0 for those that are slowed by the factor, else what lies between."""
        if self.scaling == "llama3":
            turns = self.trained_length * frequency / (2 * math.pi)
            return ((turns - self.low) / (self.high - self.low)).clamp(0, 1)

        def pair_with(turns: float) -> float:
            return self.width * math.log(self.trained_length / (turns * 2 * math.pi)) / (2 * math.log(self.base))

        first = max(math.floor(pair_with(self.high)), 0)
        last = min(math.ceil(pair_with(self.low)), self.width - 1)
        place = torch.arange(len(frequency), dtype=torch.float64)
        return 1 - ((place - first) / max(last - first, 1e-3)).clamp(0, 1)

    @property
    def magnitude(self) -> float:
        """What turned queries and keys are multiplied by: more than 1 in YaRN alone (Peng 2023)."""
        if self.scaling != "yarn":
            return 1.0
        return 0.1 * math.log(self.factor) + 1 if self.attention is None else self.attention

    def turn(self, positions: Tensor) -> Turn:
        """Cosines and sines of positions [..., T] -> two [..., T, width / 2], in float32."""
        # The product is taken in float32, as published models were trained.
        angle = positions[..., None].float() * self.frequencies().float().to(positions.device)
        return angle.cos() * self.magnitude, angle.sin() * self.magnitude


def naive_rotate(heads: Tensor, turn: Turn, layout: RotaryLayout) -> Tensor:
    """Turns the first widths of heads [B, H, T, K] by cosines and sines that broadcast to [B, H, T, width / 2]."""
    cosine, sine = turn
    width = 2 * cosine.shape[-1]
    turned, rest = heads[..., :width], heads[..., width:]
    if layout == "halves":
        left, right = turned.chunk(2, -1)
        turned = torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1)
    else:
        left, right = turned[..., 0::2], turned[..., 1::2]
        turned = torch.stack((left * cosine - right * sine, right * cosine + left * sine), -1).flatten(-2)
    turned = turned.to(heads.dtype)
    return turned if rest.shape[-1] == 0 else torch.cat((turned, rest), -1)


def _pairs(heads: Tensor, width: int, layout: RotaryLayout) -> tuple[Tensor, Tensor]:
    """Views of the first and the second of each pair: heads [B, H, T, K] -> two [B, H, T, width / 2]."""
    turned = heads[..., :width]
    if layout == "pairs":
        return turned[..., 0::2], turned[..., 1::2]
    return turned[..., : width // 2], turned[..., width // 2 :]


def _turned(heads: Tensor, cosine: Tensor, sine: Tensor, layout: RotaryLayout) -> Tensor:
    width, out = 2 * cosine.shape[-1], torch.empty_like(heads)
    (left, right), (new_left, new_right) = (_pairs(x, width, layout) for x in (heads, out))
    torch.mul(left, cosine, out=new_left)
    torch.mul(right, cosine, out=new_right)
    new_left.addcmul_(right, sine, value=-1)
    new_right.addcmul_(left, sine)
    out[..., width:] = heads[..., width:]
    return out


class Turning(torch.autograd.Function):
    """`naive_rotate` with half the passes over the heads; the gradient turns the other way."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, cosine: Tensor, sine: Tensor, layout: RotaryLayout) -> Tensor:
        """Keeps nothing of the heads."""
        ctx.save_for_backward(cosine, sine)
        ctx.layout = layout
        return _turned(heads, cosine, sine, layout)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None, None, None]:
        """The transpose of a turn is the turn back."""
        cosine, sine = ctx.saved_tensors
        return Turning.apply(grad_outputs[0], cosine, -sine, ctx.layout), None, None, None


def rotate(heads: Tensor, turn: Turn, layout: RotaryLayout) -> Tensor:
    """Turns the first widths of heads [B, H, T, K] by cosines and sines that broadcast to [B, H, T, width / 2]."""
    cosine, sine = turn
    # torch's compiler goes astray where halves of one tensor are written apart, and needs no help with the passes.
    if heads.dtype != cosine.dtype or torch.compiler.is_compiling():
        return naive_rotate(heads, turn, layout)
    return Turning.apply(heads, cosine, sine, layout)
