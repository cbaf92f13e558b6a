"""What is left of a word in the one vector, and how lengths are scored one after another."""

import re
from typing import Any

import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.length_quality import BINS
from allyouneed.guide.widgets.recall import HELD_OUT, LENGTHS, TEXTS, recall, recovered, texts
from allyouneed.models.recurrent import Recurrent
from allyouneed.pipeline import Translator


def ask(name: str, models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


def test_probe_reads_what_is_in_a_vector_and_guesses_the_rest() -> None:
    random = torch.Generator().manual_seed(0)
    said = torch.randint(5, (1000,), generator=random)
    words = [f"w{number}" for number in said.tolist()]
    told = torch.nn.functional.one_hot(said, 5).float() @ torch.randn(5, 8, generator=random)
    assert recovered(told, words)["probe"] == 1
    silent = recovered(torch.randn(1000, 8, generator=random), words)
    assert silent["probe"] < 0.4
    known, held = words[:-HELD_OUT], words[-HELD_OUT:]
    assert silent["guess"] == pytest.approx(held.count(max(set(known), key=known.count)) / HELD_OUT)


def test_texts_have_their_length_and_begin_differently() -> None:
    found = texts(24)
    assert len(found) == TEXTS
    assert {len(words) for words in found} == {24}
    assert found[0][: len(found[-1])] != found[-1]


def whole_sentences(found: list[tuple[str, ...]]) -> set[str]:
    """The sentences of these texts that are not cut at the end."""
    return {part.strip() for words in found for part in re.findall(r"[^.?!]+[.?!]", " ".join(words))}


@pytest.mark.parametrize("length", LENGTHS)
def test_probe_is_tried_on_sentences_that_it_was_not_fitted_to(length: int) -> None:
    found = texts(length)
    tried = whole_sentences(found[-HELD_OUT:])
    assert len(tried) > HELD_OUT / 3
    assert not tried & whole_sentences(found[:-HELD_OUT])


def test_probe_is_asked_for(models: Models) -> None:
    assert ask("bottleneck", models)["read"] == []
    result = ask("bottleneck", models, probe=True)
    assert [len(curve) for curve in result["read"]] == list(LENGTHS)
    claim = result["claims"][1]
    first = [sum(place["probe"] for place in curve[:6]) for curve in result["read"]]
    assert claim["value"] == pytest.approx(first[1] / first[0], rel=1e-3)
    assert claim["holds"] == (first[1] < first[0])
    middle = result["read"][-1][8:16]
    times = sum(place["probe"] for place in middle) / sum(place["guess"] for place in middle)
    assert result["claims"][2]["value"] == pytest.approx(times, rel=1e-3)


def test_shipped_model_forgets_the_first_words() -> None:
    with Models().use("zoo:rnnencdec-en-fr", Translator, Recurrent) as pipe:
        model: Any = pipe.model
        short, long = (recall(model, pipe.tokenizer, length) for length in LENGTHS)
    assert sum(place["probe"] for place in short) > 1.5 * sum(place["guess"] for place in short)
    assert sum(place["probe"] for place in long[:6]) < 0.9 * sum(place["probe"] for place in short)
    middle = slice(8, 18)
    assert sum(place["probe"] for place in long[middle]) < 1.3 * sum(place["guess"] for place in long[middle])


def test_lengths_come_one_after_another(models: Models) -> None:
    whole = ask("length-quality", models, sentences=4)
    for bins in range(1, len(BINS) + 1):
        part = ask("length-quality", models, sentences=4, bins=bins)
        assert part["progress"] == {"done": bins, "all": len(BINS)}
        for kind, curve in part["curves"].items():
            assert curve == whole["curves"][kind][:bins] + [None] * (len(BINS) - bins)
        assert bool(part["claims"]) == (bins == len(BINS))


def test_scores_of_the_paper_are_those_of_its_table(models: Models) -> None:
    shown = ask("length-quality", models, sentences=4, paper=True)["paper"]
    assert {one["name"]: one["bleu"] for one in shown.values()} == {"RNNencdec-50": 26.71, "RNNsearch-50": 34.16}
    assert ask("length-quality", models, sentences=4, paper=True, metric="chrf")["paper"] == {}
