"""Gaps that an encoder-decoder fills, in the two ways that such models learn."""

from typing import Any

import pytest
import torch

from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import UsageError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import TextError, Translator
from allyouneed.pipeline.gaps import sentinels_of
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


def answer(monkeypatch: pytest.MonkeyPatch, *answers: list[list[int]]) -> list[tuple[list[list[int]], dict[str, Any]]]:
    """Lets each search find, for every text, what it begins with and then these tokens, each of probability 1/2, best
    first; and notes what was searched.
    """
    asked: list[tuple[list[list[int]], dict[str, Any]]] = []
    logprob = torch.tensor(0.5).log().item()

    def hypotheses(_: object, __: object, sources: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
        found = answers[len(asked)]
        begun = [list(prefix) for prefix in settings.get("prefixes", [[] for _ in sources])]
        asked.append(([[*source] for source in sources], {**settings, "prefixes": begun}))
        texts = [[[*prefix, *tokens] for tokens in found] for prefix in begun]
        return [[Hypothesis(one, 0.0, 0.0, [logprob] * (len(one) + 1), True) for one in text] for text in texts]

    monkeypatch.setattr("allyouneed.pipeline.translator.hypotheses", hypotheses)
    return asked


def test_each_gap_is_searched_behind_its_sentinel(gappy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    code = gappy.tokenizer.encode
    first, second, last = sentinels_of(gappy.tokenizer)
    cat, mat, dog = code("cat sat"), code("mat"), code("dog")
    asked = answer(monkeypatch, [cat, dog], [mat])
    [filling] = gappy.fill(["The ___ on the ___."])
    stop = code("mat.")[len(mat) :]
    assert [sources for sources, _ in asked] == [[[*code("The"), first, *code("on the"), second, *stop]]] * 2
    assert [settings["prefixes"] for _, settings in asked] == [[[first]], [[first, *cat, second]]]
    assert [settings["ends"][0] for _, settings in asked] == [second, last]
    assert [settings["forbidden"] for _, settings in asked] == [[first, last], [first, second]]
    assert filling.text == "The cat sat on the mat."
    assert [[guess.token for guess in guesses] for guesses in filling.guesses] == [["cat sat", "dog"], ["mat"]]
    chances = [[guess.probability for guess in guesses] for guesses in filling.guesses]
    assert chances[0] == pytest.approx([0.5 ** (len(cat) + 1), 0.5 ** (len(dog) + 1)])  # and that it ends there
    assert chances[1] == pytest.approx([0.5 ** (len(mat) + 1)])


def test_a_gap_is_not_filled_with_nothing(gappy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    code = gappy.tokenizer.encode
    answer(monkeypatch, [[], code("mat"), code("dog")])
    [filling] = gappy.fill(["The ___."], k=1)
    assert filling.text == "The mat."
    assert [[guess.token for guess in guesses] for guesses in filling.guesses] == [["mat"]]


def test_a_whole_text_is_written_where_masks_were_learned(
    model: Transformer, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Translator(model, tokenizer, name="whole", recipe='[data]\nobjective = "infilling"\n')
    asked = answer(monkeypatch, [tokenizer.encode("The cat sat.")])
    [filling] = pipe.fill(["The ___."])
    assert (filling.text, filling.guesses) == ("The cat sat.", [])
    [(sources, _)] = asked
    assert 3 in sources[0]


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


def test_no_guess_is_no_number(gappy: Translator) -> None:
    with pytest.raises(UsageError, match="k = 0: at least 1"):
        gappy.fill(["The ___."], k=0)


def test_gaps_are_filled_by_the_search_itself(gappy: Translator) -> None:
    done: list[int] = []
    marks = {gappy.tokenizer.pieces([token])[0] for token in sentinels_of(gappy.tokenizer)}
    filled = gappy.fill(["The ___ on the ___.", "The ___"], k=3, on_progress=done.append)
    assert [[len(guesses) for guesses in filling.guesses] for filling in filled] == [[3, 3], [3]]
    assert done == [1, 2]
    for filling in filled:
        assert not any(mark in filling.text for mark in marks)
        for guesses in filling.guesses:
            chances = [guess.probability for guess in guesses]
            assert all(guess.token for guess in guesses)
            assert chances == sorted(chances, reverse=True)
            assert sum(chances) <= 1
