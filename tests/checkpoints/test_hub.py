"""Models by their hub name, out of a cache as the hub's library keeps it."""

import shutil
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import filter_repo_objects

from allyouneed.checkpoints.hub import UNWANTED, WANTED
from allyouneed.checkpoints.huggingface import save_huggingface
from allyouneed.errors import InputError, UsageError
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import LanguageModel, load
from allyouneed.text.tokenizer import Tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def cached(cache: Path, organisation: str, name: str) -> Path:
    """The folder of a model's files at its newest commit."""
    repository = cache / f"models--{organisation}--{name}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT, "ascii")
    folder = repository / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    return folder


def test_a_cached_model_is_loaded_by_its_name(cache: Path, decoder: Transformer, tokenizer: Tokenizer) -> None:
    save_huggingface(cache / "saved", decoder, tokenizer.for_line("decoder"))
    shutil.copytree(cache / "saved", cached(cache, "someone", "small"), dirs_exist_ok=True)
    by_name, by_folder = (load(name, LanguageModel) for name in ("hf:someone/small", cache / "saved"))
    assert by_name.name == "hf:someone/small"
    [one], [other] = (pipe.score(["The mouse ate the cheese."]) for pipe in (by_name, by_folder))
    assert one.logprobs == other.logprobs


def test_a_gguf_file_is_named_behind_its_model(cache: Path) -> None:
    (cached(cache, "someone", "quantised") / "q8.gguf").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"q8\.gguf"):
        load("hf:someone/quantised/q8.gguf")


def test_only_what_is_read_is_fetched() -> None:
    read = ["config.json", "generation_config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"]
    read += ["README.md", "source.spm", "target.spm", "tokenizer.json", "tokenizer.model", "tokenizer_config.json"]
    read += ["added_tokens.json", "special_tokens_map.json", "vocab.json"]
    others = ["consolidated.safetensors", "merges.txt", "onnx/config.json", "pytorch_model.bin", "vocab.txt"]
    chosen = filter_repo_objects([*read, *others], allow_patterns=WANTED, ignore_patterns=UNWANTED)
    assert list(chosen) == read


@pytest.mark.parametrize("name", ["hf:small", "hf:/small", "hf:someone/", "hf:someone/small/pytorch_model.bin"])
def test_no_name_of_a_model(cache: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"hf:organisation/name and hf:organisation/name/FILE\.gguf"):
        load(name)


def test_names_that_the_hub_forbids(cache: Path) -> None:
    with pytest.raises(UsageError, match="is no model of the hub"):
        load("hf:../..")


def test_what_is_not_there_and_what_is_pickled(cache: Path) -> None:
    with pytest.raises(InputError, match="hf:someone/none is not in the cache"):
        load("hf:someone/none")
    (cached(cache, "someone", "old") / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"hf:someone/old has no safetensors\. .* are never opened"):
        load("hf:someone/old")
