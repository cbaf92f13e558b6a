"""The packed decoder against the plain one, product by product and step by step."""

import gc
import weakref
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from allyouneed.errors import UsageError
from allyouneed.models.state import ROOM, DecoderState
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts import packed
from allyouneed.parts.packed import BEAM, FEW, LARGE, MANY, SHARES_ROWS, SMALL, SMALL_ROWS, pack

V = 50


def tiny(**fields: Any) -> Transformer:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": V, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 16}
    shape |= {"n_encoder_layers": 1, "n_decoder_layers": 2, **fields}
    model = Transformer(TransformerConfig(**shape)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # also the biases and norms, which begin as zeros and ones
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def weights(outputs: int, inputs: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(outputs)
    draw = [torch.randn(shape, generator=generator) for shape in ((outputs, inputs), (outputs,), (MANY + 1, inputs))]
    return draw[0], draw[1], draw[2]


@pytest.mark.parametrize("outputs", [24, LARGE // 64, LARGE // 64 + 1, SMALL // 32, SMALL // 32 + 1])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("rectify", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("quick", [True, False])
def test_a_packed_product_is_the_product(
    outputs: int, biased: bool, rectify: bool, dtype: torch.dtype, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "plain_is_quick", lambda: quick)
    weight, bias, x = (tensor.to(dtype) for tensor in weights(outputs, 64))
    expected = linear(x, weight, bias if biased else None)
    expected = relu(expected) if rectify else expected
    product = pack(weight, bias if biased else None, rectify=rectify)
    # Read where it lies, and then from a copy.
    for rows in (1, FEW, BEAM, SHARES_ROWS, MANY + 1, MANY, SMALL_ROWS, BEAM + 1, MANY + 1):
        torch.testing.assert_close(product(x[:rows]), expected[:rows], atol=1e-4, rtol=1e-5)


@pytest.fixture(params=["fbgemm", "plain"])
def bytes_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Bytes are multiplied by FBGEMM, where this torch has it, and by torch itself."""
    if request.param == "fbgemm":
        if not packed.can_use_fbgemm():
            pytest.skip("this torch has no FBGEMM")
        monkeypatch.setattr(packed, "HEAVY", 0)
        monkeypatch.delattr(packed, "bytes_product")
    return request.param


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.usefixtures("bytes_by")
def test_bytes_are_close_and_each_row_is_on_its_own(biased: bool) -> None:
    weight, bias, x = weights(40, 64)
    x[3] *= 1000
    x[5] = 0
    given = bias if biased else None
    product = pack(weight, given, precision="int8")
    error = (product(x) - linear(x, weight, given)).abs() / linear(x.abs(), weight.abs()).clamp(min=1)
    assert float(error.max()) < 0.01
    assert float(error.mean()) < 0.0018  # half as many steps would double it
    alone = torch.cat([product(x[row : row + 1]) for row in range(len(x))])
    torch.testing.assert_close(alone, product(x), atol=0, rtol=1e-6)
    rectified = pack(weight, given, precision="int8", rectify=True)
    assert torch.equal(rectified(x), relu(product(x)))


def test_without_instructions_for_bytes_their_sums_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    if not packed.can_use_fbgemm():
        pytest.skip("this torch has no FBGEMM")
    monkeypatch.setattr(packed, "HEAVY", 0)
    weight, _, x = weights(40, 64)
    fine = pack(weight, None, precision="int8")(x) - linear(x, weight)
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    coarse = pack(weight, None, precision="int8")(x) - linear(x, weight)
    assert not torch.equal(fine, coarse)
    assert float(coarse.std()) < 2.5 * float(fine.std())


def test_a_machine_without_onednn_multiplies_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.delattr(packed, "_LargeProduct")
    weight, bias, x = weights(LARGE // 64, 64)
    assert torch.equal(pack(weight, bias)(x), linear(x, weight, bias))


DECODER: dict[str, Any] = {"n_encoder_layers": 0}
MODERN: dict[str, Any] = {
    **DECODER,
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
    "post-norm": {},
    "pre-norm": {"norm_placement": "pre", "final_norm": True},
    "grouped, no biases, untied": {"n_kv_heads": 2, "bias": False, "tied_embeddings": False, "embedding_scale": False},
    "large products": {"vocab_size": 8192, "d_ff": 8192},
    "relative bias, no score scale": {
        "norm": "rms",
        "norm_placement": "pre",
        "final_norm": True,
        "positions": "t5",
        "relative_buckets": 6,
        "relative_distance": 7,
        "attention_scale": 1.0,
        "activation": "gelu-tanh",
        "gated": True,
        "output_scale": 0.25,
        "d_head": 6,
    },
    "learned positions after an offset, embedding norm, output bias": {
        "positions": "learned",
        "position_offset": 2,
        "embedding_norm": True,
        "activation": "gelu",
        "output_bias": True,
    },
    "waves in halves, two tables": {"positions": "sinusoidal-halves", "shared_embeddings": False},
    "one layer repeated, halting": {"positions": "coordinates", "shared_depth": True, "halting": True},
    "distance embeddings": {"positions": "shaw", "relative_distance": 3, "n_kv_heads": 2},
    "query and key norms in both attentions": {"query_key_norm": True, "n_kv_heads": 2, "positions": "rotary"},
    "modern": MODERN,
    "modern, biases on queries, keys and values": {**MODERN, "qkv_bias": True},
    "modern, query and key norms, wide heads": {**MODERN, "query_key_norm": True, "d_head": 10},
    "modern, pairs, slow turns": {
        **MODERN,
        "rotary_layout": "pairs",
        "rotary_scaling": "yarn",
        "rotary_factor": 4.0,
        "rotary_trained_length": 8,
        "rotary_high": 32.0,
    },
    "modern, window": {**MODERN, "window": 3},
    "modern, window in some layers": {**MODERN, "window": 2, "window_layers": (1,)},
    "modern, experts": {**MODERN, "n_experts": 4},
    "parallel, a share of the width turned": {
        **DECODER,
        "norm_placement": "pre",
        "final_norm": True,
        "parallel_residual": True,
        "positions": "rotary",
        "rotary_share": 0.5,
        "d_head": 8,
        "activation": "gelu",
    },
    "an odd head, of which a share is turned": {**MODERN, "d_head": 7, "rotary_share": 0.6},
    "penalised distance": {
        **DECODER,
        "positions": "alibi",
        "norm_placement": "pre",
        "embedding_norm": True,
        "n_kv_heads": 2,
    },
    "penalised distance, window": {**DECODER, "positions": "alibi", "window": 3},
    "distance embeddings, window": {**DECODER, "positions": "shaw", "relative_distance": 2, "window": 3},
    "learned positions, readout": {**DECODER, "positions": "learned", "output_transform": True, "output_bias": True},
    "no positions": {**DECODER, "positions": "none"},
}


def padding(batch: int, length: int) -> Tensor:
    """Padding on the left of the first row and on the right of the second."""
    keep = torch.ones(batch, length, dtype=torch.bool)
    keep[0, :2] = keep[1, length - 2 :] = False
    return keep


def begin(model: Transformer, *, padded: bool, room: int = ROOM) -> tuple[Stepper, DecoderState, DecoderState]:
    """A stepper, and a state of three sentences for the model and one for the stepper."""
    stepper = Stepper(model)
    if not model.config.is_encoder_decoder:
        return stepper, model.start(sentences=3), stepper.start(sentences=3, room=room)
    source = torch.randint(4, V, (3, 6), generator=torch.Generator().manual_seed(1))
    memory = model.encode(source, padding(3, 6) if padded else None)
    return stepper, model.start(memory), stepper.start(memory, room=room)


def close(found: Tensor, expected: Tensor) -> None:
    assert float(expected.std()) > 0.1
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("padded", [True, False])
@torch.no_grad()
def test_stepper_writes_what_the_model_writes(shape: dict[str, Any], padded: bool) -> None:
    model = tiny(**shape)
    stepper, plain, fast = begin(model, padded=padded)
    for step, rows in enumerate(([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [0, 1, 5, 4], [1, 1, 2, 3], [0, 2], [0, 1])):
        tokens = (torch.arange(plain.rows) * 7 + step) % 40 + 4
        expected, plain = model.step(tokens, plain)
        logits, fast = stepper.step(tokens, fast)
        close(logits, expected)
        chosen = torch.tensor(rows)
        plain, fast = plain.select(chosen), fast.select(chosen)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("padded", [True, False])
@torch.no_grad()
def test_stepper_reads_what_the_model_reads(shape: dict[str, Any], padded: bool) -> None:
    model = tiny(**shape)
    stepper, plain, fast = begin(model, padded=padded)
    tokens = torch.randint(4, V, (3, 5), generator=torch.Generator().manual_seed(2))
    keep = padding(3, 5) if padded else None
    for _ in range(2):  # a text, and one that goes on from it
        expected, plain = model.read(tokens, plain, keep)
        logits, fast = stepper.read(tokens, fast, keep)
        close(logits, expected)
    for rows in ([0, 0, 1, 1, 2, 2], [1, 1, 4, 5]):
        tokens = torch.arange(plain.rows) * 7 % 40 + 4
        expected, plain = model.step(tokens, plain)
        logits, fast = stepper.step(tokens, fast)
        close(logits, expected)
        plain, fast = plain.select(torch.tensor(rows)), fast.select(torch.tensor(rows))


@torch.no_grad()
def test_a_long_text_outgrows_what_was_made_ready() -> None:
    model = tiny(**MODERN, max_length=300)
    stepper, plain, fast = begin(model, padded=False)
    for length in (60, 1, 150):  # past the turns that were made first, and past twice as many
        tokens = torch.randint(4, V, (3, length), generator=torch.Generator().manual_seed(length))
        expected, plain = model.read(tokens, plain)
        logits, fast = stepper.read(tokens, fast)
        close(logits, expected)


@pytest.mark.parametrize("shape", [{}, MODERN], ids=["post-norm", "modern"])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-12), (torch.bfloat16, 0.1)])
@torch.no_grad()
def test_stepper_keeps_the_models_number_type(shape: dict[str, Any], dtype: torch.dtype, error: float) -> None:
    model = tiny(**shape).to(dtype)
    stepper, plain, fast = begin(model, padded=True)
    for _ in range(2):
        expected, plain = model.step(torch.tensor([5, 6, 7]), plain)
        logits, fast = stepper.step(torch.tensor([5, 6, 7]), fast)
        assert logits.dtype == dtype
        torch.testing.assert_close(logits, expected, atol=error, rtol=error)


@torch.no_grad()
def test_bytes_write_nearly_what_the_model_writes() -> None:
    model = tiny()
    memory = model.encode(torch.randint(4, V, (3, 6), generator=torch.Generator().manual_seed(1)))
    tokens = torch.tensor([5, 6, 7])
    expected, _ = model.step(tokens, model.start(memory))
    stepper = Stepper(model, precision="int8")
    logits, _ = stepper.step(tokens, stepper.start(memory))
    difference = (logits.softmax(-1) - expected.softmax(-1)).abs().max()
    assert 0 < float(difference) < 0.02


def test_the_stepper_of_a_model_is_kept_until_its_weights_change() -> None:
    model = tiny()
    first = Stepper.of(model)
    assert Stepper.of(model) is first
    assert Stepper.of(model, precision="int8") is not first
    changed = Stepper.of(model)
    with torch.no_grad():
        model.get_parameter("decoder.0.feed_forward.inner.weight").mul_(2)
    assert Stepper.of(model) is not changed
    loaded = Stepper.of(model)
    model.load_state_dict(tiny(tied_embeddings=True).state_dict())
    assert Stepper.of(model) is not loaded
    moved = Stepper.of(model)
    assert Stepper.of(model.double()) is not moved


def test_a_forgotten_model_takes_its_stepper_along() -> None:
    model = tiny()
    alive = weakref.ref(model)
    stepper = weakref.ref(Stepper.of(model))
    del model
    gc.collect()
    assert alive() is None
    assert stepper() is None


def test_a_model_made_in_inference_mode_has_a_stepper() -> None:
    with torch.inference_mode():
        model = tiny()
        assert Stepper.of(model) is Stepper.of(model)


def test_precisions_that_cannot_be() -> None:
    with pytest.raises(UsageError, match=r'precision "int4" is none of float32, int8'):
        Stepper(tiny(), precision=cast(Any, "int4"))
    with pytest.raises(UsageError, match=r'precision "int8" is for the CPU, and this model is on "meta"'):
        Stepper(tiny().to("meta"), precision="int8")


@torch.no_grad()
def test_a_decoder_that_looks_at_a_source_needs_one() -> None:
    with pytest.raises(ValueError, match="this model's decoder looks at a source: give it the encoder's memory"):
        Stepper(tiny()).start()


@torch.no_grad()
def test_too_long_a_text_is_refused() -> None:
    model = tiny(max_length=3)
    stepper = Stepper(model)
    state = stepper.start(model.encode(torch.tensor([[5, 6]])))
    for _ in range(3):
        _, state = stepper.step(torch.tensor([5]), state)
    with pytest.raises(ValueError, match="the text has reached this model's 3 positions"):
        stepper.step(torch.tensor([5]), state)


PADDING = {
    "none": [[True] * 3] * 3,
    "right": [[True, True, True], [True, False, False], [True, True, False]],
    "both sides": [[True, True, True], [False, False, True], [False, True, False]],
}


@pytest.mark.parametrize("padded", PADDING.values(), ids=PADDING.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@torch.no_grad()
def test_each_text_goes_on_and_back_for_itself_as_if_stepped(shape: dict[str, Any], padded: list[list[bool]]) -> None:
    model = tiny(**shape)
    stepper, plain, fast = begin(model, padded=True, room=4)
    keep = torch.tensor(padded)
    tokens = torch.randint(4, V, (3, 30), generator=torch.Generator().manual_seed(4))
    _, plain = model.read(tokens[:, :3], plain, keep)
    _, fast = stepper.read(tokens[:, :3], fast, keep)
    if not fast.is_reversible:
        assert "window" in shape
        return
    expected: list[Tensor] = []
    for step in range(3, 14):
        logits, plain = model.step(tokens[:, step], plain)
        expected.append(logits)
    ahead = fast
    written, rows = [3, 3, 3], [0, 1, 2]  # how far each text is, and whose rows there are

    def read(*counts: int, step: bool = False, wrong: bool = False) -> None:
        nonlocal ahead
        texts = [tokens[row, written[row] : written[row] + count] for row, count in zip(rows, counts, strict=True)]
        parts = [((text + 1) % V if wrong else text).tolist() for text in texts]
        found, ahead = stepper.step(torch.cat(texts), ahead) if step else stepper.read_each(parts, ahead)
        assert len(found) == sum(counts)
        for row, count in zip(rows, counts, strict=True):
            for place in range(0 if wrong else count):
                close(found[place], expected[written[row] + place - 3][row])
            found, written[row] = found[count:], written[row] + count

    read(1, 1, 1, step=True)
    read(2, 1, 4)
    read(0, 3, 1)
    read(5, 0, 3, wrong=True)  # guesses that do not come
    ahead = ahead.back([5, 0, 3])
    written[0], written[2] = written[0] - 5, written[2] - 3
    read(3, 1, 1)
    read(1, 1, 1, step=True)
    rows, ahead = [1, 2], ahead.select(torch.tensor([1, 2]))
    read(2, 2)
    assert written == [10, 12, 13]
    assert ahead.bytes == sum(cache.bytes for cache in ahead.caches) > 0


@torch.no_grad()
def test_beams_cannot_go_back_nor_texts_be_read_that_did() -> None:
    stepper = Stepper(tiny(n_encoder_layers=0))
    _, state = stepper.read(torch.tensor([[5, 6, 7], [5, 6, 7]]), stepper.start(sentences=2))
    assert state.is_reversible
    assert not state.select(torch.tensor([0, 0, 1, 1])).is_reversible
    with pytest.raises(ValueError, match="by counts of their own are read with open_each"):
        stepper.read(torch.tensor([[5], [6]]), stepper.read_each([[5], [6, 7]], state)[1])
