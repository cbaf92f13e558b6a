"""Weights in few bits: blocks of small integers with a scale of their own, as GGUF files store them, back to float32.

The layouts are those of the format's public description (ggml, docs/gguf.md and the block structures it refers to).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Kind:
    """How a tensor is stored: `values` numbers in each block of `size` bytes, and what makes numbers of blocks."""

    name: str
    values: int
    size: int
    expand: Callable[[Bytes], Floats]  # [blocks, size] -> [blocks, values]


def half(pair: NDArray[Any]) -> Floats:
    """Float16 numbers in little-endian byte pairs: [blocks, 2 n] -> [blocks, n]."""
    return np.ascontiguousarray(pair).view("<f2").astype(np.float32)


def nibbles(packed: NDArray[Any]) -> NDArray[Any]:
    """Two numbers of 4 bits in each byte; all the low ones come first: [..., n] -> [..., 2 n]."""
    return np.concatenate((packed & 15, packed >> 4), axis=-1)


def f32(blocks: Bytes) -> Floats:
    """The numbers themselves, where they lie."""
    return blocks.view("<f4")


def bf16(blocks: Bytes) -> Floats:
    """The upper halves of float32 numbers."""
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


def q8_0(blocks: Bytes) -> Floats:
    """d · q: a half d, then 32 signed bytes q."""
    return half(blocks[:, :2]) * blocks[:, 2:].view(np.int8)


def q4_0(blocks: Bytes) -> Floats:
    """d · (q - 8): a half d, then 32 numbers q of 4 bits."""
    return half(blocks[:, :2]) * (nibbles(blocks[:, 2:]).view(np.int8) - 8)


def q4_1(blocks: Bytes) -> Floats:
    """d · q + m: halves d and m, then 32 numbers q of 4 bits."""
    return half(blocks[:, :2]) * nibbles(blocks[:, 4:]) + half(blocks[:, 2:4])


def q4_k(blocks: Bytes) -> Floats:
    """d · s · q - e · m: halves d and e, then for each 32 of the 256 numbers q of 4 bits a scale s and a minimum m of 6
    bits. The lower 4 bits of the last four scales and minima share bytes; their upper 2 top those of the first four.
    """
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate((first & 63, (third & 15) | (first >> 6) << 4), axis=-1)  # [blocks, 8]
    minima = np.concatenate((second & 63, (third >> 4) | (second >> 6) << 4), axis=-1)
    numbers = nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    scale: Floats = half(blocks[:, :2]) * scales
    minimum: Floats = half(blocks[:, 2:4]) * minima
    return (scale[..., None] * numbers - minimum[..., None]).reshape(-1, 256)


def q6_k(blocks: Bytes) -> Floats:
    """d · s · (q - 32): the lower 4, then upper 2 bits of 256 numbers q, a signed byte s for each 16, and a half d."""
    low, high = blocks[:, :128].reshape(-1, 2, 64), blocks[:, 128:192].reshape(-1, 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    upper = (high >> shifts & 3) << 4  # [blocks, 2, 4, 32]
    numbers = (nibbles(low).reshape(-1, 2, 4, 32) | upper).view(np.int8) - 32
    scale = half(blocks[:, 208:]) * blocks[:, 192:208].view(np.int8)  # [blocks, 16]
    return (scale[..., None] * numbers.reshape(-1, 16, 16)).reshape(-1, 256)


KINDS = {
    0: Kind("F32", 1, 4, f32),
    1: Kind("F16", 1, 2, half),
    2: Kind("Q4_0", 32, 18, q4_0),
    3: Kind("Q4_1", 32, 20, q4_1),
    8: Kind("Q8_0", 32, 34, q8_0),
    12: Kind("Q4_K", 256, 144, q4_k),
    14: Kind("Q6_K", 256, 210, q6_k),
    30: Kind("BF16", 1, 2, bf16),
}

# The other numbers of the format, so that a refusal can name what the file holds.
OTHERS = {
    6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS",
    18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32",
    27: "I64", 28: "F64", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
