"""The figures of code, costs, families and titles."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.clock import exponent
from allyouneed.guide.widgets.cost import sized
from allyouneed.guide.widgets.tracing import watch
from allyouneed.parts import attention, masks, positions
from allyouneed.reproduce.result import Result, stored


def ask(name: str, models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


def result_of(name: str) -> Result:
    found = stored(name)
    assert found is not None
    return found


SNIPPETS = {
    "attention": (attention.naive_attend, attention.attention_weights, attention.attention_scores),
    "mask": (masks.causal, masks.Mask.dense, masks.Mask.among),
    "heads": tuple(getattr(attention.MultiHeadAttention, name) for name in ("keys_values", "split", "queries")),
    "positions": (positions.sinusoids, positions.angles),
}


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_code_is_the_source_that_runs(models: Models, snippet: str) -> None:
    result = ask("code", models, snippet=snippet)
    shown = ["".join(line["text"] for line in one["lines"]) for one in result["functions"]]
    assert shown == [inspect.getsource(function) for function in SNIPPETS[snippet]]
    for one, function in zip(result["functions"], SNIPPETS[snippet], strict=True):
        assert one["lines"][0]["number"] == inspect.getsourcelines(function)[1]


@pytest.mark.parametrize("form", ["plain", "fast"])
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_both_forms_and_torch_agree(models: Models, snippet: str, form: str) -> None:
    result = ask("code", models, snippet=snippet, form=form, batch=3, n=7, d_model=32, heads=2)
    assert result["fast_difference"] < 1e-6
    assert result["torch_difference"] < 1e-6
    assert any(line["made"] for one in result["functions"] for line in one["lines"])


def test_lines_say_the_shapes_that_they_made(models: Models) -> None:
    result = ask("code", models, batch=3, n=7, d_model=32, heads=2)
    made = {
        (one["name"], note["name"]): note["shape"]
        for one in result["functions"]
        for line in one["lines"]
        for note in line["made"]
    }
    assert made["naive_attend", "weights"] == [3, 2, 7, 7]
    assert made["naive_attend", "return"] == [3, 2, 7, 16]
    assert made["attention_scores", "return"] == [3, 2, 7, 7]
    last = result["functions"][0]["lines"][-1]
    assert last["made"][0]["name"] == "return"


def test_watching_sees_each_line_and_changes_nothing() -> None:
    query, key = torch.ones(2, 1, 1, 2, 4)
    notes, returned = watch((attention.attention_weights,), lambda: attention.attention_weights(query, key))
    assert torch.equal(returned, torch.full((1, 1, 2, 2), 0.5))
    made = [note for line in notes[0].lines() for note in line["made"]]
    assert [note["name"] for note in made] == ["scores", "return"]
    assert made[0]["peek"] == [2.0, 2.0, 2.0]


PATHS = {"recurrent": 499, "convolution": 167, "dilated": 6, "attention": 1, "restricted": 8}


def test_paths_and_pairs_are_the_papers_table(models: Models) -> None:
    result = ask("path-length", models)
    assert result["pairs"] == 250_000
    assert {row["kind"]: row["path"] for row in result["rows"]} == PATHS
    work = {row["kind"]: row["operations"] for row in result["rows"]}
    assert work == {
        "recurrent": 500 * 512**2,
        "convolution": 3 * 500 * 512**2,
        "dilated": 3 * 500 * 512**2,
        "attention": 500**2 * 512,
        "restricted": 64 * 500 * 512,
    }
    assert [row["sequential"] for row in result["rows"]] == [500, 1, 1, 1, 1]
    assert ask("path-length", models, n=1000)["pairs"] == 1_000_000
    assert all(len(curve) == len(result["lengths"]) >= 5 for curve in result["times"].values())
    assert all(time > 0 for curve in result["times"].values() for time in curve)
    lengths = result["lengths"]
    assert result["memory"]["attention"] == [max(n * n, n * 64) * 4 / 1024 for n in lengths]
    assert result["memory"]["recurrent"] == [n * 64 * 4 / 1024 for n in lengths]
    assert result["memory"]["restricted"][-1] < result["memory"]["attention"][-1] / 4


def test_cache_is_counted_and_tiles_are_exact(models: Models) -> None:
    result = ask("cost", models, n=1024, layers=2, heads=8, kv_heads=2, width=64, bytes=2, window=256)
    assert result["cache"] == {
        "own": 2 * 2 * 2 * 64 * 1024 * 2,
        "all": 2 * 2 * 8 * 64 * 1024 * 2,
        "window": 2 * 2 * 2 * 64 * 256 * 2,
        "state": 2 * (2 * 8 * 64) * (16 + 3) * 2,
    }
    assert {name: [size["number"], size["unit"]] for name, size in result["sizes"]["cache"].items()} == {
        "own": [1.0, "MiB"],
        "all": [4.0, "MiB"],
        "window": [256.0, "KiB"],
        "state": [76.0, "KiB"],
    }
    assert (sized(1), sized(1023), sized(1 << 50)) == tuple(
        {"number": number, "unit": unit} for number, unit in ((1, "B"), (1023, "B"), (1024, "TiB"))
    )
    assert ask("cost", models, n=2048, layers=2, heads=8, width=64)["cache"]["state"] == result["cache"]["state"]
    assert set(result["times"]) == {"naive", "tiled", "window", "state"}
    assert result["difference"] < 1e-5
    assert result["groups"] == [4, 4]
    assert ask("cost", models, heads=4, kv_heads=32)["used"] == {"kv_heads": 4}
    paying = result["paying"]["lengths"]
    assert paying["window"] < paying["longformer"] < paying["state"] < paying["lstm"]


def test_slope_of_a_power_is_its_exponent() -> None:
    sizes = [10, 100, 200, 400]
    assert exponent(sizes, [9.0, *(3 * float(size) ** 1.5 for size in sizes[1:])]) == pytest.approx(1.5)


def test_models_are_compared_at_one_scale(models: Models) -> None:
    result = ask("results", models)
    compared = result["compared"]
    rows = {row["model"]: row for row in compared["rows"]}
    stored_rows = [row for row in result_of("bottleneck").rows if row["model"] == "Transformer"]
    assert rows["Transformer"]["bleu"] == pytest.approx([row["BLEU"] for row in stored_rows], rel=1e-5)
    assert compared["lengths"] == [row["source words"] for row in stored_rows]
    assert rows["by phrases"]["minutes"] is None
    texts = [row["text"] for row in result["rows"]]
    assert texts == sorted(texts, reverse=True)
    assert next(row for row in result["rows"] if row["name"] == "zoo:rnnsearch-en-fr")["text"] == "everyday"
    assert next(row for row in result["rows"] if row["name"] == "zoo:en-fr")["text"] == "public"


def test_titles_are_found_by_every_word(models: Models) -> None:
    result = ask("meme", models, query="attention video")
    assert [one["title"] for one in result["titles"]] == [
        "Is Space-Time Attention All You Need for Video Understanding?"
    ]
    assert ask("meme", models, query="zzz")["count"] == 0
    everything = ask("meme", models)
    assert everything["count"] == everything["total"] == len({one["arxiv"] for one in everything["titles"]})


def test_results_are_those_of_the_training_records(models: Models) -> None:
    result = ask("results", models)
    cited = {one["key"]: one["value"] for one in result["cited"]}
    assert {"en-fr": 41.0, "en-de": 28.4, "hours": 12, "parsing": 91.3, "base": 65, "big": 213}.items() <= cited.items()
    assert {"zoo:en-fr", "zoo:fr-en"} <= {row["name"] for row in result["rows"]}
    assert all(row["perplexity"] > 1 and row["minutes"] > 1 for row in result["rows"])


def test_library_reads_a_real_row(models: Models) -> None:
    result = ask("library", models, layer=1, head=2)
    weights = np.array(result["weights"])
    assert weights.sum() == pytest.approx(1, abs=1e-5)
    matrix = ask("matrix", models, layer=1, head=2)
    assert result["weights"] == matrix["cells"][2]
    assert np.array(result["read"]) == pytest.approx(weights @ np.array(result["contents"]), abs=1e-4)


def test_families_see_what_they_may(models: Models) -> None:
    result = ask("families", models)
    encoder, decoder, both = (np.array(result[name]["mask"]) for name in ("encoder", "decoder", "both"))
    assert (encoder == 1).all()
    assert (decoder == np.tril(np.ones_like(decoder))).all()
    read = len(result["both"]["read"])
    assert (both[:, :read] == 1).all()
    assert (both[:, read:] == np.tril(np.ones((len(both), len(both))))).all()
    for name in ("encoder", "decoder"):
        chances = [one["p"] for one in result[name]["top"]]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1
    assert all(token["text"] != "sat" for token in result["decoder"]["read"])


def test_word_that_is_not_there_is_refused(models: Models) -> None:
    with pytest.raises(FigureError, match='the word "dog" is not in the sentence'):
        ask("families", models, word="dog")
    with pytest.raises(FigureError, match="type one of the sentence's words"):
        ask("families", models, word=" ")
