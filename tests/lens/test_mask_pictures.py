"""Pictures of masks: what each cell says, in characters and in files."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import avg_pool2d

from allyouneed.errors import UsageError
from allyouneed.lens import mask_pictures
from allyouneed.lens.attention import Lookup
from allyouneed.lens.mask_pictures import MaskView
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.parts.mask_text import mask_from_text
from allyouneed.parts.masks import padding
from allyouneed.parts.patterns import blocks_around, first_block_again


def view(rule: str = "causal & window(3) | global(1)", queries: int = 6, keys: int = 6) -> MaskView:
    return MaskView(mask_from_text(rule, keys), queries, keys, name=rule)


def test_a_small_mask_in_characters() -> None:
    lines = view().text().split("\n")
    assert lines == [
        "causal & window(3) | global(1): 63.9% of 6 × 6 pairs",
        "0 ████████████",
        "1 ████········",
        "2 ██████······",
        "3 ████████····",
        "4 ██··██████··",
        "5 ██····██████",
        "██ may look, ·· may not",
    ]


def test_the_last_queries_have_the_last_positions() -> None:
    lines = view("causal", queries=2).text().split("\n")
    assert lines[1:3] == ["4 ██████████··", "5 ████████████"]
    everything = MaskView(None, 2, 3, rows=["a", "b"], columns=["x", "y", "z"])
    assert everything.text().startswith("everything: 100.0% of 2 × 3 pairs\na ██████\nb ██████\n")


def test_cells_hold_the_share_of_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = view("causal & window(9) | random(4, 2, 5)", 40, 40)
    assert mask.mask is not None
    dense = mask.mask.dense(40, 40).float()
    torch.testing.assert_close(mask.cells(10), avg_pool2d(dense[None, None], 4)[0, 0])
    assert mask.share == pytest.approx(float(dense.mean()))
    uneven = view("causal & window(9)", 30, 37)
    assert uneven.mask is not None
    dense = uneven.mask.dense(30, 37).float()
    cells = uneven.cells(5)
    assert cells.shape == (4, 5)
    assert float(cells[3, 4]) == pytest.approx(float(dense[24:, 32:].mean()))
    monkeypatch.setattr(mask_pictures, "DRAWN", 5)
    assert uneven.share == pytest.approx(float(dense.mean()))


def test_a_long_mask_is_shaded() -> None:
    lines = view("causal", 480, 480).text().split("\n")
    assert lines[0] == "causal: 50.1% of 480 × 480 pairs"
    assert lines[1] == "  0 ▒▒" + "··" * 47
    assert lines[48] == "470 " + "██" * 47 + "▒▒"
    assert lines[-1].endswith("a cell holds 10 × 10 pairs")


def test_of_several_sentences_the_first_is_shown() -> None:
    keep = torch.tensor([[True, True, False], [True, False, False]])
    assert MaskView(padding(keep), 3, 3).text().split("\n")[1] == "0 ████··"


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("length", [6, 100])
def test_a_picture_is_the_same_each_time(suffix: str, length: int, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    view(keys=length, queries=length).save(first)
    view(keys=length, queries=length).save(second)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


def test_numbers(tmp_path: Path) -> None:
    view("causal", 2, 2).save(tmp_path / "a.json")
    facts = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert facts == {
        "mask": "causal",
        "queries": 2,
        "keys": 2,
        "share": 0.75,
        "rows": ["0", "1"],
        "columns": ["0", "1"],
        "cells": [[1.0, 0.0], [1.0, 1.0]],
    }
    with pytest.raises(UsageError, match=r"a.gif: the ending says the format, and for a mask it is one of .png, .svg"):
        view().save(tmp_path / "a.gif")


def test_keys_that_count_more_than_once_stand_in_a_picture_once() -> None:
    attention = MultiHeadAttention(16, 2)
    attention.again = (4, 2)
    x = torch.randn(1, 24, 16)
    own = blocks_around(24, block=4, drawn=0, seed=0, ends=True)
    seen = Lookup(attention, x, attention.keys_values(x)[0], first_block_again(own, 24, block=4, times=2))
    assert seen.rule is not None
    assert torch.equal(seen.rule.dense(24, 24), own.dense(24, 24))
    assert seen.weights(0).shape == (24, 24)
