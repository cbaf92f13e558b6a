"""The packed decoder against the plain one, product by product and step by step."""

import gc
import weakref
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from allyouneed.errors import UsageError
from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts import packed
from allyouneed.parts.packed import LARGE, pack

V = 50


def tiny(**fields: Any) -> Transformer:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": V, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 12, **fields}
    model = Transformer(TransformerConfig(n_encoder_layers=1, n_decoder_layers=2, **shape)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # also the biases and norms, which begin as zeros and ones
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def weights(outputs: int, inputs: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(outputs)
    draw = [torch.randn(shape, generator=generator) for shape in ((outputs, inputs), (outputs,), (9, inputs))]
    return draw[0], draw[1], draw[2]


@pytest.mark.parametrize("outputs", [24, LARGE // 64])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("rectify", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_packed_product_is_the_product(outputs: int, biased: bool, rectify: bool, dtype: torch.dtype) -> None:
    weight, bias, x = (tensor.to(dtype) for tensor in weights(outputs, 64))
    expected = linear(x, weight, bias if biased else None)
    expected = relu(expected) if rectify else expected
    for rows in (1, 9):
        product = pack(weight, bias if biased else None, rectify=rectify)
        torch.testing.assert_close(product(x[:rows]), expected[:rows], atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("biased", [True, False])
def test_bytes_are_close_and_each_row_is_on_its_own(biased: bool) -> None:
    weight, bias, x = weights(40, 64)
    x[3] *= 1000
    x[5] = 0
    given = bias if biased else None
    product = pack(weight, given, precision="int8")
    error = (product(x) - linear(x, weight, given)).abs() / linear(x.abs(), weight.abs()).clamp(min=1)
    assert float(error.max()) < 0.01
    assert float(error.mean()) < 0.0018  # half as many steps would double it
    alone = torch.cat([product(x[row : row + 1]) for row in range(9)])
    assert torch.equal(product(x), alone)
    rectified = pack(weight, given, precision="int8", rectify=True)
    assert torch.equal(rectified(x), relu(product(x)))


def test_a_machine_without_onednn_multiplies_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.delattr(packed, "_onednn_product")
    weight, bias, x = weights(LARGE // 64, 64)
    assert torch.equal(pack(weight, bias)(x), linear(x, weight, bias))


SHAPES: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm_placement": "pre", "final_norm": True},
    "grouped, no biases, untied": {"n_kv_heads": 2, "bias": False, "tied_embeddings": False, "embedding_scale": False},
    "large products": {"vocab_size": 8192, "d_ff": 8192},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("padded", [True, False])
@torch.no_grad()
def test_stepper_writes_what_the_model_writes(shape: dict[str, Any], padded: bool) -> None:
    model = tiny(**shape)
    stepper = Stepper(model)
    source = torch.randint(4, V, (3, 6), generator=torch.Generator().manual_seed(1))
    keep = None
    if padded:
        keep = torch.ones(3, 6, dtype=torch.bool)
        keep[0, :2] = keep[1, 4:] = False
    memory = model.encode(source, keep)
    plain, fast = model.start(memory), stepper.start(memory)
    for step, rows in enumerate(([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [0, 1, 5, 4], [1, 1, 2, 3], [0, 1, 2, 3])):
        tokens = (torch.arange(plain.rows) * 7 + step) % 40 + 4
        expected, plain = model.step(tokens, plain)
        logits, fast = stepper.step(tokens, fast)
        torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-5)
        chosen = torch.tensor(rows)
        plain, fast = plain.select(chosen), fast.select(chosen)


@torch.no_grad()
def test_stepper_keeps_the_models_number_type() -> None:
    model = tiny().double()
    memory = model.encode(torch.tensor([[5, 6], [7, 0]]), torch.tensor([[True, True], [True, False]]))
    stepper, tokens = Stepper(model), torch.tensor([5, 6])
    expected, _ = model.step(tokens, model.start(memory))
    logits, _ = stepper.step(tokens, stepper.start(memory))
    torch.testing.assert_close(logits, expected, atol=1e-12, rtol=1e-12)


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
        model.decoder_layers[0].feed_forward.inner.weight.mul_(2)
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
def test_too_long_a_text_is_refused() -> None:
    model = tiny(max_length=3)
    stepper = Stepper(model)
    state = stepper.start(model.encode(torch.tensor([[5, 6]])))
    for _ in range(3):
        _, state = stepper.step(torch.tensor([5]), state)
    with pytest.raises(ValueError, match="the text has reached this model's 3 positions"):
        stepper.step(torch.tensor([5]), state)
