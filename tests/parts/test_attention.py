"""The fast lookup against its definition, and the definition against its own promises."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from allyouneed.parts.attention import MultiHeadAttention, Place, attend, attention_weights, naive_attend, repeat_heads
from allyouneed.parts.masks import Mask, causal, explicit, padding, prefix, sliding_window
from allyouneed.parts.positions import Rotary, rotate


def random_lookup(batch: int, heads: int, groups: int, queries: int, keys: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(batch, heads, queries, 8), (batch, groups, keys, 8), (batch, groups, keys, 8)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def some_masks(batch: int, keys: int, seed: int) -> dict[str, Mask | None]:
    generator = torch.Generator().manual_seed(seed)
    keep = torch.rand(batch, keys, generator=generator) > 0.3
    return {
        "none": None,
        "causal": causal(),
        "padding": padding(keep),
        "causal and padding": causal() & padding(keep),
        "window": causal() & sliding_window(2),
        "prefix": causal() | prefix(2),
        "nothing": causal() & ~causal(),
    }


@settings(deadline=None, max_examples=25)
@given(
    batch=st.integers(1, 3),
    groups=st.integers(1, 3),
    share=st.integers(1, 3),
    queries=st.integers(1, 6),
    more=st.integers(0, 4),
    name=st.sampled_from(list(some_masks(1, 1, 0))),
    seed=st.integers(0, 1000),
)
def test_fast_is_naive_with_all_gradients(
    batch: int, groups: int, share: int, queries: int, more: int, name: str, seed: int
) -> None:
    lookup = random_lookup(batch, groups * share, groups, queries, queries + more, seed)
    mask = some_masks(batch, queries + more, seed)[name]
    upstream = torch.randn(batch, groups * share, queries, 8, dtype=torch.float64)
    results: list[tuple[torch.Tensor, ...]] = []
    for function in (attend, naive_attend):
        query, key, value = lookup
        out = function(query, key, value, mask)
        gradients = torch.autograd.grad(out, lookup, upstream)
        results.append((out, *gradients))
    for fast, naive in zip(*results, strict=True):
        assert bool(torch.isfinite(fast).all())
        torch.testing.assert_close(fast, naive, atol=1e-10, rtol=1e-8)


def test_rows_add_to_one_or_are_empty() -> None:
    query, key, _ = random_lookup(2, 4, 2, 5, 7, 3)
    keep = torch.ones(2, 7, dtype=torch.bool)
    keep[1] = False
    weights = attention_weights(query, key, padding(keep))
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(4, 5, dtype=torch.float64))
    assert float(weights[1].abs().max()) == 0.0


def test_three_keys_by_hand() -> None:
    query = torch.tensor([[[[1.0]]]])
    key = torch.tensor([[[[math.log(2.0)], [0.0], [math.log(7.0)]]]])
    weights = attention_weights(query, key, scale=1.0)
    torch.testing.assert_close(weights.flatten(), torch.tensor([0.2, 0.1, 0.7]))


def test_no_later_key_moves_an_earlier_query() -> None:
    query, key, value = random_lookup(1, 2, 2, 6, 6, 0)
    before = attend(query, key, value, causal())
    with torch.no_grad():
        key[:, :, 4] += 100.0
        value[:, :, 4] -= 100.0
    after = attend(query, key, value, causal())
    assert torch.equal(before[:, :, :4], after[:, :, :4])
    assert not torch.equal(before[:, :, 4], after[:, :, 4])


def test_causal_is_aligned_to_the_lower_right() -> None:
    assert causal().dense(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_masks_combine_and_have_names() -> None:
    mask = (causal() & sliding_window(2)) | prefix(1)
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert mask.dense(3, 3).tolist() == expected
    assert mask.name == "(causal & window(2) | prefix(1))"
    assert (~causal()).dense(2, 2).tolist() == [[False, True], [False, False]]


def test_masks_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(ValueError, match=r"padding\(\) takes booleans \[B, S\], not torch.float32 \[2, 3\]"):
        padding(torch.ones(2, 3))
    with pytest.raises(ValueError, match="width 0 is below 1"):
        sliding_window(0)
    with pytest.raises(ValueError, match="takes booleans"):
        explicit(torch.ones(2, 2))


def test_multi_head_attention_is_torchs_on_the_same_weights() -> None:
    torch.manual_seed(0)
    ours = MultiHeadAttention(16, 4)
    theirs = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x, context = torch.randn(3, 5, 16), torch.randn(3, 7, 16)
    keep = torch.rand(3, 7) > 0.3
    keep[:, 0] = True
    expected, weights = theirs(x, context, context, key_padding_mask=~keep, average_attn_weights=False)
    keys, values = ours.keys_values(context)
    torch.testing.assert_close(ours(x, keys, values, padding(keep)), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(attention_weights(ours.queries(x), keys, padding(keep)), weights, atol=1e-6, rtol=1e-5)


def test_grouped_heads_are_repeated_heads() -> None:
    heads = torch.arange(4.0).view(1, 2, 2, 1)
    assert repeat_heads(heads, 4)[0, :, :, 0].tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
    with pytest.raises(ValueError, match="3 query heads cannot share 2 key/value heads"):
        repeat_heads(heads, 3)
    with pytest.raises(ValueError, match="d_model 16, n_heads 3"):
        MultiHeadAttention(16, 3)


@pytest.mark.parametrize("name", list(some_masks(1, 1, 0)))
@pytest.mark.parametrize("shape", [(2, 4, 5, 6), (4, 5, 6), (1, 1, 1, 6)])
def test_a_bias_is_added_to_the_scores_with_its_gradient(name: str, shape: tuple[int, ...]) -> None:
    lookup = random_lookup(2, 4, 2, 5, 6, 7)
    bias = torch.randn(shape, generator=torch.Generator().manual_seed(8), dtype=torch.float64, requires_grad=True)
    mask = some_masks(2, 6, 9)[name]
    inputs = [*lookup, bias]
    upstream = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    results: list[tuple[torch.Tensor, ...]] = []
    for function in (attend, naive_attend):
        query, key, value = lookup
        out = function(query, key, value, mask, scale=0.3, bias=bias)
        results.append((out, *torch.autograd.grad(out, inputs, upstream)))
    for fast, naive in zip(*results, strict=True):
        assert bool(torch.isfinite(fast).all())
        torch.testing.assert_close(fast, naive, atol=1e-10, rtol=1e-8)
    if mask is None:
        query, key, value = lookup
        by_hand = (query @ repeat_heads(key, 4).transpose(-2, -1) * 0.3 + bias).softmax(-1) @ repeat_heads(value, 4)
        torch.testing.assert_close(results[0][0], by_hand)


def test_grouped_attention_is_attention_with_repeated_heads() -> None:
    torch.manual_seed(0)
    grouped = MultiHeadAttention(16, 4, n_kv_heads=2)
    whole = MultiHeadAttention(16, 4)
    with torch.no_grad():
        for name in ("key", "value"):
            theirs, ours = getattr(whole, name), getattr(grouped, name)
            theirs.weight.copy_(ours.weight.view(2, 4, 16).repeat_interleave(2, 0).flatten(0, 1))
            theirs.bias.copy_(ours.bias.view(2, 4).repeat_interleave(2, 0).flatten())
        whole.query.load_state_dict(grouped.query.state_dict())
        whole.output.load_state_dict(grouped.output.state_dict())
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(grouped(x, *grouped.keys_values(x), causal()), whole(x, *whole.keys_values(x), causal()))


def test_queries_and_keys_are_normed_a_head_at_a_time() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4, n_kv_heads=2)
    x = torch.randn(2, 5, 16)
    plain_queries, (plain_keys, plain_values) = attention.queries(x), attention.keys_values(x)
    attention.query_norm, attention.key_norm = nn.RMSNorm(4, eps=1e-6), nn.RMSNorm(4, eps=1e-6)
    with torch.no_grad():
        attention.query_norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    keys, values = attention.keys_values(x)
    size = (plain_queries.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(attention.queries(x), plain_queries / size * torch.tensor([1.0, 2.0, 3.0, 4.0]))
    torch.testing.assert_close(keys, plain_keys / (plain_keys.square().mean(-1, keepdim=True) + 1e-6).sqrt())
    assert torch.equal(values, plain_values)


def test_queries_and_keys_are_normed_before_they_are_turned() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4)
    attention.key_norm = nn.RMSNorm(4)
    with torch.no_grad():
        attention.key_norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    x = torch.randn(2, 5, 16)
    turn = Rotary(4).turn(torch.arange(5))
    expected = rotate(attention.key_norm(attention.split(attention.key(x))), turn, "halves")
    torch.testing.assert_close(attention.keys_values(x, Place(turn=turn))[0], expected)


def test_a_head_may_be_of_any_width_and_have_biases_of_its_own() -> None:
    attention = MultiHeadAttention(16, 3, d_head=5, bias=False, qkv_bias=True)
    assert attention.query.weight.shape == (15, 16)
    assert attention.output.weight.shape == (16, 15)
    assert attention.key.bias is not None
    assert attention.output.bias is None
    x = torch.randn(2, 4, 16)
    assert attention(x, *attention.keys_values(x)).shape == (2, 4, 16)


def test_the_scale_of_the_scores_may_be_given() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4)
    x = torch.randn(2, 5, 16)
    keys, _ = attention.keys_values(x)
    usual = attention.weights(x, keys)
    attention.scale = 0.5
    assert torch.equal(attention.weights(x, keys), usual)
    attention.scale = 1.0
    expected = (attention.queries(x) @ keys.transpose(-2, -1)).softmax(-1)
    torch.testing.assert_close(attention.weights(x, keys), expected)


def test_what_is_added_to_the_scores_is_added_in_use() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4, n_kv_heads=2)
    x, bias = torch.randn(2, 5, 16), torch.randn(1, 4, 5, 5)
    keys, values = attention.keys_values(x)
    mixed = naive_attend(attention.queries(x), keys, values, causal(), bias=bias)
    expected = attention.output(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, keys, values, causal(), Place(bias=bias)), expected)
    weights = attention_weights(attention.queries(x), keys, causal(), bias=bias)
    torch.testing.assert_close(attention.weights(x, keys, causal(), Place(bias=bias)), weights)
