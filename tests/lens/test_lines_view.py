"""What models of every line and position scheme looked at: the weights that they used; asking changes nothing."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from allyouneed.errors import UsageError
from allyouneed.lens.attention import Attention, recording
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.attention import MultiHeadAttention, repeat_heads
from allyouneed.pipeline import LanguageModel, MaskedModel
from allyouneed.text.tokenizer import Tokenizer

SHAPES: dict[str, dict[str, Any]] = {
    "rotary, grouped": {"positions": "rotary", "n_kv_heads": 2, "query_key_norm": True},
    "ALiBi": {"positions": "alibi"},
    "T5": {"positions": "t5", "attention_scale": 1.0},
    "window": {"positions": "rotary", "window": 3, "window_layers": (1,)},
    "shared depth": {"positions": "coordinates", "shared_depth": True, "halting": True},
    "parallel": {"positions": "learned", "norm_placement": "pre", "parallel_residual": True},
}
TOKENS = torch.tensor([[1, 9, 8, 7, 6, 5, 4]])


def build(shape: dict[str, Any], line: str) -> Transformer:
    torch.manual_seed(3)
    depths = {"n_encoder_layers": 3 * (line == "encoder"), "n_decoder_layers": 3 * (line == "decoder")}
    config = TransformerConfig(vocab_size=20, d_model=16, n_heads=4, d_ff=16, max_length=16, **depths, **shape)
    return Transformer(config).eval()


def watched(model: Transformer) -> tuple[list[tuple[Any, Any]], Tensor, Tensor]:
    """What every attention was given and gave, and the output before and during a recording."""
    seen: list[tuple[Any, Any]] = []
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]

    def keep(_: nn.Module, inputs: Any, output: Any) -> None:
        seen.append((inputs, output))

    with torch.no_grad():
        before = model(TOKENS)
        hooks = [attention.register_forward_hook(keep) for attention in attentions]
        during = model(TOKENS)
    for hook in hooks:
        hook.remove()
    return seen, before, during


@pytest.mark.parametrize("line", ["encoder", "decoder"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_weights_are_those_that_the_model_used(shape: dict[str, Any], line: str) -> None:
    if "window" in shape and line == "encoder":
        shape = {name: value for name, value in shape.items() if "window" not in name}
    model = build(shape, line)
    with recording(model) as lookups:
        seen, before, during = watched(model)
    assert torch.equal(before, during)
    assert list(lookups) == [line]
    assert len(lookups[line]) == 6  # two passes of three layers
    for lookup, ((_, _, values, *_), output) in zip(lookups[line][3:], seen, strict=True):
        weights = lookup.weights()
        assert torch.allclose(weights.sum(-1), torch.ones(4, 7), atol=1e-5)
        mixed = weights @ repeat_heads(values, 4)[0]
        assert torch.allclose(lookup.attention.output(mixed.transpose(0, 1).flatten(1)), output[0], atol=1e-5)
        for head in range(4):
            assert torch.allclose(lookup.weights(head), weights[head], atol=1e-6)


def test_one_head_of_shaws_is_that_head_of_all() -> None:
    model = build({"positions": "shaw", "relative_distance": 2}, "decoder")
    with recording(model) as lookups, torch.no_grad():
        model(TOKENS)
    for lookup in lookups["decoder"]:
        assert lookup.place.distance is not None
        for head in range(4):
            assert torch.allclose(lookup.weights(head), lookup.weights()[head], atol=1e-6)


def test_a_window_is_seen_in_its_layer_alone() -> None:
    model = build(SHAPES["window"], "decoder")
    with recording(model) as lookups, torch.no_grad():
        model(TOKENS)
    sights = [int((lookup.weights(0)[-1] > 0).sum()) for lookup in lookups["decoder"]]
    assert sights == [7, 3, 7]


@pytest.mark.parametrize("line", ["decoder", "encoder"])
def test_a_single_stack_has_one_side(
    decoder: Transformer, encoder: Transformer, tokenizer: Tokenizer, line: str, tmp_path: Any
) -> None:
    if line == "decoder":
        pipe = LanguageModel(decoder, tokenizer.for_line("decoder"), name="small")
    else:
        pipe = MaskedModel(encoder, tokenizer.for_line("encoder"), name="small")
    view = pipe.attend("The cat sat.")
    names = pipe.tokenizer.pieces(pipe.tokenizer.wrap(pipe.encode(["The cat sat."])[0]))
    assert view.sides == [line]
    assert view.tokens[line] == (names, names)
    assert view[line, -1, "mean"].shape == (len(names), len(names))
    assert torch.equal(view.all(line), view.all(line).tril()) == (line == "decoder")
    assert view.text() == view.text(line, -1, "mean")
    view.save(tmp_path / "map.svg")
    assert f"{line}, layer 1, mean of the heads" in (tmp_path / "map.svg").read_text("utf-8")
    with pytest.raises(UsageError, match=f'There is no side "cross", but {line}'):
        view["cross", 0, 0]
    with pytest.raises(UsageError, match="it has no target beside"):
        pipe.attend("The cat.", "Le chat.")


def test_lookups_take_their_inputs_by_name_too() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2)
    model = nn.ModuleDict({"decoder": attention})
    x = torch.randn(1, 3, 8)
    keys, values = attention.keys_values(x)
    with recording(model) as lookups:
        attention(x, keys, values=values)
    view = Attention(lookups, {"decoder": (["a", "b", "c"], ["a", "b", "c"])})
    assert torch.allclose(view["decoder", 0, 1], attention.weights(x, keys)[0, 1])
