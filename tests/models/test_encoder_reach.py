"""Encoders that do not look at all of a text: one function however it is computed, the one that their config says."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from allyouneed.lens.attention import recording
from allyouneed.models import reach
from allyouneed.models.presets import configure, count_parameters
from allyouneed.models.reach import encoder_looks
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.attention import NOWHERE, attend
from allyouneed.parts.backends import SHORT, explain
from allyouneed.parts.patterns import window_around
from allyouneed.parts.positions import real_positions

SMALL = TransformerConfig(
    vocab_size=60,
    d_model=16,
    n_heads=2,
    d_ff=24,
    n_encoder_layers=2,
    n_decoder_layers=0,
    max_length=1200,
    positions="rotary",
    dropout=0.0,
)
KINDS: dict[str, dict[str, Any]] = {
    "window": {"reach": "window", "reach_window": 20},
    "window, global tokens apart": {
        "reach": "window",
        "reach_window": 20,
        "global_tokens": 2,
        "global_projections": True,
    },
    "blocks": {"reach": "blocks", "reach_block": 16},
    "blocks, the first again": {"reach": "blocks", "reach_block": 16, "random_choice": "first"},
    "blocks, global tokens": {"reach": "blocks", "reach_block": 16, "end_blocks": False, "global_tokens": 3},
}


def model_of(**fields: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(replace(SMALL, **fields)).eval()


def tokens(batch: int, length: int) -> Tensor:
    return torch.randint(1, 60, (batch, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_computed_sparsely_with_the_same_gradients(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(**KINDS[kind])
    batch = tokens(2, 1100)
    keep = torch.ones_like(batch, dtype=torch.bool)
    keep[1, 1007:] = False
    used: list[str] = []

    def watched(*inputs: Any, **named: Any) -> Tensor:
        used.append(explain(*inputs[:4]).backend)
        return attend(*inputs, **named)

    monkeypatch.setattr("allyouneed.parts.attention.attend", watched)
    monkeypatch.setattr("allyouneed.parts.backends.SPARSE", 1.0)  # whatever the share of the blocks that are open
    results: list[list[Tensor]] = []
    for short in (SHORT, 10**9):  # at the second, all masks are matrices, and nothing is left out
        monkeypatch.setattr(reach, "SHORT", short)
        states = model.encode(batch, keep).states[keep]
        results.append(
            [states, *torch.autograd.grad(states.square().sum(), list(model.parameters()), allow_unused=True)]
        )
    assert used.count("sparse") == 2
    assert used.count("fused") >= 2
    for sparse, dense in zip(*results, strict=True):
        torch.testing.assert_close(sparse, dense, atol=2e-4, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_padding_on_the_right_to_whole_blocks_changes_nothing(kind: str) -> None:
    model = model_of(**KINDS[kind])
    batch = tokens(1, 90)
    longer = torch.cat((batch, torch.zeros(1, 6, dtype=torch.long)), 1)  # 96 is a multiple of the block
    keep = torch.arange(96)[None] < 90
    torch.testing.assert_close(model.encode(longer, keep).states[:, :90], model.encode(batch).states)


@torch.no_grad()
def test_a_window_moves_nothing_beyond_it() -> None:
    model = model_of(reach="window", reach_window=5, n_encoder_layers=1)
    batch = tokens(1, 60)
    other = batch.clone()
    other[0, 30] = 0
    moved = (model.encode(batch).states != model.encode(other).states).any(-1)[0].nonzero().flatten()
    assert moved.tolist() == list(range(25, 36))


@torch.no_grad()
@pytest.mark.parametrize("apart", [False, True])
def test_first_tokens_are_global_on_either_side_of_the_padding(apart: bool) -> None:
    fields: dict[str, Any] = {"reach": "window", "reach_window": 3, "global_projections": apart}
    model, marked = model_of(**fields), model_of(**fields, global_tokens=2)
    marked.load_state_dict(model.state_dict())
    batch = tokens(1, 40)
    marks = (torch.arange(40) < 2)[None]
    alone = marked.encode(batch).states
    torch.testing.assert_close(model.encode(batch, global_positions=marks).states, alone)
    assert not torch.allclose(model.encode(batch).states[:, 30:], alone[:, 30:])
    longer = torch.cat((torch.zeros(1, 7, dtype=torch.long), batch), 1)
    keep = torch.arange(47)[None] >= 7
    torch.testing.assert_close(marked.encode(longer, keep).states[:, 7:], alone)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_what_was_looked_at(kind: str) -> None:
    model = model_of(**KINDS[kind])
    batch = tokens(1, 90)
    with recording(model) as lookups:
        model.encode(batch)
    for lookup in lookups["encoder"]:
        weights = lookup.weights()
        assert weights.shape == (2, 90, 90)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 90))
        torch.testing.assert_close(lookup.weights(1), weights[1])
        attention = lookup.attention
        keys, values = attention.keys_values(lookup.x, lookup.place)
        whole = attention(lookup.x, keys, values, lookup.mask, lookup.place)
        mixed = weights @ values[0, :, -90:]
        if attention.global_projections is not None:  # global tokens mix values of their own
            mixed[:, :2] = weights[:, :2] @ attention.split(attention.global_projections.value(lookup.x))[0]
        torch.testing.assert_close(attention.output(mixed.transpose(0, 1).flatten(1)), whole[0])


def test_explain_says_that_a_window_is_computed_sparsely() -> None:
    heads = torch.zeros(1, 1, 4096, 8)
    choice = explain(heads, heads, heads, window_around(100))
    assert choice.backend == "sparse"
    assert "of the blocks" in choice.why


@pytest.mark.parametrize("name", ["longformer-base", "longformer-large", "bigbird-base", "bigbird-large"])
def test_presets_have_the_shape_of_another_implementation(name: str) -> None:
    config = configure(name)
    sizes = {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_encoder_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.max_length + config.position_offset,
        "type_vocab_size": config.n_segments,
    }
    kind = "Longformer" if name.startswith("longformer") else "BigBird"
    with torch.device("meta"):
        theirs = getattr(transformers, f"{kind}ForMaskedLM")(getattr(transformers, f"{kind}Config")(**sizes))
    assert count_parameters(config) == sum(parameter.numel() for parameter in theirs.parameters())


def test_global_positions_must_fit() -> None:
    row = tokens(1, 9)
    with pytest.raises(ValueError, match="global positions are for a reach of windows or blocks"):
        model_of().encode(row, global_positions=row > 3)
    with pytest.raises(ValueError, match=r"global positions are torch.int64 \[1, 9\]: booleans \[B, 9\] are needed"):
        model_of(reach="window").encode(row, global_positions=row)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reach": "windows"}, 'reach "windows" is none of full, window, blocks'),
        ({"reach_window": -1}, "reach_window = -1: 0 or more is needed"),
        ({"reach_block": 0}, "reach_block = 0: 1 or more is needed"),
        ({"global_tokens": 2}, "global_tokens and global_projections need reach window or blocks"),
        ({"reach": "window", "n_decoder_layers": 1}, "reach window belongs to an encoder alone"),
        ({"reach": "window", "positions": "t5"}, "reach window: positions t5 need a number for each pair"),
        ({"reach": "blocks", "random_choice": "first", "end_blocks": False}, "random_choice first needs end_blocks"),
    ],
)
def test_bad_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **fields)


def test_padding_is_no_global_token() -> None:
    config = replace(SMALL, **KINDS["window, global tokens apart"])
    keep = torch.arange(9) >= torch.tensor([[4], [0]])
    look = encoder_looks(config, real_positions(keep), keep, NOWHERE, None)[0]
    assert look.place.marks is not None
    assert [row.nonzero().flatten().tolist() for row in look.place.marks] == [[4, 5], [0, 1]]
