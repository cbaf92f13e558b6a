import inspect
import json
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError, plain, pooled
from allyouneed.guide.widgets.cross_attention import write
from allyouneed.guide.widgets.scaling import WIDTHS, draws
from allyouneed.guide.widgets.texts import covering
from allyouneed.models.transformer import Transformer
from allyouneed.parts import attention
from allyouneed.pipeline import Translator
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer

SENTENCE = "The mouse ate the cheese."
SOURCE = "La souris a mangé le fromage."


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def ask(models: Models, name: str, **inputs: Any) -> dict[str, Any]:
    return WIDGETS[name].answer(inputs, models)


@pytest.mark.parametrize("name", WIDGETS)
def test_answer_is_plain_json_and_echoes_its_inputs(models: Models, name: str) -> None:
    result = ask(models, name)
    json.dumps(result, allow_nan=False)
    assert result["inputs"] == WIDGETS[name].inputs().model_dump()


@pytest.mark.parametrize("name", WIDGETS)
def test_code_is_the_source_of_the_functions_that_ran(name: str) -> None:
    shown = {part["name"]: part["source"] for part in WIDGETS[name].sources()}
    if name in ("lookup", "scaling", "self-attention", "causal-mask", "cross-attention"):
        assert shown["attention_weights"] == inspect.getsource(attention.attention_weights)
    assert shown["compute"] == inspect.getsource(WIDGETS[name].compute)


# Scaling


@pytest.mark.parametrize("d_k", WIDTHS)
@pytest.mark.parametrize("scale", [True, False])
def test_scaling_agrees_with_its_formulas(models: Models, d_k: int, scale: bool) -> None:
    query, key = (part.double().numpy()[:, 0, :6, :d_k] for part in draws(5))
    products = np.einsum("rqd,rnd->rn", query, key) / (math.sqrt(d_k) if scale else 1)
    weights = softmax(products)
    result = ask(models, "scaling", d_k=d_k, scale=scale, n=6, seed=5)
    assert result["scores"] == pytest.approx(products[0], abs=1e-3)
    assert result["weights"] == pytest.approx(weights[0], abs=1e-4)
    entropy = -(weights * np.log2(np.maximum(weights, 1e-300))).sum(-1)
    assert result["measures"]["entropy"] == pytest.approx(entropy[0], abs=1e-3)
    assert result["typical"]["entropy"] == pytest.approx(entropy.mean(), abs=1e-3)
    assert result["typical"]["max"] == pytest.approx(weights.max(-1).mean(), abs=1e-3)
    assert [row[WIDTHS.index(d_k)] for row in result["strip"]] == result["weights"]


def test_scaling_jacobian_is_the_derivative_of_the_softmax(models: Models) -> None:
    result = ask(models, "scaling", d_k=16)
    scores = torch.tensor(result["scores"], requires_grad=True)
    rows = [torch.autograd.grad(weight, scores, retain_graph=True)[0] for weight in scores.softmax(-1)]
    assert result["measures"]["jacobian"] == pytest.approx(torch.stack(rows).norm().item(), abs=1e-4)


def test_scaling_tells_its_story_at_the_default_seed(models: Models) -> None:
    off, on = (ask(models, "scaling", d_k=512, scale=scale)["measures"] for scale in (False, True))
    assert off["max"] > 0.9
    assert off["entropy"] < 0.5
    assert on["entropy"] > 2


@pytest.mark.parametrize("d_k", [width for width in WIDTHS if width >= 64])
def test_gradient_falls_without_scaling(models: Models, d_k: int) -> None:
    off, on = (ask(models, "scaling", d_k=d_k, scale=scale) for scale in (False, True))
    assert off["measures"]["jacobian"] < on["measures"]["jacobian"]
    assert off["typical"]["jacobian"] < on["typical"]["jacobian"]


@pytest.mark.parametrize("d_k", WIDTHS)
def test_variance_of_products_is_the_width(models: Models, d_k: int) -> None:
    assert ask(models, "scaling", d_k=d_k)["variance"] == pytest.approx(d_k, rel=0.1)


# Lookup


def test_lookup_mixes_as_the_textbook_does(models: Models) -> None:
    result = ask(models, "lookup")
    assert result["weights"] == pytest.approx([0.2, 0.1, 0.7], abs=5e-4)
    assert result["sum"] == pytest.approx(1, abs=1e-6)
    assert result["entropy"] == pytest.approx(1.157, abs=5e-4)
    assert result["mixed"] == pytest.approx(np.array(result["weights"]) @ np.array(result["values"]), abs=1e-4)


def test_lookup_at_the_ends(models: Models) -> None:
    assert ask(models, "lookup", are=8)["weights"][1] > 0.99
    assert ask(models, "lookup", how=1, are=1, you=1)["weights"] == pytest.approx([1 / 3] * 3, abs=1e-5)
    assert ask(models, "lookup", temperature=5)["entropy"] > 1.5


@torch.no_grad()
@pytest.mark.parametrize(("layer", "head"), [(0, 0), (0, 3), (1, 2)])
def test_lookup_shows_the_models_own_weights(models: Models, pipe: Translator, layer: int, head: int) -> None:
    result = ask(models, "lookup", scores="model", layer=layer, head=head)
    view = pipe.attend("How are you")
    texts = [token["text"] for token in result["tokens"]]
    assert texts == list(view.tokens["encoder"][0])
    row = len(pipe.tokenizer.encode("How are")) - 1
    assert result["weights"] == pytest.approx(view["encoder", layer, head][row].tolist(), abs=1e-5)


@torch.no_grad()
def test_lookup_values_are_rows_of_the_encoder(models: Models, model: Transformer, tokenizer: Tokenizer) -> None:
    words = [tokenizer.encode(word) for word in ("How", "are", "you")]
    ids = torch.tensor([[*chain(*words), EOS]])
    stored = {name.removeprefix("encoder.0."): tensor for name, tensor in model.state_dict().items()}
    waves = model.encoder_inputs.waves
    assert waves is not None
    x = stored["embedding.weight"][ids[0]] * math.sqrt(model.config.d_model) + waves[: ids.shape[1]]
    # This model normalises before the lookup.
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + model.config.norm_epsilon).sqrt()
    x = x * stored["residuals.0.norm.weight"] + stored["residuals.0.norm.bias"]
    projected = x @ stored["self_attention.value.weight"].T + stored["self_attention.value.bias"]
    second_group = projected[:-1, 8:16]  # heads 2 and 3 of 4 share the second of two groups, each 8 wide
    wanted = [second_group[a:b].mean(0).tolist() for a, b in pairwise(np.cumsum([0, *map(len, words)]))]
    for head in (2, 3):
        values = ask(models, "lookup", head=head)["values"]
        assert np.array(values) == pytest.approx(np.array(wanted), abs=1e-4)


# Causal mask


def cells(models: Models, **inputs: Any) -> np.ndarray:
    return np.array(ask(models, "causal-mask", sentence=SENTENCE, source=SOURCE, **inputs)["cells"], dtype=float)


def test_causal_mask_hides_the_upper_triangle_exactly(models: Models) -> None:
    result = ask(models, "causal-mask", sentence=SENTENCE, source=SOURCE, layer=1, head=2)
    weights = np.array(result["cells"])
    n = len(weights)
    assert n == len(result["tokens"]) == len(result["row_sums"])
    assert (weights[np.triu_indices(n, 1)] == 0).all()
    assert result["masked"] == n * (n - 1) // 2
    assert (weights[np.tril_indices(n)] > 0).all()
    assert result["row_sums"] == pytest.approx([1] * n, abs=1e-3)
    assert result["own_mask"] == "causal"


def test_causal_mask_shows_the_models_own_weights(models: Models, pipe: Translator) -> None:
    view = pipe.attend(SOURCE, SENTENCE)
    for layer, head in ((0, 0), (1, 3)):
        wanted = view["decoder", layer, head].numpy()
        assert cells(models, layer=layer, head=head) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("mask", ["causal", "window", "prefix", "padding"])
def test_masked_scores_are_minus_infinity_where_weights_are_zero(models: Models, mask: str) -> None:
    masked, weights = (cells(models, mask=mask, stage=stage, layer=1) for stage in ("masked", "weights"))
    assert (np.isnan(masked) == (weights == 0)).all()  # minus infinity travels as null
    assert np.isnan(masked).any()
    assert softmax(np.where(np.isnan(masked), -np.inf, masked)) == pytest.approx(weights, abs=1e-4)


def test_first_layer_scores_are_the_same_before_the_mask(models: Models) -> None:
    scores, masked = (cells(models, stage=stage) for stage in ("scores", "masked"))
    assert not np.isnan(scores).any()
    assert np.where(np.isnan(masked), scores, masked) == pytest.approx(scores, abs=1e-4)


def test_no_mask_lets_everything_through(models: Models) -> None:
    weights = cells(models, mask="none")
    assert (weights > 0).all()
    assert weights.sum(-1) == pytest.approx(np.ones(len(weights)), abs=1e-3)


def test_padding_is_never_looked_at(models: Models) -> None:
    result = ask(models, "causal-mask", sentence=SENTENCE, mask="padding", pads=3)
    weights = np.array(result["cells"])
    assert [token["kind"] for token in result["tokens"]][-3:] == ["pad"] * 3
    assert (weights[:, -3:] == 0).all()
    assert (weights[:, :-3] > 0).all()
    assert result["row_sums"] == pytest.approx([1] * len(weights), abs=1e-3)


@pytest.mark.parametrize("window", [1, 3])
def test_window_hides_what_is_too_far_back(models: Models, window: int) -> None:
    weights = cells(models, mask="window", window=window)
    back = np.subtract.outer(np.arange(len(weights)), np.arange(len(weights)))
    assert ((weights == 0) == ((back < 0) | (back >= window))).all()


def test_prefix_is_open_to_all(models: Models) -> None:
    weights = cells(models, mask="prefix", prefix=4)
    place = np.arange(len(weights))
    assert ((weights > 0) == ((place[None] <= place[:, None]) | (place[None] < 4))).all()


@pytest.mark.parametrize(
    ("mask", "leaks"), [("causal", False), ("window", False), ("prefix", False), ("none", True), ("padding", True)]
)
def test_leak_is_exactly_zero_or_it_is_not(models: Models, mask: str, leaks: bool) -> None:
    leak = ask(models, "causal-mask", sentence=SENTENCE, source=SOURCE, mask=mask)["leak"]
    assert leak["from"] != leak["to"]
    assert (leak["moved"] > 0) is leaks


# Cross-attention


def test_translation_is_the_librarys_own(models: Models, pipe: Translator) -> None:
    result = ask(models, "cross-attention", source=SOURCE)
    tokens = [token["text"] for token in result["target"] if token["kind"] == "piece"]
    assert tokens == pipe.translate([SOURCE], beam=1)[0].tokens


@pytest.mark.parametrize("step", [1, 2, 7])
def test_step_shows_its_choice_and_its_look(models: Models, pipe: Translator, step: int) -> None:
    result = ask(models, "cross-attention", source=SOURCE, step=step, layer=1, head=3)
    target = result["target"]
    chances = [one["p"] for one in result["next"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) <= 1
    assert result["next"][0]["text"] == target[step - 1]["text"]
    written = [*pipe.tokenizer.encode(SOURCE)]
    ids = [token for token in greedy(pipe, written) if token != EOS]
    assert result["look"] == pytest.approx(pipe.look(written, ids)["cross", 1, 3][step - 1].tolist(), abs=1e-5)
    assert sum(result["look"]) == pytest.approx(1, abs=1e-4)


@torch.no_grad()
def greedy(pipe: Translator, source: list[int]) -> list[int]:
    """One whole forward pass a token: slow, and independent of caches and states."""
    target = [BOS]
    limit = min(256, 2 * len(source) + 20, pipe.config.max_length)
    while target[-1] != EOS and len(target) <= limit:
        logits = pipe.model(torch.tensor([[*source, EOS]]), torch.tensor([target]))[0, -1]
        logits[[0, 1, 3]] = -math.inf
        target.append(int(logits.argmax()))
    return target[1:]


class Stubborn:
    """A model that would always write a mark, then a token, then the end."""

    def start(self, memory: Any) -> None:
        assert memory == "memory"

    def step(self, tokens: torch.Tensor, state: None) -> tuple[torch.Tensor, None]:
        assert tokens.shape == (1,)
        return torch.tensor([[9.0, 9.0, 1.0, 9.0, 2.0]]), state


def test_marks_are_never_written() -> None:
    written = write(cast(Any, Stubborn()), cast(Any, "memory"), 3, None)
    assert written.tokens == [4, 4, 4]
    assert all(probability[[0, 1, 3]].sum() == 0 for probability in written.probabilities)
    sampled = write(cast(Any, Stubborn()), cast(Any, "memory"), 200, torch.Generator().manual_seed(0))
    assert set(sampled.tokens) == {2, 4}
    assert sampled.tokens.index(2) == len(sampled.tokens) - 1


def test_mean_of_heads_is_their_mean(models: Models) -> None:
    looks = [ask(models, "cross-attention", source=SOURCE, head=head)["look"] for head in range(4)]
    assert ask(models, "cross-attention", source=SOURCE)["look"] == pytest.approx(np.mean(looks, axis=0), abs=1e-5)


def test_step_layer_and_head_are_brought_within_the_model(models: Models) -> None:
    result = ask(models, "cross-attention", source=SOURCE, step=256, layer=63, head=63)
    assert result["used"] == {"step": len(result["target"]), "layer": 1, "head": 3}
    assert result["used"] == result["limits"]


def test_sampling_is_fixed_by_its_seed(models: Models) -> None:
    first, again, other = (
        ask(models, "cross-attention", source=SOURCE, choose="sample", seed=seed)["target"] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_word_is_found_among_its_tokens(tokenizer: Tokenizer) -> None:
    text = "Le chat s'est assis, et le chat dormait."
    ids = tokenizer.encode(text)
    for word in ("chat", "assis", "dormait", "Le"):
        places = covering(tokenizer, ids, word)
        assert places == list(range(places[0], places[-1] + 1))
        assert tokenizer.decode([ids[place] for place in places]).strip() == word
    assert covering(tokenizer, ids, "dorm") == []


# What a figure refuses


@pytest.mark.parametrize(
    ("name", "inputs", "key", "field", "message"),
    [
        ("scaling", {"d": 3}, "error.unknown", "d", 'no input "d", but d_k, scale, n, seed'),
        ("scaling", {"d_k": 3}, "error.choice", "d_k", 'd_k: "3" is none of 1, 2, 4'),
        ("scaling", {"n": 1}, "error.range", "n", "n: 1 is outside 2 to 32"),
        ("scaling", {"n": "many"}, "error.range", "n", "many"),
        ("scaling", {"scale": 7}, "error.type", "scale", "not of the type boolean"),
        ("lookup", {"how": math.nan}, "error.range", "how", "nan is outside -4"),
        ("lookup", {"model": "elsewhere"}, "error.model", None, 'no model "elsewhere" here'),
        (
            "lookup",
            {"model": "zoo:lm-en"},
            "error.model",
            None,
            "a decoder, .* this figure needs an encoder-decoder",
        ),
        ("sentences", {"model": "zoo:mlm-en"}, "error.model", None, "is an encoder, .* this figure needs a decoder"),
        ("sentences", {"sentences": "One.\n \nThree."}, "error.empty", "sentences", "no text yet"),
        ("sentences", {"sentences": "One.\n" * 5}, "error.lines", "sentences", "at most 5 lines"),
        ("sentences", {"sentences": "one two three " * 30}, "error.context", "sentences", "this model has 63 places"),
        ("self-attention", {"sentence": " "}, "error.empty", "sentence", "no text yet"),
        ("self-attention", {"sentence": "one two three " * 30}, "error.context", "sentence", "this model has 6"),
        ("flow", {"sentence": "one two three " * 8}, "error.room", "sentence", "this figure has room for 16"),
        ("flow", {"sentence": "one two three " * 30}, "error.room", "sentence", "this figure has room for 16"),
        ("causal-mask", {"sentence": "  "}, "error.empty", "sentence", "no text yet"),
        ("causal-mask", {"sentence": "one two three " * 30}, "error.context", "sentence", "tokens are too many"),
        ("causal-mask", {"sentence": "x" * 8001}, "error.long", "sentence", "at most 8000 characters"),
        ("cross-attention", {"source": " \n"}, "error.empty", "source", "no text yet"),
        ("cross-attention", {"source": "one two three " * 30}, "error.context", "source", "this model has 63 places"),
    ],
)
def test_refusal_says_what_and_why(
    models: Models, name: str, inputs: dict[str, Any], key: str, field: str | None, message: str
) -> None:
    with pytest.raises(FigureError, match=message) as caught:
        WIDGETS[name].answer(inputs, models)
    refusal = caught.value.as_dict()
    assert (refusal["key"], refusal["field"]) == (key, field)
    json.dumps(refusal["params"])


def test_large_matrix_is_pooled() -> None:
    matrix = torch.rand(300, 290)
    small, factor = pooled(matrix)
    assert factor == 2
    assert small.shape == (150, 145)
    assert small[3, 4] == pytest.approx(matrix[6:8, 8:10].mean().item())
    assert pooled(matrix[:256, :256])[1] == 1


def test_figures_may_be_asked_at_once(models: Models) -> None:
    alone = ask(models, "causal-mask", sentence=SENTENCE)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(ask, models, "causal-mask", sentence=SENTENCE) for _ in range(8)]
    assert all(answer.result() == alone for answer in waiting)


def test_pictures_are_rounded_as_single_numbers_are() -> None:
    random = torch.Generator().manual_seed(0)
    x = torch.randn(2000, generator=random) * torch.logspace(-12, 9, 2000)
    x[7] = 0.0
    assert plain(x) == [plain(value) for value in x.tolist()]
    assert plain(torch.tensor([[1.5, -torch.inf]])) == [[1.5, None]]
    assert plain(torch.tensor([[2, 3]])) == [[2, 3]]
    assert plain(torch.tensor([True])) == [True]
