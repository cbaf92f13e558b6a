"""Encoders: what stands behind a mask, and texts as vectors."""

from dataclasses import replace

import pytest
import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import MaskedModel, TextError, TooLongError
from allyouneed.pipeline.gaps import with_masks
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer

MASK = 3
TEXTS = ["The mouse ate the ___.", "___ cat sat on the mat, and the dog slept.", "The ___ ate the ___"]


@pytest.fixture(scope="module")
def pipe(encoder: Transformer, tokenizer: Tokenizer) -> MaskedModel:
    return MaskedModel(encoder, tokenizer.for_line("encoder"), name="small")


def chances(pipe: MaskedModel, row: list[int], place: int) -> torch.Tensor:
    with torch.no_grad():
        return pipe.model(torch.tensor([row]))[0, place].softmax(-1)


@pytest.mark.parametrize("spelt", ["___", "_____", "<mask>", "[MASK]"])
def test_a_mask_stands_for_a_token(pipe: MaskedModel, tokenizer: Tokenizer, spelt: str) -> None:
    tokens = tokenizer.encode("The mouse ate the cheese.")
    place = next(place for place in range(len(tokens)) if tokenizer.decode(tokens[place:]) == "cheese.")
    end = tokenizer.encode("The mouse ate the cheese")
    expected = [*tokens[:place], MASK, *tokens[len(end) :]]
    assert with_masks(tokenizer, f"The mouse ate the {spelt}.", MASK) == expected


def test_what_stands_around_masks_is_cut_as_in_the_whole_text(tokenizer: Tokenizer) -> None:
    cat, mat = tokenizer.encode("The cat"), tokenizer.encode("the mat")
    assert with_masks(tokenizer, "The cat ___ the mat", MASK) == [*cat, MASK, *mat]
    assert with_masks(tokenizer, "___ the mat", MASK) == [MASK, *mat]
    assert with_masks(tokenizer, "The cat ___ ___ the mat", MASK) == [*cat, MASK, MASK, *mat]
    assert with_masks(tokenizer, "The cat", MASK) == cat
    assert tokenizer.decode(with_masks(tokenizer, "(___) 12 ___, the", MASK)) == "() 12, the"


def test_guesses_are_the_models_likeliest_tokens(pipe: MaskedModel, tokenizer: Tokenizer) -> None:
    fillings = pipe.fill(TEXTS, k=7)
    assert [len(filling.guesses) for filling in fillings] == [1, 1, 2]
    for text, filling in zip(TEXTS, fillings, strict=True):
        row = [BOS, *with_masks(tokenizer, text, MASK), EOS]
        places = [place for place, token in enumerate(row) if token == MASK]
        filled = list(row)
        for place, guesses in zip(places, filling.guesses, strict=True):
            probability = chances(pipe, row, place)
            probability[[BOS, EOS, MASK]] = 0
            best = probability.topk(7)
            assert [guess.token for guess in guesses] == tokenizer.pieces(best.indices.tolist())
            assert [guess.probability for guess in guesses] == pytest.approx(best.values.tolist(), abs=1e-5)
            filled[place] = int(best.indices[0])
        assert filling.text == tokenizer.decode(filled)


def test_no_mark_is_ever_guessed(pipe: MaskedModel) -> None:
    [filling] = pipe.fill(["the ___"], k=10_000)
    assert len(filling.guesses[0]) == pipe.tokenizer.vocab_size - 3
    assert not {"<s>", "</s>", "<mask>"} & {guess.token for guess in filling.guesses[0]}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["the ___", "the cat"], "Text 2 has no gap: write ___ where a token is missing"),
        (["the " * 62 + "___"], "Text 1 has 63 tokens, and this model reads at most 62"),
    ],
)
def test_texts_that_cannot_be_filled(pipe: MaskedModel, texts: list[str], message: str) -> None:
    with pytest.raises(TextError, match=message):
        pipe.fill(texts)


def test_what_fill_refuses(encoder: Transformer, tokenizer: Tokenizer, pipe: MaskedModel) -> None:
    with pytest.raises(UsageError, match="k = 0: at least 1"):
        pipe.fill(["___"], k=0)
    with pytest.raises(UsageError, match=r"^k = 2\.0: a whole number is needed\.$"):
        pipe.fill(["___"], k=2.0)  # pyright: ignore[reportArgumentType]  # as a notebook may say it
    with pytest.raises(UsageError, match="Texts come as a list"):
        pipe.fill("___")
    plain = tokenizer.for_line("encoder")
    plain.marks = replace(plain.marks, mask=None)
    for work in (MaskedModel.fill, MaskedModel.score):
        with pytest.raises(InputError, match="plain has no mask among its tokens"):
            work(MaskedModel(encoder, plain, name="plain"), ["___"])


def test_a_score_masks_each_token_in_turn(pipe: MaskedModel, tokenizer: Tokenizer) -> None:
    texts = ["The mouse ate the cheese.", "", "dog"]
    for text, score in zip(texts, pipe.score(texts), strict=True):
        row = [BOS, *tokenizer.encode(text), EOS]
        assert score.tokens == tokenizer.pieces(row[1:-1])
        expected = [
            chances(pipe, [*row[:place], MASK, *row[place + 1 :]], place)[row[place]].log().item()
            for place in range(1, len(row) - 1)
        ]
        assert score.logprobs == pytest.approx(expected, abs=1e-4)


def test_vectors_are_means_of_length_1_in_any_company(pipe: MaskedModel, tokenizer: Tokenizer) -> None:
    texts = ["The mouse ate the cheese.", "dog", "The cat sat on the mat, and the dog slept.", ""]
    vectors = pipe.embed(texts)
    assert vectors.shape == (4, 32)
    for text, vector in zip(texts, vectors, strict=True):
        row = torch.tensor([[BOS, *tokenizer.encode(text), EOS]])
        with torch.no_grad():
            mean = pipe.model.encode(row).states[0].mean(0)
        assert torch.allclose(vector, mean / mean.norm(), atol=1e-5)
    bare = MaskedModel(pipe.model, tokenizer.for_line("encoder"), name="bare")
    bare.tokenizer.marks = type(bare.tokenizer.marks)()
    with pytest.raises(TextError, match="Text 1 is empty: there is nothing to make a vector of"):
        bare.embed([""])
    with pytest.raises(TooLongError, match="Text 1 has 63 tokens, and this model reads at most 62"):
        pipe.embed(["the " * 62 + "the"])


def test_progress_tells_how_many_are_done(pipe: MaskedModel) -> None:
    texts = ["the ___"] * 70
    for work in (pipe.fill, pipe.score, pipe.embed):
        done: list[int] = []
        work(texts, on_progress=done.append)
        assert done == sorted(done)
        assert done[-1] == 70
