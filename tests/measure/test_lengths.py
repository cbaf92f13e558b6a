"""Layers against length: every kind runs, and the arithmetic of the report is right."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allyouneed.errors import UsageError
from allyouneed.measure import lengths, turns
from allyouneed.measure.layers import KINDS, REFERENCE, Setting, prepare
from allyouneed.measure.lengths import Report, Row, break_even, exponent, published
from allyouneed.measure.memory import MARK, peak_memory_mb

BIGBIRD = next(kind for kind in KINDS if "BigBird" in kind)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_runs_forward_and_backward(kind: str) -> None:
    forward, backward, megabytes = prepare(kind, Setting(40, 16))()
    assert forward > 0
    assert math.isnan(backward) if "flex" in kind else backward > 0
    assert megabytes >= 0


ANEW = """
from allyouneed.measure.memory import Peak

peak = Peak()
for megabytes in (64, 8):
    peak.begin()
    held = bytearray(megabytes * 1024 * 1024)
    print(peak.megabytes())
    del held
"""


@pytest.mark.skipif(not MARK.exists(), reason="this system cannot begin its memory mark anew")
def test_the_peak_begins_anew() -> None:
    # In a process of its own: one that has freed memory before takes new blocks from there.
    run = subprocess.run([sys.executable, "-c", ANEW], capture_output=True, text=True, check=True)
    first, second = map(float, run.stdout.split())
    assert 60 < first < 70
    assert 6 < second < 12
    assert peak_memory_mb() > 20


def test_exponent_and_break_even() -> None:
    assert exponent({1: 3.0, 2: 12.0, 4: 48.0}) == pytest.approx(2)
    assert exponent({1: 3.0}) is None
    full = {1000: 1.0, 2000: 4.0, 4000: 16.0}
    linear = {length: 3 * length / 1000 for length in full}  # as long as n² where n = 3000
    assert break_even(linear, full) == 3000
    assert break_even({1000: 0.5, 2000: 5.0, 4000: 20.0}, full) is None
    assert break_even({1000: 0.5, 2000: 3.0, 4000: 9.0}, full) == 1000
    assert break_even({1000: 0.5, 2000: 4.0, 4000: 9.0}, full) == 2000
    assert break_even({500: 1.0}, full) is None


def rows() -> list[Row]:
    times = {"full, naive": (2, 8, None), REFERENCE: (1, 4, 16), BIGBIRD: (2, 4.8, 8), "full, flex": (1, 4, None)}
    return [
        Row(kind, length, seconds / 3, None if "flex" in kind else 2 * seconds / 3, seconds * 10, 0.05)
        for kind, own in times.items()
        for length, seconds in zip((1000, 2000, 4000), own, strict=True)
        if seconds is not None
    ]


def test_the_table_has_a_line_a_kind() -> None:
    lines = Report(rows(), 512).table().splitlines()
    assert "Windows hold 512 keys" in lines[0]
    assert lines[2] == "| layer | n = 1,000 | n = 2,000 | n = 4,000 | exponent | faster from |"
    assert lines[4] == "| full, naive | 2.000 s, 20 MB | 8.000 s, 80 MB | - | 2.00 | - |"
    assert lines[5] == "| full, fused | 1.000 s, 10 MB | 4.000 s, 40 MB | 16.000 s, 160 MB | 2.00 | - |"
    assert lines[6] == f"| {BIGBIRD} | 2.000 s, 20 MB | 4.800 s, 48 MB | 8.000 s, 80 MB | 1.00 | 2,311 |"
    assert lines[7].startswith("| full, flex | 0.333 s, 10 MB (forward) | 1.333 s, 40 MB (forward) | - |")
    assert lines[7].endswith("| - |")


def test_files(tmp_path: Path) -> None:
    report = Report(rows(), 512)
    for suffix in ("png", "svg", "json", "md"):
        report.save(tmp_path / f"lengths.{suffix}")
        assert (tmp_path / f"lengths.{suffix}").stat().st_size > 300
    facts = json.loads((tmp_path / "lengths.json").read_text("utf-8"))
    assert facts["kinds"][BIGBIRD] == {"exponent": pytest.approx(1.0), "faster_from": 2311}
    assert facts["rows"][0]["backward"] == pytest.approx(4 / 3)
    assert len(facts["rows"]) == 10
    assert BIGBIRD in (tmp_path / "lengths.svg").read_text("utf-8")
    with pytest.raises(
        UsageError, match=r"lengths.gif: the ending says the format, and it is one of .png, .svg, .json"
    ):
        report.save(tmp_path / "lengths.gif")


def test_what_does_not_fit_is_left_out_and_what_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(peers: dict[str, Any], *, rounds: int, **options: Any) -> list[turns.Peer]:
        found: list[turns.Peer] = []
        for kind, (work, (name, setting)) in peers.items():
            assert (work, name) == (prepare, kind)
            seconds = [setting.length / 2e3, setting.length / 1e3, setting.length / 10]
            failure = "no memory" if kind == "Mamba" else ""
            found.append(turns.Peer(kind, [seconds] * rounds, [0.0] * rounds, failure=failure))
            for _ in range(rounds + 1):
                options["on_progress"]()
        return found

    monkeypatch.setattr(turns, "measure", fake)
    told: list[int] = []
    kinds = ["full, naive", REFERENCE, "Mamba"]
    found = lengths.measure(kinds, [4000, 16_000], window=512, rounds=2, on_progress=lambda: told.append(1))
    assert [(row.kind, row.length) for row in found] == [
        ("full, naive", 4000),
        (REFERENCE, 4000),
        (REFERENCE, 16_000),
    ]
    assert found[0] == Row("full, naive", 4000, 2.0, 4.0, 400.0, 0.0)
    assert len(told) == lengths.amount(kinds, [4000, 16_000], rounds=2)


def test_what_ships_follows_from_its_own_rows() -> None:
    found = published()
    report = Report([Row(**row) for row in found["rows"]], found["window"])
    for kind, said in found["kinds"].items():
        assert report.growth(kind) == pytest.approx(said["exponent"], abs=1e-3)
        assert report.pays(kind) == (said["faster_from"] and pytest.approx(said["faster_from"], rel=1e-3))
