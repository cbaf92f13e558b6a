"""Models for CTranslate2, an engine in C++ that writes with decoders and with encoder-decoders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import tokenizers
from torch import Tensor, nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.huggingface.tokens import check_vocabulary
from allyouneed.errors import UsageError
from allyouneed.models.config import ADDED, TransformerConfig
from allyouneed.models.inputs import Inputs
from allyouneed.models.layers import Stack
from allyouneed.models.transformer import Transformer
from allyouneed.parts.attention import MultiHeadAttention
from allyouneed.parts.block import Residual
from allyouneed.parts.feedforward import FeedForward
from allyouneed.text.vocabulary import Vocabulary

TOKENIZER = "tokenizer.json"
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu-tanh": "GELUTanh", "silu": "SWISH"}  # ours -> theirs


def save_ctranslate2(folder: Path, model: nn.Module, tokenizer: Vocabulary) -> None:
    """Writes a folder that `ctranslate2.Translator` or `ctranslate2.Generator` opens, whole or not at all. Its tokens
    are those of the `tokenizer.json` in it.

    Raises `Refused` with every reason why CTranslate2 cannot hold the model, UsageError where its package is missing,
    and InputError where the tokenizer belongs to another model, or the disk is full.
    """
    problems = reasons(model, tokenizer) if isinstance(model, Transformer) else ["it is no Transformer"]
    if problems or not isinstance(model, Transformer):
        raise Refused("CTranslate2 cannot hold this model", problems)
    check_vocabulary(tokenizer, model.config, folder)
    try:
        from ctranslate2 import specs  # an extra
    except ModuleNotFoundError as missing:
        raise UsageError(f'This format needs {missing.name}: pip install "allyouneed[export]".') from missing
    with staged_folder(folder) as staging:
        tokenizer.save(staging / TOKENIZER)
        core = tokenizers.Tokenizer.from_file(str(staging / TOKENIZER))
        names = [core.id_to_token(token) or f"<unused {token}>" for token in range(model.config.vocab_size)]
        spec = described(specs, model)
        for register in ("register_vocabulary", "register_source_vocabulary", "register_target_vocabulary"):
            if hasattr(spec, register):
                getattr(spec, register)(names)
        mark(spec.config, tokenizer, names, both=model.config.is_encoder_decoder)
        spec.config.layer_norm_epsilon = model.config.norm_epsilon
        spec.validate()
        spec.optimize(quantization=None)
        spec.save(str(staging))


def reasons(model: Transformer, tokenizer: Vocabulary) -> list[str]:
    """Why CTranslate2 cannot hold a model; empty where it can."""
    config = model.config
    both, rotary = config.is_encoder_decoder, config.positions == "rotary"
    said = {
        "an encoder alone writes nothing": config.line == "encoder",
        f'positions "{config.positions}"': config.positions not in (*ADDED, "rotary"),
        "rotary positions beside an encoder": rotary and both,
        f'rotary_scaling "{config.rotary_scaling}"': rotary and config.rotary_scaling != "none",
        "n_kv_heads beside an encoder": both and config.n_kv_heads not in (None, config.n_heads),
        f'norm_placement "{config.norm_placement}"': config.norm_placement not in ("pre", "post"),
        "final_norm after norms that stand behind": config.norm_placement == "post" and config.final_norm,
        "a mixture of experts": config.n_experts > 0,
        "one layer repeated": config.shared_depth,
        "parallel_residual": config.parallel_residual,
        "query_key_norm": config.query_key_norm,
        "a window": config.window is not None,
        "attention_scale": config.attention_scale is not None,
        "output_transform": config.output_transform,
        "output_scale": config.output_scale != 1,
        "kinds of text": config.n_segments > 0,
        "marks around a text other than one at its end": both and tokenizer.wrap([]) != [tokenizer.eos],
        "no mark that ends a text": tokenizer.eos is None,
    }
    return [reason for reason, holds in said.items() if holds]


def described(specs: Any, model: Transformer) -> Any:
    """The model in CTranslate2's terms."""
    config = model.config
    decoder = specs.transformer_spec.TransformerDecoderSpec(
        config.n_decoder_layers,
        **common(specs, config),
        with_encoder_attention=config.is_encoder_decoder,
        rotary_dim=config.rotary_width if config.positions == "rotary" else None,
        rotary_interleave=config.rotary_layout == "pairs",
        rotary_base=config.rotary_base,
    )
    set_stack(decoder, model.decoder, model.decoder_inputs, model.decoder_norm, cross=config.is_encoder_decoder)
    decoder.embeddings.weight = numbers(model.target_table.weight)
    decoder.projection.weight = numbers(model.output_weight)
    if model.output_bias is not None:
        decoder.projection.bias = numbers(model.output_bias)
    if not config.is_encoder_decoder:
        return specs.TransformerDecoderModelSpec(decoder)
    encoder = specs.transformer_spec.TransformerEncoderSpec(config.n_encoder_layers, **common(specs, config))
    set_stack(encoder, model.encoder, model.encoder_inputs, model.encoder_norm, cross=False)
    encoder.embeddings[0].weight = numbers(model.embedding.weight)
    return specs.TransformerSpec(encoder, decoder)


def common(specs: Any, config: TransformerConfig) -> dict[str, Any]:
    """What both of its stacks are told of the block."""
    return {
        "num_heads": config.n_heads,
        "num_heads_kv": None if config.n_kv_heads == config.n_heads else config.n_kv_heads,
        "head_dim": config.d_head,
        "pre_norm": config.norm_placement == "pre",
        "no_final_norm": not config.final_norm,
        "activation": getattr(specs.common_spec.Activation, ACTIVATIONS[config.activation]),
        "layernorm_embedding": config.embedding_norm,
        "ffn_glu": config.gated,
        "rms_norm": config.norm == "rms",
    }


def set_stack(spec: Any, stack: Stack, inputs: Inputs, final: nn.Module, *, cross: bool) -> None:
    """The weights of a stack, and where its tokens stand; `cross`: it looks at another one."""
    spec.scale_embeddings = inputs.scale
    if inputs.waves is not None:
        spec.position_encodings.encodings = numbers(inputs.waves)
    elif inputs.learned is not None:
        spec.position_encodings.encodings = numbers(inputs.learned.weight[inputs.offset :])
    if inputs.norm is not None:
        set_norm(spec.layernorm_embedding, inputs.norm)
    if hasattr(spec, "layer_norm"):
        set_norm(spec.layer_norm, final)
    for part, layer in zip(spec.layer, stack.layers, strict=True):
        places = [part.self_attention, *([part.attention] if cross else []), part.ffn]
        for place, residual in zip(places, cast(list[Residual], list(layer.residuals)), strict=True):
            set_norm(place.layer_norm, residual.norm)
        set_attention(part.self_attention, layer.self_attention, own=True)
        if cross:
            set_attention(part.attention, layer.cross_attention, own=False)
        set_feed_forward(part.ffn, cast(FeedForward, layer.feed_forward))


def set_attention(spec: Any, part: MultiHeadAttention, *, own: bool) -> None:
    """Queries, keys and values in one product; where keys and values come from elsewhere, queries have their own."""
    given = [[part.query, part.key, part.value]] if own else [[part.query], [part.key, part.value]]
    for linear, layers in zip(spec.linear, [*given, [part.output]], strict=True):
        set_linear(linear, layers)


def set_feed_forward(spec: Any, part: FeedForward) -> None:
    """The two layers, or with a gate three."""
    set_linear(spec.linear_0, [part.inner if part.gate is None else part.gate])
    if part.gate is not None:
        set_linear(spec.linear_0_noact, [part.inner])
    set_linear(spec.linear_1, [part.outer])


def set_linear(spec: Any, layers: Sequence[nn.Linear]) -> None:
    """Layers of one input, their outputs side by side."""
    spec.weight = np.concatenate([numbers(layer.weight) for layer in layers])
    biases = [cast(Tensor | None, layer.bias) for layer in layers]
    if biases[0] is not None:
        spec.bias = np.concatenate([numbers(bias) for bias in biases if bias is not None])


def set_norm(spec: Any, norm: nn.Module) -> None:
    """A norm's scale, and its shift where it has one."""
    spec.gamma = numbers(norm.get_parameter("weight"))
    if isinstance(norm, nn.LayerNorm):
        spec.beta = numbers(norm.bias)


def mark(config: Any, tokenizer: Vocabulary, names: list[str], *, both: bool) -> None:
    """The tokens that mean something themselves."""
    eos = names[cast(int, tokenizer.eos)]
    config.eos_token = eos
    config.bos_token = eos if tokenizer.bos is None else names[tokenizer.bos]
    config.unk_token = names[tokenizer.pad if tokenizer.unk is None else tokenizer.unk]
    if both:
        config.decoder_start_token = names[cast(int, tokenizer.start)]
        config.add_source_eos = True


def numbers(tensor: Tensor) -> Any:
    """Numbers as the library takes them."""
    return tensor.detach().float().cpu().numpy()
