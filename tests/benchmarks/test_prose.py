"""Going on from sentences: prompts alike for every library, and one text whichever way it is written."""

import json
from pathlib import Path

import pytest
import torch

import prose


def test_prompts_are_the_first_tokens_of_long_texts_and_both_ways_write_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prose, "LENGTH", 24)
    torch.set_num_threads(1)
    text = tmp_path / "text.txt"
    lines = [f"{name} opened the door and saw the garden. " * 80 for name in "Anna Tom Mia Ben Eva Max Ida Kim".split()]
    text.write_text("A short line.\n" + "\n".join(lines) + "\n", "utf-8")
    for given in (text, None):
        work = prose.Work("zoo:lm-en", tmp_path / str(given and given.stem))
        work.folder.mkdir()
        work.make(given)
        short, long = work.prompts()
        assert [len(row) for row in short] == [32] * prose.TOGETHER
        assert [row[:32] for row in long] == short
        assert len({len(row) for row in long}) == 1
        assert len({tuple(row) for row in short}) == prose.TOGETHER
        for peer, ahead in (("ahead", True), ("steps", False)):
            assert len(prose.allyouneed(work, peer, ahead)()) == 8
        alone, _, together, _ = json.loads(work.texts("ahead").read_text("utf-8"))
        assert together[: prose.ALONE] == alone
        assert work.texts("ahead").read_text("utf-8") == work.texts("steps").read_text("utf-8")
