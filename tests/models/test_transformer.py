"""The Transformer against torch's own on the same weights, and the equalities that every decoder must keep."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from allyouneed.errors import UsageError
from allyouneed.models.presets import PRESETS, build, configure, count_parameters
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.parts.positions import sinusoids

TINY = TransformerConfig(
    vocab_size=40, d_model=16, n_heads=4, d_ff=24, n_encoder_layers=2, n_decoder_layers=2, max_length=32
)
PRE = replace(TINY, norm_placement="pre", final_norm=True, n_kv_heads=2)


def tiny(config: TransformerConfig = PRE) -> Transformer:
    torch.manual_seed(0)
    return Transformer(config).eval()


def sentences(batch: int = 3, source: int = 7, target: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    keep = torch.ones(batch, source, dtype=torch.bool)
    keep[1:2, 5:] = False
    tokens = torch.randint(4, 40, (batch, source + target), generator=generator)
    return tokens[:, :source], tokens[:, source:], keep


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_layer(theirs: Any, ours: Any) -> None:
    copy_attention(theirs.self_attn, ours.self_attention)
    if hasattr(ours, "cross_attention"):
        copy_attention(theirs.multihead_attn, ours.cross_attention)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for index, residual in enumerate(ours.residuals, 1):
        getattr(theirs, f"norm{index}").load_state_dict(residual.norm.state_dict())


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_same_as_torchs_transformer(placement: str) -> None:
    config = replace(TINY, norm_placement=placement, final_norm=True)
    ours = tiny(config)
    theirs: Any = nn.Transformer(16, 4, 2, 2, 24, 0.0, batch_first=True, norm_first=placement == "pre").eval()
    with torch.no_grad():
        for name, ours_layers in (("encoder", ours.encoder), ("decoder", ours.decoder)):
            for layer, mine in zip(getattr(theirs, name).layers, ours_layers, strict=True):
                copy_layer(layer, mine)
        theirs.encoder.norm.load_state_dict(ours.encoder_norm.state_dict())
        theirs.decoder.norm.load_state_dict(ours.decoder_norm.state_dict())
        source, target, keep = sentences()
        states = theirs(
            ours.embedding(source) * 4 + sinusoids(7, 16),
            ours.embedding(target) * 4 + sinusoids(5, 16),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(5),
            src_key_padding_mask=~keep,
            memory_key_padding_mask=~keep,
        )
        expected = states @ ours.embedding.weight.T
        torch.testing.assert_close(ours(source, target, keep), expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("config", [TINY, PRE])
def test_step_by_step_is_all_at_once(config: TransformerConfig) -> None:
    model = tiny(config)
    source, target, keep = sentences()
    with torch.no_grad():
        full = model(source, target, keep)
        state = model.start(model.encode(source, keep))
        for position in range(target.shape[1]):
            logits, state = model.step(target[:, position], state)
            torch.testing.assert_close(logits, full[:, position], atol=5e-6, rtol=1e-5)


def test_a_later_token_moves_no_earlier_logit() -> None:
    model = tiny()
    source, target, keep = sentences()
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 40
    before, after = model(source, target, keep), model(source, changed, keep)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3], after[:, 3])


def test_left_padding_is_right_padding_is_none() -> None:
    model = tiny()
    source, target, _ = sentences(batch=1)
    plain = model(source, target)
    blank = torch.zeros(1, 2, dtype=torch.long)
    off = torch.zeros(1, 2, dtype=torch.bool)
    on = torch.ones(1, 7, dtype=torch.bool)
    right = model(torch.cat([source, blank], 1), target, torch.cat([on, off], 1))
    left = model(torch.cat([blank, source], 1), target, torch.cat([off, on], 1))
    torch.testing.assert_close(right, plain, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(left, plain, atol=2e-6, rtol=1e-5)


def test_batched_is_single() -> None:
    model = tiny()
    source, target, keep = sentences()
    together = model(source, target, keep)
    for row in range(3):
        length = int(keep[row].sum())
        alone = model(source[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], atol=2e-6, rtol=1e-5)


def test_beams_share_the_source_and_follow_their_own_past() -> None:
    model = tiny()
    source, _, keep = sentences()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        state = model.start(model.encode(source, keep))
        texts = torch.zeros(3, 0, dtype=torch.long)
        owners = torch.arange(3)
        for step, rows in enumerate(([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [0, 1, 4, 5])):
            tokens = torch.randint(4, 40, (state.rows,), generator=generator)
            storage = state.source[0][0].data_ptr()
            logits, state = model.step(tokens, state)
            texts = torch.cat([texts, tokens[:, None]], 1)
            expected = torch.stack(
                [
                    model(source[owner : owner + 1], text[None], keep[owner : owner + 1])[0, -1]
                    for owner, text in zip(owners.tolist(), texts, strict=True)
                ]
            )
            torch.testing.assert_close(logits, expected, atol=5e-6, rtol=1e-5)
            chosen = torch.tensor(rows)
            state, texts, owners = state.select(chosen), texts[chosen], owners[chosen]
            assert state.rows == len(rows)
            if step < 2:  # no sentence left: nothing of the source was copied
                assert state.source[0][0].data_ptr() == storage


def test_three_embeddings_are_one_matrix() -> None:
    tied, untied = tiny(TINY), tiny(replace(TINY, tied_embeddings=False))
    assert tied.output_weight is tied.embedding.weight
    assert count_parameters(untied.config) - count_parameters(tied.config) == 2 * 40 * 16


def test_parameter_counts_are_the_papers() -> None:
    base, big = (count_parameters(configure(name)) for name in ("transformer-base", "transformer-big"))
    assert base == 63_082_496
    assert big == 214_245_376
    for name, counted in (("transformer-base", base), ("transformer-big", big)):
        published = PRESETS[name].published
        assert published is not None
        assert counted == pytest.approx(published, rel=0.03)


def test_presets_and_their_errors() -> None:
    assert build("transformer-tiny", vocab_size=50).config.vocab_size == 50
    with pytest.raises(UsageError, match=r'no preset "transformer-bse".*Did you mean "transformer-base"'):
        build("transformer-bse")
    with pytest.raises(UsageError, match=r'no setting "n_head"\. Did you mean "n_heads"'):
        build("transformer-base", n_head=8)
    with pytest.raises(UsageError, match="d_model 10 must be a multiple of n_heads 8, or d_head be given"):
        build("transformer-base", d_model=10)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vocab_size": 0}, "vocab_size = 0: at least 1"),
        ({"n_kv_heads": 3}, "n_heads 4 must be a multiple of n_kv_heads 3"),
        ({"d_head": 0}, "d_head = 0: at least 1"),
        ({"rotary_factor": 0.0}, r"rotary_factor = 0.0: more than 0"),
        ({"positions": "shaw", "relative_distance": -1}, "relative_distance = -1: 0 or more"),
        ({"positions": "t5", "relative_buckets": 3}, "relative_buckets = 3: half .* at least 1"),
        ({"positions": "t5", "relative_distance": 16}, "fewer than relative_distance = 16"),
        ({"norm_placement": "both"}, 'norm_placement "both" is none of post, pre'),
        ({"dropout": 1.0}, r"dropout = 1.0 is outside \[0, 1\)"),
    ],
)
def test_configs_that_cannot_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TINY, **fields)


def test_the_fewest_buckets_and_distances_that_can_be() -> None:
    tokens = torch.arange(1, 31)[None]
    both = replace(TINY, positions="t5", relative_buckets=4, relative_distance=3)
    for changes in ({}, {"n_encoder_layers": 0, "relative_buckets": 2}, {"n_decoder_layers": 0, "relative_buckets": 7}):
        model = Transformer(replace(both, **changes))
        given = (tokens, tokens) if model.config.is_encoder_decoder else (tokens,)
        assert bool(model(*given).isfinite().all())


def test_too_long_a_text_is_refused() -> None:
    model = tiny()
    with pytest.raises(ValueError, match=r"tokens \[1, 33\].*max_length 32"):
        model.encode(torch.ones(1, 33, dtype=torch.long))
