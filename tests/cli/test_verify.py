"""A checkpoint against the independent library, through the command."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints import verify as checking
from allyouneed.checkpoints.conversion import convert
from allyouneed.checkpoints.huggingface import load_huggingface, save_huggingface
from allyouneed.checkpoints.native import SavedModel, save_model
from allyouneed.checkpoints.verify import measured, verify
from allyouneed.models.mamba import Mamba, MambaConfig
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.tokenizer import Tokenizer

Command = Callable[..., Any]

SIZES = TransformerConfig(vocab_size=320, d_model=32, n_heads=4, d_ff=48, n_encoder_layers=2, n_decoder_layers=3)
BERT = replace(
    SIZES,
    n_decoder_layers=0,
    embedding_norm=True,
    positions="learned",
    embedding_scale=False,
    activation="gelu",
    n_segments=2,
    max_length=64,
)
CONFIGS = {
    "MarianMTModel": SIZES,
    "BertForMaskedLM": replace(BERT, output_transform=True, output_bias=True),
    "BertModel": replace(BERT, pooler=True),
    "GPT2LMHeadModel": replace(
        BERT,
        n_encoder_layers=0,
        n_decoder_layers=3,
        n_segments=0,
        embedding_norm=False,
        norm_placement="pre",
        final_norm=True,
        activation="gelu-tanh",
    ),
}
LAST = {"BertModel": "pooled vector"}


@pytest.fixture
def write(tokenizer: Tokenizer, tmp_path: Path) -> Callable[[str], Path]:
    """Writes a random model in the Hugging Face layout, and gives the folder."""

    def written(kind: str) -> Path:
        torch.manual_seed(6)
        save_huggingface(tmp_path / kind, Transformer(CONFIGS[kind]), tokenizer)
        return tmp_path / kind

    return written


def places_of(config: TransformerConfig, last: str) -> list[str]:
    """The names of all places, in order."""
    names: list[str] = []
    for side, depth in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        if depth:
            names += [f"{side} embeddings", *(f"{side} layer {number}" for number in range(depth))]
    return [*names, last]


def test_a_model_without_attention_agrees_in_either_format(tokenizer: Tokenizer, tmp_path: Path) -> None:
    torch.manual_seed(8)
    model = Mamba(MambaConfig(vocab_size=320, d_model=16, n_layers=2, d_state=4))
    save_model(tmp_path / "ours", model, tokenizer.for_line("decoder"))  # pyright: ignore[reportArgumentType]  # one of the architectures
    convert(tmp_path / "ours", tmp_path / "theirs")
    for folder in ("ours", "theirs"):
        found = verify(tmp_path / folder)
        assert found.begins is None
        assert found.model == "MambaForCausalLM"
        assert found.places[0].name == "logits"


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_sound_checkpoint_agrees_everywhere(kind: str, command: Command, write: Callable[[str], Path]) -> None:
    status, out, _ = command("verify", write(kind), "--json")
    found = json.loads(out)
    assert (status, found["agree"], found["begins"], found["model"]) == (0, True, None, kind)
    assert [place["name"] for place in found["places"]] == places_of(CONFIGS[kind], LAST.get(kind, "logits"))
    assert all(place["difference"] < 1e-5 < place["largest"] for place in found["places"])


@pytest.mark.parametrize(
    ("kind", "weight", "place"),
    [
        ("GPT2LMHeadModel", "decoder.1.feed_forward.outer.weight", "decoder layer 1"),
        ("MarianMTModel", "decoder.2.cross_attention.key.weight", "decoder layer 2"),
        ("MarianMTModel", "encoder.0.self_attention.query.weight", "encoder layer 0"),
        ("BertForMaskedLM", "encoder_inputs.learned.weight", "encoder embeddings"),
        ("BertForMaskedLM", "output_bias", "logits"),
        ("BertModel", "pooler.bias", "pooled vector"),
    ],
)
def test_the_layer_that_differs_first_is_named(
    kind: str, weight: str, place: str, command: Command, write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(folder: Path) -> SavedModel:
        saved = load_huggingface(folder)
        with torch.no_grad():
            saved.model.get_parameter(weight).add_(torch.randn(saved.model.get_parameter(weight).shape))
        return saved

    folder = write(kind)
    monkeypatch.setattr(checking, "load_huggingface", spoilt)
    status, out, _ = command("verify", folder)
    assert status == 1
    assert f"They differ, first at {place}, by " in out
    found = json.loads(command("verify", folder, "--json").out)
    assert (found["agree"], found["begins"]) == (False, place)
    assert command("verify", folder, "--tolerance", "1000").status == 0


def test_a_folder_of_our_own_is_written_for_it(command: Command, tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(tmp_path / "native", Transformer(SIZES), tokenizer)
    status, out, _ = command("verify", tmp_path / "native")
    assert status == 0
    assert "Marian: this package and MarianMTModel of transformers " in out
    assert "logits, before it was written" in out
    assert "They agree: the largest share is " in out


def test_a_folder_that_no_family_holds_says_why(command: Command, saved_folder: Path) -> None:
    status, _, err = command("verify", saved_folder)
    assert status == 1
    assert "n_kv_heads is 2, not 4" in err


def test_the_translator_that_ships_agrees() -> None:
    from allyouneed.checkpoints.places import ZOO

    found = verify(ZOO / "en-fr")
    assert (found.family, found.begins) == ("PEGASUS", None)


def test_the_text_is_the_one_that_was_asked_for(
    command: Command, tokenizer: Tokenizer, write: Callable[[str], Path]
) -> None:
    folder = write("GPT2LMHeadModel")
    text = "The dog slept."
    found = json.loads(command("verify", folder, "--text", text, "--json").out)
    assert found["tokens"] == len(tokenizer.encode(text)) + 1
    status, _, err = command("verify", folder, "--text", text * 20)
    assert status == 1
    assert "and the model reads at most 64: give a shorter one with --text." in err


def test_without_the_library_it_says_how_to_get_it(
    command: Command, write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "find_spec", {}.get)
    status, _, err = command("verify", write("BertModel"))
    assert status == 1
    assert err == (
        'verify compares with the library transformers, which is not installed: "pip install transformers" does it.\n'
    )


def test_a_share_is_of_the_values_at_its_position_and_no_number_is_beyond_all() -> None:
    theirs = torch.tensor([[[5000.0, 1.0], [0.5, 0.1], [20.0, 0.0]]])
    for position, change, share in ((0, 1.0, 2e-4), (1, 0.001, 0.001), (2, 0.02, 0.001)):
        ours = theirs.clone()
        ours[0, position, 1] += change
        place = measured("here", ours, theirs)
        assert (place.difference, place.largest) == (pytest.approx(change, rel=1e-3), 5000)
        assert place.share == pytest.approx(share, rel=1e-3)
        assert place.beyond(0.9 * share)
        assert not place.beyond(1.1 * share)
    assert measured("here", theirs * math.nan, theirs).beyond(1.0)
    assert measured("here", theirs[:, :2], theirs).beyond(1.0)


def test_an_empty_text_is_refused(command: Command, write: Callable[[str], Path]) -> None:
    status, _, err = command("verify", write("BertModel"), "--text", "")
    assert (status, err) == (1, "The text is empty: give one to compare on with --text.\n")
