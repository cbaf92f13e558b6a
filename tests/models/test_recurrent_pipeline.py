"""Recurrent models through the package's own verbs: stored and loaded, translated, aligned, scored and gone on with."""

import math
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.errors import UsageError
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.pipeline import LanguageModel, Translator, load
from allyouneed.text.tokenizer import Tokenizer

TEXTS = ["The mouse ate the cheese.", "The cat.", "", "The cat sat on the mat, and the dog slept."]
SIZES: dict[str, Any] = {"d_embedding": 12, "d_hidden": 16, "d_attention": 10, "d_readout": 12, "max_length": 64}
WITHOUT: dict[str, Any] = {"attention": "none", "bidirectional": False}
KINDS: dict[str, dict[str, Any]] = {
    "rnnsearch": {},
    "reversed": {**WITHOUT, "summary": "every-step", "reverse_source": True},
    "lstm": {**WITHOUT, "n_encoder_layers": 0, "cell": "lstm", "readout": "none"},
}


def folder(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A stored model with random weights that all matter."""
    torch.manual_seed(1)
    model = Recurrent(RecurrentConfig(vocab_size=tokenizer.vocab_size, **SIZES, **KINDS[kind]))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    place = tmp_path / kind
    save_model(place, model, tokenizer)
    return place


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_comes_back_whole(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    place = folder(kind, tokenizer, tmp_path)
    saved = load_model(place)
    config = cast(RecurrentConfig, saved.config)
    assert isinstance(config, RecurrentConfig)
    assert config.reverse_source == (kind == "reversed")
    assert isinstance(load(place), LanguageModel if kind == "lstm" else Translator)


@pytest.mark.parametrize("kind", ["rnnsearch", "reversed"])
def test_many_at_once_are_as_one_by_one_and_worth_their_score(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    pipe = load(folder(kind, tokenizer, tmp_path), Translator)
    together = pipe.translate(TEXTS, beam=3)
    assert (together[2].text, together[2].tokens) == ("", [])
    for text, translation in zip(TEXTS, together, strict=True):
        alone = pipe.translate([text], beam=3)[0]
        assert translation.text == alone.text
        assert translation.score == pytest.approx(alone.score, abs=1e-4)
    scores = pipe.score(TEXTS[:2], TEXTS[2:])
    single = [pipe.score([source], [target])[0] for source, target in zip(TEXTS[:2], TEXTS[2:], strict=True)]
    assert [score.total for score in scores] == pytest.approx([score.total for score in single], abs=1e-4)


def test_the_order_that_a_source_is_read_in_matters(tokenizer: Tokenizer, tmp_path: Path) -> None:
    place = folder("reversed", tokenizer, tmp_path)
    text = (place / "config.json").read_text("utf-8")
    backward = load(place, Translator)
    (place / "config.json").write_text(text.replace('"reverse_source": true', '"reverse_source": false'), "utf-8")
    forward = load(place, Translator)
    first, second = (pipe.score([TEXTS[3]], [TEXTS[0]])[0].total for pipe in (backward, forward))
    assert abs(first - second) > 1e-3


def test_additive_attention_is_shown_and_aligned(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pipe = load(folder("rnnsearch", tokenizer, tmp_path), Translator)
    view = pipe.attend(TEXTS[0], TEXTS[1])
    assert view.sides == ["cross"]
    assert (view.layers("cross"), view.heads("cross")) == (1, 1)
    rows, columns = view.tokens["cross"]
    weights = view["cross", -1, "mean"]
    assert weights.shape == (len(rows), len(columns)) == view.all("cross").shape[2:]
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(rows)))
    assert "cross 1 × 1" in repr(view)
    # The weights are those of the steps, one after another.
    model = cast(Recurrent, pipe.model)
    source, target = (pipe.tokenizer.encode(text) for text in TEXTS[:2])
    with torch.no_grad():
        memory = model.encode(torch.tensor([pipe.tokenizer.wrap(source)]))
        assert memory.keys is not None
        assert model.decoder.cross_attention is not None
        state = model.start(memory)
        for row, token in enumerate([pipe.tokenizer.start, *target]):
            asked = state.layers[0].hidden[:, None]
            wanted = model.decoder.cross_attention.weights(asked, memory.keys)
            torch.testing.assert_close(weights[row], wanted[0, 0])
            _, state = model.step(torch.tensor([cast(int, token)]), state)
    translation = pipe.translate([TEXTS[0]], align=True, beam=2)[0]
    assert translation.alignment is not None
    assert translation.alignment.matrix.shape == (len(translation.tokens), len(source))


def test_without_attention_there_is_nothing_to_show(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pipe = load(folder("reversed", tokenizer, tmp_path), Translator)
    message = "This model has no attention: it keeps what it read in a state of fixed size"
    with pytest.raises(UsageError, match=message):
        pipe.attend(TEXTS[0])
    with pytest.raises(UsageError, match=message):
        pipe.translate(TEXTS, align=True)
    with pytest.raises(UsageError, match=message):
        load(folder("lstm", tokenizer, tmp_path), LanguageModel).attend(TEXTS[0])


def test_a_language_model_goes_on_with_a_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pipe = load(folder("lstm", tokenizer, tmp_path), LanguageModel)
    written = pipe.generate(["The cat", "The", ""], max_tokens=6, seed=3)
    alone = [pipe.generate([text], max_tokens=6, seed=3, numbers=[n])[0] for n, text in enumerate(["The cat", "The"])]
    assert [one.text for one in written[:2]] == [one.text for one in alone]
    score = pipe.score([TEXTS[0]])[0]
    tokens = [cast(int, pipe.tokenizer.bos), *pipe.tokenizer.encode(TEXTS[0])]
    model = cast(Recurrent, pipe.model)
    with torch.no_grad():
        logprobs = model(torch.tensor([tokens[:-1]])).log_softmax(-1)[0]
    wanted = math.fsum(logprobs[torch.arange(len(tokens) - 1), tokens[1:]].tolist())
    assert score.total == pytest.approx(wanted, abs=1e-4)
    with pytest.raises(UsageError, match="int8 is for Transformers"):
        load(folder("lstm", tokenizer, tmp_path), LanguageModel, precision="int8").generate(["The"], seed=1)
