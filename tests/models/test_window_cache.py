"""Writing through the ring of a sliding window: constant memory, and the texts of the uncached model."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from allyouneed.decoding.search import beam_search
from allyouneed.models import transformer
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import DecoderState, Transformer, TransformerConfig
from allyouneed.parts import cache as caches
from allyouneed.parts.cache import WindowCache

V, WINDOW = 60, 6
MODERN: dict[str, Any] = {
    "norm": "rms",
    "norm_placement": "pre",
    "final_norm": True,
    "activation": "silu",
    "gated": True,
    "bias": False,
    "positions": "rotary",
    "n_kv_heads": 2,
    "embedding_scale": False,
}
SHAPES: dict[str, dict[str, Any]] = {
    "every layer": MODERN,
    "one layer of three": {**MODERN, "window_layers": (1,)},
    "penalised distance": {"positions": "alibi"},
    "distance embeddings, two layers of three": {"positions": "shaw", "relative_distance": 4, "window_layers": (0, 2)},
    "beside a source": {"n_encoder_layers": 1, "window_layers": (0, 1)},
    "one layer again and again": {"positions": "coordinates", "shared_depth": True},
}


def tiny(name: str, **fields: Any) -> Transformer:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": V, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 64}
    shape |= {"n_encoder_layers": 0, "n_decoder_layers": 3, "window": WINDOW, **SHAPES[name], **fields}
    model = Transformer(TransformerConfig(**shape)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def prompt(rows: int, length: int = 3 * WINDOW) -> Tensor:
    return torch.randint(4, V, (rows, length), generator=torch.Generator().manual_seed(rows))


def memory_of(model: Transformer, rows: int) -> Any:
    return model.encode(prompt(rows, 5)) if model.config.is_encoder_decoder else None


def uncached(model: Transformer, text: Tensor, memory: Any) -> Tensor:
    return model.logits(model.decode(text, memory))[:, -1]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("fast", [False, True])
@torch.no_grad()
def test_a_prompt_of_three_windows_and_two_windows_of_new_tokens(name: str, fast: bool) -> None:
    model = tiny(name)
    memory, text = memory_of(model, 2), prompt(2)
    steps = Stepper(model) if fast else model
    logits, state = steps.read(text, steps.start(memory, sentences=2))
    written = text
    for _ in range(2 * WINDOW):
        expected = uncached(model, text, memory)
        torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-4)
        text = torch.cat((text, expected.argmax(-1)[:, None]), 1)
        written = torch.cat((written, logits.argmax(-1)[:, None]), 1)
        logits, state = steps.step(written[:, -1], state)
    assert torch.equal(written, text)
    ring = state.caches[-1]
    assert isinstance(ring, WindowCache)
    assert ring.capacity == WINDOW
    assert ring.steps == 5 * WINDOW


@dataclass(frozen=True)
class Uncached:
    """A state that reads every text anew."""

    texts: Tensor  # [R, T]
    owners: Tensor  # [R]

    @property
    def rows(self) -> int:
        return len(self.texts)

    @property
    def device(self) -> torch.device:
        return self.texts.device

    def select(self, rows: Tensor) -> "Uncached":
        return Uncached(self.texts[rows], self.owners[rows])


@pytest.mark.parametrize("name", SHAPES)
@torch.no_grad()
def test_beams_beyond_the_window_are_those_of_the_uncached_model(name: str) -> None:
    model = tiny(name)
    memory, text = memory_of(model, 2), prompt(2)

    def slow(tokens: Tensor, state: Uncached) -> tuple[Tensor, Uncached]:
        texts = torch.cat((state.texts, tokens[:, None]), 1)
        own = None if memory is None else replace(memory, states=memory.states[state.owners])
        return uncached(model, texts, own), Uncached(texts, state.owners)

    wanted: dict[str, Any] = {"eos": 2, "max_tokens": 2 * WINDOW, "beam": 3, "nbest": 2}
    logits, started = slow(text[:, -1], Uncached(text[:, :-1], torch.arange(2)))
    expected = beam_search(started, slow, bos=logits, **wanted)
    for steps in (model, Stepper(model)):
        logits, state = steps.read(text, steps.start(memory, sentences=2))
        found = beam_search(state, steps.step, bos=logits, **wanted)
        assert [[h.tokens for h in ranked] for ranked in found] == [[h.tokens for h in ranked] for ranked in expected]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("fast", [False, True])
@torch.no_grad()
def test_padding_on_either_side_moves_nothing(name: str, fast: bool) -> None:
    model = tiny(name).double()
    memory = memory_of(model, 1)
    steps = Stepper(model) if fast else model
    lengths, width = [3 * WINDOW, 4, WINDOW + 1], 3 * WINDOW + 2
    texts = [prompt(1, length) for length in lengths]
    blank, keep = torch.full((3, width), 3), torch.zeros(3, width, dtype=torch.bool)
    for row, (text, left) in enumerate(zip(texts, (2, width - 4, 0), strict=True)):
        keep[row, left : left + text.shape[1]] = True
        blank[row, keep[row]] = text[0]
    both = None if memory is None else replace(memory, states=memory.states.expand(3, -1, -1))
    logits, state = steps.read(blank, steps.start(both, sentences=3), keep)
    for step in range(2 * WINDOW):
        for row, text in enumerate(texts):
            torch.testing.assert_close(logits[row], uncached(model, text, memory)[0], atol=1e-9, rtol=0)
        new = torch.arange(3) * 7 + step + 5
        texts = [torch.cat((text, token[None, None]), 1) for text, token in zip(texts, new, strict=True)]
        logits, state = steps.step(new, state)
    assert state.caches[-1].capacity == WINDOW


@pytest.mark.parametrize("groups", [1, 2, 4])
@torch.no_grad()
def test_the_bytes_stop_growing(groups: int) -> None:
    model = tiny("every layer", n_kv_heads=groups)
    sizes: list[int] = []
    state: DecoderState = model.start()
    for _ in range(3):
        _, state = model.read(prompt(1, WINDOW - 1), state)
        sizes.append(state.bytes)
    a_token = 2 * 3 * groups * 4 * 4
    assert sizes == [a_token * (WINDOW - 1), a_token * WINDOW, a_token * WINDOW]
    some = tiny("one layer of three", n_kv_heads=groups)
    _, state = some.read(prompt(1), some.start())
    assert state.bytes == a_token // 3 * (2 * 3 * WINDOW + WINDOW)


@torch.no_grad()
def test_the_known_length_makes_room_once() -> None:
    model = tiny("one layer of three")
    for steps in (model, Stepper(model)):
        state = steps.start(room=3 * WINDOW + 2)
        places = [cache.keys[0].data_ptr() for cache in state.caches]
        logits, state = steps.read(prompt(1), state)
        for _ in range(2):
            logits, state = steps.step(logits.argmax(-1), state)
        assert [cache.keys[0].data_ptr() for cache in state.caches] == places
        assert [cache.capacity for cache in state.caches] == [3 * WINDOW + 2, WINDOW]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["every layer", "one layer of three", "penalised distance"])
@torch.no_grad()
def test_long_texts_are_read_by_rule(name: str, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long is never a matrix, and comes out the same."""
    model, text = tiny(name), prompt(2, 40)
    keep = torch.ones(2, 40, dtype=torch.bool)
    keep[0, :5] = not padded
    given = keep if padded else None
    expected = model(text, keep=given)
    stepper = Stepper(model)
    last, _ = stepper.read(text, stepper.start(sentences=2), given)
    with monkeypatch.context() as patched:
        for module in (transformer, caches):
            patched.setattr(module, "SHORT", 1)
            patched.delattr(module, "explicit")
        torch.testing.assert_close(model(text, keep=given)[keep], expected[keep], atol=2e-5, rtol=1e-4)
        for steps in (model, stepper):
            logits, _ = steps.read(text, steps.start(sentences=2), given)
            torch.testing.assert_close(logits, last, atol=2e-5, rtol=1e-4)
