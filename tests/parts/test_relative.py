"""Distances told to the scores: ALiBi's slopes, T5's buckets and Shaw's embeddings."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from allyouneed.parts.attention import MultiHeadAttention, Place
from allyouneed.parts.masks import causal
from allyouneed.parts.relative import Alibi, BucketBias, ShawEmbeddings, alibi_slopes, distances, naive_shaw


def test_distances_point_ahead() -> None:
    assert distances(torch.tensor([2, 3]), torch.tensor([1, 2, 5])).tolist() == [[-1, 0, 3], [-2, -1, 2]]
    rows = distances(torch.tensor([[2], [3]]), torch.tensor([[1, 2], [3, 5]]))
    assert rows.tolist() == [[[-1, 0]], [[0, 2]]]


def test_slopes_of_eight_heads_are_halves() -> None:
    assert alibi_slopes(8).tolist() == [2.0**-power for power in range(1, 9)]


def test_slopes_of_twelve_heads_are_those_of_eight_and_four_of_sixteen() -> None:
    expected = [2.0**-power for power in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("n_heads", [1, 2, 6, 12, 16, 112])
def test_slopes_are_the_other_implementations(n_heads: int) -> None:
    theirs: Tensor = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float32)  # [H, 1, 2]: slope times position
    torch.testing.assert_close(alibi_slopes(n_heads), theirs[:, 0, 1])


def test_a_penalty_grows_with_distance_either_way() -> None:
    bias = Alibi(2)(torch.tensor([[-3, 0, 2]]))
    assert bias.shape == (2, 1, 3)
    assert bias.flatten().tolist() == pytest.approx([-3 / 16, 0, -2 / 16, -3 / 256, 0, -2 / 256])


@pytest.mark.parametrize("two_way", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (16, 64), (32, 20), (8, 1000)])
def test_buckets_are_the_other_implementations(two_way: bool, buckets: int, farthest: int) -> None:
    distance = torch.arange(-3000, 3001)
    ours = BucketBias(1, buckets=buckets, farthest=farthest, two_way=two_way).bucket(distance)
    bucket: Any = vars(T5Attention)["_relative_position_bucket"]
    theirs: Tensor = bucket.__func__(distance, two_way, buckets, farthest)
    assert torch.equal(ours, theirs)


def test_buckets_by_hand() -> None:
    both = BucketBias(1, buckets=32, farthest=128, two_way=True)
    places = {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -127: 15, -128: 15, -999: 15, 1: 17, 7: 23, 8: 24, 200: 31}
    assert both.bucket(torch.tensor(list(places))).tolist() == list(places.values())
    back = BucketBias(1, buckets=32, farthest=128, two_way=False)
    places = {0: 0, 5: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -113: 31, -999: 31}
    assert back.bucket(torch.tensor(list(places))).tolist() == list(places.values())


def test_each_head_has_its_own_bias() -> None:
    bias = BucketBias(3, buckets=8, farthest=16, two_way=True)
    distance = distances(torch.arange(4), torch.arange(5))
    out = bias(distance)
    assert out.shape == (3, 4, 5)
    assert float(out[2, 1, 4]) == float(bias.table.weight[bias.bucket(torch.tensor(3)), 2])
    assert bias(distance.expand(2, 4, 5)).shape == (2, 3, 4, 5)


def shaw_attention() -> tuple[MultiHeadAttention, ShawEmbeddings]:
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3).double()
    embeddings = ShawEmbeddings(4, 2).double()
    attention.relative = embeddings
    return attention, embeddings


def test_shaw_is_its_definition_with_all_gradients() -> None:
    attention, embeddings = shaw_attention()
    x = torch.randn(2, 6, 12, dtype=torch.float64, requires_grad=True)
    distance = distances(torch.arange(6), torch.arange(6))
    keys, values = attention.keys_values(x)
    fast = attention(x, keys, values, causal(), Place(distance=distance))
    mixed = naive_shaw(attention.queries(x), keys, values, distance, embeddings, causal().dense(6, 6))
    naive = attention.output(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(fast, naive, atol=1e-12, rtol=0)
    inputs = [x, *attention.parameters()]
    upstream = torch.randn(naive.shape, dtype=torch.float64)
    gradients = [torch.autograd.grad(out, inputs, upstream, retain_graph=True) for out in (fast, naive)]
    for ours, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-11, rtol=0)
    assert float(gradients[0][-1].abs().max()) > 0


def test_shaw_tells_far_distances_no_longer_apart() -> None:
    embeddings = ShawEmbeddings(4, 2)
    assert embeddings.places(torch.tensor([-9, -2, -1, 0, 1, 2, 9])).tolist() == [0, 0, 1, 2, 3, 4, 4]


def test_shaws_weights_are_those_that_are_used() -> None:
    attention, embeddings = shaw_attention()
    x = torch.randn(1, 5, 12, dtype=torch.float64)
    place = Place(distance=distances(torch.arange(5), torch.arange(5)))
    keys, values = attention.keys_values(x)
    weights = attention.weights(x, keys, None, place)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 3, 5, dtype=torch.float64))
    assert place.distance is not None
    mixed = weights @ values + embeddings.mixed(weights, place.distance)
    expected = attention.output(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, keys, values, None, place), expected)
