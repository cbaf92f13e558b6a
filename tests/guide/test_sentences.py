import math
from typing import Any

import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.guide.widgets.sentences import EXAMPLES, chance
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import LanguageModel
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer
from allyouneed.text.vocabulary import Marks

TEXT = "The cat ate the 치즈."


def ask(models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS["sentences"].answer(inputs, models)


def number(value: float | list[float]) -> float:
    """A number, or one that was written as a mantissa and a power of ten."""
    return value[0] * 10 ** value[1] if isinstance(value, list) else value


def test_sentences_have_the_librarys_own_probabilities(models: Models, language_model: LanguageModel) -> None:
    result = ask(models, sentences="\n".join([*EXAMPLES["en"].sentences, TEXT]), unit="log2", selected=4)
    scores = language_model.score([*EXAMPLES["en"].sentences, TEXT])
    assert [line["value"] for line in result["lines"]] == pytest.approx(
        [score.total / math.log(2) for score in scores], rel=1e-5
    )
    steps = [step for step in result["steps"] if "kind" in step]
    assert [step["text"] for step in steps] == scores[3].tokens
    assert [step["value"] for step in steps] == pytest.approx(
        [logprob / math.log(2) for logprob in scores[3].logprobs], rel=1e-4
    )
    assert sum(step["value"] for step in steps) == pytest.approx(result["total"]["log2"], abs=1e-3)
    assert steps[-1]["running"] == result["total"]["log2"]
    assert result["total"]["perplexity"] == pytest.approx(scores[3].perplexity, rel=1e-4)
    assert result["total"]["tokens"] == len(scores[3].tokens)


@torch.no_grad()
def test_next_tokens_are_those_of_the_whole_model(models: Models, decoder: Transformer, tokenizer: Tokenizer) -> None:
    result = ask(models, sentences=TEXT)
    ids = tokenizer.encode(TEXT)
    assert len(result["steps"]) == len(ids) + 1
    for place, step in enumerate(result["steps"]):
        states = decoder.decode(torch.tensor([[BOS, *ids[:place]]]))[:, -1]
        chances = decoder.logits(states)[0].softmax(-1)
        assert [number(token["p"]) for token in step["top"]] == pytest.approx(chances.topk(5).values.tolist(), rel=1e-2)
        assert step["before"] == tokenizer.decode(ids[:place])
        if place < len(ids):
            assert number(step["p"]) == pytest.approx(chances[ids[place]].item(), rel=1e-2)
            assert step["rank"] == 1 + (chances > chances[ids[place]]).sum()
        assert sum(token["share"] for token in step["top"]) <= 1


def test_reason_is_the_least_likely_token(models: Models) -> None:
    result = ask(models, sentences=TEXT)
    steps = result["steps"][:-1]
    worst = max(range(len(steps)), key=lambda at: steps[at]["bits"])
    reason = result["lines"][0]["reason"]
    assert reason["token"]["text"] == steps[worst]["text"]
    assert reason["before"]["text"] == (steps[worst - 1]["text"] if worst else "<s>")
    assert reason["bits"] == steps[worst]["bits"]
    assert result["used"] == {"selected": 1, "token": worst + 1}


def test_product_accumulates_in_every_unit(models: Models) -> None:
    bits = [step["bits"] for step in ask(models, sentences=TEXT)["steps"][:-1]]
    for unit in ("p", "log2", "perplexity"):
        result = ask(models, sentences=TEXT, unit=unit)
        for count, step in enumerate(result["steps"][:-1], 1):
            so_far = sum(bits[:count])
            wanted = {"p": 2**-so_far, "log2": -so_far, "perplexity": 2 ** (so_far / count)}[unit]
            assert number(step["running"]) == pytest.approx(wanted, rel=1e-2)
        assert number(result["lines"][0]["value"]) == pytest.approx(number(result["steps"][-2]["running"]))


@pytest.mark.parametrize("unit", ["p", "log2", "perplexity"])
def test_bars_lie_on_a_logarithmic_axis(models: Models, unit: str) -> None:
    result = ask(models, unit=unit)
    low, middle, high = (number(tick) for tick in result["ticks"])
    position = float if unit == "log2" else math.log2
    for line in result["lines"]:
        place = (position(number(line["value"])) - position(low)) / (position(high) - position(low))
        assert line["share"] == pytest.approx(place, abs=1e-3)
        assert 0 < line["share"] < 1
    assert position(middle) == pytest.approx((position(low) + position(high)) / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("log2", "shown"),
    [(0.0, 1.0), (-1.0, 0.5), (-9.9, 2**-9.9), (-10.0, (9.77, -4)), (-3000 * math.log2(10), (1.0, -3000))],
)
def test_small_chances_are_powers_of_ten(log2: float, shown: float | tuple[float, int]) -> None:
    assert chance(log2) == pytest.approx(shown)


def test_mantissa_is_rounded_below_ten() -> None:
    assert chance(math.log2(9.999e-7)) == (1.0, -6)


def test_examples_are_claims_in_their_order(models: Models) -> None:
    result = ask(models, unit="log2")
    totals = [line["value"] for line in result["lines"]]
    assert [claim["value"] for claim in result["claims"]] == pytest.approx(
        [totals[0] - totals[1], totals[1] - totals[2]], abs=1e-3
    )
    assert [claim["holds"] for claim in result["claims"]] == [totals[0] > totals[1], totals[1] > totals[2]]
    assert ask(models, sentences=TEXT)["claims"] == []


def test_choices_are_brought_within_the_sentences(models: Models) -> None:
    result = ask(models, sentences="The cat.\nThe dog.", selected=5, token=99)
    assert result["used"] == {"selected": 2, "token": len(result["steps"])}
    assert result["limits"] == {"sentences": 5, "selected": 2, "token": len(result["steps"])}


@pytest.mark.parametrize("prefix", [(), (BOS, EOS)])
def test_what_stands_before_a_sentence_is_not_scored(
    decoder: Transformer, tokenizer: Tokenizer, prefix: tuple[int, ...]
) -> None:
    bare = tokenizer.for_line("decoder")
    bare.marks = Marks(pad=0, prefix=prefix)
    pipe = LanguageModel(decoder, bare, name="bare")
    models = Models(shipped=["bare"], load=lambda name: pipe)
    result = ask(models, sentences="The cat ate.", unit="log2", model="bare")
    score = pipe.score(["The cat ate."])[0]
    assert [token["text"] for token in result["lead"]] == [*bare.pieces(prefix), *score.given]
    assert [step["text"] for step in result["steps"] if "text" in step] == score.tokens
    assert result["total"]["log2"] == pytest.approx(score.total / math.log(2), rel=1e-5)


def test_one_token_without_a_beginning_is_refused(decoder: Transformer, tokenizer: Tokenizer) -> None:
    bare = tokenizer.for_line("decoder")
    bare.marks = Marks(pad=0)
    models = Models(shipped=["bare"], load=lambda name: LanguageModel(decoder, bare, name=name))
    one = bare.decode(bare.encode("The cat")[:1])
    with pytest.raises(FigureError, match="first token gets no probability"):
        ask(models, sentences=one, model="bare")
