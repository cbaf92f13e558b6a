"""The list of presets, and what is said of one."""

import json
from collections.abc import Callable
from typing import Any

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
