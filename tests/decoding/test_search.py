"""The search alone, driven by models that are tables of log-probabilities."""

import itertools
import math
from typing import Any

import pytest
import torch
from tables import BOS, EOS, Mock
from torch import Tensor

from allyouneed.decoding.scorers import forced_score, length_penalty
from allyouneed.decoding.search import beam_search, best_of_rows
from allyouneed.errors import InputError


class Table(Mock):
    """Probabilities as written: from the text so far (after the start token) to what may follow."""

    def __init__(self, vocabulary: int, table: dict[tuple[int, ...], dict[int, float]]) -> None:
        super().__init__(vocabulary)
        self.table = table

    def logits(self, sentence: int, text: list[int]) -> Tensor:
        given = self.table.get(tuple(text[1:]), {EOS: 1.0})
        return torch.tensor([given.get(token, 0.0) for token in range(self.vocabulary)]).log()


def exhaustive(model: Mock, sentence: int, *, longest: int, alpha: float, forbidden: tuple[int, ...] = ()) -> list[Any]:
    """Every text that ends within `longest` tokens, best first: (score, tokens)."""
    words = [token for token in range(model.vocabulary) if token != EOS and token not in forbidden]
    texts = [list(t) for n in range(longest) for t in itertools.product(words, repeat=n)]
    scored = [(model.logprob(sentence, [*t, EOS]) / ((5 + len(t) + 1) / 6) ** alpha, t) for t in texts]
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("sentence", [3, 4, 5])
def test_a_beam_that_holds_everything_finds_what_exhaustive_search_finds(alpha: float, sentence: int) -> None:
    model = Mock(5, order=2)
    expected = exhaustive(model, sentence, longest=4, alpha=alpha)
    [found] = model.search([sentence], beam=4**4, nbest=60, max_tokens=4, length_penalty=alpha)
    assert [h.tokens for h in found] == [tokens for _, tokens in expected[:60]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected[:60]], abs=1e-5)
    assert all(h.finished for h in found)


def test_a_beam_of_one_takes_the_likeliest_token_each_time() -> None:
    model = Mock(9, order=3)
    for sentence in range(20):
        text = [BOS]
        while text[-1] != EOS and len(text) <= 12:
            text.append(int(model.logits(sentence, text).argmax()))
        [[found]] = model.search([sentence], beam=1)
        assert found.finished == (text[-1] == EOS)
        assert found.tokens == text[1 : len(text) - found.finished]


def reference(model: Mock, sentence: int, *, beam: int, longest: int, alpha: float) -> list[tuple[float, list[int]]]:
    """The same search written as plainly as can be: lists of tuples, always to the greatest length."""
    live: list[tuple[float, list[int]]] = [(0.0, [BOS])]
    ended: list[tuple[float, list[int]]] = []
    for length in range(1, longest + 1):
        steps = [(total, text, model.logits(sentence, text).log_softmax(0).tolist()) for total, text in live]
        candidates = [(total + p, [*text, token]) for total, text, row in steps for token, p in enumerate(row)]
        candidates.sort(reverse=True)
        ended += [(s / ((5 + length) / 6) ** alpha, text) for s, text in candidates[:beam] if text[-1] == EOS]
        live = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam]
    return sorted(ended, reverse=True)


@pytest.mark.parametrize(("beam", "nbest", "alpha"), [(2, 1, 0.6), (4, 1, 1.0), (4, 4, 0.6), (5, 3, 0.0), (3, 3, 2.0)])
def test_search_equals_its_plain_definition_and_stops_before_it(beam: int, nbest: int, alpha: float) -> None:
    model = Mock(8, order=2)
    sentences = list(range(30, 50))
    found = model.search(sentences, beam=beam, nbest=nbest, length_penalty=alpha, max_tokens=25)
    steps = len(model.calls)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        expected = reference(model, sentence, beam=beam, longest=25, alpha=alpha)[:nbest]
        assert [h.tokens for h in hypotheses] == [text[1:-1] for _, text in expected]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-5)
    assert steps < 25 or alpha > 1


@pytest.mark.parametrize("beam", [1, 4])
def test_batched_equals_single(beam: int) -> None:
    model = Mock(11, order=2)
    limits = [3 + (7 * n) % 20 for n in range(40)]
    prefixes = [[(n * k) % 7 + 4 for k in range(n % 3)] for n in range(40)]
    nbest = min(beam, 3)
    together = model.search(list(range(40)), beam=beam, nbest=nbest, max_tokens=limits, prefix=prefixes)
    for n in range(40):
        alone = model.search([n], beam=beam, nbest=nbest, max_tokens=limits[n], prefix=[prefixes[n]])
        assert together[n] == alone[0]


def test_nbest_is_sorted_distinct_and_begins_with_the_best() -> None:
    model = Mock(10, order=2)
    sentences = list(range(20))
    best = model.search(sentences, beam=6, nbest=1)
    for hypotheses, [first] in zip(model.search(sentences, beam=6, nbest=6), best, strict=True):
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses)
        assert hypotheses[0] == first


def test_token_logprobs_are_the_forced_scores_of_the_same_text() -> None:
    model = Mock(10, order=2)
    sentences = list(range(25))
    found = [hypotheses[0] for hypotheses in model.search(sentences, beam=3, max_tokens=30)]
    assert all(h.finished for h in found)
    forced = forced_score(model.start(sentences), model.step, [h.tokens for h in found], bos=BOS, eos=EOS)
    for sentence, hypothesis, logprobs in zip(sentences, found, forced, strict=True):
        assert hypothesis.token_logprobs == pytest.approx(logprobs, abs=1e-5)
        assert len(logprobs) == len(hypothesis.tokens) + 1
        assert hypothesis.logprob == pytest.approx(sum(logprobs), abs=1e-5)
        assert hypothesis.logprob == pytest.approx(model.logprob(sentence, [*hypothesis.tokens, EOS]), abs=1e-5)
        penalty = ((5 + len(logprobs)) / 6) ** 0.6
        assert hypothesis.score == pytest.approx(hypothesis.logprob / penalty, abs=1e-6)


def test_forced_scores_batched_equal_single_and_rows_leave() -> None:
    model = Mock(10, order=3)
    targets = [[4] * (n % 5) + [5, 6, 7][: n % 4] for n in range(16)]
    together = forced_score(model.start(list(range(16))), model.step, targets, bos=BOS, eos=EOS)
    assert model.calls[0] == 16
    assert model.calls[-1] == sum(len(target) == max(map(len, targets)) for target in targets)
    for n, target in enumerate(targets):
        assert together[n] == pytest.approx(forced_score(model.start([n]), model.step, [target], bos=BOS, eos=EOS)[0])
        assert sum(together[n]) == pytest.approx(model.logprob(n, [*target, EOS]), abs=1e-5)
    assert forced_score(model.start([]), model.step, [], bos=BOS, eos=EOS) == []


def test_an_early_end_does_not_stop_a_better_longer_hypothesis() -> None:
    # The end is the best candidate at once; the text 3 4 5 6 is less likely in sum, but better by length.
    table = {(): {EOS: 0.5, 3: 0.3, 7: 0.2}, (3,): {4: 1.0}, (3, 4): {5: 1.0}, (3, 4, 5): {6: 1.0}}
    [[found]] = Table(8, table).search([0], beam=2, length_penalty=2.0)
    assert found.tokens == [3, 4, 5, 6]
    assert found.score == pytest.approx(math.log(0.3) / ((5 + 5) / 6) ** 2)
    [[found]] = Table(8, table).search([0], beam=2, length_penalty=0.0)
    assert found.tokens == []
    [[found]] = Table(8, table).search([0], beam=1, length_penalty=2.0)
    assert found.tokens == []


def test_a_worse_end_does_not_push_out_a_better_one_that_came_before() -> None:
    table = {(): {EOS: 0.6, 3: 0.4}, (3,): {EOS: 0.5, 4: 0.5}, (3, 4): {EOS: 1.0}}
    [found] = Table(6, table).search([0], beam=2, nbest=2, length_penalty=0.0)
    assert found[0].tokens == []
    assert found[0].logprob == pytest.approx(math.log(0.6))
    assert found[1].logprob == pytest.approx(math.log(0.2))


def test_search_stops_as_soon_as_nothing_can_win() -> None:
    table = {(): {EOS: 0.9, 3: 0.1}} | {(3,) * n: {3: 1.0} for n in range(1, 40)}
    model = Table(6, table)
    [[found]] = model.search([0], beam=2, length_penalty=0.0, max_tokens=40)
    assert found.tokens == []
    assert len(model.calls) == 1
    model = Table(6, {(): {EOS: 0.5, 3: 0.1, 4: 0.4}, (4,): {3: 0.5, 5: 0.5}} | {(4, 3): {5: 1e-9, 3: 1.0}})
    model.search([0], beam=3, nbest=1, length_penalty=0.0, max_tokens=40)
    assert len(model.calls) == 1


def test_an_end_counts_only_among_the_best_candidates() -> None:
    table = {(): {3: 0.4, 4: 0.35, EOS: 0.25}, (3,): {3: 1.0}, (3, 3): {3: 1.0}, (4,): {4: 1.0}, (4, 4): {4: 1.0}}
    [[found]] = Table(6, table).search([0], beam=2, max_tokens=2)
    assert not found.finished
    [[found]] = Table(6, table).search([0], beam=3, max_tokens=2)
    assert found.finished
    assert found.tokens == []


def test_unfinished_hypotheses_come_only_where_nothing_finished() -> None:
    endless: dict[tuple[int, ...], dict[int, float]] = {
        t: {3: 0.75, 4: 0.25} for n in range(5) for t in itertools.product((3, 4), repeat=n)
    }
    [found] = Table(6, endless).search([0], beam=2, nbest=2, max_tokens=5)
    assert [h.finished for h in found] == [False, False]
    assert found[0].tokens == [3] * 5
    assert found[0].token_logprobs == pytest.approx([math.log(0.75)] * 5)
    assert found[0].score == pytest.approx(5 * math.log(0.75) / (10 / 6) ** 0.6)
    [found] = Table(6, endless | {(3,): {3: 0.5, EOS: 0.5}}).search([0], beam=2, nbest=2, max_tokens=5)
    assert [(h.tokens, h.finished) for h in found] == [([3], True)]


def test_max_tokens_count_the_end_token_and_are_kept_for_each_sentence() -> None:
    model = Table(6, {(3,) * n: {3: 1.0} for n in range(10)})
    found = model.search([0, 0, 0], beam=2, max_tokens=[4, 1, 7])
    assert [len(h.tokens) for [h] in found] == [4, 1, 7]
    assert len(model.calls) == 7
    ends_at_four = {(): {3: 1.0}, (3,): {3: 1.0}, (3, 3): {3: 1.0}}
    assert not Table(6, ends_at_four).search([0], max_tokens=3)[0][0].finished
    assert Table(6, ends_at_four).search([0], max_tokens=4)[0][0].finished


def test_prefixes_go_on_when_other_sentences_have_left() -> None:
    model = Mock(9, order=2)
    prefixes = [[], [3, 4, 5], [], [4, 4, 4, 4], [8]]
    found = model.search([0, 1, 2, 3, 4], prefix=prefixes, max_tokens=[1, 20, 2, 20, 20])
    assert model.calls[-1] < 5 * 4
    assert [h.tokens[: len(prefix)] for [h], prefix in zip(found, prefixes, strict=True)] == prefixes


@pytest.mark.parametrize("beam", [1, 3])
def test_prefixes_of_different_lengths_are_written_and_scored(beam: int) -> None:
    model = Mock(9, order=2)
    prefixes = [[], [7, 4, 8], [5], [0, 0]]
    found = model.search([0, 1, 2, 3], beam=beam, prefix=prefixes, forbidden=[0, BOS, 8], max_tokens=30)
    for sentence, (prefix, [hypothesis]) in enumerate(zip(prefixes, found, strict=True)):
        assert hypothesis.tokens[: len(prefix)] == prefix
        assert not {0, BOS, 8} & set(hypothesis.tokens[len(prefix) :])
        end = [EOS] * hypothesis.finished
        assert hypothesis.logprob == pytest.approx(model.logprob(sentence, [*hypothesis.tokens, *end]), abs=1e-5)


def test_a_prefix_is_followed_by_the_best_that_can_follow_it() -> None:
    model = Mock(5, order=2)
    best = [x for x in exhaustive(model, 8, longest=5, alpha=0.6) if x[1][:2] == [3, 0]]
    [found] = model.search([8], beam=4**5, nbest=5, prefix=[[3, 0]], max_tokens=5)
    assert [h.tokens for h in found] == [tokens for _, tokens in best[:5]]


def test_forbidden_tokens_are_never_chosen_and_take_no_probability_from_others() -> None:
    model = Mock(6, order=2)
    expected = exhaustive(model, 1, longest=4, alpha=0.6, forbidden=(0, BOS, 3))
    [found] = model.search([1], beam=200, nbest=8, max_tokens=4, forbidden=[0, BOS, 3])
    assert [h.tokens for h in found] == [tokens for _, tokens in expected[:8]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected[:8]], abs=1e-5)


def test_the_end_token_can_be_forbidden_to_fill_the_whole_length() -> None:
    model = Mock(9, order=2)
    for prefix in ([], [3, 4, 5]):
        for [hypothesis] in model.search(list(range(9)), forbidden=[EOS], max_tokens=9, prefix=[prefix, *[[]] * 8]):
            assert len(hypothesis.tokens) == 9
            assert not hypothesis.finished


def test_a_vocabulary_smaller_than_the_beam_is_searched() -> None:
    model = Mock(3)
    [found] = model.search([0], beam=40, nbest=15, max_tokens=4)
    assert [h.tokens for h in found] == [tokens for _, tokens in exhaustive(model, 0, longest=4, alpha=0.6)]


def test_finished_sentences_leave_and_nothing_is_copied_when_nothing_changes() -> None:
    short = {(): {3: 1.0}}
    model = Table(6, {(3,) * n: {3: 1.0} for n in range(30)})

    class Both(Table):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            return (Table(6, short) if sentence else model).logits(0, text)

    both = Both(6, {})
    state = both.start([0, 1, 1, 0])
    beam_search(state, both.step, bos=BOS, eos=EOS, beam=1, max_tokens=20)
    assert both.calls == [4, 4] + [2] * 18
    assert state.log == [[0, 3]]


def test_beams_of_a_sentence_stand_side_by_side_in_full_width() -> None:
    model = Mock(12)
    model.search(list(range(5)), beam=4)
    assert model.calls[0] == 5
    assert model.calls[1] == 20
    assert all(rows % 4 == 0 for rows in model.calls[1:])


def test_a_sentence_that_is_done_but_still_in_the_batch_keeps_its_result() -> None:
    class Early(Mock):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            logits = super().logits(sentence, text)
            if sentence == 0 and len(text) == 2:
                logits[EOS] = 50.0
            return logits

    model = Early(12, order=3)
    sentences = list(range(20))
    together = model.search(sentences, beam=2, max_tokens=[30] * 20)
    assert together[0] == model.search([0], beam=2, max_tokens=30)[0]
    assert len(together[0][0].tokens) == 1


@pytest.mark.parametrize("beam", [1, 4])
def test_each_sentence_goes_on_from_its_own_text(beam: int) -> None:
    model = Mock(10, order=1)
    firsts = [3, 4, 5, BOS]
    logits, state = model.step(torch.tensor(firsts), model.start([6, 6, 6, 6]))
    found = beam_search(state, model.step, bos=logits, eos=EOS, beam=beam, max_tokens=15)
    for first, [hypothesis] in zip(firsts, found, strict=True):
        [[alone]] = beam_search(model.start([6]), model.step, bos=first, eos=EOS, beam=beam, max_tokens=15)
        assert hypothesis == alone
    assert len({tuple(hypothesis.tokens) for [hypothesis] in found}) > 1
    with pytest.raises(InputError, match="4 sentences and logits of 2"):
        beam_search(model.start([0, 1, 2, 3]), model.step, bos=logits[:2], eos=EOS, max_tokens=5)


def test_of_several_end_tokens_the_likeliest_counts() -> None:
    table = {(): {EOS: 0.1, 4: 0.3, 3: 0.6}, (3,): {4: 0.6, EOS: 0.3, 5: 0.1}}
    model = Table(6, table)
    [found] = beam_search(model.start([0]), model.step, bos=BOS, eos=(EOS, 4), max_tokens=5, beam=3, nbest=2)
    assert [(h.tokens, h.finished) for h in found] == [([3], True), ([], True)]
    assert found[0].logprob == pytest.approx(math.log(0.36))
    assert found[1].logprob == pytest.approx(math.log(0.3))
    [[greedy]] = beam_search(model.start([0]), model.step, bos=BOS, eos=(EOS, 4), max_tokens=5, beam=1)
    assert greedy == found[0]
    with pytest.raises(InputError, match="its prefix holds the end token 4"):
        model.search([0], prefix=[[4]], eos=(EOS, 4))


def test_without_an_end_token_all_go_on_to_the_limit() -> None:
    model = Mock(6)
    found = beam_search(model.start([0, 1]), model.step, bos=BOS, eos=(), max_tokens=7, beam=2)
    assert [(len(h.tokens), h.finished) for [h] in found] == [(7, False), (7, False)]


def test_empty_batch_gives_nothing() -> None:
    assert Mock(5).search([]) == []


@pytest.mark.parametrize("position", [0, 3])
@pytest.mark.parametrize("beam", [1, 2])
def test_logits_that_are_not_numbers_are_named(position: int, beam: int) -> None:
    class Broken(Mock):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            logits = super().logits(sentence, text)
            return logits / 0 * 0 if sentence == 1 and len(text) == position + 1 else logits

    with pytest.raises(InputError, match=rf"^sentence 1, token {position + 1}: .*NaN"):
        Broken(9, order=3).search([0, 1, 2], beam=beam, forbidden=[EOS])


def test_nothing_possible_is_an_error() -> None:
    model = Table(4, {(): {3: 1.0}, (3,): {3: 1.0}})
    with pytest.raises(InputError, match="sentence 0, token 2: all that may stand here has probability 0"):
        model.search([0], prefix=[[3, 0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam 0 with nbest 1: 1 <= nbest <= beam is needed"),
        ({"beam": 2, "nbest": 3}, "beam 2 with nbest 3"),
        ({"beam": 2.5}, r"^beam = 2\.5: a whole number is needed\.$"),
        ({"beam": 2, "nbest": True}, r"^nbest = True: a whole number is needed\.$"),
        ({"length_penalty": -0.5}, "length_penalty -0.5: 0 .none. to 10"),
        ({"length_penalty": 11.0}, "length_penalty 11.0: 0 .none. to 10"),
        ({"length_penalty": math.nan}, "length_penalty nan: 0 .none. to 10"),
        ({"max_tokens": [4]}, "2 sentences, 1 max_tokens, 2 prefixes"),
        ({"prefix": [[3]]}, "2 sentences, 2 max_tokens, 1 prefixes"),
        ({"max_tokens": [5, 0]}, "sentence 1: max_tokens 0 must exceed its 0 prefix tokens"),
        ({"max_tokens": 2, "prefix": [[], [3, 4]]}, "sentence 1: max_tokens 2 must exceed its 2 prefix tokens"),
        ({"prefix": [[], [3, EOS]]}, "sentence 1: its prefix holds the end token 2"),
        ({"prefix": [[-1], []]}, "sentence 0: its prefix holds the negative token -1"),
        ({"prefix": [[], [6]]}, "prefix token 6 is outside the vocabulary of 6"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mock(6).search([0, 1], **settings)


def test_forced_score_needs_a_target_for_each_row() -> None:
    model = Mock(6)
    with pytest.raises(InputError, match="1 targets for 2 rows"):
        forced_score(model.start([0, 1]), model.step, [[3]], bos=BOS, eos=EOS)


@pytest.mark.parametrize("columns", [64 * 40, 64 * 40 + 1])
@pytest.mark.parametrize("rows", [1, 3, 17])
@pytest.mark.parametrize("k", [1, 4])
def test_best_of_rows_is_topk(rows: int, columns: int, k: int) -> None:
    scores = torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows))
    scores[0, 5:9] = 9.0 + torch.arange(4)  # all of the best in one block
    best, where = best_of_rows(scores, k)
    assert torch.equal(best, scores.topk(k).values)
    assert torch.equal(where, scores.topk(k).indices)


def test_length_penalty_is_the_published_formula() -> None:
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(19, 0.5) == 2
    assert length_penalty(30, 0.0) == 1
