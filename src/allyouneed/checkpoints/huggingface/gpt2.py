"""GPT-2 (Radford 2019): pre-norm, learned positions, tied output, one matrix for queries, keys and values."""

from typing import Any

import torch
from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same, transposed
from allyouneed.checkpoints.huggingface.settings import Settings, hold, their_activation
from allyouneed.models.config import TransformerConfig

FREE = (
    *("vocab_size", "d_model", "n_heads", "d_ff", "n_decoder_layers", "max_length"),
    *("norm_epsilon", "activation", "tied_embeddings"),
)


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    width = ask.need("n_embd")
    ask.only("scale_attn_by_inverse_layer_idx", False)
    ask.only("add_cross_attention", False)
    return ask.build(
        vocab_size=ask.need("vocab_size"),
        d_model=width,
        n_heads=ask.need("n_head"),
        d_ff=ask.get("n_inner", 4 * width),
        n_encoder_layers=0,
        n_decoder_layers=ask.need("n_layer"),
        max_length=ask.need("n_positions"),
        norm_placement="pre",
        norm_epsilon=ask.get("layer_norm_epsilon", 1e-5),
        final_norm=True,
        activation=ask.activation("activation_function", "gelu_new"),
        attention_scale=None if ask.get("scale_attn_weights", True) else 1.0,
        positions="learned",
        tied_embeddings=ask.get("tie_word_embeddings", True),
        embedding_scale=False,
        dropout=ask.get("resid_pdrop", 0.1),
        attention_dropout=ask.get("attn_pdrop", 0.1),
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    plain_scale = config.head_width**-0.5
    hold(
        "GPT-2",
        config,
        free=FREE,
        n_encoder_layers=0,
        d_head=config.d_model / config.n_heads,
        norm_placement="pre",
        final_norm=True,
        attention_scale=(plain_scale, 1.0),
        positions="learned",
        embedding_scale=False,
    )
    return {
        "vocab_size": config.vocab_size,
        "n_positions": config.max_length,
        "n_embd": config.d_model,
        "n_layer": config.n_decoder_layers,
        "n_head": config.n_heads,
        "n_inner": config.d_ff,
        "activation_function": their_activation(config.activation),
        "layer_norm_epsilon": config.norm_epsilon,
        "scale_attn_weights": config.attention_scale in (None, plain_scale),
        "tie_word_embeddings": config.tied_embeddings,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
    }


def fused(ours: str, theirs: str) -> Entry:
    """Query, key and value side by side in the last dimension of one tensor, which stands the other way round."""

    def split(tensors: list[Tensor]) -> list[Tensor]:
        return [part.t() if part.dim() == 2 else part for part in tensors[0].chunk(3, -1)]

    def join(tensors: list[Tensor]) -> list[Tensor]:
        whole = torch.cat(tensors)
        return [whole.t() if whole.dim() == 2 else whole]

    return Entry(tuple(ours.format(part) for part in ("query", "key", "value")), (theirs,), split, join)


def entries(config: TransformerConfig) -> list[Entry]:
    """Their layers multiply from the right: every matrix is the transpose of ours."""
    table = [same("embedding.weight", "transformer.wte.weight")]
    table.append(same("decoder_inputs.learned.weight", "transformer.wpe.weight"))
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"transformer.h.{number}"
        pairs = {
            "self_attention.output": "attn.c_proj",
            "feed_forward.inner": "mlp.c_fc",
            "feed_forward.outer": "mlp.c_proj",
        }
        for kind in ("weight", "bias"):
            table.append(fused(f"{ours}.self_attention.{{}}.{kind}", f"{theirs}.attn.c_attn.{kind}"))
        for one, other in pairs.items():
            table.append(transposed(f"{ours}.{one}.weight", f"{theirs}.{other}.weight"))
            table.append(same(f"{ours}.{one}.bias", f"{theirs}.{other}.bias"))
        table += layer(f"{ours}.residuals.0.norm", f"{theirs}.ln_1")
        table += layer(f"{ours}.residuals.1.norm", f"{theirs}.ln_2")
    table += layer("decoder_norm", "transformer.ln_f")
    return table if config.tied_embeddings else [*table, same("output.weight", "lm_head.weight")]


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding, where they are tied."""
    return {"lm_head.weight": "wte.weight"} if config.tied_embeddings else {}


GPT2 = Family(
    name="GPT-2",
    model_types=("gpt2",),
    architectures=("GPT2LMHeadModel", "GPT2Model"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("transformer.",),
    ignored=(r"h\.\d+\.attn\.(bias|masked_bias)",),
    copies=copies,
    stacks={"decoder": "h"},
)
