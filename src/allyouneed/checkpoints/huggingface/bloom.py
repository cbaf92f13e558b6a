"""BLOOM (Le Scao 2022): ALiBi in place of positions, a norm after the embeddings, GELU by its tanh form."""

from typing import Any

from allyouneed.checkpoints.huggingface.family import Entry, Family, fused_by_head, layer, same
from allyouneed.checkpoints.huggingface.settings import Settings, hold
from allyouneed.models.config import TransformerConfig

FIXED: dict[str, Any] = {
    "n_encoder_layers": 0,
    "norm_placement": "pre",
    "final_norm": True,
    "embedding_norm": True,
    "activation": "gelu-tanh",
    "positions": "alibi",
    "embedding_scale": False,
}
FREE = ("vocab_size", "d_model", "n_heads", "n_decoder_layers", "max_length", "norm_epsilon", "tied_embeddings")


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`. Nothing in it ends at a length: `seq_length` is the one that it was trained with."""
    older = {"hidden_size": "n_embed", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads"}
    ask = Settings({**{name: values.get(other) for name, other in older.items()}, **values})
    ask.only("apply_residual_connection_post_layernorm", False)
    width = ask.need("hidden_size")
    return ask.build(
        **FIXED,
        vocab_size=ask.need("vocab_size"),
        d_model=width,
        n_heads=ask.need("n_head"),
        d_ff=4 * width,
        n_decoder_layers=ask.need("n_layer"),
        max_length=ask.get("seq_length", 2048),
        norm_epsilon=ask.get("layer_norm_epsilon", 1e-5),
        tied_embeddings=ask.get("tie_word_embeddings", True),
        dropout=ask.get("hidden_dropout", 0.0),
        attention_dropout=ask.get("attention_dropout", 0.0),
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    hold("BLOOM", config, free=FREE, **FIXED, d_head=config.d_model / config.n_heads, d_ff=4 * config.d_model)
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "n_layer": config.n_decoder_layers,
        "n_head": config.n_heads,
        "seq_length": config.max_length,
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": config.tied_embeddings,
        "hidden_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
    }


def entries(config: TransformerConfig) -> list[Entry]:
    """The whole table."""
    table = [same("embedding.weight", "transformer.word_embeddings.weight")]
    table += layer("decoder_inputs.norm", "transformer.word_embeddings_layernorm")
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"transformer.h.{number}"
        for kind in ("weight", "bias"):
            one, other = f"{ours}.self_attention.{{}}.{kind}", f"{theirs}.self_attention.query_key_value.{kind}"
            table.append(fused_by_head(one, other, config.n_heads))
        table += layer(f"{ours}.self_attention.output", f"{theirs}.self_attention.dense")
        table += layer(f"{ours}.feed_forward.inner", f"{theirs}.mlp.dense_h_to_4h")
        table += layer(f"{ours}.feed_forward.outer", f"{theirs}.mlp.dense_4h_to_h")
        table += layer(f"{ours}.residuals.0.norm", f"{theirs}.input_layernorm")
        table += layer(f"{ours}.residuals.1.norm", f"{theirs}.post_attention_layernorm")
    table += layer("decoder_norm", "transformer.ln_f")
    return table if config.tied_embeddings else [*table, same("output.weight", "lm_head.weight")]


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding, where they are tied."""
    return {"lm_head.weight": "word_embeddings.weight"} if config.tied_embeddings else {}


BLOOM = Family(
    name="BLOOM",
    model_types=("bloom",),
    architectures=("BloomForCausalLM", "BloomModel"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("transformer.",),
    copies=copies,
    stacks={"decoder": "h"},
)
