"""`allyouneed convert`: the same model in another format."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints.huggingface.settings import settled
from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def decoder_folder(decoder: Transformer, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("native") / "decoder"
    save_model(folder, decoder, tokenizer.for_line("decoder"))
    return folder


def test_there_and_back_again_nothing_has_changed(command: Command, decoder_folder: Path, tmp_path: Path) -> None:
    status, out, err = command("convert", decoder_folder, tmp_path / "theirs")
    assert (status, out, err) == (0, f"{tmp_path / 'theirs'}\n", "")
    assert json.loads((tmp_path / "theirs" / "config.json").read_text("utf-8"))["model_type"] == "llama"
    assert command("convert", tmp_path / "theirs", tmp_path / "ours").status == 0
    first, again = load_model(decoder_folder), load_model(tmp_path / "ours")
    assert settled(first.config) == settled(again.config)
    assert first.tokenizer.encode("The mouse.") == again.tokenizer.encode("The mouse.")
    assert first.tokenizer.marks == again.tokenizer.marks
    for (name, tensor), other in zip(first.model.state_dict().items(), again.model.state_dict().values(), strict=True):
        assert torch.equal(tensor, other), name
    assert "Converted from theirs." in (tmp_path / "ours" / "README.md").read_text("utf-8")


def test_a_foreign_tokenizer_goes_along(command: Command, decoder_folder: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "the": 1, "mouse": 2, "</s>": 3}, "[UNK]"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    core.add_special_tokens(["</s>"])
    command("convert", decoder_folder, tmp_path / "theirs")
    core.save(str(tmp_path / "theirs" / "tokenizer.json"))
    (tmp_path / "theirs" / "tokenizer_config.json").write_text('{"eos_token": "</s>", "unk_token": "[UNK]"}', "utf-8")
    assert command("convert", tmp_path / "theirs", tmp_path / "ours").status == 0
    tokenizer = load_model(tmp_path / "ours").tokenizer
    assert tokenizer.encode("the mouse") == [1, 2]
    assert (tokenizer.eos, tokenizer.unk, tokenizer.vocab_size) == (3, 0, 4)
    assert command("convert", tmp_path / "ours", tmp_path / "back").status == 0
    written = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text("utf-8"))
    assert (written["eos_token"], written["unk_token"]) == ("</s>", "[UNK]")


def test_a_family_may_be_chosen(command: Command, decoder_folder: Path, tmp_path: Path) -> None:
    assert command("convert", decoder_folder, tmp_path / "theirs", "--family", "mistral").status == 0
    assert json.loads((tmp_path / "theirs" / "config.json").read_text("utf-8"))["model_type"] == "mistral"
    status, _, err = command("convert", decoder_folder, tmp_path / "other", "--family", "qwen5")
    assert (status, err.startswith('There is no family "qwen5" (known: llama, mistral,')) == (2, True)
    status, _, err = command("convert", tmp_path / "theirs", tmp_path / "other", "--family", "llama")
    assert (status, err) == (2, "A family belongs to the format huggingface.\n")


def test_what_the_other_format_cannot_hold_is_refused_with_all_reasons(
    command: Command, decoder_folder: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    strange = replace(load_model(decoder_folder).config, embedding_scale=True, embedding_norm=True)
    save_model(tmp_path / "strange", Transformer(strange), tokenizer)
    status, out, err = command("convert", tmp_path / "strange", tmp_path / "theirs", "--family", "llama")
    assert (status, out) == (1, "")
    assert (
        err == "Llama cannot hold this model: embedding_norm is True, not False; embedding_scale is True, not False.\n"
    )
    assert not (tmp_path / "theirs").exists()


def test_nothing_is_overwritten(command: Command, decoder_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    status, _, err = command("convert", decoder_folder, tmp_path)
    assert (status, err) == (1, f"{tmp_path} is there already: name a new folder.\n")
    status, _, err = command("convert", decoder_folder, tmp_path / "new", "--to", "allyouneed")
    assert (status, err) == (2, f"{decoder_folder} has the format allyouneed already.\n")


def test_what_is_no_model_is_said(command: Command, tmp_path: Path) -> None:
    assert "is neither a folder nor a shipped model" in command("convert", tmp_path / "none", tmp_path / "new").err
    assert "lacks config.json" in command("convert", tmp_path, tmp_path / "new").err
    (tmp_path / "model.bin").write_bytes(b"\x80")
    assert "model.bin, which is never opened" in command("convert", tmp_path / "model.bin", tmp_path / "new").err
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    assert "neither a model folder" in command("convert", tmp_path / "notes.txt", tmp_path / "new").err
    (tmp_path / "model.gguf").write_bytes(b"GGUX")
    assert command("convert", tmp_path / "model.gguf", tmp_path / "new").status == 1


def test_graphs_are_written_for_onnxruntime(command: Command, decoder_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    target = tmp_path / "graphs"
    assert command("convert", decoder_folder, target, "--to", "onnx") == (0, f"{target}\n", "")
    assert (target / "model.onnx").is_file()
    assert (target / "README.md").read_text("utf-8").startswith("# graphs\n")
