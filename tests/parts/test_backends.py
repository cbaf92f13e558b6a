"""One signature, five backends: they agree, or refuse in words, and the choice among them is explained."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from lookups import assert_same, lookups, values_and_gradients
from torch import Tensor

from allyouneed.errors import UsageError
from allyouneed.parts.attention import attend, naive_attend
from allyouneed.parts.backends import Backend, explain
from allyouneed.parts.masks import Mask, causal, explicit, padding, prefix, sliding_window


@settings(deadline=None, max_examples=40)
@given(lookups())
def test_backends_agree_on_values_and_all_gradients(
    lookup: tuple[list[Tensor], Mask | None, Tensor | None, int],
) -> None:
    tensors, mask, bias, _ = lookup
    expected = values_and_gradients(partial(naive_attend, mask=mask, bias=bias), tensors, bias)
    backends: list[Backend] = ["naive", "fused", "tiled"] if mask is None else ["naive", "fused", "tiled", "sparse"]
    for backend in backends:
        assert_same(
            values_and_gradients(partial(attend, mask=mask, bias=bias, backend=backend), tensors, bias), expected
        )


@settings(deadline=None, max_examples=8)
@given(lookups())
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_agrees_on_values(lookup: tuple[list[Tensor], Mask | None, Tensor | None, int]) -> None:
    (query, key, value), mask, bias, _ = lookup
    with torch.no_grad():
        expected = naive_attend(query, key, value, mask, bias=bias)
        found = attend(query, key, value, mask, bias=bias, backend="flex")
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("backend", ["naive", "tiled", "fused", "sparse"])
def test_dropout_is_honoured(backend: Backend) -> None:
    torch.manual_seed(0)
    query, key, identity = torch.zeros(1, 1, 100, 4), torch.zeros(1, 1, 100, 4), torch.eye(100).expand(1, 1, -1, -1)
    mask = ~(causal() & ~causal())
    weights = attend(query, key, identity, mask, dropout=0.5, backend=backend)
    assert float((weights == 0).float().mean()) == pytest.approx(0.5, abs=0.03)
    assert float(weights.max()) == pytest.approx(0.02)


def test_refusals_say_why() -> None:
    query = torch.randn(1, 1, 4, 8, requires_grad=True)
    with pytest.raises(UsageError, match='"flex" cannot do this: it has no backward pass on a CPU'):
        attend(query, query, query, causal(), backend="flex")
    with pytest.raises(UsageError, match='"flex" cannot do this: it cannot drop weights'):
        attend(query, query, query, dropout=0.1, backend="flex")
    with pytest.raises(UsageError, match=r'"sparse" cannot do this: .* there is no mask'):
        attend(query, query, query, backend="sparse")
    with pytest.raises(UsageError, match=r'no backend "fusd"; there are auto, naive, .*Did you mean "fused"'):
        attend(query, query, query, backend="fusd")  # pyright: ignore[reportArgumentType]  # that is the point


def test_the_choice_is_explained() -> None:
    few, many = torch.empty(1, 2, 40, 8), torch.empty(1, 2, 4096, 8)
    window = causal() & sliding_window(256)
    keep = padding(torch.ones(1, 4096, dtype=torch.bool))
    assert str(explain(few, few, few)).startswith("fused: 40 queries and 40 keys are few")
    assert explain(many, many, many).backend == "fused"
    assert explain(many, many, many, causal()).backend == "fused"
    assert explain(many, many, many, keep).backend == "fused"
    chosen = explain(many, many, many, window)
    assert chosen.backend == "sparse"
    assert "of the blocks" in chosen.why
    assert explain(many, many, many, explicit(window.dense(4096, 4096))).backend == "fused"
    padded = padding(torch.arange(4096)[None] >= 100)
    assert explain(many, many, many, causal() & padded).backend == "sparse"
    assert explain(many, many, many, padded | prefix(4)).backend == "fused"
    longer = torch.empty(1, 2, 4224, 8)
    chosen = explain(longer, longer, longer, padding(torch.arange(4224)[None] >= 100) | prefix(4))
    assert str(chosen).startswith("tiled: torch's kernel would need the mask as a matrix of 17,842,176 numbers")
    dropped = explain(many, many, many, dropout=0.1)
    assert dropped.backend == "tiled"
    assert "cannot drop weights on a CPU" in dropped.why
    assert set(dropped.refused) == {"sparse", "flex"}
    learned = many.clone().requires_grad_()
    assert "Not flex: it has no backward pass on a CPU." in str(explain(learned, learned, learned, window))
    bias = torch.zeros(1, requires_grad=True)
    assert "give a bias its gradient" in explain(many, many, many, bias=bias).why


def test_auto_takes_what_is_explained() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 1100, 4)
    mask = causal() & sliding_window(64)
    assert explain(query, key, value, mask).backend == "sparse"
    found = attend(query, key, value, mask)
    assert torch.equal(found, attend(query, key, value, mask, backend="sparse"))
    torch.testing.assert_close(found, naive_attend(query, key, value, mask), atol=1e-5, rtol=1e-5)


def test_autocast_computes_in_single_precision() -> None:
    query, key, value = torch.randn(3, 1, 1, 50, 8).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        for backend in ("fused", "tiled", "sparse"):
            assert attend(query, key, value, causal(), backend=backend).dtype == torch.float32


def test_what_is_no_mask_is_refused_in_words() -> None:
    query = torch.randn(1, 2, 4, 8)
    for call in (attend, explain):
        with pytest.raises(TypeError, match=r"The mask is a Tensor, .* explicit\(\) makes one"):
            call(query, query, query, torch.ones(4, 4, dtype=torch.bool))  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError, match=r"The mask is a str, .* such as causal\(\)"):
            call(query, query, query, "causal")  # pyright: ignore[reportArgumentType]


def test_autocast_takes_biases_in_half_precision() -> None:
    query, key, value = torch.randn(3, 1, 2, 6, 8).bfloat16()
    bias = torch.randn(2, 6, 6).bfloat16()
    expected = naive_attend(query.float(), key.float(), value.float(), causal(), bias=bias.float())
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(attend(query, key, value, causal(), bias=bias), expected)


@pytest.mark.parametrize("backend", ["naive", "tiled", "fused", "sparse"])
def test_a_bias_may_be_finer_than_the_queries(backend: Backend) -> None:
    query, key, value = torch.randn(3, 1, 2, 6, 8).bfloat16()
    bias = torch.randn(2, 6, 6)
    expected = naive_attend(query.float(), key.float(), value.float(), causal(), bias=bias)
    found = attend(query, key, value, causal(), bias=bias, backend=backend)
    torch.testing.assert_close(found, expected.bfloat16(), atol=3e-2, rtol=0)
