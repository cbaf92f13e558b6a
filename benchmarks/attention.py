"""Layers against the length of the text: time and peak memory of each kind, forward and backward.

`python benchmarks/attention.py --lengths 512 1024 2048 4096 --json attention.json`. Every kind of layer maps [1, n, D]
to [1, n, D] and sees nothing that comes later, except for "two-way" ones. Each runs in a process of its own.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import turns

WIDTH, HEADS = 512, 8
NAIVE_LIMIT = 8192  # beyond it the weights alone take many gigabytes

HEAD = """One layer of width {width} ({heads} heads of {head}), float32, one text of n tokens, forward and backward,
{threads} threads: seconds, and megabytes beyond weights and input. Windows hold {window} keys. The last columns are the
exponent of the time's growth over all lengths, and the shortest n here at which the kind is faster than full attention.
"""


def prepare(kind: str, length: int, window: int) -> turns.Pass:
    """What measures one layer: seconds forward, seconds backward, and megabytes that came on top."""
    import torch

    torch.manual_seed(0)
    layer = KINDS[kind](length, window)
    x, upstream = torch.randn(1, length, WIDTH, requires_grad=True), torch.randn(1, length, WIDTH)
    inputs = [x, *layer.parameters()]

    def run() -> list[float]:
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak begins anew
        before = turns.peak_memory_mb()
        found: list[Any] = []
        forward = turns.timed([lambda: found.append(layer(x))])
        backward = turns.timed([lambda: torch.autograd.grad(found[0], inputs, upstream)])
        return [*forward, *backward, turns.peak_memory_mb() - before]

    return run


def attending(backend: str, make_mask: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """An attention layer whose lookup goes through a backend, under the mask of a length and a window."""

    def make(length: int, window: int) -> Any:
        from typing import cast

        from torch import Tensor, nn

        from allyouneed.parts.attention import MultiHeadAttention, attend
        from allyouneed.parts.backends import Backend

        mask = make_mask(length, window)

        class Attending(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.heads = MultiHeadAttention(WIDTH, HEADS)

            def forward(self, x: Tensor) -> Tensor:
                keys, values = self.heads.keys_values(x)
                mixed = attend(self.heads.queries(x), keys, values, mask, backend=cast(Backend, backend))
                return self.heads.output(mixed.transpose(1, 2).flatten(2))

        return Attending()

    return make


def causal(length: int, window: int) -> Any:
    """All that was before."""
    from allyouneed.parts import masks

    return masks.causal()


def windowed(length: int, window: int) -> Any:
    """The last keys."""
    from allyouneed.parts import masks

    return masks.causal() & masks.sliding_window(window)


def window_global_random(length: int, window: int) -> Any:
    """A window both ways, two blocks of 64 global tokens, and three random blocks (Zaheer 2020, appendix E)."""
    from allyouneed.parts import masks

    near = masks.sliding_window(window // 2 + 1, ahead=window // 2)
    count = min(3, -(-length // 64))
    return near | masks.global_tokens(128) | masks.random_blocks(length, block=64, count=count, seed=0)


def state_space(length: int, window: int) -> Any:
    """A block with a selective state space."""
    from torch import Tensor, nn

    from allyouneed.models.mamba import MambaConfig, Mixer, reset_mixer

    class StateSpace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mixer = Mixer(MambaConfig(d_model=WIDTH, n_layers=1))
            reset_mixer(self.mixer, self.mixer.config)

        def forward(self, x: Tensor) -> Tensor:
            return self.mixer(x, self.mixer.at_rest(len(x)))[0]

    return StateSpace()


def recurrent(length: int, window: int) -> Any:
    """One LSTM."""
    from torch import Tensor, nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.LSTM(WIDTH, WIDTH, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.cells(x)[0]

    return Recurrent()


def convolutional(length: int, window: int) -> Any:
    """A convolution over five tokens, the last one included."""
    from torch import Tensor, nn
    from torch.nn.functional import pad

    class Convolutional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.filters = nn.Conv1d(WIDTH, WIDTH, 5)

        def forward(self, x: Tensor) -> Tensor:
            return self.filters(pad(x.transpose(1, 2), (4, 0))).transpose(1, 2)

    return Convolutional()


REFERENCE = "full, fused"
KINDS: dict[str, Callable[[int, int], Any]] = {
    "full, naive": attending("naive", causal),
    "full, tiled": attending("tiled", causal),
    REFERENCE: attending("fused", causal),
    "window, fused": attending("fused", windowed),
    "window, tiled": attending("tiled", windowed),
    "window, sparse": attending("sparse", windowed),
    "two-way window, global, random": attending("sparse", window_global_random),
    "state space": state_space,
    "recurrent": recurrent,
    "convolutional": convolutional,
}


def measure(kinds: Sequence[str], lengths: Sequence[int], *, window: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each kind and length; the kinds of a length take turns."""
    rows: list[dict[str, Any]] = []
    for length in lengths:
        fit = [kind for kind in kinds if length <= NAIVE_LIMIT or "naive" not in kind]
        peers = turns.measure({kind: (prepare, (kind, length, window)) for kind in fit}, rounds=rounds)
        for peer in peers:
            if peer.failure:
                continue
            forward, backward, megabytes = (peer.median(part) for part in range(3))
            rows.append(
                {
                    "kind": peer.name,
                    "length": length,
                    "forward": forward,
                    "backward": backward,
                    "megabytes": megabytes,
                    "others": peer.disturbance,
                }
            )
    return rows


def seconds(rows: list[dict[str, Any]], kind: str) -> dict[int, float]:
    """Forward and backward together, by length."""
    return {row["length"]: row["forward"] + row["backward"] for row in rows if row["kind"] == kind}


def exponent(times: dict[int, float]) -> float | None:
    """How the time grows: the slope of its logarithm over that of the length, by least squares."""
    if len(times) < 2:
        return None
    points = [(math.log(length), math.log(time)) for length, time in times.items()]
    x, y = (sum(point[i] for point in points) / len(points) for i in range(2))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def break_even(times: dict[int, float], reference: dict[int, float]) -> int | None:
    """The shortest length from which on a kind is always faster than the reference."""
    shared = sorted(times.keys() & reference.keys())
    slower = [length for length in shared if times[length] >= reference[length]]
    return next((length for length in shared if not slower or length > slower[-1]), None)


def table(rows: list[dict[str, Any]], *, window: int) -> str:
    """A Markdown table, a line a kind."""
    lengths = sorted({row["length"] for row in rows})
    reference = seconds(rows, REFERENCE)
    columns = ["layer", *(f"n = {length:,}" for length in lengths), "exponent", "faster from"]
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        times = seconds(rows, kind)
        memory = {row["length"]: row["megabytes"] for row in rows if row["kind"] == kind}
        cells = [f"{times[n]:.3f} s, {memory[n]:,.0f} MB" if n in times else "-" for n in lengths]
        growth, pays = exponent(times), None if kind == REFERENCE else break_even(times, reference)
        lines.append([kind, *cells, "-" if growth is None else f"{growth:.2f}", "-" if pays is None else f"{pays:,}"])
    head = HEAD.format(width=WIDTH, heads=HEADS, head=WIDTH // HEADS, threads=turns.THREADS, window=window)
    return head + "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Measures, shows and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", nargs="+", type=int, default=[512, 1024, 2048, 4096])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--window", type=int, default=512, help="keys that a window holds")
    parser.add_argument("--rounds", type=int, default=3, help="turns of every kind")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    options = parser.parse_args()
    rows = measure(options.kinds, options.lengths, window=options.window, rounds=options.rounds)
    print(table(rows, window=options.window))
    if options.json is not None:
        options.json.write_text(json.dumps({"window": options.window, "rows": rows}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
