"""Attention at length beside other libraries, sparse beside full, and Mamba's block beside another one.

mambapy is measured where it is: pip install --no-deps mambapy. Then run this file: python benchmarks/length.py
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from allyouneed.measure import turns
from allyouneed.measure.layers import HEADS, WIDTH, Setting, StateSpace, passes, prepare
from allyouneed.measure.turns import Pass
from allyouneed.parts import masks
from allyouneed.parts.attention import attend
from allyouneed.parts.backends import Backend

WINDOW, BLOCK, DRAWN = 512, 64, 3
STATES = 256  # the width of Mamba's block
HUGGING_FACE = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "attention_probs_dropout_prob": 0.0}


def ours(kind: str, length: int) -> Pass:
    """A layer as `allyouneed bench attention` measures it."""
    return prepare(kind, Setting(length, WINDOW))


class Alone(nn.Module):
    """Attention without the products around it: the input is queries, keys and values."""

    def __init__(self, backend: Backend, length: int) -> None:
        super().__init__()
        self.backend: Backend = backend
        near = masks.causal() & masks.sliding_window(WINDOW)
        self.mask = masks.causal() if backend == "fused" else near

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        heads = x.unflatten(2, (HEADS, -1)).transpose(1, 2)
        return attend(heads, heads, heads, self.mask, backend=self.backend).transpose(1, 2).flatten(2)


class Longformer(nn.Module):
    """Hugging Face's attention of that name, two global tokens included, and the product behind it."""

    def __init__(self, length: int) -> None:
        super().__init__()
        kinds = import_module("transformers.models.longformer.modeling_longformer")
        config = kinds.LongformerConfig(**HUGGING_FACE, attention_window=[WINDOW])
        self.look, self.output = kinds.LongformerSelfAttention(config, 0), nn.Linear(WIDTH, WIDTH)
        kind = torch.zeros(1, length)
        kind[:, :2] = 1  # above zero: global
        self.register_buffer("kind", kind)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        kind: Any = self.kind
        seen = self.look(x, kind, is_index_masked=kind < 0, is_index_global_attn=kind > 0, is_global_attn=True)
        return self.output(seen[0])


class BigBird(nn.Module):
    """Hugging Face's attention of that name in blocks, and the product behind it."""

    def __init__(self, length: int) -> None:
        super().__init__()
        kinds = import_module("transformers.models.big_bird.modeling_big_bird")
        config = kinds.BigBirdConfig(
            **HUGGING_FACE, block_size=BLOCK, num_random_blocks=DRAWN, max_position_embeddings=length
        )
        self.look, self.output = kinds.BigBirdBlockSparseAttention(config, seed=0).train(), nn.Linear(WIDTH, WIDTH)
        self.masks = kinds.BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, length), BLOCK)

    def forward(self, x: Tensor) -> Tensor:
        """[1, n, D] -> [1, n, D]."""
        blocked, band, rows, columns = self.masks
        return self.output(self.look(x, band, rows, columns, blocked, blocked)[0])


def layer(make: Callable[[int], nn.Module], length: int) -> Pass:
    """A layer of this file."""
    torch.manual_seed(0)
    return passes(make(length), length, WIDTH)


def state_space(length: int) -> Pass:
    """Our block with a selective state space."""
    torch.manual_seed(0)
    return passes(StateSpace(STATES), length, STATES)


def mambapy(length: int) -> Pass:
    """mambapy's block, which runs the recurrence as a parallel scan."""
    kinds = import_module("mambapy.mamba")
    torch.manual_seed(0)
    return passes(kinds.MambaBlock(kinds.MambaConfig(d_model=STATES, n_layers=1)), length, STATES)


def show(title: str, measured: list[turns.Peer]) -> None:
    """A line each: seconds, memory, and how many times as long as the first takes."""
    print(f"\n{title}")
    rows = {peer.name: (peer.median(0) + peer.median(1), peer) for peer in measured if not peer.failure}
    first = next(iter(rows.values()))[0]
    for name, (seconds, peer) in rows.items():
        print(
            f"{name:28} forward {peer.median(0):7.3f} s  backward {peer.median(1):7.3f} s  {peer.median(2):7,.0f} MB  "
            f"{seconds / first:5.2f} x the first's time  others {peer.disturbance:.0%}"
        )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each takes its turn (default 3)")
    parser.add_argument("--length", type=int, default=16_384, help="tokens that attention reads (default 16,384)")
    parser.add_argument("--scan", type=int, default=2_048, help="tokens that Mamba's block reads (default 2,048)")
    options = parser.parse_args()
    length, scan = options.length, options.scan
    kinds = ("window, sparse", "Longformer, two-way", "BigBird, two-way", "full, tiled", "full, fused")
    attention: dict[str, turns.Prepared] = {kind: (ours, (kind, length)) for kind in kinds}
    attention |= {f"Hugging Face {make.__name__}": (layer, (make, length)) for make in (Longformer, BigBird)}
    show(f"Attention, {length:,} tokens, width {WIDTH}, {HEADS} heads", turns.measure(attention, rounds=options.rounds))
    alone: dict[str, turns.Prepared] = {
        f"{backend}, alone": (layer, (partial(Alone, backend), length)) for backend in ("sparse", "fused")
    }
    show(f"Attention alone, {length:,} tokens, window {WINDOW} and full", turns.measure(alone, rounds=options.rounds))
    blocks: dict[str, turns.Prepared] = {"Mamba": (state_space, (scan,))}
    if find_spec("mambapy"):
        blocks["mambapy"] = (mambapy, (scan,))
    show(f"Mamba's block, {scan:,} tokens, width {STATES}", turns.measure(blocks, rounds=options.rounds))


if __name__ == "__main__":
    main()
