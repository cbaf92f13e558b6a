import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from allyouneed.checkpoints.native import load_model, own_tensors, save_model
from allyouneed.checkpoints.weights import EmptyParameters
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.tokenizer import Tokenizer


def changed_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    change(config)
    path.write_text(json.dumps(config), "utf-8")


def changed_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def refused(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)


def test_a_folder_may_be_named_by_a_string(model: Transformer, tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(str(tmp_path / "saved"), model, tokenizer)
    assert torch.equal(load_model(str(tmp_path / "saved")).model.embedding.weight, model.embedding.weight)


def test_what_is_saved_comes_back(model: Transformer, tokenizer: Tokenizer, saved_folder: Path) -> None:
    config, loaded, same_tokenizer, recipe = load_model(saved_folder)
    assert config == model.config
    assert recipe == "seed = 1\n"
    assert not loaded.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name
    assert torch.equal(model.get_buffer("encoder_inputs.waves"), loaded.get_buffer("encoder_inputs.waves"))
    assert same_tokenizer.encode("The mouse.") == tokenizer.encode("The mouse.")
    assert (saved_folder / "README.md").read_text("utf-8") == "# A small model\n"


def test_the_folder_holds_plain_files_and_nothing_else(saved_folder: Path) -> None:
    assert sorted(path.name for path in saved_folder.parent.iterdir()) == ["model"]
    assert sorted(path.name for path in saved_folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "recipe.toml",
        "tokenizer.json",
    ]
    assert json.loads((saved_folder / "config.json").read_text("utf-8"))["architecture"] == "transformer"


def test_who_may_read_the_config_may_read_the_weights(saved_folder: Path) -> None:
    modes = {(saved_folder / name).stat().st_mode for name in ("config.json", "model.safetensors", "tokenizer.json")}
    assert len(modes) == 1


def test_half_precision_takes_half_the_room_and_loads_as_float32(
    model: Transformer, tokenizer: Tokenizer, saved_folder: Path, tmp_path: Path
) -> None:
    save_model(tmp_path / "half", model, tokenizer, dtype=torch.float16)
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (saved_folder, tmp_path / "half")]
    assert sizes[1] < 0.6 * sizes[0]
    loaded = load_model(tmp_path / "half").model
    for name, tensor in model.state_dict().items():
        assert loaded.state_dict()[name].dtype == torch.float32
        assert torch.equal(tensor.half().float(), loaded.state_dict()[name])


def test_half_precision_refuses_what_it_cannot_hold(tokenizer: Tokenizer, tmp_path: Path, model_folder: Path) -> None:
    model = load_model(model_folder).model
    with torch.no_grad():
        dict(model.named_parameters())["encoder.0.self_attention.query.weight"][0, 0] = 1e5
    with pytest.raises(InputError, match=r"encoder\.0\.self_attention\.query\.weight .* float16"):
        save_model(tmp_path / "half", model, tokenizer, dtype=torch.float16)
    assert not (tmp_path / "half").exists()


def test_a_tied_tensor_is_stored_once(tokenizer: Tokenizer, tmp_path: Path) -> None:
    small = TransformerConfig(vocab_size=tokenizer.vocab_size, d_model=8, n_heads=2, d_ff=8, tied_embeddings=False)
    model = Transformer(small)
    model.output.weight = model.target_embedding.weight
    save_model(tmp_path / "tied", model, tokenizer)
    names = load_file(tmp_path / "tied" / "model.safetensors").keys()
    assert len(names & {"output.weight", "target_embedding.weight"}) == 1
    assert len(own_tensors(model)) == len(names)


def test_a_tokenizer_of_another_model_is_not_saved(model: Transformer, tokenizer: Tokenizer, tmp_path: Path) -> None:
    other = Transformer(replace(model.config, vocab_size=tokenizer.vocab_size + 5))
    with pytest.raises(InputError, match=r"^The tokenizer has [\d,]+ pieces, but the model's vocabulary has .*another"):
        save_model(tmp_path / "mixed", other, tokenizer)
    assert not (tmp_path / "mixed").exists()


def test_loading_draws_no_random_numbers(saved_folder: Path) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    load_model(saved_folder)
    assert torch.equal(before, torch.get_rng_state())


def test_an_empty_model_has_no_weights_but_its_buffers(model: Transformer) -> None:
    with EmptyParameters():
        empty = Transformer(model.config)
    assert all(parameter.is_meta for parameter in empty.parameters())
    assert torch.equal(empty.get_buffer("encoder_inputs.waves"), model.get_buffer("encoder_inputs.waves"))


def test_saving_again_replaces_and_leaves_other_files(
    model: Transformer, tokenizer: Tokenizer, model_folder: Path
) -> None:
    (model_folder / "notes.txt").write_text("mine", "utf-8")
    save_model(model_folder, model, tokenizer, card="# New\n")
    assert (model_folder / "README.md").read_text("utf-8") == "# New\n"
    assert (model_folder / "recipe.toml").read_text("utf-8") == "seed = 1\n"
    assert (model_folder / "notes.txt").read_text("utf-8") == "mine"
    load_model(model_folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(model_folder: Path, name: str) -> None:
    (model_folder / name).unlink()
    refused(model_folder, f"is no model folder: it lacks {re.escape(name)}")


def test_no_folder(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "There is no model folder .*nowhere")


def test_a_truncated_file(model_folder: Path) -> None:
    path = model_folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    refused(model_folder, rf"is cut short: {len(whole) - 100:,} bytes where {len(whole):,} belong")
    path.write_bytes(whole[:40])
    refused(model_folder, "is cut short: 40 bytes, and its header alone takes")
    path.write_bytes(whole + b"more")
    refused(model_folder, "is damaged")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(200), b"\x80\x02ctorch\n" * 20, b"\x08" + bytes(20)])
def test_a_foreign_file(model_folder: Path, content: bytes) -> None:
    (model_folder / "model.safetensors").write_bytes(content)
    refused(model_folder, r"model\.safetensors is not a safetensors file")


def test_a_damaged_header(model_folder: Path) -> None:
    (model_folder / "model.safetensors").write_bytes((16).to_bytes(8, "little") + b'{"a": 1}' + b" " * 8)
    refused(model_folder, r"model\.safetensors is damaged")


def test_the_first_misfit_is_named(model_folder: Path) -> None:
    names = list(load_file(model_folder / "model.safetensors"))
    name = next(name for name in names if name.startswith("encoder.1.") and name.endswith("weight"))
    changed_weights(model_folder, lambda tensors: tensors.update({name: torch.zeros(3, 5)}))
    refused(model_folder, rf"{re.escape(name)} has the shape \[3, 5\], but the config asks for")
    changed_weights(model_folder, lambda tensors: tensors.pop(name))
    refused(model_folder, f"has no tensor {re.escape(name)}")


def test_a_tensor_too_many(model_folder: Path) -> None:
    changed_weights(model_folder, lambda tensors: tensors.update({"pooler.weight": torch.zeros(2)}))
    refused(model_folder, r"holds a tensor pooler\.weight that the config has no place for")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers(model_folder: Path, value: float) -> None:
    changed_weights(model_folder, lambda tensors: tensors["embedding.weight"].__setitem__((2, 3), value))
    refused(model_folder, r"embedding\.weight holds values that are not finite numbers")


def test_a_tokenizer_of_another_model(model_folder: Path) -> None:
    Tokenizer.train(["a few words"], vocab_size=263).save(model_folder / "tokenizer.json")
    refused(model_folder, r"tokenizer\.json has 263 pieces, but the model's vocabulary has 320")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "has format 2, and this version of allyouneed reads format 1"),
        ({"architecture": "transfomer"}, "unknown architecture 'transfomer' .* Did you mean \"transformer\""),
        ({"d_modle": 32}, 'unknown field "d_modle". Did you mean "d_model"'),
        ({"d_model": "32"}, "\"d_model\" = '32' is not of type int"),
        ({"bias": 1}, '"bias" = 1 is not of type bool'),
        ({"n_kv_heads": 1.5}, '"n_kv_heads" = 1.5 is not of type int | None'),
        ({"norm_placement": "middle"}, "\"norm_placement\" = 'middle' is not of type"),
        ({"n_heads": 5}, "d_model 32 must be a multiple of n_heads 5"),
    ],
)
def test_a_config_that_is_wrong(model_folder: Path, change: dict[str, object], message: str) -> None:
    changed_config(model_folder, lambda config: config.update(change))
    refused(model_folder, message)


def test_a_config_that_lacks_a_field(model_folder: Path) -> None:
    changed_config(model_folder, lambda config: config.pop("vocab_size"))
    refused(model_folder, 'the field "vocab_size" is missing')
    changed_config(model_folder, lambda config: config.pop("format"))
    refused(model_folder, r'config\.json has no "format"')
    (model_folder / "config.json").write_bytes(b"\xff{")
    refused(model_folder, "is not JSON")
    (model_folder / "config.json").write_text("[1]", "utf-8")
    refused(model_folder, r'config\.json has no "format"')


def test_a_field_that_came_later_takes_its_default(model_folder: Path) -> None:
    changed_config(model_folder, lambda config: config.pop("attention_dropout"))
    assert load_model(model_folder).config.attention_dropout == 0
