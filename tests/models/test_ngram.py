"""Counting n-grams: the probabilities are those of the definition, and add up to 1 after every history."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from allyouneed.checkpoints.conversion import convert
from allyouneed.checkpoints.native import load_model
from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import beam_search
from allyouneed.errors import InputError, UsageError
from allyouneed.models.ngram import NGram, NGramConfig
from allyouneed.models.ngram_counts import discounts
from allyouneed.pipeline import LanguageModel, NGramModel, load
from allyouneed.text import everyday

V, BEGIN, END = 12, 1, 2
History = tuple[int, ...]


def texts(seed: int = 1, count: int = 60) -> list[list[int]]:
    """Random texts in which some tokens follow others often."""
    chance = random.Random(seed)
    return [
        [BEGIN, *(min(V - 1, 3 + int(chance.expovariate(0.5))) for _ in range(chance.randint(1, 9))), END]
        for _ in range(count)
    ]


def definition(rows: list[list[int]], order: int) -> Callable[[int, History], float]:
    """Chen & Goodman's formula, word for word: p(token, history), the history oldest first."""
    counts: list[Counter[tuple[int, ...]]] = []
    for size in range(1, order + 1):
        grams = Counter(
            tuple(row[at : at + size])
            for row in rows
            for at in range(len(row) - size + 1)
            if row[at + size - 1] != BEGIN
        )
        if size < order:
            before = defaultdict[tuple[int, ...], set[int]](set)
            for row in rows:
                for at in range(1, len(row) - size + 1):
                    before[tuple(row[at : at + size])].add(row[at - 1])
            grams = Counter({gram: grams[gram] if gram[0] == BEGIN else len(before[gram]) for gram in grams})
        counts.append(grams)

    def p(token: int, history: History) -> float:
        shorter = p(token, history[1:]) if history else 1 / V
        grams = counts[len(history)]
        behind = {gram[-1]: count for gram, count in grams.items() if gram[:-1] == history}
        if not behind:
            return shorter
        off = [0.0, *discounts(torch.tensor(list(grams.values()))).tolist()]
        total = sum(behind.values())
        rest = sum(off[min(count, 3)] for count in behind.values()) / total
        count = behind.get(token, 0)
        return max(count - off[min(count, 3)], 0) / total + rest * shorter

    return p


@pytest.fixture(scope="module")
def model() -> NGram:
    return NGram.count(texts(), order=3, vocab_size=V)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_are_those_of_the_definition(order: int) -> None:
    rows = texts(order)
    model, p = NGram.count(rows, order=order, vocab_size=V), definition(rows, order)
    for row in texts(99, 8):  # histories that never stood in the text among them
        found = model(torch.tensor([row]))[0].exp()
        for at in range(len(row)):
            history = tuple(row[max(0, at + 2 - order) : at + 1]) if order > 1 else ()
            expected = [p(token, history) for token in range(V)]
            torch.testing.assert_close(found[at], torch.tensor(expected), rtol=1e-5, atol=1e-7)


def test_they_add_up_to_one_after_every_history(model: NGram) -> None:
    every = torch.cartesian_prod(torch.arange(V), torch.arange(V))
    logits = model.logits(every)
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(V * V))
    assert bool(torch.isfinite(logits).all())


def test_discounts_are_those_of_the_counts() -> None:
    counts = torch.tensor([1] * 8 + [2] * 4 + [3] * 3 + [4] * 2 + [9])
    share = 8 / 16
    expected = [1 - 2 * share * 4 / 8, 2 - 3 * share * 3 / 4, 3 - 4 * share * 2 / 3]
    torch.testing.assert_close(discounts(counts), torch.tensor(expected))
    torch.testing.assert_close(discounts(torch.tensor([7])), torch.tensor([0.5, 1.0, 1.5]))


def test_reading_and_steps_are_the_whole(model: NGram) -> None:
    tokens = torch.randint(3, V, (4, 7), generator=torch.Generator().manual_seed(1))
    whole, state = model(tokens), model.start(sentences=4)
    for at in range(7):
        logits, state = model.step(tokens[:, at], state)
        torch.testing.assert_close(logits, whole[:, at])
    lengths = torch.tensor([7, 3, 1, 5])
    right = torch.arange(7) < lengths[:, None]
    for keep, padded in ((right, tokens), (right.flip(1), turned(tokens, lengths))):
        logits, state = model.read(padded, model.start(sentences=4), keep)
        torch.testing.assert_close(logits, whole[torch.arange(4), lengths - 1])
        assert state.select(torch.tensor([2, 2])).rows == 2


def turned(tokens: Tensor, lengths: Tensor) -> Tensor:
    """The real tokens at the right end."""
    return torch.stack([row.roll(len(row) - int(length)) for row, length in zip(tokens, lengths, strict=True)])


def test_the_search_finds_what_scoring_confirms(model: NGram) -> None:
    beams = beam_search(model.start(), model.step, bos=BEGIN, eos=END, max_tokens=12, beam=4, nbest=3)[0]
    for found in beams:
        scored = forced_score(model.start(), model.step, [found.tokens], bos=BEGIN, eos=END)[0]
        assert math.fsum(scored[: len(found.token_logprobs)]) == pytest.approx(found.logprob, abs=1e-4)
    greedy = beam_search(model.start(), model.step, bos=BEGIN, eos=END, max_tokens=12, beam=1)[0][0]
    state, token = model.start(), BEGIN
    for expected in [*greedy.tokens, END][: len(greedy.token_logprobs)]:
        logits, state = model.step(torch.tensor([token]), state)
        token = int(logits.argmax())
        assert token == expected


def test_longer_orders_than_the_text_are_cut() -> None:
    model = NGram.count([[BEGIN, 5, END]], order=6, vocab_size=V)
    assert model.config.order == 3
    with pytest.raises(UsageError, match=r"^There is no text to count\.$"):
        NGram.count([], order=2, vocab_size=V)
    with pytest.raises(UsageError, match=r"^order = 0: at least 1 is needed\.$"):
        NGram.count([], order=0, vocab_size=V)
    with pytest.raises(ValueError, match="n_followers has 1 numbers, one for each"):
        NGramConfig(V, 2, (1, 2), (3,))


@pytest.fixture(scope="module")
def trained() -> NGramModel:
    lines = [text for (text,) in everyday.sentences(seed=1, count=300, split="train", languages=("en",))]
    return NGramModel.train(lines, order=3, vocab_size=700)


def test_a_text_is_scored_by_the_chain_rule(trained: NGramModel) -> None:
    text = "The mouse ate the cheese."
    [score] = trained.score([text])
    assert score.tokens == trained.tokenizer.pieces(trained.tokenizer.encode(text))
    row = [cast(int, trained.tokenizer.bos), *trained.tokenizer.encode(text)]
    whole = model_chances(trained, row)
    assert score.total == pytest.approx(math.log(math.prod(whole)), abs=1e-4)
    assert score.perplexity == pytest.approx(math.exp(-score.total / len(score.tokens)))
    likelier, odd = trained.score([text, "Mouse the the cheese ate."])
    assert likelier.total > odd.total


def model_chances(pipe: NGramModel, row: list[int]) -> list[float]:
    """The probability of each token but the first, one history at a time."""
    model, found = cast(NGram, pipe.model), list[float]()
    for at in range(1, len(row)):
        state = model.decode(torch.tensor([row[:at]]))[0, -1]
        found.append(float(model.logits(state).exp()[row[at]]))
    return found


def test_a_folder_holds_all_of_it(trained: NGramModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "counted")
    again = load(tmp_path / "counted", LanguageModel)
    lines = ["The mouse ate the cheese.", "a word it has never seen: xyzzy"]
    assert again.score(lines) == trained.score(lines)
    assert again.generate(["The"], seed=3, max_tokens=9) == trained.generate(["The"], seed=3, max_tokens=9)
    saved: Any = load_model(tmp_path / "counted").model
    assert saved.levels[1].keys.dtype == torch.long
    with pytest.raises(UsageError, match="has no attention"):
        again.attend("The mouse.")
    with pytest.raises(UsageError, match="`score` says what it gives a text"):
        saved.features(torch.zeros(1, 2))


def test_numbers_of_another_kind_are_refused(trained: NGramModel, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    trained.save(tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    save_file({name: tensor.float() for name, tensor in tensors.items()}, path)
    with pytest.raises(InputError, match=r"levels\.0\.keys holds F32, and its numbers are int64\.$"):
        load_model(tmp_path)


def test_texts_need_marks_at_their_ends(trained: NGramModel) -> None:
    with pytest.raises(UsageError, match="begin and end with one mark each"):
        NGramModel.train(["a"], tokenizer=cast(Any, Unmarked()))


class Unmarked:
    bos, eos, prefix = None, 2, ()


def test_no_published_layout_holds_counts(trained: NGramModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "counted")
    with pytest.raises(InputError, match=r"can hold this model: it is of a kind that none has\.$"):
        convert(tmp_path / "counted", tmp_path / "published")
