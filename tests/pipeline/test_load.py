"""What `load` makes of a place: the right kind of model, or a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from allyouneed.checkpoints import places
from allyouneed.checkpoints.native import SavedModel, load_model
from allyouneed.errors import InputError, UsageError
from allyouneed.pipeline import LanguageModel, MaskedModel, Pipeline, Translator, Writer, load, shipped
from allyouneed.text.tokenizer import Tokenizer


@pytest.fixture
def folders(saved_folder: Path, decoder_folder: Path, encoder_folder: Path) -> dict[type[Pipeline], Path]:
    return {Translator: saved_folder, LanguageModel: decoder_folder, MaskedModel: encoder_folder}


def test_each_line_has_its_kind(folders: dict[type[Pipeline], Path]) -> None:
    for kind, folder in folders.items():
        pipe = load(folder)
        assert type(pipe) is kind
        assert type(load(folder, kind)) is kind
        assert isinstance(pipe.tokenizer, Tokenizer)
        assert pipe.tokenizer.marks == pipe.tokenizer.for_line(pipe.config.line).marks
    assert type(load(folders[LanguageModel], Writer)) is LanguageModel
    assert type(load(folders[Translator], Writer)) is Translator


def test_another_kind_is_refused(folders: dict[type[Pipeline], Path]) -> None:
    decoder = folders[LanguageModel]
    with pytest.raises(
        UsageError, match=f"{decoder} is a decoder, which goes on with a text, and this needs an encoder-decoder"
    ):
        load(decoder, Translator)
    with pytest.raises(UsageError, match="is an encoder, which only reads, and this needs a model that writes"):
        load(folders[MaskedModel], Writer)
    with pytest.raises(UsageError, match=r"is an encoder-decoder, which reads .* and this needs an encoder"):
        load(folders[Translator], MaskedModel)


def test_shipped_models_by_line(
    folders: dict[type[Pipeline], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in folders.values():
        (tmp_path / folder.name).symlink_to(folder)
    monkeypatch.setattr(places, "ZOO", tmp_path)
    assert shipped() == ["zoo:decoder", "zoo:encoder", "zoo:model"]
    assert (shipped("both"), shipped("decoder"), shipped("encoder")) == (
        ["zoo:model"],
        ["zoo:decoder"],
        ["zoo:encoder"],
    )


def test_a_gguf_file_and_a_hugging_face_folder_are_read_by_their_readers(
    decoder_folder: Path, encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def reader(folder: Path) -> Any:
        def read(place: Path) -> SavedModel:
            asked.append(place)
            return load_model(folder)

        return read

    monkeypatch.setattr("allyouneed.checkpoints.conversion.load_gguf", reader(decoder_folder))
    monkeypatch.setattr("allyouneed.checkpoints.conversion.load_huggingface", reader(encoder_folder))
    file, folder = tmp_path / "small.gguf", tmp_path / "small"
    file.write_bytes(b"GGUF")
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}), "utf-8")
    (folder / "README.md").write_text("# Theirs\n", "utf-8")
    assert isinstance(load(file), LanguageModel)
    pipe = load(folder)
    assert isinstance(pipe, MaskedModel)
    assert (pipe.card, pipe.recipe) == ("# Theirs\n", None)
    assert asked == [file, folder]


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "last.ckpt"])
def test_what_is_pickled_is_never_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match=rf"{name}, which is never opened, .* convert it: .*save_pretrained"):
        load(tmp_path / name)
