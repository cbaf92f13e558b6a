"""Gaps that an encoder-decoder fills, in the two ways that such models learn."""

from typing import Any

import pytest
import torch

from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import UsageError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import TextError, Translator
from allyouneed.pipeline.gaps import sentinels_of, spans
from allyouneed.text.tokenizer import Tokenizer

SENTENCES = ["The mouse ate the cheese.", "The cat sat on the mat, and the dog slept."] * 3


@pytest.fixture(scope="module")
def gappy() -> Translator:
    """A model whose tokenizer has sentinels for two gaps and the end."""
    tokenizer = Tokenizer.train(SENTENCES, vocab_size=300, sentinels=3)
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=300, d_model=16, n_heads=2, d_ff=16, n_encoder_layers=1, n_decoder_layers=1, max_length=64
    )
    return Translator(Transformer(config), tokenizer, name="gappy")


def answer(monkeypatch: pytest.MonkeyPatch, tokens: list[int]) -> list[list[list[int]]]:
    """Lets the search find these tokens, each of probability 1/2, and notes its sources."""
    asked: list[list[list[int]]] = []

    def hypotheses(_: object, __: object, sources: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
        asked.append([[*source] for source in sources])
        logprob = torch.tensor(0.5).log().item()
        return [[Hypothesis(tokens, 0.0, 0.0, [logprob] * (len(tokens) + 1), True)] for _ in sources]

    monkeypatch.setattr("allyouneed.pipeline.translator.hypotheses", hypotheses)
    return asked


def test_what_is_missing_is_written_behind_sentinels(gappy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    code = gappy.tokenizer.encode
    first, second, last = sentinels_of(gappy.tokenizer)
    asked = answer(monkeypatch, [first, *code("cat sat"), second, *code("mat"), last])
    [filling] = gappy.fill(["The ___ on the ___."])
    stop = code("mat.")[len(code("mat")) :]
    assert asked == [[[*code("The"), first, *code("on the"), second, *stop]]]
    assert filling.text == "The cat sat on the mat."
    assert [[guess.token for guess in guesses] for guesses in filling.guesses] == [["cat sat"], ["mat"]]
    assert [guess[0].probability for guess in filling.guesses] == pytest.approx(
        [0.5 ** len(code("cat sat")), 0.5 ** len(code("mat"))]
    )


def test_a_gap_that_was_left_out_stays_empty(gappy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = sentinels_of(gappy.tokenizer)
    answer(monkeypatch, [second, *gappy.tokenizer.encode("mat")])
    [filling] = gappy.fill(["The ___ on the ___."])
    assert filling.text == "The on the mat."
    assert [guesses[0].token for guesses in filling.guesses] == ["", "mat"]
    assert spans([7, first, 8, second], [first, second]) == [(2, 3), (4, 4)]
    assert spans([first, second, 7], [first, second]) == [(1, 1), (2, 3)]


def test_a_whole_text_is_written_where_masks_were_learned(
    model: Transformer, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Translator(model, tokenizer, name="whole", recipe='[data]\nobjective = "infilling"\n')
    asked = answer(monkeypatch, tokenizer.encode("The cat sat."))
    [filling] = pipe.fill(["The ___."])
    assert (filling.text, filling.guesses) == ("The cat sat.", [])
    assert 3 in asked[0][0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["___ ___ ___"], "Text 1 has 3 gaps, and this model tells 2 apart"),
        (["The ___.", "The cat."], "Text 2 has no gap: write ___"),
        (["the " * 80 + "___"], "Text 1 has .* tokens, and this model reads at most 63"),
    ],
)
def test_texts_that_cannot_be_filled(gappy: Translator, texts: list[str], message: str) -> None:
    with pytest.raises(TextError, match=message):
        gappy.fill(texts)


def test_a_translator_that_learned_no_gaps_says_so(model: Transformer, tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match="plain did not learn to fill gaps"):
        Translator(model, tokenizer, name="plain").fill(["The ___."])


def test_gaps_are_filled_by_the_search_itself(gappy: Translator) -> None:
    done: list[int] = []
    filled = gappy.fill(["The ___ on the ___.", "The ___"], beam=2, on_progress=done.append)
    assert [len(filling.guesses) for filling in filled] == [2, 1]
    assert done[-1] == 2
