"""The fast lookup against its definition, and the definition against its own promises."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allyouneed.parts.attention import MultiHeadAttention, attend, attention_weights, naive_attend, repeat_heads
from allyouneed.parts.masks import Mask, causal, explicit, padding, prefix, sliding_window


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
