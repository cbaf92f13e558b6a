"""The figures of models before and beside the Transformer."""

from typing import Any, cast

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.alignment import BEAM, between_words, pull, sharpened
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.order import claims
from allyouneed.guide.widgets.pointer import refusal
from allyouneed.guide.widgets.recurrences import influence, vector_of
from allyouneed.guide.widgets.reversal import distances
from allyouneed.lens.attention import recording
from allyouneed.models.recurrent import Recurrent
from allyouneed.pipeline import Translator
from allyouneed.tasks.hypotheses import encode, start_of
from allyouneed.tasks.pointing.geometry import area, convex_hull


def ask(name: str, models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


@pytest.mark.parametrize(("n", "burden"), [(6, 1.2), (20, 4.0), (60, 12.0)])
def test_vector_stays_as_long_as_it_is(models: Models, n: int, burden: float) -> None:
    result = ask("bottleneck", models, n=n, all=True)
    assert result["burden"]["book"] == pytest.approx(burden)
    assert len(result["vector"]) == result["width"] == 16
    assert len(result["book"]) == result["book_width"] == 5
    assert result["words"] == n


def test_another_word_makes_another_vector(models: Models) -> None:
    first, second = (ask("bottleneck", models, text=text, all=True) for text in ("The cat sat.", "The dog sat."))
    assert first["vector"] != second["vector"]
    with models.use("zoo:rnnencdec-en-fr", Translator, Recurrent) as pipe:
        ids = pipe.tokenizer.wrap(pipe.tokenizer.encode("The cat sat."))
        model: Any = pipe.model
        assert first["vector"] == pytest.approx(vector_of(model.encode(torch.tensor([ids]))).tolist(), abs=1e-5)


def test_influence_is_the_size_of_the_derivative(models: Models) -> None:
    with models.use("zoo:rnnencdec-en-fr", Translator, Recurrent) as pipe:
        ids = pipe.tokenizer.encode("The cat")
        model: Any = pipe.model
        _, strengths = influence(model, ids)
        x = model.embedding(torch.tensor([ids])).detach()

        def vector(x: torch.Tensor) -> torch.Tensor:
            return vector_of(model.encoder(x, None))

        exact: Any = torch.autograd.functional.jacobian(vector, x)
    wanted = exact[:, 0].square().sum((0, 2)).sqrt()
    assert strengths == pytest.approx(wanted.tolist(), rel=0.5)  # an estimate from a few directions


def test_model_that_looks_back_has_no_one_vector(models: Models) -> None:
    with pytest.raises(FigureError, match="does not squeeze it into one vector"):
        ask("bottleneck", models, model="zoo:rnnsearch-en-fr")
    with pytest.raises(FigureError, match="no attention"):
        ask("alignment", models, model="zoo:rnnencdec-en-fr")
    with pytest.raises(FigureError, match="another kind of model, Transformer"):
        ask("bottleneck", models, model="zoo:en-fr")
    with pytest.raises(FigureError, match="another kind of model, Recurrent"):
        ask("cross-attention", models, model="zoo:rnnsearch-en-fr")


@pytest.mark.parametrize("n", [1, 4, 10])
def test_reversal_moves_distance_and_keeps_its_mean(n: int) -> None:
    assert distances("plain", n) == [n] * n
    assert distances("reversed", n) == [2 * i - 1 for i in range(1, n + 1)]
    assert sum(distances("reversed", n)) / n == n
    assert distances("attention", n) == [1] * n
    assert max(distances("reversed", n)) == 2 * n - 1


def test_reversal_measures_both_models(models: Models) -> None:
    result = ask("reversal", models, order="verb-final")
    assert result["first"] == 4
    assert set(result["measured"]) == {"plain", "reversed"}
    gain = result["measured"]["plain"]["perplexity"] - result["measured"]["reversed"]["perplexity"]
    assert result["claims"][0]["value"] == pytest.approx(gain, abs=1e-2)
    assert result["claims"][0]["holds"] == (gain <= 0)


def test_lengths_are_scored_for_both(models: Models) -> None:
    result = ask("length-quality", models, sentences=4)
    assert len(result["curves"]["vector"]) == len(result["curves"]["search"]) == len(result["lengths"])
    assert all(value is None or 0 <= value <= 100 for curve in result["curves"].values() for value in curve)
    assert max(result["counts"]) == 4


def test_alignment_is_what_the_model_looked_at(models: Models) -> None:
    result = ask("alignment", models, source="The cat sat on the mat.", step=2, words=False)
    weights = np.array(result["cells"])
    assert weights.shape == (len(result["target"]), len(result["source"]))
    assert weights.sum(1) == pytest.approx(np.ones(len(weights)), abs=1e-4)
    scores = np.array(result["scores"])
    assert result["look"] == pytest.approx((np.exp(scores) / np.exp(scores).sum()).tolist(), abs=1e-4)
    assert result["accuracy"] == 1


def test_given_translation_is_aligned_as_it_stands(models: Models) -> None:
    text = "Le chat la souris"
    result = ask("alignment", models, source="The cat sat.", target=text, words=False)
    with models.use("zoo:rnnsearch-en-fr", Translator, Recurrent) as pipe, torch.no_grad():
        model, tokenizer = cast(Any, pipe.model), pipe.tokenizer
        given = tokenizer.encode(text)
        memory = encode(model, tokenizer, [tokenizer.encode("The cat sat.")])
        with recording(model) as lookups:
            states = model.decode(torch.tensor([[start_of(tokenizer), *given]]), memory)
        likeliest = model.logits(states)[0].argmax(-1).tolist()
        end = tokenizer.eos
    assert result["translation"] == text
    assert np.array(result["cells"]) == pytest.approx(lookups["cross"][-1].weights(0).numpy(), abs=1e-5)
    hits = [told == wanted for told, wanted in zip(likeliest, [*given, end], strict=True)]
    assert result["accuracy"] == pytest.approx(sum(hits) / len(hits), rel=1e-5)


def test_own_translation_is_that_of_the_search() -> None:
    models = Models()
    source = "The cat sat on the mat."
    greedy, beam = (ask("alignment", models, source=source, search=kind) for kind in ("greedy", "beam"))
    with models.use("zoo:rnnsearch-en-fr", Translator, Recurrent) as pipe:
        assert greedy["translation"] == pipe.translate([source], beam=1)[0].text
        assert beam["translation"] == pipe.translate([source], beam=BEAM)[0].text
    again = ask("alignment", models, source=source, target=greedy["translation"])
    assert again["cells"] == greedy["cells"]
    assert (again["given"], greedy["given"]) == (True, False)


def test_too_long_a_translation_is_refused(models: Models) -> None:
    with pytest.raises(FigureError, match="too many"):
        ask("alignment", models, target="le " * 200)


def test_words_join_their_pieces() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    assert between_words(weights, [[0, 1]], [[0, 1], [2]]) == pytest.approx(torch.tensor([[0.3, 0.7]]))


def test_even_attention_looks_everywhere_and_hard_at_one(models: Models) -> None:
    even = ask("alignment", models, source="The cat sat.", attention="uniform", words=False)
    assert np.array(even["cells"]) == pytest.approx(1 / len(even["source"]), abs=1e-5)
    assert max(ask("alignment", models, source="The cat sat.", attention="hard")["look"]) > 0.99
    with models.use("zoo:rnnsearch-en-fr", Translator, Recurrent) as pipe:
        attention = cast(Any, pipe.model).decoder.cross_attention
        before = attention.direction.clone()
        with sharpened(attention, 0.0):
            assert (attention.direction == 0).all()
        assert torch.equal(attention.direction, before)


def test_context_answers_to_scores_as_its_derivative_says() -> None:
    random = torch.Generator().manual_seed(0)
    scores, states = torch.randn(5, generator=random, requires_grad=True), torch.randn(5, 3, generator=random)

    def context(e: torch.Tensor) -> torch.Tensor:
        return (2 * e).softmax(-1) @ states

    exact: Any = torch.autograd.functional.jacobian(context, scores)
    assert pull((2 * scores).softmax(-1), states, 2.0).tolist() == pytest.approx(exact.norm(dim=0).tolist(), rel=1e-4)


def test_gradient_reaches_all_or_none(models: Models) -> None:
    soft, even, hard = (
        ask("alignment", models, source="The cat sat.", attention=kind)["pulls"]
        for kind in ("learned", "uniform", "hard")
    )
    assert soft["reached"] == soft["all"] > 3
    assert soft["size"] > 0
    assert (even["reached"], even["size"]) == (0, 0)
    assert (hard["reached"], hard["size"]) == (0, 0)


def test_shipped_model_needs_its_attention() -> None:
    models = Models()
    result = ask("alignment", models)
    held = {claim["key"]: claim for claim in result["claims"] if "key" in claim}
    assert held["alignment.claim-uniform"]["value"] < 0.8 < held["alignment.claim-hard"]["value"]
    assert all(claim["holds"] for claim in result["claims"])
    assert ask("alignment", models, attention="uniform")["accuracy"] == held["alignment.claim-uniform"]["value"]
    assert ask("alignment", models, source="The philosopher read the book .")["unknown"] == ["philosopher"]
    assert result["unknown"] == []
    given = ask("alignment", models, target="L'accord sur la zone bureaucratique a été signé .")
    assert given["unknown_target"] == ["bureaucratique"]
    assert [claim["word"] for claim in given["claims"]] == ["zone"]


SQUARE = "0,0 1,0 1,1 0,1 0.5,0.5"


def test_pointing_is_judged_by_geometry(models: Models) -> None:
    result = ask("pointer", models, points=SQUARE)
    points = [tuple(point) for point in result["points"]]
    assert sorted(result["hull"]) == [0, 1, 2, 3] == sorted(convex_hull(points))
    assert set(result["indices"]) <= set(range(5))
    assert result["sum"] == pytest.approx(1, abs=1e-4)
    wanted = 100 * area(points, result["indices"]) / area(points, result["hull"]) if result["valid"] else 0
    assert result["area"] == pytest.approx(wanted, abs=1e-3)
    assert [one["value"] for one in result["cited"]] == [1.9, 38.9, 72.6]


def test_every_step_is_a_distribution(models: Models) -> None:
    for network in ("pointer", "attention", "plain"):
        for step in (1, 2, 99 % 61):
            result = ask("pointer", models, network=network, step=step)
            assert sum(result["chances"]) == pytest.approx(1, abs=1e-4)
            assert len(result["chances"]) == 11


def test_points_that_have_no_hull_are_refused(models: Models) -> None:
    for points, wrong in (
        ("0,0 1,1", "at least 3 points"),
        ("0,0 1,1 0,1 1,1", "the same place"),
        ("0,0 0.5,0.5 1,1", "on one line"),
    ):
        with pytest.raises(FigureError, match=wrong):
            ask("pointer", models, points=points)
    assert "knows only 3 of them" in str(refusal([(0, 0), (1, 0), (0, 1), (1, 1)], 3))
    with pytest.raises(FigureError, match='"1;2" is no point'):
        ask("pointer", models, points="0,0 1;2")
    with pytest.raises(FigureError, match="is no point"):
        ask("pointer", models, points="0,0 nan,1 1,1")


def test_points_are_the_same_in_another_order(models: Models) -> None:
    plain, shuffled = ask("pointer", models), ask("pointer", models, shuffle=True)
    assert sorted(plain["points"]) == sorted(shuffled["points"])
    assert plain["points"] != shuffled["points"]


def test_tape_has_weightings_at_every_stage(models: Models) -> None:
    result = ask("memory", models, rows=3, step=2)
    for name, stage in result["stages"].items():
        assert min(stage) >= 0
        assert result["sums"][name] == pytest.approx(1, abs=1e-3)
    assert result["least"] >= 0
    wrong = (np.array(result["chances"]) > 0.5) != np.array(result["asked"])
    assert result["wrong"] == wrong.sum()
    assert result["limits"]["step"] == 7
    content = ask("memory", models, rows=3, step=2, by_location=False)
    assert content["stages"]["content"] == content["stages"]["sharpened"]


def test_bits_can_be_given_and_are_checked(models: Models) -> None:
    assert ask("memory", models, bits="10101010 11110000")["asked"] == [[1, 0] * 4, [1] * 4 + [0] * 4]
    with pytest.raises(FigureError, match='"102" is not a row of 8 signs'):
        ask("memory", models, bits="102")


def test_set_has_no_order_and_a_sequence_has(models: Models) -> None:
    result = ask("order", models)
    assert sorted(result["given"][0]) == sorted(result["given"][1])
    assert result["given"][0] != result["given"][1]
    assert result["set"] < 1e-5 < 1e-4 < result["sequence"]
    with pytest.raises(FigureError, match="write 2 to 20 numbers"):
        ask("order", models, numbers="0.5 two")


def test_claims_of_order_follow_the_numbers() -> None:
    orders = ("natural", "reversed", "three words reversed", "fixed shuffle")
    found: dict[str, dict[str, float]] = {
        "LSTM": dict(zip(orders, (80.0, 81.0, 95.0, 120.0), strict=True)),
        "Transformer": dict(zip(orders, (70.0, 71.0, 75.0, 80.0), strict=True)),
    }
    assert [claim["holds"] for claim in claims(found)] == [True, True, True]
    assert claims(found)[-1]["value"] == 30
    found["LSTM"]["fixed shuffle"] = 79.0
    assert not claims(found)[0]["holds"]
    assert claims({}) == []
