"""GPT-NeoX (Black 2022): rotary positions on a share of each head, attention and network side by side."""

from typing import Any

from allyouneed.checkpoints.huggingface.family import Entry, Family, fused_by_head, layer, same
from allyouneed.checkpoints.huggingface.rope import FREE as ROTARY
from allyouneed.checkpoints.huggingface.rope import rope_settings, rotary_fields
from allyouneed.checkpoints.huggingface.settings import Settings, attention_biases, hold, their_activation
from allyouneed.models.config import TransformerConfig

FREE = (
    *("vocab_size", "d_model", "n_heads", "d_ff", "n_decoder_layers", "max_length", "norm_epsilon"),
    *("activation", "tied_embeddings", "parallel_residual", "rotary_share", *ROTARY),
)


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`; older ones say `rotary_pct` and `rotary_emb_base`."""
    ask = Settings(values)
    max_length = ask.need("max_position_embeddings")
    share, base = ask.get("rotary_pct", 0.25), ask.get("rotary_emb_base", 10_000.0)
    bias = ask.get("attention_bias", True)
    return ask.build(
        vocab_size=ask.need("vocab_size"),
        d_model=ask.need("hidden_size"),
        n_heads=ask.need("num_attention_heads"),
        d_ff=ask.need("intermediate_size"),
        n_encoder_layers=0,
        n_decoder_layers=ask.need("num_hidden_layers"),
        max_length=max_length,
        norm_placement="pre",
        norm_epsilon=ask.get("layer_norm_eps", 1e-5),
        final_norm=True,
        parallel_residual=ask.get("use_parallel_residual", True),
        activation=ask.activation("hidden_act", "gelu"),
        qkv_bias=bias,
        attention_output_bias=bias,
        positions="rotary",
        tied_embeddings=ask.get("tie_word_embeddings", False),
        embedding_scale=False,
        dropout=ask.get("hidden_dropout", 0.0),
        attention_dropout=ask.get("attention_dropout", 0.0),
        **rotary_fields(ask, max_length=max_length, base=base, share=share),
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    qkv_bias, _ = attention_biases(config)
    hold(
        "GPT-NeoX",
        config,
        free=(*FREE, "qkv_bias"),
        n_encoder_layers=0,
        d_head=config.d_model / config.n_heads,
        norm_placement="pre",
        final_norm=True,
        bias=True,
        attention_output_bias=qkv_bias,
        positions="rotary",
        embedding_scale=False,
    )
    rotary = rope_settings("GPT-NeoX", config)
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_decoder_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": their_activation(config.activation),
        "max_position_embeddings": config.max_length,
        "layer_norm_eps": config.norm_epsilon,
        "use_parallel_residual": config.parallel_residual,
        "attention_bias": qkv_bias,
        "rotary_pct": config.rotary_share,
        "rotary_emb_base": rotary["rope_theta"],
        "rope_scaling": rotary["rope_scaling"],
        "tie_word_embeddings": config.tied_embeddings,
        "hidden_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
    }


def entries(config: TransformerConfig, output: str = "embed_out.weight") -> list[Entry]:
    """The table, with the name of the output that files have."""
    table = [same("embedding.weight", "gpt_neox.embed_in.weight")]
    qkv_bias, _ = attention_biases(config)
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"gpt_neox.layers.{number}"
        for kind in ("weight", "bias") if qkv_bias else ("weight",):
            one, other = f"{ours}.self_attention.{{}}.{kind}", f"{theirs}.attention.query_key_value.{kind}"
            table.append(fused_by_head(one, other, config.n_heads))
        table += layer(f"{ours}.self_attention.output", f"{theirs}.attention.dense", bias=qkv_bias)
        table += layer(f"{ours}.feed_forward.inner", f"{theirs}.mlp.dense_h_to_4h")
        table += layer(f"{ours}.feed_forward.outer", f"{theirs}.mlp.dense_4h_to_h")
        table += layer(f"{ours}.residuals.0.norm", f"{theirs}.input_layernorm")
        table += layer(f"{ours}.residuals.1.norm", f"{theirs}.post_attention_layernorm")
    table += layer("decoder_norm", "gpt_neox.final_layer_norm")
    return table if config.tied_embeddings else [*table, same("output.weight", output)]


def entries_in_memory(config: TransformerConfig) -> list[Entry]:
    """The table with the name that the output has in newer classes."""
    return entries(config, "lm_head.weight")


def copies(config: TransformerConfig) -> dict[str, str]:
    """The output is the embedding, where they are tied."""
    return dict.fromkeys(("embed_out.weight", "lm_head.weight"), "embed_in.weight") if config.tied_embeddings else {}


GPT_NEOX = Family(
    name="GPT-NeoX",
    model_types=("gpt_neox",),
    architectures=("GPTNeoXForCausalLM", "GPTNeoXModel"),
    config=config,
    describe=describe,
    entries=entries,
    older=(entries_in_memory,),
    prefixes=("gpt_neox.",),
    ignored=(r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)", r"rotary_emb\.inv_freq"),
    copies=copies,
    stacks={"decoder": "layers"},
)
