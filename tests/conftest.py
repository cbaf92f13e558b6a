"""Fixtures for every room: small models with random weights, one of each line, and folders that hold them."""

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
def decoder(tokenizer: Tokenizer) -> Transformer:
    """A decoder as they are built today: rotary positions, grouped heads, gated. None may change it."""
    torch.manual_seed(6)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        n_heads=4,
        n_kv_heads=2,
        d_ff=48,
        n_encoder_layers=0,
        n_decoder_layers=2,
        norm_placement="pre",
        norm="rms",
        final_norm=True,
        activation="silu",
        gated=True,
        bias=False,
        positions="rotary",
        embedding_scale=False,
        max_length=64,
    )
    return sharper(Transformer(config).eval())


@pytest.fixture(scope="session")
def encoder(tokenizer: Tokenizer) -> Transformer:
    """An encoder with a head for masked words. None may change it."""
    torch.manual_seed(7)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        n_heads=4,
        d_ff=48,
        n_encoder_layers=2,
        n_decoder_layers=0,
        activation="gelu",
        positions="learned",
        embedding_scale=False,
        embedding_norm=True,
        output_transform=True,
        output_bias=True,
        max_length=64,
    )
    return sharper(Transformer(config).eval())


def sharper(model: Transformer) -> Transformer:
    """Larger weights, so that what is likely depends on what was read."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0 if parameter.dim() == 2 else 1.0)
    return model


@pytest.fixture(scope="session")
def decoder_folder(decoder: Transformer, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The decoder's folder, to be read and not written."""
    folder = tmp_path_factory.mktemp("saved-decoder") / "decoder"
    save_model(folder, decoder, tokenizer.for_line("decoder"))
    return folder


@pytest.fixture(scope="session")
def encoder_folder(encoder: Transformer, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encoder's folder, to be read and not written."""
    folder = tmp_path_factory.mktemp("saved-encoder") / "encoder"
    save_model(folder, encoder, tokenizer.for_line("encoder"))
    return folder


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
