"""Fixtures for every room: one small model with random weights, and a folder that holds it."""

import shutil
from pathlib import Path

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.tokenizer import Tokenizer

TEXTS = [
    "The mouse ate the cheese.",
    "The cat sat on the mat, and the dog slept.",
    "La souris a mangé le fromage.",
    "Le chat s'est assis sur le tapis, et le chien dormait.",
]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocab_size=320)


@pytest.fixture(scope="session")
def model(tokenizer: Tokenizer) -> Transformer:
    """Two layers a side with grouped heads. Shared by all tests: none may change it."""
    torch.manual_seed(5)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        n_heads=4,
        n_kv_heads=2,
        d_ff=48,
        n_encoder_layers=2,
        n_decoder_layers=2,
        norm_placement="pre",
        final_norm=True,
        max_length=64,
    )
    return Transformer(config).eval()


@pytest.fixture(scope="session")
def saved_folder(model: Transformer, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, to be read and not written."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    save_model(folder, model, tokenizer, recipe_text="seed = 1\n", card="# A small model\n")
    return folder


@pytest.fixture
def model_folder(saved_folder: Path, tmp_path: Path) -> Path:
    """A copy of the model's folder, to be changed at will."""
    return Path(shutil.copytree(saved_folder, tmp_path / "model"))
