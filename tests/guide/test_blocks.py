"""The figures of heads, of one head's flow, and of the block that repeats."""

from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.encoder_layer import fresh, gradients, through
from allyouneed.guide.widgets.many_heads import contributions, without_head
from allyouneed.guide.widgets.removal import without_box
from allyouneed.guide.widgets.self_attention import look
from allyouneed.pipeline import LanguageModel, Translator


def ask(name: str, models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


@pytest.mark.parametrize(("h", "width"), [(1, 512), (2, 256), (4, 128), (8, 64), (16, 32)])
def test_width_is_shared_out_and_parameters_stay(models: Models, h: int, width: int) -> None:
    result = ask("heads", models, h=h)
    assert result["paper"] == {"width": width, "d_model": 512, "parameters": 1_048_576}


def test_every_head_has_rows_that_add_to_one(models: Models) -> None:
    for inputs in (
        {},
        {"recut": True, "h": 8},
        {"recut": True, "h": 2},
        {"model": "zoo:lm-en"},
        {"model": "zoo:mlm-en"},
    ):
        result = ask("heads", models, **inputs)
        cells = np.array(result["cells"])
        assert len(cells) == (inputs.get("h") or 4)
        assert cells.sum(-1) == pytest.approx(np.ones(cells.shape[:2]), abs=1e-4)
    assert not ask("heads", models, recut=True, model="zoo:lm-en")["recut"]  # rotary heads cannot be cut anew


def test_cutting_into_the_own_number_changes_nothing(models: Models) -> None:
    own = ask("heads", models, layer=1)
    again = ask("heads", models, layer=1, recut=True, h=4)
    assert np.array(again["cells"]) == pytest.approx(np.array(own["cells"]), abs=1e-5)


def test_roles_are_shares_of_the_pictures(models: Models) -> None:
    every = [ask("heads", models, layer=layer) for layer in range(2)]
    names = [name["text"] for name in every[0]["names"]]
    scores: dict[tuple[int, int], float] = {}
    for layer, result in enumerate(every):
        for head, cells in enumerate(result["cells"]):
            rows = np.array(cells)
            assert result["roles"][head]["previous"] == pytest.approx(np.diag(rows, -1).mean(), abs=1e-5)
            assert result["roles"][head]["first"] == pytest.approx(rows[1:, 0].mean(), abs=1e-5)
            look = rows[names.index("ate")]
            share = look[names.index("mouse")] + look[names.index("cheese")]
            assert result["roles"][head]["arguments"] == pytest.approx(share, abs=1e-5)
            scores[layer, head] = share
            best = max(result["roles"][head], key=result["roles"][head].__getitem__)
            assert result["named"][head] == best
    found = next(one for one in every[0]["best"] if one["role"] == "arguments")
    assert (found["layer"], found["head"]) == max(scores, key=scores.__getitem__)
    assert found["value"] == pytest.approx(max(scores.values()), abs=1e-5)


@pytest.mark.parametrize("own", ["zoo:en-fr", "zoo:lm-en", "zoo:mlm-en"])
def test_a_head_that_is_cut_out_is_missed(models: Models, own: str) -> None:
    loss = ask("heads", models, model=own, out=1)["loss"]
    assert loss["now"] == loss["without"][1] != loss["whole"]
    assert ask("heads", models, model=own)["loss"] == {**loss, "now": loss["whole"]}


def test_head_is_silenced_before_the_output(pipe: Translator) -> None:
    attention = pipe.model.encoder[0].self_attention
    x = torch.randn(1, 3, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        keys_values = attention.keys_values(x)
        whole = attention(x, *keys_values)
        parts = []
        for head in range(4):
            with without_head(attention, head):
                parts.append(whole - attention(x, *keys_values))
        assert sum(parts) + attention.output.bias == pytest.approx(whole, abs=1e-5)
        assert torch.equal(attention(x, *keys_values), whole)


def test_heads_add_up_to_the_layers_output(models: Models, pipe: Translator) -> None:
    with torch.no_grad():
        _, lookups = look(pipe, pipe.tokenizer.encode("The mouse ate the cheese ."))
        seen = lookups[1]
        whole = seen.attention(seen.x, *seen.attention.keys_values(seen.x), seen.mask, seen.place)[0]
        parts = contributions(seen)
        assert parts.sum(0) + seen.attention.output.bias == pytest.approx(whole, abs=1e-5)
    result = ask("heads", models, layer=1)["joining"]
    assert result["sizes"] == pytest.approx(parts.norm(dim=-1).mean(-1).tolist(), rel=1e-4)
    assert result["missing"] == pytest.approx(0, abs=1e-4)
    first = ask("heads", models, layer=1, joined=1)["joining"]["missing"]
    assert first == pytest.approx(100 * (parts[1:].sum(0).norm() / parts.sum(0).norm()).item(), rel=1e-4)
    assert ask("heads", models, layer=1, joined=0)["joining"]["missing"] == pytest.approx(100)


def test_heads_that_are_hardly_missed_are_counted(models: Models) -> None:
    result = ask("heads", models)
    few = sum(added < 0.1 for added in result["loss"]["added"])
    claim = result["claims"][0]
    assert (claim["word"], claim["origin"], claim["holds"]) == (str(few), "4", few > 2)


def test_groups_share_keys(models: Models) -> None:
    assert ask("heads", models)["groups"] == 2
    assert ask("heads", models)["own"] == {"heads": 4, "width": 8, "d_model": 32}


@pytest.mark.parametrize("own", ["zoo:en-fr", "zoo:mlm-en"])
@pytest.mark.parametrize("step", ["q", "k", "v", "scores", "weights", "z"])
def test_flow_cell_is_the_sum_of_its_terms(models: Models, step: str, own: str) -> None:
    result = ask("flow", models, step=step, row=1, column=2, head=3, layer=1, model=own)
    assert result["cell"] == pytest.approx(result["steps"][step][1][2], abs=1e-6)
    turned = result["turned"] and step in ("q", "k")
    assert turned or result["sum"] == pytest.approx(result["cell"], abs=1e-4)
    assert result["others"] == result["count"] - len(result["terms"])
    assert sum(term["value"] for term in result["terms"]) + result["rest"] == pytest.approx(result["sum"], abs=1e-4)


def test_flow_is_the_formula(models: Models) -> None:
    steps = {name: np.array(step) for name, step in ask("flow", models, head=1)["steps"].items()}
    scores = steps["q"] @ steps["k"].T / 8**0.5
    assert steps["scores"] == pytest.approx(scores, abs=1e-4)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert steps["weights"] == pytest.approx(weights, abs=1e-4)
    assert steps["z"] == pytest.approx(weights @ steps["v"], abs=1e-4)


def test_flow_of_a_decoder_hides_the_future(models: Models) -> None:
    steps = ask("flow", models, model="zoo:lm-en")["steps"]
    assert steps["scores"][0][1] is None
    assert steps["weights"][0][1] == 0


def kinds(result: dict[str, Any]) -> list[str]:
    return [box["kind"] for box in result["boxes"]]


def test_boxes_stand_in_the_order_of_the_block(models: Models) -> None:
    post = ["attention", "add", "norm", "ffn", "add", "norm"]
    pre = ["norm", "attention", "add", "norm", "ffn", "add"]
    assert kinds(ask("encoder-layer", models, block="post")) == post
    assert kinds(ask("encoder-layer", models, block="pre")) == pre
    assert kinds(ask("encoder-layer", models)) == pre  # the loaded model's own
    assert kinds(ask("block", models)) == pre


def test_boxes_hold_what_flows(models: Models, language_model: LanguageModel) -> None:
    model = "zoo:lm-en"
    boxes = [np.array(ask("encoder-layer", models, model=model, layer=1, box=box)["cells"]) for box in range(1, 7)]
    result = ask("encoder-layer", models, model=model, layer=1)
    assert result["used"] == {"box": 1, "layer": 1}
    entering = boxes[2] - boxes[1]  # the sum without what was added
    assert np.linalg.norm(entering, axis=-1).mean() == pytest.approx(result["entering"], rel=1e-4)
    assert boxes[5] == pytest.approx(boxes[2] + boxes[4], abs=1e-4)
    share = np.linalg.norm(boxes[4], axis=-1).mean() / np.linalg.norm(boxes[5], axis=-1).mean()
    assert result["boxes"][5]["share"] == pytest.approx(share, rel=1e-4)
    assert result["widths"] == {"d_model": 32, "d_ff": 48, "layers": 2, "heads": 4}
    assert language_model.model.config.gated
    assert result["activation"] == "swiglu"


@pytest.mark.parametrize("own", ["zoo:en-fr", "zoo:lm-en", "zoo:mlm-en"])
def test_loss_without_a_box(models: Models, own: str) -> None:
    results = [ask("encoder-layer", models, model=own, layer=1, box=box)["loss"] for box in range(1, 7)]
    assert len({loss["whole"] for loss in results}) == 1  # every box was put back
    assert all(loss["without"] != loss["whole"] for loss in results)
    assert ask("encoder-layer", models, block="pre")["loss"] is None


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_boxes_are_taken_out_one_by_one(placement: Any) -> None:
    layer = fresh(placement, "relu").encoder[0]
    residual: Any = layer.residuals[1]
    x = torch.randn(1, 3, 128, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        inner: Any = layer.feed_forward
        whole = residual(x, inner)
        alone = inner(residual.norm(x)) if placement == "pre" else residual.norm(inner(x))
        with without_box("ffn", inner):
            assert residual(x, inner) == pytest.approx(x if placement == "pre" else residual.norm(x), abs=1e-5)
        with without_box("norm", residual.norm):
            assert residual(x, inner) == pytest.approx(x + inner(x), abs=1e-5)
        with without_box("add", residual):
            assert residual(x, inner) == pytest.approx(alone, abs=1e-4)
        assert torch.equal(residual(x, inner), whole)


def test_post_norm_boxes_are_normalised_last(models: Models) -> None:
    cells = np.array(ask("encoder-layer", models, block="post", box=6)["cells"])
    assert cells.mean(-1) == pytest.approx(np.zeros(len(cells)), abs=1e-4)
    assert cells.std(-1) == pytest.approx(np.ones(len(cells)), abs=1e-2)


def test_shallow_model_is_the_first_layers_of_the_deepest() -> None:
    model, tokens = fresh("pre", "gelu"), torch.arange(9)[None]
    assert torch.equal(through(model, tokens, 12), model.encode(tokens).states)
    assert not torch.equal(through(model, tokens, 11), model.encode(tokens).states)


def test_gradients_stay_large_after_the_sum_and_shrink_with_depth_before_it(models: Models) -> None:
    shallow, deep = (ask("block", models, layers=layers, activation="relu")["gradients"] for layers in (3, 12))
    assert deep["post"] == pytest.approx(gradients("post", "relu", 12), rel=1e-4)
    assert deep["pre"][-1] < 0.7 * shallow["pre"][-1]
    assert deep["post"][-1] > 0.8 * shallow["post"][-1]
    assert deep["post"][-1] > 2 * deep["pre"][-1]
    assert fresh("pre", "swiglu").config.d_ff == 4 * 128 * 2 // 3  # three matrices of the size of two


def test_one_token_has_no_heads_to_compare(models: Models) -> None:
    with pytest.raises(FigureError, match="One token is not enough"):
        ask("heads", models, sentence="a")


def test_nearest_and_reordered_are_measured(models: Models) -> None:
    result = ask("self-attention", models)
    cosines = [one["cosine"] for one in result["nearest"]]
    assert cosines == sorted(cosines, reverse=True)
    assert all(-1 <= cosine <= 1 for cosine in cosines)
    assert result["reordered"]["without"] < 1e-5 < result["reordered"]["with"]
    assert ask("self-attention", models, model="zoo:lm-en")["reordered"] is None
