"""Folders in the Hugging Face layout: what is read, what is written, and what is said of one that is wrong."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from parity import MODERN
from safetensors.torch import load_file, save_file
from torch import Tensor

from allyouneed.checkpoints.huggingface import load_huggingface, load_transformer, save_huggingface
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.text.foreign import load_vocabulary
from allyouneed.text.tokenizer import Tokenizer

TEXTS = [
    "The mouse ate the cheese.",
    "Le chat s'est assis sur le tapis, et le chien dormait.",
    "A quick brown fox jumps.",
]
QUERY = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def llama() -> Transformer:
    torch.manual_seed(2)
    return Transformer(replace(MODERN, dropout=0.0)).eval()


@pytest.fixture
def folder(llama: Transformer, tokenizer: Tokenizer, tmp_path: Path) -> Path:
    save_huggingface(tmp_path / "model", llama, tokenizer.for_line("decoder"))
    return tmp_path / "model"


@pytest.fixture
def sharded(llama: Transformer, tokenizer: Tokenizer, tmp_path: Path) -> Path:
    save_huggingface(tmp_path / "sharded", llama, tokenizer.for_line("decoder"), shard_bytes=9_000)
    return tmp_path / "sharded"


def changed_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")


def changed_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    change(tensors)
    path.unlink()
    save_file(tensors, path)


def refused(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_huggingface(folder)
    assert "\n" not in str(caught.value)


def same_weights(model: Transformer, other: Transformer) -> None:
    for (name, tensor), again in zip(model.state_dict().items(), other.state_dict().values(), strict=True):
        assert torch.equal(tensor, again), name


def in_files(tensors: Iterable[Tensor], folder: Path) -> bool:
    """Do the tensors lie in mapped files of this folder?"""
    maps = [line.split() for line in Path("/proc/self/maps").read_text("utf-8").splitlines() if str(folder) in line]
    areas = [[int(end, 16) for end in area[0].split("-")] for area in maps]
    return all(any(first <= tensor.data_ptr() < last for first, last in areas) for tensor in tensors)


def test_what_is_written_comes_back(llama: Transformer, tokenizer: Tokenizer, folder: Path) -> None:
    config, model, vocabulary, recipe = load_huggingface(folder)
    assert config == model.config
    assert (config.d_head, config.rotary_layout, recipe) == (4, "halves", None)
    same_weights(model, llama)
    assert vocabulary.encode("The mouse.") == tokenizer.encode("The mouse.")
    assert vocabulary.marks == tokenizer.for_line("decoder").marks
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    written = json.loads((folder / "config.json").read_text("utf-8"))
    assert (written["bos_token_id"], written["eos_token_id"], written["pad_token_id"]) == (1, 2, 0)


def test_shards_with_their_index(llama: Transformer, sharded: Path) -> None:
    shards = sorted(path.name for path in sharded.glob("*.safetensors"))
    assert len(shards) > 2
    assert shards[0] == f"model-00001-of-{len(shards):05}.safetensors"
    assert all((sharded / name).stat().st_size < 9_000 + 2_000 for name in shards[1:])
    index = json.loads((sharded / "model.safetensors.index.json").read_text("utf-8"))
    assert index["metadata"]["total_size"] == 4 * sum(parameter.numel() for parameter in llama.parameters())
    same_weights(load_transformer(sharded), llama)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux says here which files are mapped")
def test_weights_stay_in_their_file(folder: Path, sharded: Path) -> None:
    for place in (folder, sharded):
        assert in_files(load_transformer(place).parameters(), place)
    assert not in_files([torch.zeros(4)], folder)


def test_a_loaded_model_can_change_and_its_file_does_not(folder: Path) -> None:
    model = load_transformer(folder)
    with torch.no_grad():
        model.embedding.weight.zero_()
    assert load_transformer(folder).embedding.weight.any()


def test_a_loaded_model_can_be_saved(folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = load_transformer(folder)
    save_huggingface(tmp_path / "again", model, tokenizer)
    same_weights(load_transformer(tmp_path / "again"), model)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32(
    llama: Transformer, tokenizer: Tokenizer, dtype: torch.dtype, tmp_path: Path
) -> None:
    save_huggingface(tmp_path / "half", llama, tokenizer, dtype=dtype)
    assert json.loads((tmp_path / "half" / "config.json").read_text("utf-8"))["torch_dtype"] == str(dtype)[6:]
    for tensor, half in zip(llama.parameters(), load_transformer(tmp_path / "half").parameters(), strict=True):
        assert torch.equal(tensor.to(dtype).float(), half)


def test_a_missing_shard_is_named(sharded: Path) -> None:
    (sharded / "model-00002-of-00004.safetensors").unlink()
    refused(sharded, r"lacks model-00002-of-00004\.safetensors: 1 of the 4 shards that model\.safetensors\.index\.json")


def test_an_index_that_is_wrong(sharded: Path) -> None:
    path = sharded / "model.safetensors.index.json"
    index = json.loads(path.read_text("utf-8"))
    index["weight_map"][QUERY] = "model-00001-of-00004.safetensors"
    path.write_text(json.dumps(index), "utf-8")
    refused(sharded, rf"model-00001-of-00004\.safetensors has no tensor {QUERY}, although")
    index["weight_map"][QUERY] = "../secret.safetensors"
    path.write_text(json.dumps(index), "utf-8")
    refused(sharded, r'names "\.\./secret\.safetensors", which is no file beside it')
    path.write_text("{}", "utf-8")
    refused(sharded, r'index\.json has no "weight_map"')


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_pickled_weights_are_never_opened(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / name)
    refused(
        folder, rf"holds its weights as {name}, which is never opened.* safe_serialization=True.* weights_only=True"
    )


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, r"lacks model\.safetensors \(or model\.safetensors\.index\.json with its shards\)")


def test_no_folder_and_no_config(folder: Path, tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "There is no model folder .*nowhere")
    (folder / "config.json").write_text("[]", "utf-8")
    refused(folder, r"config\.json holds no JSON object")
    (folder / "config.json").write_text("{", "utf-8")
    refused(folder, r"config\.json is not JSON")
    (folder / "config.json").unlink()
    refused(folder, r"is no model folder: it lacks config\.json")


def test_an_unknown_architecture_names_the_nearest(folder: Path) -> None:
    changed_config(folder, model_type="lama", architectures=["LamaForCausalLM"])
    refused(
        folder,
        r'unknown architecture "LamaForCausalLM" \(model type "lama"\); families are Llama, Mistral, .*'
        r"The nearest: Llama",
    )


def test_a_class_names_the_family_too(folder: Path) -> None:
    changed_config(folder, model_type="smollm")
    load_transformer(folder)


def test_a_wrong_shape_names_the_tensor(folder: Path) -> None:
    changed_weights(folder, lambda tensors: tensors.update({QUERY: torch.zeros(3, 5)}))
    refused(folder, rf"{QUERY} has the shape \[3, 5\], but config\.json asks for \[16, 16\]")


def test_a_vocabulary_that_is_not_the_embeddings(folder: Path) -> None:
    changed_config(folder, vocab_size=321)
    refused(folder, r"embed_tokens\.weight has the shape \[320, 16\], but config\.json asks for \[321, 16\]")


def test_a_tokenizer_larger_than_the_embedding(folder: Path, tokenizer: Tokenizer) -> None:
    changed_config(folder, vocab_size=300)
    changed_weights(folder, lambda tensors: tensors.update({"model.embed_tokens.weight": torch.ones(300, 16)}))
    refused(folder, "the tokenizer has 320 pieces, but the model has only 300 embeddings")


def test_missing_and_left_over_tensors_are_named(folder: Path) -> None:
    changed_weights(folder, lambda tensors: tensors.pop(QUERY))
    refused(folder, r"lacks 1 tensor: layers\.1\.self_attn\.q_proj\.weight\.")
    changed_weights(folder, lambda tensors: tensors.update({QUERY: torch.ones(16, 16), "score.weight": torch.ones(2)}))
    refused(folder, r"holds 1 tensor that Llama with this config\.json has no place for: score\.weight")


def test_buffers_that_say_nothing_are_skipped(folder: Path) -> None:
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    changed_weights(folder, lambda tensors: tensors.update(buffer))
    load_transformer(folder)


def test_tied_weights_are_explicit(folder: Path) -> None:
    changed_config(folder, tie_word_embeddings=False)
    refused(folder, r"lacks 1 tensor: lm_head\.weight, although config\.json says that it is not the embedding")
    changed_weights(
        folder, lambda tensors: tensors.update({"lm_head.weight": tensors["model.embed_tokens.weight"].clone()})
    )
    assert not load_transformer(folder).config.tied_embeddings
    changed_config(folder, tie_word_embeddings=True)
    assert load_transformer(folder).config.tied_embeddings
    changed_weights(folder, lambda tensors: tensors["lm_head.weight"][0].add_(1))
    refused(
        folder, r"lm_head\.weight differs from model\.embed_tokens\.weight, although .*\"tie_word_embeddings\": true"
    )


def test_a_tied_tensor_under_its_other_name(folder: Path, llama: Transformer) -> None:
    changed_weights(
        folder, lambda tensors: tensors.update({"lm_head.weight": tensors.pop("model.embed_tokens.weight")})
    )
    same_weights(load_transformer(folder), llama)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers(folder: Path, value: float) -> None:
    changed_weights(folder, lambda tensors: tensors[QUERY].__setitem__((2, 3), value))
    refused(folder, rf"model\.safetensors: {QUERY} holds values that are not finite numbers")


def test_weights_that_are_quantised(folder: Path) -> None:
    changed_weights(folder, lambda tensors: tensors.update({QUERY: torch.ones(16, 16, dtype=torch.int8)}))
    refused(folder, rf"{QUERY} holds I8, and weights are float64, float32, float16, bfloat16")
    changed_config(folder, quantization_config={"quant_method": "gptq"})
    refused(folder, r"config\.json \(Llama\): it asks for .* quantization_config is \{'quant_method': 'gptq'\}")


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    refused(folder, "holds no tokenizer")
    load_transformer(folder)


def test_writing_over_a_model_is_refused(llama: Transformer, tokenizer: Tokenizer, sharded: Path) -> None:
    with pytest.raises(
        InputError, match=r"already holds a model \(model-00001-of-00004\.safetensors, .*another folder"
    ):
        save_huggingface(sharded, llama, tokenizer)


def test_a_tokenizer_too_large_is_not_written(llama: Transformer, tmp_path: Path) -> None:
    larger = Tokenizer.train([f"words and more words {number}" for number in range(99)] + TEXTS, vocab_size=321)
    with pytest.raises(InputError, match="the tokenizer has 321 pieces, but the model has only 320 embeddings"):
        save_huggingface(tmp_path / "model", llama, larger)
    assert not (tmp_path / "model").exists()


def test_other_libraries_read_the_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    text = "The mouse ate the cheese."
    assert theirs(text)["input_ids"] == [1, *tokenizer.encode(text)]
    assert (theirs.bos_token_id, theirs.eos_token_id, theirs.pad_token_id, theirs.unk_token_id) == (1, 2, 0, 3)
    assert len(theirs) == tokenizer.vocab_size
    assert load_vocabulary(folder, "decoder").encode(text) == tokenizer.encode(text)
