"""Texts that are written several guesses at a time are the texts that single steps write, in fewer passes."""

from dataclasses import replace
from typing import Any, Self

import pytest
import tables
import torch
from tables import BOS, EOS
from torch import Tensor

from allyouneed.decoding.lookahead import MOST, Foreseen, Lookahead, Recall
from allyouneed.decoding.sampling import Draw, Sampler, Sampling

V = 8
GREEDY = Sampling(temperature=0)


class TextState(tables.TextState):
    """One text, which can forget its last tokens."""

    def back(self, tokens: int) -> Self:
        assert 0 < tokens <= self.text.shape[1]
        return replace(self, text=self.text[:, : self.text.shape[1] - tokens])


class Reader(tables.Mock):
    """Counts how many tokens each pass reads."""

    def after(self, text: list[int]) -> tuple[Tensor, TextState]:
        state = TextState(torch.tensor([0]), torch.tensor([text]), [])
        return self.logits(0, text)[None], state

    def read_all(self, tokens: Tensor, state: TextState) -> tuple[Tensor, TextState]:
        self.calls.append(tokens.shape[1])
        text = [*state.text[0].tolist(), *tokens[0].tolist()]
        first = state.text.shape[1] + 1
        logits = [self.logits(0, text[:length]) for length in range(first, len(text) + 1)]
        return torch.stack(logits)[None], replace(state, text=torch.tensor([text]))


def written(model: Reader, read: list[int], *, ahead: bool, max_tokens: int, sampling: Sampling) -> list[Draw]:
    logits, state = model.after(read)
    model.calls.clear()
    settings: Any = {"seeds": [5], "max_tokens": [max_tokens], "sampling": sampling, "ends": [EOS], "read": [read]}
    if not ahead:
        return [draw for draws in Sampler(logits, state, model.step, **settings) for draw in draws]
    step = Lookahead(model, read, max_tokens=max_tokens).step
    return [draw for draws in Sampler(logits, Foreseen(state), step, **settings) for draw in draws]


def same_text(model: Reader, read: list[int], *, max_tokens: int, sampling: Sampling) -> tuple[int, list[int]]:
    """How many tokens are written, and how many each pass reads."""
    expected = written(model, read, ahead=False, max_tokens=max_tokens, sampling=sampling)
    found = written(model, read, ahead=True, max_tokens=max_tokens, sampling=sampling)
    assert found == expected
    return len(found), list(model.calls)


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


def test_nothing_is_read_that_nobody_asks_for() -> None:
    for max_tokens in range(2, 40):
        _, calls = same_text(unending(1), [BOS, 5], max_tokens=max_tokens, sampling=GREEDY)
        assert sum(calls) - max(calls) <= max_tokens - 1
        model = unending(1)
        lengths: list[int] = []
        read_all = model.read_all

        def counted(tokens: Tensor, state: TextState, read_all: Any = read_all, lengths: list[int] = lengths) -> Any:
            lengths.append(state.text.shape[1] + tokens.shape[1])
            return read_all(tokens, state)

        model.read_all = counted
        written(model, [BOS, 5], ahead=True, max_tokens=max_tokens, sampling=GREEDY)
        assert max(lengths, default=0) <= 2 + max_tokens - 1  # the last token needs no reading


def test_a_text_without_repetitions_is_written_step_by_step() -> None:
    class Counting(Reader):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            return torch.nn.functional.one_hot(torch.tensor(len(text)), 100).float()

    count, calls = same_text(Counting(100), [97, 98, 99], max_tokens=60, sampling=GREEDY)
    assert count == 60
    assert calls == [1] * 59


def test_guesses_that_never_come_true_become_few() -> None:
    class Deceiving(Reader):
        """In circles first, and then always something new after the same two tokens."""

        def logits(self, sentence: int, text: list[int]) -> Tensor:
            place = len(text)
            token = 3 + place % 4 if place < 40 else place if place % 3 == 0 else 9
            return torch.nn.functional.one_hot(torch.tensor(token), 200).float()

    count, calls = same_text(Deceiving(200), [50, 51], max_tokens=120, sampling=GREEDY)
    assert count == 120
    assert max(calls) == MOST + 1
    assert set(calls[-40:]) == {1, 2}


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


def test_one_text_has_nothing_to_choose_among() -> None:
    _, state = Reader(V).after([BOS])
    with pytest.raises(ValueError, match=r"reads ahead cannot become the rows \[0, 0\]"):
        Foreseen(state).select(torch.tensor([0, 0]))
