"""The language model without attention that ships: beside the one with attention, on the same vocabulary."""

import pytest
import torch

from allyouneed.errors import UsageError
from allyouneed.models.mamba import Mamba
from allyouneed.pipeline import LanguageModel, load

TEXT = "The dog is in the garden. The children are reading a book near the window."


@pytest.fixture(scope="module")
def pipe() -> LanguageModel:
    return load("zoo:mamba-en", LanguageModel)


def test_it_reads_the_vocabulary_of_the_other(pipe: LanguageModel) -> None:
    other = load("zoo:lm-en", LanguageModel)
    assert isinstance(pipe.model, Mamba)
    assert pipe.tokenizer.encode(TEXT) == other.tokenizer.encode(TEXT)
    sizes = [sum(parameter.numel() for parameter in one.model.parameters()) for one in (pipe, other)]
    assert 0.8 < sizes[0] / sizes[1] < 1


def test_english_is_likelier_than_its_words_in_another_order(pipe: LanguageModel) -> None:
    words = TEXT.split()
    found, backwards = (sum(score.logprobs) for score in pipe.score([TEXT, " ".join(reversed(words))]))
    assert found > backwards + 20
    assert -found / len(pipe.tokenizer.encode(TEXT)) < 4


def test_what_it_writes_is_what_whole_passes_find_likeliest(pipe: LanguageModel) -> None:
    [found] = pipe.generate(["The children are"], temperature=0.0, max_tokens=8)
    row = [*pipe.tokenizer.prefix, *pipe.tokenizer.encode("The children are" + found.text)]
    start = len(row) - len(found.tokens)
    with torch.no_grad():
        best = pipe.model(torch.tensor([row]))[0].argmax(-1).tolist()
    written = [(token, likeliest) for token, likeliest in zip(row[1:], best, strict=False)][start - 1 :]
    assert len(written) >= 4
    assert all(token == likeliest for token, likeliest in written)


def test_its_state_does_not_grow(pipe: LanguageModel) -> None:
    sizes: list[int] = []
    for length in (4, 64):
        tokens = torch.full((1, length), 7)
        _, state = pipe.model.read(tokens, pipe.model.start())
        sizes.append(state.bytes)
    assert sizes[0] == sizes[1]


def test_there_is_nothing_to_look_at(pipe: LanguageModel) -> None:
    with pytest.raises(UsageError, match="has no attention: it keeps what it read in a state of fixed size"):
        pipe.attend(TEXT)
