"""The benchmark of layers against length: every kind runs, and the arithmetic of the table is right."""

from typing import Any

import pytest

import attention
import turns


@pytest.mark.parametrize("kind", list(attention.KINDS))
def test_every_kind_runs_forward_and_backward(kind: str) -> None:
    forward, backward, megabytes = attention.prepare(kind, 40, 16)()
    assert forward > 0
    assert backward > 0
    assert megabytes >= 0


def test_exponent_and_break_even() -> None:
    assert attention.exponent({1: 3.0, 2: 12.0, 4: 48.0}) == pytest.approx(2)
    assert attention.exponent({1: 3.0}) is None
    full = {1: 1.0, 2: 4.0, 4: 16.0}
    assert attention.break_even({1: 3.0, 2: 3.5, 4: 4.0}, full) == 2
    assert attention.break_even({1: 0.5, 2: 5.0, 4: 20.0}, full) is None
    assert attention.break_even({1: 0.5, 2: 3.0, 4: 9.0}, full) == 1


def test_table_has_a_line_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(peers: dict[str, Any], *, rounds: int) -> list[turns.Peer]:
        return [turns.Peer(kind, [[n / 2e3, n / 1e3, n / 10]], [0.0]) for kind, (_, (_, n, _)) in peers.items()]

    monkeypatch.setattr(turns, "measure", fake)
    rows = attention.measure(["full, naive", attention.REFERENCE], [4000, 16_000], window=512, rounds=1)
    lines = attention.table(rows, window=512).splitlines()
    assert lines[-2] == "| full, naive | 6.000 s, 400 MB | - | - | - |"
    assert lines[-1] == "| full, fused | 6.000 s, 400 MB | 24.000 s, 1,600 MB | 1.00 | - |"
