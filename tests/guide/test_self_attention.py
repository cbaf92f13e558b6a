from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.self_attention import EXAMPLE, by_words
from allyouneed.guide.widgets.texts import words_of
from allyouneed.pipeline import LanguageModel, MaskedModel, Translator
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer


def ask(models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS["self-attention"].answer(inputs, models)


def names(result: dict[str, Any]) -> list[str]:
    return [token["text"] for token in result["tokens"]]


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 3), (1, -1)])
def test_pieces_have_the_librarys_own_weights(
    models: Models, pipe: Translator, language_model: LanguageModel, masked_model: MaskedModel, layer: int, head: int
) -> None:
    for model, side in ((pipe, "encoder"), (language_model, "decoder"), (masked_model, "encoder")):
        view = model.attend(EXAMPLE)
        wanted = view[side, layer, "mean" if head < 0 else head]
        result = ask(models, words=False, layer=layer, head=head, token=2, model=model.name)
        assert names(result) == list(view.tokens[side][0])
        assert np.array(result["cells"]) == pytest.approx(wanted.numpy(), abs=1e-5)
        assert result["look"] == result["cells"][1]
        assert result["sum"] == pytest.approx(1, abs=1e-5)


def test_decoder_is_under_its_mask(models: Models) -> None:
    result = ask(models, model="zoo:lm-en", layer=1)
    weights = np.array(result["cells"])
    assert (weights[np.triu_indices(len(weights), 1)] == 0).all()
    assert result["mask"] == "causal"
    assert result["tokens"][0]["kind"] == "bos"
    assert ask(models, model="zoo:mlm-en")["mask"] == "none"


@pytest.mark.parametrize("own", ["zoo:en-fr", "zoo:lm-en", "zoo:mlm-en"])
def test_pieces_are_joined_into_six_words(models: Models, own: str) -> None:
    result = ask(models, model=own)
    words = [token["text"] for token in result["tokens"] if token["kind"] == "piece"]
    assert words == ["The", "mouse", "ate", "the", "cheese", "."]
    assert np.array(result["cells"]).sum(-1) == pytest.approx(np.ones(len(result["tokens"])), abs=1e-4)


def test_words_average_what_they_give_and_add_what_they_get() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.5, 0.0]])
    assert by_words(weights, [[0, 1], [2]]) == pytest.approx(torch.tensor([[0.45, 0.55], [1.0, 0.0]]))


def test_words_are_what_stands_between_spaces_and_signs(tokenizer: Tokenizer) -> None:
    text = "Le chat s'est assis, 치즈 42."
    ids = [BOS, *tokenizer.encode(text), EOS]
    words = [tokenizer.decode([ids[place] for place in places]).strip() for places in words_of(tokenizer, ids)]
    assert words == ["", "Le", "chat", "s", "'", "est", "assis", ",", "치즈", "42", ".", ""]
    assert [place for places in words_of(tokenizer, ids) for place in places] == list(range(len(ids)))
    half = tokenizer.encode("Le 학")[:-1]
    assert words_of(tokenizer, [*half, EOS])[-1] == [len(half)]  # a mark ends even half a letter


def test_claims_are_shares_of_the_look_and_name_the_strongest_head(models: Models, pipe: Translator) -> None:
    results = {(layer, head): ask(models, layer=layer, head=head) for layer in range(2) for head in (-1, 0, 1, 2, 3)}
    shares: dict[tuple[int, int], float] = {}
    for place, result in results.items():
        claim = result["claims"][0]
        assert (claim["word"], claim["origin"]) == ("ate", "mouse, cheese")
        words = names(result)
        look = result["cells"][words.index("ate")]
        assert claim["value"] == pytest.approx(look[words.index("mouse")] + look[words.index("cheese")], abs=1e-5)
        assert claim["holds"] == (words[int(np.argmax(look))] in ("mouse", "cheese"))
        shares[place] = claim["value"]
    best = max((place for place in shares if place[1] >= 0), key=shares.__getitem__)
    strongest = results[0, 0]["claims"][0]["strongest"]
    assert (strongest["layer"], strongest["head"]) == best
    assert strongest["value"] == shares[best]
    assert [claim["word"] for claim in results[0, 0]["claims"]] == ["ate", "The", "the"]
    assert [claim["word"] for claim in ask(models, sentence="The cat sat on the mat")["claims"]] == [
        "sat",
        "The",
        "the",
    ]
    assert ask(models, sentence="Le chat")["claims"] == []


def test_nothing_is_claimed_of_what_a_mask_hides(models: Models) -> None:
    claims = ask(models, model="zoo:lm-en")["claims"]
    assert [claim["word"] for claim in claims] == ["ate"], "the articles stand before their nouns"


@pytest.mark.parametrize(("name", "at"), [("zoo:en-fr", 3), ("zoo:lm-en", 4)])
def test_the_figure_opens_on_the_verb_whatever_mark_a_model_begins_with(models: Models, name: str, at: int) -> None:
    result = ask(models, model=name)
    assert result["used"]["token"] == at
    assert result["tokens"][at - 1]["text"] == "ate"
    assert ask(models, model=name, token=3)["used"]["token"] == 3, "a place that is asked for is kept"


def test_token_layer_and_head_are_brought_within_the_model(models: Models) -> None:
    result = ask(models, token=99, layer=63, head=63)
    assert result["used"] == {"token": 7, "layer": 1, "head": 3} == result["limits"]
    assert result["look"] == result["cells"][6]
