"""A small model from each minor version: whatever was written once is read for good, and computes the same."""

import json
from pathlib import Path

import pytest
import torch

from allyouneed.checkpoints.native import load_model
from allyouneed.text.tokenizer import BOS, EOS

STORED = sorted((Path(__file__).parent / "stored").iterdir())


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
@torch.no_grad()
def test_stored_model_computes_what_it_did(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    _, model, tokenizer, _ = load_model(folder)
    source, target = tokenizer.encode(expected["source"]), tokenizer.encode(expected["target"])
    assert source == expected["source_tokens"]
    assert target == expected["target_tokens"]
    assert tokenizer.decode(target) == expected["target"]
    logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))[0, -1]
    torch.testing.assert_close(logits, torch.tensor(expected["last_logits"]), rtol=1e-4, atol=1e-4)
