"""The list of presets, and what is said of one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from allyouneed.checkpoints.huggingface import save_huggingface
from allyouneed.models.presets import build, count_parameters
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

Command = Callable[..., Any]


def test_presets_are_listed_by_line_with_their_heads_and_sources(command: Command) -> None:
    status, out, _ = command("models")
    assert status == 0
    lines = out.split("\n")
    places = [lines.index(title) for title in ("Encoder-decoders", "Decoders", "Encoders")]
    assert places == sorted(places)
    rows = {line.split()[0]: (number, line.split()) for number, line in enumerate(lines) if line.startswith("  ")}
    number, cells = rows["llama-2-70b"]
    assert places[1] < number < places[2]
    assert cells[:6] == ["llama-2-70b", "68,976,648,192", "68,976,648,192", "80", "8192", "64/8"]
    assert rows["universal-base"][1][3] == "1×6+1×6"
    assert rows["decoder-small"][1][2] == "-"
    assert rows["bert-base"][0] > places[2]
    assert "Radford 2019, table 2" in lines[rows["gpt2"][0]]


def test_what_a_model_does_not_share_comes_first(command: Command) -> None:
    out = command("models", "mistral-7b").out
    about, own, usual = out.split("\n\n")
    assert "published           7241732096" in about
    assert "window              4096" in own
    assert "norm                rms" in own
    assert "embedding_scale     False" in own
    assert usual.startswith("as usual:\n")
    assert "n_experts" in usual
    assert "window_layers" in usual
    names = [line.split()[0] for line in (own + "\n" + usual.removeprefix("as usual:\n")).split("\n") if line]
    assert len(names) == len(set(names))
    facts = json.loads(command("models", "mistral-7b", "--json").out)
    assert (facts["exact"], facts["line"], facts["n_kv_heads"]) == (True, "decoder", 8)
    assert set(names) <= set(facts)


def test_a_folder_tells_its_settings_and_its_card(command: Command, model: Transformer, saved_folder: Path) -> None:
    status, out, _ = command("models", saved_folder)
    assert status == 0
    assert f"name                {saved_folder}\nline                both\n" in out
    assert out.endswith("\n\n# A small model\n")
    facts = json.loads(command("models", saved_folder, "--json").out)
    assert facts["parameters"] == count_parameters(model.config) == sum(map(torch.numel, model.parameters()))
    assert facts["d_model"] == model.config.d_model


def test_a_checkpoint_of_the_other_layout_does_so_too(command: Command, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = build("transformer-tiny", vocab_size=tokenizer.vocab_size)
    save_huggingface(tmp_path / "theirs", model, tokenizer)
    facts = json.loads(command("models", tmp_path / "theirs", "--json").out)
    assert (facts["vocab_size"], facts["card"]) == (model.config.vocab_size, "")
    (tmp_path / "empty").mkdir()
    assert "it lacks config.json" in command("models", tmp_path / "empty").err
    status, _, err = command("models", tmp_path / "nowhere")
    assert (status, "or a folder." in err) == (2, True)
