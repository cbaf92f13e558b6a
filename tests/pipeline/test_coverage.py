"""The coverage penalty: what it is, what it does to the ranking of a beam, and what it is refused for."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import UsageError
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import Translator
from allyouneed.pipeline.coverage import by_coverage, coverage
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.text.tokenizer import Tokenizer

TEXTS = ["The mouse ate the cheese.", "the", "The cat sat on the mat, and the dog slept."]


def lively(model: Any, tokenizer: Tokenizer) -> Translator:
    """A translator with random weights that all matter."""
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=draw)
    return Translator(model.eval(), tokenizer, name="lively")


def recurrent(tokenizer: Tokenizer, **kind: Any) -> Translator:
    """A small recurrent one."""
    sizes: dict[str, Any] = {"d_embedding": 12, "d_hidden": 16, "d_attention": 10, "d_readout": 12, "max_length": 64}
    return lively(Recurrent(RecurrentConfig(vocab_size=tokenizer.vocab_size, **sizes, **kind)), tokenizer)


@pytest.fixture(params=["Transformer", "RNNsearch"])
def pipe(request: pytest.FixtureRequest, model: Transformer, tokenizer: Tokenizer) -> Translator:
    return lively(Transformer(model.config), tokenizer) if request.param == "Transformer" else recurrent(tokenizer)


def naive_coverage(weights: Tensor) -> float:
    """Equation 14 of Wu 2016 as it stands there, without β. [T, S]"""
    target, source = weights.shape
    return sum(math.log(min(sum(float(weights[j, i]) for j in range(target)), 1.0)) for i in range(source))


def test_coverage_is_the_papers_sum() -> None:
    weights = torch.rand(3, 7, 5, generator=torch.Generator().manual_seed(0)) / 4
    assert float(weights.sum(1).max()) > 1 > float(weights.sum(1).min())
    torch.testing.assert_close(coverage(weights), torch.tensor([naive_coverage(own) for own in weights]))
    assert coverage(torch.eye(4)) == 0
    assert math.isfinite(float(coverage(torch.tensor([[1.0, 0.0]]))))


def test_a_translation_that_leaves_nothing_out_comes_first() -> None:
    short, whole = (Hypothesis([4], score, 2 * score, [2 * score], finished=False) for score in (-1.0, -1.5))
    assert by_coverage([short, whole], [-2.0, -0.5], 0.0) == [short, whole]
    first, second = by_coverage([short, whole], [-2.0, -0.5], 0.5)
    assert (first.logprob, first.score) == (-3.0, -1.75)
    assert (second.logprob, second.score) == (-2.0, -2.0)


def test_a_beam_is_ranked_by_what_its_translations_look_at(pipe: Translator) -> None:
    sources = pipe.encode(TEXTS)
    plain = hypotheses(pipe.model, pipe.tokenizer, sources, beam=4, nbest=4)
    changed = 0
    for text, source, found in zip(TEXTS, sources, plain, strict=True):
        expected = list[tuple[float, str]]()
        for one in found:
            rows = slice(len(one.tokens) + one.finished)  # one that was cut off did not write its end
            weights = pipe.look(source, one.tokens)["cross", -1, "mean"][rows, : len(source)]
            score = one.score + 10 * naive_coverage(weights)
            expected.append((score, pipe.tokenizer.decode(one.tokens)))
        ranked = sorted(expected, key=lambda pair: -pair[0])
        changed += ranked != expected
        [translation] = pipe.translate([text], beam=4, nbest=4, coverage_penalty=10)
        assert [one.text for one in translation.nbest] == [own for _, own in ranked]
        assert [one.score for one in translation.nbest] == pytest.approx([score for score, _ in ranked], abs=1e-4)
    assert changed


def test_translations_of_unequal_length_are_covered_as_each_alone(pipe: Translator) -> None:
    [source] = pipe.encode(TEXTS[:1])
    cut, ended = Hypothesis([9] * 8, 0, 0, [0] * 8, finished=False), Hypothesis([7, 8], 0, 0, [0] * 3, finished=True)
    together = pipe.coverage(source, [cut, ended])
    assert together == pytest.approx([*pipe.coverage(source, [cut]), *pipe.coverage(source, [ended])], abs=1e-4)


def test_one_of_the_best_is_the_first_of_all(pipe: Translator) -> None:
    texts = [TEXTS[0], " ", *TEXTS[1:]]
    alone, ranked = (pipe.translate(texts, beam=5, nbest=nbest, coverage_penalty=0.8) for nbest in (1, 5))
    assert [(one.text, one.score) for one in alone] == [(one.text, one.score) for one in ranked]
    assert [len(one.nbest) for one in alone] == [1, 0, 1, 1]


def test_the_longest_translations_are_covered_too(model: Transformer, tokenizer: Tokenizer) -> None:
    pipe = Translator(model, tokenizer, name="small")
    [source] = pipe.encode([" ".join(["the"] * 63)])
    [found] = hypotheses(model, tokenizer, [source], beam=3, nbest=3)
    assert max(len(one.token_logprobs) for one in found) == model.config.max_length
    assert all(math.isfinite(covered) and covered <= 0 for covered in pipe.coverage(source, found))


def test_what_a_coverage_penalty_is_refused_for(pipe: Translator, tokenizer: Tokenizer) -> None:
    for penalty in (-0.1, 10.5, math.nan):
        with pytest.raises(UsageError, match=rf"coverage_penalty {penalty:g}: 0 \(none\) to 10 is needed"):
            pipe.translate(TEXTS, coverage_penalty=penalty)
    with pytest.raises(UsageError, match="greedy search finds one text: widen beam"):
        pipe.translate(TEXTS, beam=1, coverage_penalty=0.1)
    for name, value in (("coverage_penalty", None), ("length_penalty", "1")):
        with pytest.raises(UsageError, match=rf"^{name} = {value!r}: a number is needed\.$"):
            pipe.translate(TEXTS, **{name: value})  # pyright: ignore[reportArgumentType]  # as a notebook may say it
    without = recurrent(tokenizer, attention="none", bidirectional=False, summary="every-step")
    with pytest.raises(UsageError, match="This model has no attention"):
        without.translate([""], coverage_penalty=0.1)
