"""Searches that must hold given phrases."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tables import EOS, Mock

from allyouneed.decoding.constraints import Constraints, Progress, share
from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import InputError

NOT_NUMBERS = "sentence 0, token 4: the model's scores are not numbers (NaN)"


def holds(tokens: list[int], phrases: list[list[int]]) -> bool:
    """Do the phrases stand in the tokens, none in the place of another?"""
    spans = [
        [(start, start + len(phrase)) for start in range(len(tokens)) if tokens[start : start + len(phrase)] == phrase]
        for phrase in phrases
    ]
    return any(
        all(a[1] <= b[0] or b[1] <= a[0] for a, b in itertools.combinations(chosen, 2))
        for chosen in itertools.product(*spans)
    )


def in_one_way(phrases: list[list[list[int]]], inside: Sequence[int] = ()) -> Constraints:
    """Phrases with one spelling each."""
    return Constraints([[[phrase] for phrase in own] for own in phrases], inside)


@given(
    st.lists(st.integers(0, 2), max_size=12),
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=3),
)
def test_progress_never_claims_more_than_is_there(tokens: list[int], phrases: list[list[int]]) -> None:
    progress = Progress.of([[phrase] for phrase in phrases])
    for place, token in enumerate(tokens):
        before = progress
        progress = progress.after(token)
        if token in before.wanted:
            assert progress.tokens_left == before.tokens_left - 1
        met = list(phrases)
        for ((*phrase,),) in progress.left:
            met.remove(phrase)
        assert holds(tokens[: place + 1], met)


def test_a_phrase_that_is_broken_off_may_begin_anew() -> None:
    progress = Progress.of([[[3, 3, 4]]])
    lefts = [(progress := progress.after(token)).tokens_left for token in (3, 3, 3, 4)]
    assert lefts == [2, 1, 1, 0]
    two = Progress.of([[[3, 4]], [[3, 5]]])
    assert two.after(3).after(5).left == (((3, 4),),)


def test_any_spelling_will_do() -> None:
    start = Progress.of([[[7], [3, 4, 7]], [[8]]])
    assert start.wanted == {3, 7, 8}
    assert start.tokens_left == 2
    under_way = start.after(3)
    assert (under_way.wanted, under_way.tokens_left) == ({4}, 3)
    for tokens in ((3, 4, 7, 8), (7, 8), (8, 3, 7)):
        progress = start
        for token in tokens:
            progress = progress.after(token)
        assert (progress.left, progress.wanted, progress.tokens_left) == ((), set(), 0)


def test_banks_share_the_beam() -> None:
    assert share([-1.0, -2.0, -3.0, -9.0], [2, 2, 2, 1], 2) == [0, 3]
    assert share([-1.0, -2.0, -3.0, -9.0], [2, 2, 2, 1], 1) == [3]
    assert share([-3.0, -1.0, -2.0], [0, 0, 0], 2) == [1, 2]
    assert share([-1.0, -math.inf, -4.0], [2, 0, 2], 2) == [0, 2]


def best_by_trying(model: Mock, sentence: int, phrases: list[list[int]], longest: int) -> tuple[float, list[int]]:
    """The likeliest text of at most so many tokens that holds the phrases."""
    others = [token for token in range(model.vocabulary) if token != EOS]
    texts = (list(text) for length in range(longest + 1) for text in itertools.product(others, repeat=length))
    return max((model.logprob(sentence, [*text, EOS]), text) for text in texts if holds(text, phrases))


@pytest.mark.parametrize("phrases", [[[3]], [[4, 3]], [[3], [4]], [[3, 3]], [[4, 3], [3, 4]]])
def test_a_wide_beam_finds_the_likeliest_text_that_holds_all(phrases: list[list[int]]) -> None:
    model = Mock(5)
    for sentence in range(3):
        [[found]] = model.search(
            [sentence], beam=64, max_tokens=6, length_penalty=0.0, constraints=in_one_way([phrases])
        )
        total, text = best_by_trying(model, sentence, phrases, 5)
        assert found.tokens == text
        assert found.logprob == pytest.approx(total, abs=1e-4)


def searched(model: Mock, sentences: list[int], phrases: list[list[list[int]]], **more: Any) -> list[Hypothesis]:
    return [
        ranked[0] for ranked in model.search(sentences, constraints=in_one_way(phrases), **({"max_tokens": 25} | more))
    ]


@pytest.mark.parametrize("beam", [2, 4, 9])
def test_every_text_holds_its_phrases_in_any_company(beam: int) -> None:
    model, sentences = Mock(40, sharpness=3.0), list(range(14))
    draw = torch.Generator().manual_seed(beam)
    phrases = [
        [torch.randint(3, 40, (1 + (n + k) % 3,), generator=draw).tolist() for k in range(n % 4)] for n in sentences
    ]
    together = searched(model, sentences, phrases, beam=beam)
    for n in sentences:
        assert together[n].finished
        assert holds(together[n].tokens, phrases[n])
        [alone] = searched(model, [n], [phrases[n]], beam=beam)
        assert alone == together[n]
        if not phrases[n]:
            assert alone == model.search([n], beam=beam, max_tokens=25)[0][0]


def test_no_phrase_ends_inside_a_word() -> None:
    model, inside = Mock(40), list(range(20, 40))
    endings: set[bool] = set()
    for sentence in range(12):
        for ends in (inside, []):
            phrases = in_one_way([[[7], [9, 25]]], ends)
            [[found]] = model.search([sentence], beam=6, max_tokens=25, constraints=phrases)
            text = [*found.tokens, EOS]
            following = [
                text[place + 1]
                for place in range(len(text) - 1)
                if text[place] == 7 or text[place - 1 : place + 1] == [9, 25]
            ]
            assert not ends or following[0] not in inside
            endings |= {following[0] in inside} if not ends else set()
    assert endings == {True, False}


def test_a_prefix_may_go_on_with_the_word_of_a_phrase() -> None:
    constraints = in_one_way([[[5]], [[5]]], [6])
    for [found] in Mock(10).search([0, 1], beam=4, max_tokens=9, prefix=[[5, 6], [3]], constraints=constraints):
        assert 5 in found.tokens


@pytest.mark.parametrize(("eos", "limit"), [((), 6), (EOS, 6), (EOS, 5)])
def test_what_is_cut_off_holds_its_phrases_too(eos: Any, limit: int) -> None:
    model, phrases = Mock(12, order=2), [[5], [7, 8, 9]]
    for sentence in range(25):
        [found] = searched(model, [sentence], [phrases], beam=6, eos=eos, max_tokens=limit)
        assert holds(found.tokens, phrases)


def test_scores_that_are_not_numbers_are_named() -> None:
    class Broken(Mock):
        is_broken = False

        def logits(self, sentence: int, text: list[int]) -> torch.Tensor:
            logits = super().logits(sentence, text)
            if len(text) != 4 or hash((sentence, *text)) % 3:  # some hypotheses of the beam, and not others
                return logits
            self.is_broken = True
            return logits * math.nan

    broken = 0
    for sentence in range(60):
        model, constraints = Broken(10), in_one_way([[[5], [7, 8]]])
        said = ""
        try:
            model.search([sentence], beam=4, max_tokens=12, constraints=constraints)
        except InputError as error:
            said = str(error)
        assert said == (NOT_NUMBERS if model.is_broken else "")
        broken += model.is_broken
    assert broken > 20


def test_constraints_cost_no_more_than_they_must() -> None:
    model = Mock(30)
    for sentence in range(8):
        [[free]] = model.search([sentence], beam=6, max_tokens=25)
        if len(free.tokens) > 1:  # what is there anyhow changes nothing
            [found] = searched(model, [sentence], [[free.tokens[:2]]], beam=6)
            assert found.logprob >= free.logprob - 1e-4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"constraints": [[[5]], []]}, "1 sentences and constraints for 2: one list each is needed"),
        ({"constraints": [[[5]]], "beam": 1}, "beam = 1: with constraints 2 to 64 is needed"),
        ({"constraints": [[[5]]], "beam": 65}, "beam = 65: with constraints 2 to 64 is needed"),
        ({"constraints": [[[5], []]]}, "sentence 0: one of its constraints holds no token"),
        ({"constraints": [[[5, EOS]]]}, "sentence 0: one of its constraints holds 2, which is never written"),
        ({"constraints": [[[5]]], "forbidden": [5]}, "one of its constraints holds 5, which is never written"),
        ({"constraints": [[[-4]]]}, "one of its constraints holds -4, which is never written"),
        ({"constraints": [[[5, 6], [7]]], "max_tokens": 3}, "max_tokens 3 must exceed its constraints' 3 tokens"),
        ({"constraints": [[[99]]]}, "constraint token 99 is outside the vocabulary of 10"),
    ],
)
def test_what_cannot_be_held_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mock(10).search([0], **({"beam": 3} | more | {"constraints": in_one_way(more["constraints"])}))
