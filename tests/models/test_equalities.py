"""What must come out the same, whichever way it is computed, for a config of every kind."""

from dataclasses import fields, replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from allyouneed.models.layers import Look
from allyouneed.models.transformer import Memory, Transformer, TransformerConfig
from allyouneed.parts.block import Residual
from allyouneed.parts.masks import causal, explicit, prefix
from allyouneed.parts.positions import positions_within

VOCABULARY, LENGTH = 40, 12
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "n_heads": 4,
    "d_ff": 24,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "max_length": 32,
    "dropout": 0.2,
    "attention_dropout": 0.3,
}
PRE: dict[str, Any] = {"norm_placement": "pre", "final_norm": True, "embedding_scale": False}
ROTARY: dict[str, Any] = {
    **PRE,
    "n_encoder_layers": 0,
    "norm": "rms",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "positions": "rotary",
    "n_kv_heads": 2,
}

REACH = (
    "reach",
    "reach_window",
    "reach_block",
    "end_blocks",
    "random_blocks",
    "random_choice",
    "global_tokens",
    "global_projections",
)
CONFIGS: dict[str, dict[str, Any]] = {
    "both, post, sinusoidal": {},
    "both, pre, halves, untied, one table": {
        **PRE,
        "positions": "sinusoidal-halves",
        "n_kv_heads": 2,
        "tied_embeddings": False,
        "shared_embeddings": True,
    },
    "both, learned with an offset": {
        "positions": "learned",
        "position_offset": 2,
        "embedding_norm": True,
        "embedding_scale": False,
        "activation": "gelu",
        "output_bias": True,
    },
    "both, buckets": {
        **PRE,
        "norm": "rms",
        "norm_epsilon": 1e-6,
        "bias": False,
        "positions": "t5",
        "relative_buckets": 8,
        "relative_distance": 6,
        "attention_scale": 1.0,
        "d_head": 6,
        "activation": "gelu-tanh",
        "gated": True,
        "output_scale": 0.25,
    },
    "both, embedded distances": {"positions": "shaw", "relative_distance": 3},
    "both, one layer again and again": {
        "positions": "coordinates",
        "n_encoder_layers": 3,
        "n_decoder_layers": 3,
        "shared_depth": True,
        "halting": True,
        "halting_threshold": 0.7,
        "ponder_weight": 0.1,
    },
    "decoder, rotary, window, normed queries": {
        **ROTARY,
        "rotary_base": 100.0,
        "query_key_norm": True,
        "qkv_bias": True,
        "attention_output_bias": True,
        "window": 4,
    },
    "decoder, rotary pairs on a share, parallel": {
        **PRE,
        "n_encoder_layers": 0,
        "positions": "rotary",
        "rotary_share": 0.5,
        "rotary_layout": "pairs",
        "parallel_residual": True,
        "tied_embeddings": False,
    },
    "decoder, rotary slowed where slow": {
        **ROTARY,
        "rotary_scaling": "llama3",
        "rotary_factor": 4.0,
        "rotary_trained_length": 16,
        "rotary_low": 0.5,
        "rotary_high": 2.0,
    },
    "decoder, rotary slowed and raised": {
        **ROTARY,
        "rotary_scaling": "yarn",
        "rotary_factor": 4.0,
        "rotary_trained_length": 8,
        "rotary_attention": 1.3,
    },
    "decoder, slopes": {
        **PRE,
        "n_encoder_layers": 0,
        "n_heads": 3,
        "d_head": 6,
        "positions": "alibi",
        "embedding_norm": True,
    },
    "decoder, experts, window on one layer": {
        **ROTARY,
        "n_experts": 4,
        "experts_per_token": 3,
        "balance_weight": 0.1,
        "window": 3,
        "window_layers": (1,),
    },
    "decoder, embedded distances, window": {"n_encoder_layers": 0, "positions": "shaw", "window": 5},
    "decoder, buckets": {**PRE, "n_encoder_layers": 0, "positions": "t5"},
    "decoder, one layer again and again": {
        "n_encoder_layers": 0,
        "n_decoder_layers": 3,
        "positions": "coordinates",
        "shared_depth": True,
        "halting": True,
    },
    "decoder, no positions, a layer before the output": {
        "n_encoder_layers": 0,
        "positions": "none",
        "output_transform": True,
        "window": 4,
    },
    "encoder, segments and a pooler": {
        "n_decoder_layers": 0,
        "positions": "learned",
        "embedding_norm": True,
        "n_segments": 2,
        "pooler": True,
        "output_transform": True,
        "output_bias": True,
    },
    "encoder, slopes": {**PRE, "n_decoder_layers": 0, "positions": "alibi", "pooler": True},
    "encoder, rotary": {**ROTARY, "n_encoder_layers": 2, "n_decoder_layers": 0},
    "encoder, one layer again and again": {
        "n_encoder_layers": 3,
        "n_decoder_layers": 0,
        "positions": "coordinates",
        "shared_depth": True,
        "halting": True,
    },
}
WRITERS = [name for name, values in CONFIGS.items() if values.get("n_decoder_layers") != 0]
READERS = [name for name, values in CONFIGS.items() if values.get("n_encoder_layers") != 0]
ALONE = [name for name in WRITERS if name not in READERS]


def config_of(name: str) -> TransformerConfig:
    return TransformerConfig.from_fields({**SMALL, **CONFIGS[name]})


def make(name: str) -> Transformer:
    """A model whose biases and norms say something, too."""
    torch.manual_seed(0)
    model = Transformer(config_of(name)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model


def tokens(rows: int, length: int = LENGTH, seed: int = 1) -> Tensor:
    return torch.randint(4, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(seed))


def read_source(model: Transformer, rows: int) -> Memory | None:
    """What the decoder looks at: sources of unlike length, or nothing."""
    if not model.config.is_encoder_decoder:
        return None
    keep = torch.ones(rows, 7, dtype=torch.bool)
    keep[1:2, 5:] = False
    return model.encode(tokens(rows, 7, seed=2), keep)


def begin(model: Transformer, memory: Memory | None, rows: int) -> Any:
    return model.start(memory) if memory is not None else model.start(sentences=rows)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=1e-4)


def padded(left: int, text: Tensor, right: int) -> tuple[Tensor, Tensor]:
    """A text [1, T] with padding around it, and which of that is real."""
    blank = torch.full((1, left + text.shape[1] + right), 3)
    keep = torch.zeros_like(blank, dtype=torch.bool)
    keep[:, left : left + text.shape[1]] = True
    blank[keep] = text.flatten()
    return blank, keep


def test_every_field_is_used_by_some_config() -> None:
    configs = [config_of(name) for name in CONFIGS]
    usual = [
        field.name
        for field in fields(TransformerConfig)
        if all(getattr(config, field.name) == field.default for config in configs)
    ]
    # How far an encoder looks has tests of its own.
    assert [name for name in usual if name not in REACH] == []


@pytest.mark.parametrize("name", WRITERS)
@torch.no_grad()
def test_cached_is_uncached(name: str) -> None:
    """Step by step = all at once = one part read and then steps = two parts read; past the window too."""
    model, text = make(name), tokens(3)
    memory = read_source(model, 3)
    full = model.logits(model.decode(text, memory))
    state = begin(model, memory, 3)
    for position in range(LENGTH):
        logits, state = model.step(text[:, position], state)
        close(logits, full[:, position])
    logits, state = model.read(text[:, :7], begin(model, memory, 3))
    close(logits, full[:, 6])
    logits, state = model.step(text[:, 7], state)
    close(logits, full[:, 7])
    logits, state = model.read(text[:, 8:], state)
    close(logits, full[:, -1])
    whole, _ = model.read(text, begin(model, memory, 3))
    close(whole, full[:, -1])


@pytest.mark.parametrize("name", WRITERS)
@torch.no_grad()
def test_a_later_token_moves_no_earlier_logit(name: str) -> None:
    model, text = make(name), tokens(2)
    memory = read_source(model, 2)
    changed = text.clone()
    changed[:, 8] = (changed[:, 8] + 1) % VOCABULARY
    before = model.logits(model.decode(text, memory))
    after = model.logits(model.decode(changed, memory))
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.equal(before[:, 8], after[:, 8])


@pytest.mark.parametrize("name", ALONE)
@torch.no_grad()
def test_padding_on_either_side_moves_no_writer(name: str) -> None:
    model, text = make(name), tokens(1)
    plain = model(text)
    for left, right in ((3, 0), (0, 3), (2, 1)):
        ids, keep = padded(left, text, right)
        close(model(ids, keep=keep)[keep], plain[0])
        logits, state = model.read(ids, model.start(), keep)
        close(logits, plain[:, -1])
        longer = torch.cat((text, tokens(1, 2, seed=5)), 1)
        for position in (LENGTH, LENGTH + 1):
            logits, state = model.step(longer[:, position], state)
            close(logits, model(longer[:, : position + 1])[:, -1])
    close(model(padded(0, text, 3)[0])[:, :LENGTH], plain)  # on the right no one needs to be told


@pytest.mark.parametrize("name", READERS)
@torch.no_grad()
def test_padding_on_either_side_moves_no_reader(name: str) -> None:
    model, text = make(name), tokens(1)
    plain = model.encode(text)
    for left, right in ((3, 0), (0, 3), (2, 1)):
        ids, keep = padded(left, text, right)
        memory = model.encode(ids, keep)
        close(memory.states[keep], plain.states[0])
        if model.pooler is not None:
            close(model.pool(memory), model.pool(plain))
        if model.config.is_encoder_decoder:
            written = tokens(1, 5, seed=4)
            close(model.decode(written, memory), model.decode(written, plain))
        else:
            close(model(ids, keep=keep)[keep], model(text)[0])


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_batched_is_single(name: str) -> None:
    model, text = make(name), tokens(3)
    lengths = [LENGTH, 7, 9]
    keep = torch.arange(LENGTH) < torch.tensor(lengths)[:, None]
    written = tokens(3, 5, seed=4) if model.config.is_encoder_decoder else None
    together = model(text, written, keep)
    for row, length in enumerate(lengths):
        alone = model(text[row : row + 1, :length], None if written is None else written[row : row + 1])
        close(together[row, : alone.shape[1]], alone[0])


@pytest.mark.parametrize("name", WRITERS)
@torch.no_grad()
def test_beams_follow_their_own_past(name: str) -> None:
    """Each row goes on from the row that it was taken from, after texts of unlike length, when sentences leave too."""
    model = make(name)
    memory = read_source(model, 3)
    lengths = [4, 2, 3]
    prompts = [tokens(1, length, seed=length) for length in lengths]
    rows = [padded(4 - length, prompt, 0) for length, prompt in zip(lengths, prompts, strict=True)]
    ids, keep = (torch.cat(parts) for parts in zip(*rows, strict=True))
    _, state = model.read(ids, begin(model, memory, 3), keep)
    texts, owners = [prompt[0] for prompt in prompts], [0, 1, 2]
    generator = torch.Generator().manual_seed(3)
    for chosen in ([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [0, 1, 4, 5], [1, 1, 2, 3]):
        new = torch.randint(4, VOCABULARY, (state.rows,), generator=generator)
        logits, state = model.step(new, state)
        texts = [torch.cat((text, token[None])) for text, token in zip(texts, new, strict=True)]
        for owner, text, row in zip(owners, texts, logits, strict=True):
            keep_row = None if memory is None or memory.keep is None else memory.keep[owner : owner + 1]
            source = None if memory is None else Memory(memory.states[owner : owner + 1], keep_row)
            close(row, model.logits(model.decode(text[None], source))[0, -1])
        state = state.select(torch.tensor(chosen))
        texts, owners = [texts[row] for row in chosen], [owners[row] for row in chosen]
        assert state.rows == len(chosen)


@pytest.mark.parametrize("name", ALONE)
@torch.no_grad()
def test_packed_is_separate(name: str) -> None:
    """Texts in one row, each with its own positions, and a mask that keeps them apart."""
    model = make(name)
    texts = [tokens(1, 5), tokens(1, 4, seed=2), tokens(1, 3, seed=3)]
    numbers = torch.tensor([[0] * 5 + [1] * 4 + [2] * 3])
    same = explicit((numbers[:, :, None] == numbers[:, None])[:, None])
    row = torch.cat(texts, 1)
    packed = model.decode(row, mask=causal() & same, positions=positions_within(numbers))
    close(packed, torch.cat([model.decode(text) for text in texts], 1))


@pytest.mark.parametrize("groups", [1, 2, 4])
@torch.no_grad()
def test_the_cache_holds_two_numbers_a_layer_group_width_and_position(groups: int) -> None:
    model = Transformer(replace(config_of("decoder, slopes"), n_heads=4, n_kv_heads=groups, d_head=6))
    _, state = model.read(tokens(1), model.start())
    assert state.cache.bytes == 2 * 2 * groups * 6 * LENGTH * 4
    assert state.cache.keys[0].shape[1] == groups


@torch.no_grad()
def test_the_window_is_counted_in_tokens() -> None:
    """A token out of every layer's sight changes nothing; one that is in sight does."""
    model, text = make("decoder, rotary, window, normed queries"), tokens(1)
    sight = 2 * (4 - 1)  # two layers with a window of four
    for position, seen in ((LENGTH - 1 - sight, True), (LENGTH - 2 - sight, False)):
        changed = text.clone()
        changed[:, position] += 1
        same = torch.equal(model(text)[:, -1], model(changed)[:, -1])
        assert same is not seen


@torch.no_grad()
def test_the_window_is_only_on_the_layers_that_have_it() -> None:
    """The first token is out of the sight of layers with a window of three, and in that of one without."""
    model, text = make("decoder, experts, window on one layer"), tokens(1)
    changed = text.clone()
    changed[:, 0] += 1
    assert not torch.equal(model(text)[:, -1], model(changed)[:, -1])
    everywhere = Transformer(replace(model.config, window_layers=None)).eval()
    everywhere.load_state_dict(model.state_dict())
    assert torch.equal(everywhere(text)[:, -1], everywhere(changed)[:, -1])


@pytest.mark.parametrize("name", [name for name in WRITERS if "window" in CONFIGS[name]])
@torch.no_grad()
def test_a_mask_of_ones_own_keeps_the_window(name: str) -> None:
    model, text = make(name), tokens(2)
    close(model.decode(text, mask=causal() & prefix(LENGTH)), model.decode(text))


@torch.no_grad()
def test_learned_positions_begin_after_the_offset() -> None:
    model, text = make("both, learned with an offset"), tokens(2)
    learned, norm = model.encoder_inputs.learned, model.encoder_inputs.norm
    assert learned is not None
    assert norm is not None
    assert learned.weight.shape == (32 + 2, 16)
    expected = norm(model.embedding(text) + learned.weight[2 : 2 + LENGTH])
    close(model.encoder_inputs(text, torch.arange(LENGTH), model.embedding), expected)


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_logits_are_what_the_config_says(name: str) -> None:
    model = make(name)
    states = torch.randn(2, 5, 16)
    expected = states
    if model.readout is not None:
        expected = model.readout.norm(torch.relu(model.readout.dense(states)))
    expected = expected * model.config.output_scale @ model.output_weight.T
    if model.output_bias is not None:
        expected = expected + model.output_bias
    close(model.logits(states), expected)


@torch.no_grad()
def test_segments_are_told_apart_and_the_first_is_usual() -> None:
    model, text = make("encoder, segments and a pooler"), tokens(1)
    none = model.encode(text).states
    torch.testing.assert_close(model.encode(text, segments=torch.zeros_like(text)).states, none)
    assert not torch.allclose(model.encode(text, segments=torch.ones_like(text)).states, none)


@torch.no_grad()
def test_parallel_branches_read_one_state() -> None:
    model = make("decoder, rotary pairs on a share, parallel")
    layer, x = model.decoder[0], torch.randn(1, 1, 16)
    first, second = (cast(Residual, residual).norm for residual in layer.residuals)
    seen = first(x)
    looked = layer.self_attention(seen, *layer.self_attention.keys_values(seen))
    torch.testing.assert_close(layer(x, Look()), x + looked + layer.feed_forward(second(x)))
