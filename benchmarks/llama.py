"""Our modern decoder in other libraries' models: Hugging Face's Llama, and CTranslate2 from there."""

from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from allyouneed.models.transformer import Transformer, TransformerConfig
from workload import BOS, EOS, UNK

# Ours -> theirs, inside a layer.
LAYER = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.o_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.inner": "mlp.up_proj",
    "feed_forward.outer": "mlp.down_proj",
    "residuals.0.norm": "input_layernorm",
    "residuals.1.norm": "post_attention_layernorm",
}


def modern(**fields: Any) -> TransformerConfig:
    """A decoder with RMS norm before its sub-layers, rotary positions, SwiGLU and no biases."""
    return TransformerConfig(
        n_encoder_layers=0,
        norm="rms",
        norm_placement="pre",
        final_norm=True,
        positions="rotary",
        activation="silu",
        gated=True,
        bias=False,
        embedding_scale=False,
        **fields,
    )


def llama_config(config: TransformerConfig) -> LlamaConfig:
    """The same in Llama's words."""
    return LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.d_model,
        intermediate_size=config.d_ff,
        num_hidden_layers=config.n_decoder_layers,
        num_attention_heads=config.n_heads,
        num_key_value_heads=config.n_kv_heads or config.n_heads,
        max_position_embeddings=config.max_length,
        tie_word_embeddings=config.tied_embeddings,
        rms_norm_eps=config.norm_epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": config.rotary_base},
        bos_token_id=BOS,
        eos_token_id=EOS,
    )


def fresh_llama(config: TransformerConfig) -> Any:
    """A LlamaForCausalLM on scaled-dot-product attention, with weights of its own."""
    theirs: Any = LlamaForCausalLM._from_config  # pyright: ignore[reportPrivateUsage]  # its public way loads a file
    return theirs(llama_config(config), attn_implementation="sdpa")


def to_llama(model: Transformer) -> Any:
    """The same function as a LlamaForCausalLM; the weights are shared."""
    theirs: Any = fresh_llama(model.config)
    ours = model.state_dict()
    weights: dict[str, Tensor] = {
        "model.embed_tokens.weight": ours["embedding.weight"],
        "model.norm.weight": ours["decoder_norm.weight"],
        "lm_head.weight": model.output_weight.detach(),
    }
    for layer in range(model.config.n_decoder_layers):
        for our_name, their_name in LAYER.items():
            weights[f"model.layers.{layer}.{their_name}.weight"] = ours[f"decoder.{layer}.{our_name}.weight"]
    theirs.load_state_dict(weights, assign=True)
    theirs.tie_weights()
    return theirs.eval()


def to_ctranslate2(llama: Any, folder: Path) -> None:
    """Writes the same model for CTranslate2. Token 17 is called "17"."""
    from ctranslate2.converters.transformers import LlamaLoader

    spec: Any = LlamaLoader().get_model_spec(llama)
    spec.register_vocabulary([str(token) for token in range(llama.config.vocab_size)])
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = str(BOS), str(EOS), str(UNK)
    spec.config.layer_norm_epsilon = llama.config.rms_norm_eps
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
