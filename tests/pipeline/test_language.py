"""Language models: what they write and how likely it is, from every side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.decoding.lookahead import FREE
from allyouneed.decoding.sampling import Draw
from allyouneed.decoding.search import beam_search
from allyouneed.errors import UsageError
from allyouneed.models.mamba import Mamba, MambaConfig
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import DecoderState, Transformer
from allyouneed.pipeline import LanguageModel, Score, TextError, TooLongError
from allyouneed.text.tokenizer import BOS, EOS, Tokenizer
from allyouneed.text.vocabulary import Marks

PROMPTS = ["The mouse ate", "", "The cat sat on the mat, and the", "dog", "é 나"]
GREEDY: dict[str, Any] = {"temperature": 0.0, "max_tokens": 12}


@pytest.fixture(scope="module")
def pipe(decoder: Transformer, tokenizer: Tokenizer) -> LanguageModel:
    return LanguageModel(decoder, tokenizer.for_line("decoder"), name="small")


class Foreign(Tokenizer):
    """The same pieces with other marks."""

    def __init__(self, other: Tokenizer, marks: Marks) -> None:
        super().__init__(other._core, "decoder")  # pyright: ignore[reportPrivateUsage]
        self.marks = marks


def whole_pass(pipe: LanguageModel, row: list[int]) -> list[float]:
    """Each token's log-probability by a pass over this row alone."""
    with torch.no_grad():
        logits = pipe.model(torch.tensor([row]))[0, :-1]
    return logits.log_softmax(-1).gather(1, torch.tensor(row[1:])[:, None])[:, 0].tolist()


def ids_after(pipe: LanguageModel, prompt: list[int], count: int) -> list[int]:
    """The likeliest tokens one after another, each by a pass over all of the text."""
    row = list(prompt)
    while len(row) < len(prompt) + count and row[-1] != EOS:
        with torch.no_grad():
            logits = pipe.model(torch.tensor([row]))[0, -1]
        logits[[0, 1, 3]] = -math.inf
        row.append(int(logits.argmax()))
    return row[len(prompt) :]


def test_greedy_text_is_that_of_whole_passes(pipe: LanguageModel) -> None:
    for prompt, found in zip(PROMPTS, pipe.generate(PROMPTS, **GREEDY), strict=True):
        row = [BOS, *pipe.tokenizer.encode(prompt)]
        written = ids_after(pipe, row, 12)
        own = [token for token in written if token != EOS]
        assert found.tokens == pipe.tokenizer.pieces(own)
        assert prompt + found.text == pipe.tokenizer.decode([*row, *own])
        assert found.finished == (EOS in written)
        assert found.logprob == pytest.approx(sum(whole_pass(pipe, [*row, *written])[len(row) - 1 :]), abs=1e-4)


@pytest.mark.parametrize("settings", [GREEDY, {"seed": 5, "temperature": 1.3, "max_tokens": 15}, {"beam": 3}])
def test_many_at_once_are_as_one_by_one(pipe: LanguageModel, settings: dict[str, Any]) -> None:
    together = pipe.generate(PROMPTS, **settings)
    for number, prompt in enumerate(PROMPTS):
        [alone] = pipe.generate([prompt], numbers=[number], **settings)
        assert (alone.text, alone.tokens, alone.finished) == (
            together[number].text,
            together[number].tokens,
            together[number].finished,
        )
        assert alone.logprob == pytest.approx(together[number].logprob, abs=1e-4)


CALM: dict[str, Any] = {"max_tokens": 40, "seed": 1, "temperature": 0.3}  # texts that repeat themselves now and then


def test_texts_are_written_by_guesses(pipe: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    read_each, passes = Stepper.read_each, list[int]()

    def counted(stepper: Stepper, texts: Sequence[Sequence[int]], state: DecoderState) -> tuple[Tensor, DecoderState]:
        passes.append(max(map(len, texts)))
        return read_each(stepper, texts, state)

    monkeypatch.setattr(Stepper, "read_each", counted)
    together = pipe.generate(["dog", "The"], **CALM)
    assert max(passes) > 2
    assert len(passes) < 39
    passes.clear()
    [alone] = pipe.generate(["dog"], **CALM)
    assert max(passes) > 2
    assert alone.tokens == together[0].tokens
    passes.clear()
    many = pipe.generate(["dog"] * (FREE + 1), **CALM)
    assert not passes
    assert many[0].tokens == alone.tokens


def test_a_window_which_cannot_be_taken_back_makes_no_guesses(decoder: Transformer, tokenizer: Tokenizer) -> None:
    near = Transformer(replace(decoder.config, window=4)).eval()
    near.load_state_dict(decoder.state_dict())
    pipe = LanguageModel(near, tokenizer.for_line("decoder"), name="near")
    for prompt in PROMPTS:
        [alone], together = pipe.generate([prompt], **CALM), pipe.generate([prompt, "dog"], **CALM)
        assert alone.tokens == together[0].tokens


def test_a_seed_is_a_text_and_none_a_new_one(pipe: LanguageModel) -> None:
    hot: dict[str, Any] = {"temperature": 3.0, "max_tokens": 20}
    first, again, other = (pipe.generate(["The"] * 2, seed=seed, **hot) for seed in (7, 7, 8))
    assert first == again
    assert first[0] != first[1]
    assert first != other
    assert pipe.generate(["The"], **hot) != pipe.generate(["The"], **hot)


@pytest.mark.parametrize("settings", [GREEDY, {"seed": 3, "temperature": 2.0, "max_tokens": 40}])
def test_streaming_gives_the_same_text_in_parts(pipe: LanguageModel, settings: dict[str, Any]) -> None:
    count = 0
    for prompt in PROMPTS:
        parts = list(pipe.stream(prompt, **settings))
        assert all(parts)
        [found] = pipe.generate([prompt], **settings)
        assert "".join(parts) == found.text
        count += len(parts)
    assert count > 3 * len(PROMPTS)


def test_no_part_of_a_character_is_shown(pipe: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "나는 é"
    spelt = [4 + byte for byte in text.encode()]

    def bytes_of(_: object) -> Iterator[list[Any]]:
        return iter([[Draw(0, token, -1.0, False)] for token in spelt])

    monkeypatch.setattr("allyouneed.decoding.sampling.Sampler.__iter__", bytes_of)
    assert list(pipe.stream("The")) == list(text)
    assert pipe.generate(["The"])[0].text == text
    spelt = pipe.tokenizer.encode("cat")
    assert pipe.generate(["The"])[0].text == " cat"
    assert pipe.generate([""])[0].text == "cat"


def test_a_stop_string_ends_the_text_before_it(pipe: LanguageModel) -> None:
    settings: dict[str, Any] = {"seed": 3, "temperature": 2.0, "max_tokens": 40}
    [whole] = pipe.generate(["The cat"], **settings)
    stop = whole.text[9:12]
    cut = whole.text[: whole.text.index(stop)]
    [found] = pipe.generate(["The cat"], stop=["never there", stop], **settings)
    assert found.text == cut
    assert found.finished
    assert found.tokens == whole.tokens[: len(found.tokens)]
    assert len(found.tokens) < len(whole.tokens)
    assert "".join(pipe.stream("The cat", stop=[stop], **settings)) == cut
    searched, stopped = (pipe.generate(["The cat"], beam=2, max_tokens=30, stop=s)[0] for s in ([], [stop[:1]]))
    assert stopped.text == searched.text.partition(stop[:1])[0]
    [early] = pipe.generate(["The cat"], beam=2, max_tokens=30, stop=[searched.text[3:5]])
    assert early.text == searched.text[: searched.text.index(searched.text[3:5])]
    assert early.tokens == searched.tokens[: len(early.tokens)]
    assert len(early.tokens) < 8
    assert early.logprob > searched.logprob


def test_scores_follow_the_chain_rule(pipe: LanguageModel) -> None:
    texts = ["The mouse ate the cheese.", "", "dog", "The cat sat on the mat, and the dog slept."]
    for text, score in zip(texts, pipe.score(texts), strict=True):
        tokens = pipe.tokenizer.encode(text)
        expected = whole_pass(pipe, [BOS, *tokens]) if tokens else []
        assert score.tokens == pipe.tokenizer.pieces(tokens)
        assert score.logprobs == pytest.approx(expected, abs=1e-4)
        assert score.given == []
        assert score.total == pytest.approx(sum(expected), abs=1e-3)
        assert score.perplexity == pytest.approx(math.exp(-sum(expected) / max(len(expected), 1)), rel=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_forced_score_is_the_searchs_score(pipe: LanguageModel, beam: int) -> None:
    row = [BOS, *pipe.tokenizer.encode("The mouse ate")]
    logits, state = pipe.begin([row])
    [[found]] = beam_search(state, pipe.stepper.step, bos=logits, eos=EOS, max_tokens=12, beam=beam)
    [forced] = pipe.logprobs([[*row, *found.tokens, *([EOS] if found.finished else [])]])
    assert found.token_logprobs == pytest.approx(forced[len(row) - 1 :], abs=1e-4)


def test_nothing_is_known_of_a_first_token_without_a_mark_before_it(decoder: Transformer, tokenizer: Tokenizer) -> None:
    bare = LanguageModel(decoder, Foreign(tokenizer, Marks(bos=BOS, ends=(EOS,))), name="bare")
    tokens = tokenizer.encode("The cat.")
    [score, empty] = bare.score(["The cat.", ""])
    assert score.given == tokenizer.pieces(tokens[:1])
    assert score.tokens == tokenizer.pieces(tokens[1:])
    assert score.logprobs == pytest.approx(whole_pass(bare, tokens), abs=1e-4)
    assert (empty.tokens, empty.perplexity) == ([], 1.0)
    assert 1e307 < Score(["a"], [-1e6]).perplexity < math.inf  # as far as a float goes
    assert bare.attend("The cat.").tokens["decoder"][0] == tokenizer.pieces(tokens)
    with pytest.raises(TextError, match="Text 2 is empty, and no mark begins a text of this model"):
        bare.generate(["The", ""])


def test_a_mark_between_texts_begins_the_next(decoder: Transformer, tokenizer: Tokenizer) -> None:
    pipe = LanguageModel(decoder, Foreign(tokenizer, Marks(bos=EOS, eos=EOS, ends=(EOS,))), name="between")
    tokens = tokenizer.encode("The cat.")
    [score] = pipe.score(["The cat."])
    assert score.logprobs == pytest.approx(whole_pass(pipe, [EOS, *tokens]), abs=1e-4)
    assert pipe.prompts(["The cat.", ""]) == [tokens, [EOS]]


def test_marks_are_never_written_and_text_is(pipe: LanguageModel, decoder: Transformer, tokenizer: Tokenizer) -> None:
    assert pipe.forbidden == [0, BOS, 3]
    padded_with_text = Marks(pad=300, bos=BOS, eos=EOS, ends=(EOS,), prefix=(EOS,))
    assert LanguageModel(decoder, Foreign(tokenizer, padded_with_text), name="other").forbidden == []


def test_a_prompt_that_is_too_long_and_the_longest_that_fits(pipe: LanguageModel) -> None:
    longest = " ".join(["the"] * 63)
    with pytest.raises(TooLongError, match="Text 2 has 64 tokens, and this model reads at most 63"):
        pipe.generate(["dog", longest + " the"])
    with pytest.raises(TooLongError, match="Text 1 has 64 tokens"):
        pipe.score([longest + " the"])
    [found] = pipe.generate([longest], temperature=0.0, max_tokens=9)
    assert len(found.tokens) + found.finished == 1
    [searched] = pipe.generate(["the"], beam=2, max_tokens=500)
    assert len(searched.tokens) <= 63
    assert len(pipe.score([longest])[0].logprobs) == 63


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens = 0: at least 1 is needed"),
        ({"temperature": -1.0}, "temperature = -1.0"),
        ({"beam": 2, "top_k": 3, "temperature": 1.0}, "draws nothing: it goes without top_k, temperature"),
        ({"beam": 2, "seed": 1}, "draws nothing: it goes without seed"),
        ({"stop": [""]}, "A stop string is empty"),
        ({"max_tokens": 2.5}, r"^max_tokens = 2\.5: a whole number is needed\.$"),
        ({"temperature": "1"}, r"^temperature = '1': a number is needed\.$"),
        ({"top_p": None}, r"^top_p = None: a number is needed\.$"),
        ({"beam": 2.5}, r"^beam = 2\.5: a whole number is needed\.$"),
        ({"beam": True}, r"^beam = True: a whole number is needed\.$"),
        ({"top_k": 2.5}, r"^top_k = 2\.5: a whole number is needed\.$"),
        ({"seed": "1"}, r"^seed = '1': a whole number is needed\.$"),
        (
            {"temprature": 1.0},
            r'^There is no setting "temprature", only max_tokens, .*\. Did you mean "temperature"\?$',
        ),
    ],
)
def test_wrong_settings_are_refused(pipe: LanguageModel, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pipe.generate(["The"], **settings)
    if "beam" not in settings:
        with pytest.raises(UsageError, match=message):
            pipe.stream("The", **settings)


def test_a_bare_string_is_not_a_list_of_letters(pipe: LanguageModel) -> None:
    for method in (pipe.generate, pipe.score):
        with pytest.raises(UsageError, match="Texts come as a list"):
            method("The cat.")
    assert pipe.generate(["The"], stop="e", seed=1)[0].text.count("e") == 0


def test_progress_tells_how_many_are_done(pipe: LanguageModel) -> None:
    written: list[int] = []
    scored: list[int] = []
    pipe.generate(["The"] * 70, max_tokens=2, on_progress=written.append)
    pipe.score(["The"] * 70, on_progress=scored.append)
    for done in (written, scored):
        assert done == sorted(done)
        assert done[-1] == 70


def test_int8_writes_with_weights_in_bytes(decoder: Transformer, tokenizer: Tokenizer, pipe: LanguageModel) -> None:
    small = LanguageModel(decoder, tokenizer.for_line("decoder"), name="small", precision="int8")
    ours, exact = (one.generate(["The cat"], **GREEDY)[0].logprob for one in (small, pipe))
    assert ours != exact
    assert ours == pytest.approx(exact, rel=0.5)


def test_a_model_without_attention_writes_with_its_own_state(tokenizer: Tokenizer) -> None:
    torch.manual_seed(2)
    model: Any = Mamba(MambaConfig(vocab_size=tokenizer.vocab_size, d_model=16, n_layers=2, d_state=4)).eval()
    pipe = LanguageModel(model, tokenizer.for_line("decoder"), name="recurrent")
    for prompt, found in zip(PROMPTS, pipe.generate(PROMPTS, **GREEDY), strict=True):
        row = [BOS, *pipe.tokenizer.encode(prompt)]
        assert found.tokens == pipe.tokenizer.pieces([t for t in ids_after(pipe, row, 12) if t != EOS])
    assert pipe.score(["The cat."])[0].logprobs == pytest.approx(
        whole_pass(pipe, [BOS, *tokenizer.encode("The cat.")]), abs=1e-4
    )
    with pytest.raises(UsageError, match="This model has no attention: it keeps what it read"):
        pipe.attend("The cat.")
    with pytest.raises(UsageError, match="int8 is for Transformers"):
        LanguageModel(model, tokenizer.for_line("decoder"), name="r", precision="int8").generate(["The"])
