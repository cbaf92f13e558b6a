"""Texts that are written several guesses at a time are the texts that single steps write, in fewer passes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pytest
import tables
import torch
from tables import BOS, EOS
from torch import Tensor

from allyouneed.decoding.lookahead import MOST, Lookahead, Recall
from allyouneed.decoding.sampling import Draw, InStep, Sampler, Sampling

V = 8
GREEDY = Sampling(temperature=0)


@dataclass(frozen=True)
class Texts:
    """Texts of different lengths, which can each forget their last tokens."""

    sentences: list[int]
    texts: list[list[int]]

    @property
    def rows(self) -> int:
        return len(self.texts)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def select(self, rows: Tensor) -> Self:
        chosen = rows.tolist()
        return replace(
            self, sentences=[self.sentences[row] for row in chosen], texts=[self.texts[row] for row in chosen]
        )

    def back(self, counts: Sequence[int]) -> Self:
        assert all(0 <= count < len(text) for count, text in zip(counts, self.texts, strict=True))
        kept = [text[: len(text) - count] for count, text in zip(counts, self.texts, strict=True)]
        return replace(self, texts=kept)


class Reader(tables.Mock):
    """Counts how many tokens each pass reads: in all, of the text of which it reads most, and of how many texts."""

    def __init__(self, vocabulary: int, *, order: int = 1) -> None:
        super().__init__(vocabulary, order=order)
        self.most: list[int] = []
        self.live: list[int] = []
        self.steps = 0

    def after(self, read: Sequence[list[int]]) -> tuple[Tensor, Texts]:
        state = Texts(list(range(len(read))), [list(text) for text in read])
        return torch.stack([self.logits(n, text) for n, text in enumerate(state.texts)]), state

    def read_each(self, texts: Sequence[Sequence[int]], state: Texts) -> tuple[Tensor, Texts]:
        self.calls.append(sum(map(len, texts)))
        self.most.append(max(map(len, texts)))
        self.live.append(sum(len(text) > 0 for text in texts))
        found: list[Tensor] = []
        whole = [[*before, *new] for before, new in zip(state.texts, texts, strict=True)]
        for sentence, before, text in zip(state.sentences, state.texts, whole, strict=True):
            found += [self.logits(sentence, text[:length]) for length in range(len(before) + 1, len(text) + 1)]
        return torch.stack(found), replace(state, texts=whole)

    def step(self, tokens: Tensor, state: Texts) -> tuple[Tensor, Texts]:
        self.steps += 1
        return self.read_each([[token] for token in tokens.tolist()], state)


def written(
    model: Reader,
    read: list[list[int]],
    *,
    ahead: bool,
    max_tokens: list[int],
    sampling: Sampling,
    stop: tuple[int, int] = (0, -1),
) -> list[list[Draw]]:
    """The texts; `stop` ends one of them at so many tokens."""
    logits, state = model.after(read)
    model.calls.clear()
    model.most.clear()
    model.live.clear()
    pace = (
        Lookahead(logits, state, model, read=read, max_tokens=max_tokens)
        if ahead
        else InStep(logits, state, model.step)
    )
    seeds = list(range(5, 5 + len(read)))
    texts: list[list[Draw]] = [[] for _ in read]
    sampler = Sampler(pace, seeds=seeds, max_tokens=max_tokens, sampling=sampling, ends=[EOS], read=read)
    for draws in sampler:
        assert draws  # nobody has a turn in vain
        for one in draws:
            texts[one.text].append(one)
            if (one.text, len(texts[one.text])) == stop:
                sampler.stop(one.text)
    return texts


def same_texts(model: Reader, read: list[list[int]], *, max_tokens: list[int], sampling: Sampling) -> list[int]:
    """How many tokens are written of each."""
    expected = written(model, read, ahead=False, max_tokens=max_tokens, sampling=sampling)
    assert written(model, read, ahead=True, max_tokens=max_tokens, sampling=sampling) == expected
    return [len(text) for text in expected]


def same_text(model: Reader, read: list[int], *, max_tokens: int, sampling: Sampling) -> tuple[int, list[int]]:
    """How many tokens are written, and how many each pass reads."""
    [count] = same_texts(model, [read], max_tokens=[max_tokens], sampling=sampling)
    return count, list(model.calls)


def unending(order: int) -> Reader:
    model = Reader(V, order=order)
    plain = model.logits

    def logits(sentence: int, text: list[int]) -> Tensor:
        found = plain(sentence, text)
        found[EOS] = -20.0
        return found

    model.logits = logits
    return model


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 40])
def test_the_likeliest_text_is_the_same(order: int, max_tokens: int) -> None:
    for first in range(3, V):
        same_text(Reader(V, order=order), [BOS, first], max_tokens=max_tokens, sampling=GREEDY)
        same_text(unending(order), [BOS, first], max_tokens=max_tokens, sampling=GREEDY)


def test_a_text_that_goes_in_circles_takes_few_passes() -> None:
    count, calls = same_text(unending(2), [BOS, 5], max_tokens=400, sampling=GREEDY)
    assert count == 400
    assert len(calls) < 400 / 6
    assert max(calls) == MOST + 1


@pytest.mark.parametrize("penalty", [1.0, 1.3])
@pytest.mark.parametrize("temperature", [0.8, 2.0])
def test_a_drawn_text_is_the_same(penalty: float, temperature: float) -> None:
    sampling = Sampling(temperature=temperature, min_p=0, repetition_penalty=penalty)
    count, calls = same_text(unending(1), [BOS, 3, 4, 5, 3, 4], max_tokens=120, sampling=sampling)
    assert count == 120
    assert max(calls) > 1  # guesses were checked ...
    assert count - 1 < sum(calls)  # ... and some of them were wrong


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=0.7, min_p=0, repetition_penalty=1.1)])
def test_many_texts_are_the_same_while_they_leave(sampling: Sampling) -> None:
    read = [[BOS, 3 + n % 5, *[4, 5] * (n % 3)] for n in range(16)]
    limits = [1 + 7 * n % 60 for n in range(16)]
    for model in (Reader(V, order=1), unending(1), unending(2)):
        counts = same_texts(model, read, max_tokens=limits, sampling=sampling)
        assert max(model.most) > 1
        assert 8 < model.live[0] < 16  # the first text is over before anything is read
        assert model.live[-1] < 8
        assert len(model.calls) < max(counts) - 1


def test_texts_go_on_whatever_goes_wrong_in_others() -> None:
    class Mixed(Reader):
        """The first goes in circles, the second never repeats itself, the third now and then."""

        def logits(self, sentence: int, text: list[int]) -> Tensor:
            place = len(text)
            token = (3 + place % 4, 10 + place, 3 + place % 4 if place % 9 else 9)[sentence]
            return torch.nn.functional.one_hot(torch.tensor(token), 200).float()

    model = Mixed(200)
    limits = [300, 40, 60]
    assert same_texts(model, [[50, 51], [60], [70, 71]], max_tokens=limits, sampling=GREEDY) == limits
    assert len(model.calls) < 60 + 300 / 6  # those of the second one, and of the rest of the first
    assert max(model.calls) > MOST + 3


@pytest.mark.parametrize("stop_at", range(20, 30))
def test_a_text_that_is_stopped_among_its_guesses_stays_in_the_batch_and_is_left_alone(stop_at: int) -> None:
    class Circle(Reader):
        """The first goes in circles, the others never repeat themselves."""

        def logits(self, sentence: int, text: list[int]) -> Tensor:
            token = 10 + len(text) if sentence else 3 + len(text) % 4
            return torch.nn.functional.one_hot(torch.tensor(token), 100).float()

    model, read = Circle(100), [[50, 51] for _ in range(16)]
    texts = written(model, read, ahead=True, max_tokens=[60] * 16, sampling=GREEDY, stop=(0, stop_at))
    assert [len(text) for text in texts] == [stop_at] + [60] * 15
    assert model.live[-1] == 15


def test_nothing_is_read_that_nobody_asks_for() -> None:
    for max_tokens in range(2, 40):
        _, calls = same_text(unending(1), [BOS, 5], max_tokens=max_tokens, sampling=GREEDY)
        assert sum(calls) - max(calls) <= max_tokens - 1
        model = unending(1)
        lengths: list[int] = []
        read_each = model.read_each

        def counted(texts: Any, state: Texts, read_each: Any = read_each, lengths: list[int] = lengths) -> Any:
            lengths.append(len(state.texts[0]) + len(texts[0]))
            return read_each(texts, state)

        model.read_each = counted
        written(model, [[BOS, 5]], ahead=True, max_tokens=[max_tokens], sampling=GREEDY)
        assert max(lengths, default=0) <= 2 + max_tokens - 1  # the last token needs no reading


def test_a_text_without_repetitions_is_written_step_by_step() -> None:
    class Counting(Reader):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            return torch.nn.functional.one_hot(torch.tensor(len(text)), 100).float()

    model = Counting(100)
    count, calls = same_text(model, [97, 98, 99], max_tokens=60, sampling=GREEDY)
    assert count == 60
    assert calls == [1] * 59
    assert model.steps == 2 * 59  # without guesses and with


def test_guesses_that_never_come_true_become_few() -> None:
    class Deceiving(Reader):
        """In circles first, and then always something new after the same two tokens."""

        def logits(self, sentence: int, text: list[int]) -> Tensor:
            place = len(text)
            token = 3 + place % 4 if place < 40 else place if place % 3 == 0 else 9
            return torch.nn.functional.one_hot(torch.tensor(token), 300).float()

    count, calls = same_text(Deceiving(300), [50, 51], max_tokens=220, sampling=GREEDY)
    assert count == 220
    assert max(calls) == MOST + 1
    assert 1 < max(calls[-170:]) < MOST
    assert set(calls[-140:]) == {1}


def test_guesses_are_what_followed_the_longest_span_last() -> None:
    recall = Recall([1, 2, 3, 7, 8, 2, 3, 9, 1, 2, 3])
    assert recall.guess(3) == [7, 8, 2]  # 1 2 3 stood there before, which says more than the later 2 3
    recall.add(9)
    assert recall.guess(2) == [1, 2]  # 2 3 9 has, too
    recall.add(4)
    assert recall.guess(2) == []  # 9 4 is new
    assert Recall([]).guess(4) == []


def test_guesses_go_round_where_the_text_does() -> None:
    assert Recall([4, 5, 6, 4, 5, 6]).guess(7) == [4, 5, 6, 4, 5, 6, 4]
    assert Recall([9, 9, 9]).guess(3) == [9, 9, 9]
