"""Drawing texts: each filter against its definition, and texts that are the same in any company."""

import math
from typing import Any

import pytest
import tables
import torch
from tables import BOS, EOS
from torch import Tensor

from allyouneed.decoding.sampling import (
    Draw,
    InStep,
    Sampler,
    Sampling,
    draw,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    penalise_repetition,
)
from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import beam_search
from allyouneed.errors import InputError, UsageError

V = 12
PLAIN = Sampling(temperature=1.0, min_p=0.0)


def logits_of(rows: int, width: int = 200) -> Tensor:
    return 3 * torch.randn(rows, width, generator=torch.Generator().manual_seed(rows))


def kept(logits: Tensor) -> list[set[int]]:
    return [set((row > -math.inf).nonzero()[:, 0].tolist()) for row in logits]


@pytest.mark.parametrize("k", [1, 3, 199, 200, 500])
@pytest.mark.parametrize("rows", [1, 9])
def test_top_k_leaves_the_k_likeliest(k: int, rows: int) -> None:
    logits = logits_of(rows)
    left = keep_top_k(logits, k)
    for row, found in zip(logits, kept(left), strict=True):
        assert found == set(row.argsort(descending=True)[:k].tolist())
    assert torch.equal(left[left > -math.inf], logits[left > -math.inf])


def test_top_k_leaves_what_is_as_likely_as_the_last_of_them() -> None:
    assert kept(keep_top_k(torch.tensor([[1.0, 3.0, 2.0, 2.0, 0.0]]), 2)) == [{1, 2, 3}]


@pytest.mark.parametrize("p", [1e-9, 0.3, 0.9, 0.999])
def test_top_p_leaves_the_fewest_that_add_up_to_it(p: float) -> None:
    logits = logits_of(8)
    for row, found in zip(logits.softmax(-1), kept(keep_top_p(logits, p)), strict=True):
        nucleus: set[int] = set()
        for token in row.argsort(descending=True).tolist():
            nucleus.add(token)
            if float(row[[*nucleus]].sum()) >= p:
                break
        assert found == nucleus


@pytest.mark.parametrize("p", [0.01, 0.5, 1.0])
def test_min_p_leaves_what_is_so_likely_beside_the_likeliest(p: float) -> None:
    logits = logits_of(8)
    for row, found in zip(logits.double().softmax(-1).tolist(), kept(keep_min_p(logits, p)), strict=True):
        assert found == {token for token in range(200) if row[token] >= p * max(row) * (1 - 1e-6)}


def test_the_penalty_lowers_what_was_seen_whatever_its_sign() -> None:
    logits = torch.tensor([[2.0, -2.0, 0.0, 1.0]])
    seen = torch.tensor([[True, True, True, False]])
    assert penalise_repetition(logits, seen, 2.0).tolist() == [[1.0, -4.0, 0.0, 1.0]]


def test_filters_follow_the_temperature() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    hot = Sampling(temperature=10.0, min_p=0.5).filtered(logits)
    assert torch.equal(hot, logits / 10)
    assert kept(Sampling(temperature=0.5, min_p=0.5).filtered(logits)) == [{2}]
    assert torch.equal(Sampling(temperature=0.0, top_k=1).filtered(logits), logits)


def test_a_token_is_drawn_as_often_as_it_is_likely() -> None:
    logits = torch.tensor([0.125, 0.0, 0.5, 0.375, 0.0]).log().expand(800, -1)
    drawn = draw(logits, torch.arange(800, dtype=torch.float64) / 800)
    assert torch.bincount(drawn, minlength=5).tolist() == [100, 0, 400, 300, 0]


def test_the_extremes_of_chance_draw_what_is_possible() -> None:
    logits = torch.tensor([[0.0, 0.5, 0.5, 0.0]]).log().expand(2, -1)
    assert draw(logits, torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)).tolist() == [1, 2]


class Mock(tables.Mock):
    """Texts drawn from a table."""

    def __init__(self) -> None:
        super().__init__(V, order=2)

    def sampler(self, sentences: list[int], *, limit: int = 30, **settings: Any) -> Sampler:
        defaults: dict[str, Any] = {
            "seeds": sentences,
            "max_tokens": [limit] * len(sentences),
            "sampling": PLAIN,
            "ends": (EOS,),
        }
        begun = self.step(torch.full((len(sentences),), BOS), self.start(sentences))
        return Sampler(InStep(*begun, self.step), **(defaults | settings))

    def sample(self, sentences: list[int], **settings: Any) -> list[list[Draw]]:
        texts: list[list[Draw]] = [[] for _ in sentences]
        for draws in self.sampler(sentences, **settings):
            for one in draws:
                texts[one.text].append(one)
        return texts


def tokens(texts: list[list[Draw]]) -> list[list[int]]:
    return [[one.token for one in text] for text in texts]


def test_temperature_0_is_greedy() -> None:
    model, sentences = Mock(), list(range(12))
    found = model.sample(sentences, sampling=Sampling(temperature=0.0))
    greedy = beam_search(model.start(sentences), model.step, bos=BOS, eos=EOS, max_tokens=30, beam=1)
    for text, [hypothesis] in zip(found, greedy, strict=True):
        assert [one.token for one in text if not one.ends] == hypothesis.tokens
        assert [one.logprob for one in text] == pytest.approx(hypothesis.token_logprobs, abs=1e-5)


def test_a_seed_is_a_text_and_another_one_another() -> None:
    sentences = [3] * 20
    texts = tokens(Mock().sample(sentences, seeds=list(range(20))))
    assert texts == tokens(Mock().sample(sentences, seeds=list(range(20))))
    assert len({tuple(text) for text in texts}) > 15
    assert len({tuple(text) for text in tokens(Mock().sample(sentences, seeds=["one"] * 20))}) == 1


def test_batched_is_single_while_texts_leave() -> None:
    model, sentences = Mock(), list(range(16))
    sampling = Sampling(temperature=1.2, top_k=8, top_p=0.95, min_p=0.01, repetition_penalty=1.3)
    read = [[n % V, 5] for n in sentences]
    limits = [3 + n % 9 for n in sentences]
    together = model.sample(sentences, sampling=sampling, read=read, max_tokens=limits)
    assert model.calls[0] == 16
    assert 1 <= model.calls[-1] < 8
    for n in sentences:
        [alone] = Mock().sample([n], sampling=sampling, read=[read[n]], max_tokens=[limits[n]])
        assert [one.token for one in alone] == [one.token for one in together[n]]
        assert [one.logprob for one in alone] == pytest.approx([one.logprob for one in together[n]], abs=1e-6)


def test_log_probabilities_are_the_models_whatever_was_filtered() -> None:
    model, sentences = Mock(), list(range(10))
    sampling = Sampling(temperature=0.7, top_k=4, repetition_penalty=1.5)
    found = model.sample(sentences, sampling=sampling, forbidden=[0, 5])
    ended = [n for n in sentences if found[n][-1].ends]
    assert len(ended) > 5
    targets = [[one.token for one in found[n][:-1]] for n in ended]
    forced = forced_score(model.start(ended), model.step, targets, bos=BOS, eos=EOS)
    for n, logprobs in zip(ended, forced, strict=True):
        assert [one.logprob for one in found[n]] == pytest.approx(logprobs, abs=1e-5)


def test_texts_end_with_any_end_token_or_at_their_limit() -> None:
    found = Mock().sample(list(range(20)), ends=(EOS, 7), limit=6)
    for text in found:
        assert [one.ends for one in text[:-1]] == [False] * (len(text) - 1)
        assert text[-1].ends == (text[-1].token in (EOS, 7))
        assert text[-1].ends or len(text) == 6
    assert {text[-1].token for text in found} >= {EOS, 7}
    assert Mock().sample([0, 1], max_tokens=[0, 0]) == [[], []]


def test_forbidden_tokens_are_never_drawn() -> None:
    found = tokens(Mock().sample(list(range(30)), forbidden=[3, 4, EOS], limit=12, sampling=Sampling(temperature=5.0)))
    assert not {3, 4, EOS} & {token for text in found for token in text}


def test_a_heavy_penalty_lets_nothing_come_twice() -> None:
    sampling = Sampling(temperature=1.0, min_p=0.0, repetition_penalty=1e6)

    class Positive(Mock):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            return super().logits(sentence, text).abs() + 20

    for text in tokens(Positive().sample(list(range(8)), sampling=sampling, read=[[3, 4]] * 8, ends=(), limit=9)):
        assert len(set(text)) == len(text)
        assert not {3, 4} & set(text)


def test_a_stopped_text_gets_nothing_more_and_changes_no_other() -> None:
    alone = tokens(Mock().sample([5, 6, 7], ends=()))
    model = Mock()
    sampler, texts = model.sampler([5, 6, 7], ends=()), [[], [], []]
    for draws in sampler:
        for one in draws:
            texts[one.text].append(one.token)
            if len(texts[1]) == 4:
                sampler.stop(1)
    assert texts == [alone[0], alone[1][:4], alone[2]]
    assert model.calls == [3] * 4 + [2] * 26


def test_what_comes_out_needs_no_inference_mode() -> None:
    for _ in Mock().sampler([0, 1], limit=2):
        assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_numbers_are_named(temperature: float) -> None:
    class Broken(Mock):
        def logits(self, sentence: int, text: list[int]) -> Tensor:
            logits = super().logits(sentence, text)
            return logits / 0 * 0 if sentence == 1 and len(text) == 3 else logits

    with pytest.raises(InputError, match=r"text 1, token 3: the model's scores are not numbers \(NaN\)"):
        Broken().sample([0, 1], sampling=Sampling(temperature=temperature), ends=())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nothing_possible_is_an_error(temperature: float) -> None:
    with pytest.raises(InputError, match="text 0, token 1: nothing may stand here"):
        Mock().sample([0], sampling=Sampling(temperature=temperature), forbidden=list(range(V)))


def test_every_row_needs_its_own() -> None:
    with pytest.raises(InputError, match="2 texts, 1 seeds and 2 max_tokens: one each is needed"):
        Mock().sampler([0, 1], seeds=[0])
    model = Mock()
    with pytest.raises(InputError, match="2 rows and 3 rows of logits: one each is needed"):
        InStep(torch.zeros(3, V), model.start([0, 1]), model.step)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, r"temperature = -1.0: 0 \(the likeliest token\) or more is needed"),
        ({"temperature": math.nan}, "temperature = nan"),
        ({"temperature": math.inf}, "temperature = inf"),
        ({"top_k": 0}, "top_k = 0: at least 1 is needed"),
        ({"top_p": 0.0}, "top_p = 0.0: more than 0 and at most 1 is needed"),
        ({"top_p": 1.5}, "top_p = 1.5"),
        ({"min_p": 1.5}, "min_p = 1.5: between 0 and 1 is needed"),
        ({"repetition_penalty": 0.0}, "repetition_penalty = 0.0: more than 0 is needed"),
    ],
)
def test_settings_that_say_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Sampling(**settings)
