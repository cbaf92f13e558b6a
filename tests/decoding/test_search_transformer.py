"""The search over a real Transformer: whatever the cache does, each hypothesis is worth what a full pass says it is."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.decoding.scorers import forced_score
from allyouneed.decoding.search import Hypothesis, beam_search
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import DecoderState, Transformer, TransformerConfig

PAD, BOS, EOS = 0, 1, 2
V = 14
POST: dict[str, Any] = {"n_encoder_layers": 1, "n_decoder_layers": 3}
PRE: dict[str, Any] = {
    "n_decoder_layers": 2,
    "norm_placement": "pre",
    "final_norm": True,
    "n_kv_heads": 2,
    "bias": False,
}
LENGTHS = (7, 3, 11, 5, 9, 2, 8)


def build(shape: dict[str, Any]) -> Transformer:
    """Random but decided: sharp weights, and a draw of them whose texts differ and mostly end."""
    torch.manual_seed(6)
    settings: dict[str, Any] = {"n_encoder_layers": 2, "tied_embeddings": False, "max_length": 128, **shape}
    model = Transformer(TransformerConfig(vocab_size=V, d_model=24, n_heads=4, d_ff=40, **settings)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(parameter * 1.5 if parameter.dim() == 2 and "embedding" not in name else parameter)
    return model


@dataclass(frozen=True)
class Case:
    model: Transformer
    writer: Transformer | Stepper

    def start(self, source: Tensor, keep: Tensor | None) -> DecoderState:
        return self.writer.start(self.model.encode(source, keep))


@pytest.fixture(params=[POST, PRE], ids=["post-norm", "pre-norm grouped"])
def model(request: pytest.FixtureRequest) -> Transformer:
    return build(request.param)


@pytest.fixture(params=["model", "stepper"])
def case(model: Transformer, request: pytest.FixtureRequest) -> Case:
    return Case(model, model if request.param == "model" else Stepper(model))


def sources(lengths: tuple[int, ...] = LENGTHS) -> list[list[int]]:
    generator = torch.Generator().manual_seed(2)
    return [[*torch.randint(3, V, (length,), generator=generator).tolist(), EOS] for length in lengths]


def padded(rows: list[list[int]], *, left: bool = False, extra: int = 0) -> tuple[Tensor, Tensor]:
    width = max(map(len, rows)) + extra
    fill = [[PAD] * (width - len(row)) for row in rows]
    source = torch.tensor([f + row if left else row + f for row, f in zip(rows, fill, strict=True)])
    return source, source != PAD


@torch.no_grad()
def search(case: Case, rows: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
    pad = {name: settings.pop(name) for name in ("left", "extra") if name in settings}
    source, keep = padded(rows, **pad)
    state = case.start(source, None if bool(keep.all()) else keep)
    settings = {"max_tokens": 25, "beam": 4, "forbidden": (PAD, BOS)} | settings
    return beam_search(state, case.writer.step, bos=BOS, eos=EOS, **settings)


@torch.no_grad()
def from_scratch(model: Transformer, source: list[int], hypothesis: Hypothesis) -> list[float]:
    """Each token's log-probability by one full pass, with no padding, no cache and no other sentence."""
    text = torch.tensor([[*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens])
    shifted = torch.cat((torch.tensor([[BOS]]), text[:, :-1]), 1)
    logprobs = model(torch.tensor([source]), shifted).log_softmax(-1)
    return logprobs.gather(2, text[..., None])[0, :, 0].tolist()


def same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    assert [[(h.tokens, h.finished) for h in row] for row in ours] == [
        [(h.tokens, h.finished) for h in row] for row in theirs
    ]
    for a, b in zip(ours, theirs, strict=True):
        assert [h.score for h in a] == pytest.approx([h.score for h in b], rel=1e-5)


@pytest.mark.parametrize("beam", [1, 5])
def test_every_hypothesis_is_worth_what_a_full_pass_says(case: Case, beam: int) -> None:
    rows = sources()
    found = search(case, rows, beam=beam, nbest=beam, max_tokens=[30, 4, 25, 9, 25, 25, 12])
    assert len({tuple(h.tokens) for row in found for h in row}) > len(rows) // 2  # the model is not a stuck one
    for source, hypotheses in zip(rows, found, strict=True):
        for hypothesis in hypotheses:
            assert hypothesis.token_logprobs == pytest.approx(from_scratch(case.model, source, hypothesis), abs=1e-5)


def test_forced_score_is_the_searchs_score(case: Case) -> None:
    rows = sources(LENGTHS * 2)
    pairs = [(row, h) for row, [h] in zip(rows, search(case, rows, max_tokens=60), strict=True) if h.finished]
    assert len(pairs) > 3
    rows, found = [row for row, _ in pairs], [h for _, h in pairs]
    with torch.no_grad():
        state = case.start(*padded(rows))
    forced = forced_score(state, case.writer.step, [h.tokens for h in found], bos=BOS, eos=EOS)
    for hypothesis, logprobs in zip(found, forced, strict=True):
        assert hypothesis.token_logprobs == pytest.approx(logprobs, abs=1e-5)
        assert hypothesis.logprob == pytest.approx(sum(logprobs), abs=2e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_batched_is_single(case: Case, beam: int) -> None:
    rows = sources()
    alone = [search(case, [row], beam=beam, nbest=beam)[0] for row in rows]
    same(search(case, rows, beam=beam, nbest=beam), alone)


def test_the_side_of_the_padding_changes_nothing(case: Case) -> None:
    rows = sources((6, 6, 6))
    plain = search(case, rows, nbest=4)
    same(search(case, rows, nbest=4, extra=3), plain)
    same(search(case, rows, nbest=4, extra=3, left=True), plain)


def test_a_beam_of_one_is_greedy(case: Case) -> None:
    rows = sources()
    for source, [found] in zip(rows, search(case, rows, beam=1, max_tokens=20), strict=True):
        text = [BOS]
        while text[-1] != EOS and len(text) <= 20:
            with torch.no_grad():
                logits = case.model(torch.tensor([source]), torch.tensor([text]))[0, -1]
            logits[[PAD, BOS]] = float("-inf")
            text.append(int(logits.argmax()))
        assert found.tokens == [token for token in text[1:] if token != EOS]
        assert found.finished == (text[-1] == EOS)


def test_more_steps_than_the_cache_first_holds(case: Case) -> None:
    [row] = sources((4,))
    [[hypothesis]] = search(case, [row], forbidden=(PAD, BOS, EOS), max_tokens=100)
    assert len(hypothesis.tokens) == 100
    assert hypothesis.token_logprobs == pytest.approx(from_scratch(case.model, row, hypothesis), abs=1e-5)


def test_beams_trade_places_branch_and_leave_in_these_tests(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[list[int]] = []
    select = DecoderState.select

    def watch(state: DecoderState, rows: Tensor) -> DecoderState:
        chosen.append(rows.tolist())
        return select(state, rows)

    monkeypatch.setattr(DecoderState, "select", watch)
    search(case, sources(), max_tokens=[9, 25, 25, 25, 25, 14, 25])
    assert any(rows != sorted(rows) for rows in chosen)
    assert any(len(set(rows)) < len(rows) for rows in chosen[1:])
    assert any(len(after) < len(before) for before, after in pairwise(chosen))
