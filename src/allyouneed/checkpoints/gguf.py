"""Models in GGUF files: decoders of the kind that llama.cpp calls "llama", "qwen2" and "qwen3"."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from allyouneed.checkpoints.gguf_file import Gguf as Gguf
from allyouneed.checkpoints.gguf_file import open_gguf as open_gguf
from allyouneed.checkpoints.gguf_vocabulary import read_vocabulary
from allyouneed.checkpoints.huggingface.settings import Refused, Settings
from allyouneed.checkpoints.native import SavedModel
from allyouneed.errors import InputError, nearest
from allyouneed.models.blueprint import blueprint
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.positions import Rotary, RotaryLayout

# The kinds that can be read, and how each turns its queries and keys. Files of the first kind hold the rows of both in
# an order in which neighbours are turned together, so nothing has to be put back.
ARCHITECTURES: dict[str, RotaryLayout] = {"llama": "pairs", "qwen2": "halves", "qwen3": "halves"}

FREQUENCIES = "rope_freqs.weight"  # what the angles of Llama 3.1 are divided by
OUTER = {"embedding": "token_embd", "decoder_norm": "output_norm", "output": "output"}
INNER = {
    "residuals.0.norm": "attn_norm",
    "residuals.1.norm": "ffn_norm",
    "self_attention.query": "attn_q",
    "self_attention.key": "attn_k",
    "self_attention.value": "attn_v",
    "self_attention.output": "attn_output",
    "self_attention.query_norm": "attn_q_norm",
    "self_attention.key_norm": "attn_k_norm",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.inner": "ffn_up",
    "feed_forward.outer": "ffn_down",
    "feed_forward.router": "ffn_gate_inp",
}


def load_gguf(path: str | Path) -> SavedModel:
    """The model of a file, in float32 and in evaluation mode, and its tokenizer.

    Tensors that are stored as F32 are not copied: their memory is the mapped file.

    Raises InputError with one sentence for a file that cannot be read (`open_gguf`), an architecture, tokenizer or
    setting that is not known here, a tensor that is missing, too much or of another shape, and weights that are not
    numbers.
    """
    file = open_gguf(path)
    config = read_config(file)
    tokenizer = read_vocabulary(file)
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"{file.path}: its tokenizer has {tokenizer.vocab_size:,} pieces, but its embedding only "
            f"{config.vocab_size:,} rows."
        )
    model = blueprint(config)
    model.load_state_dict(read_weights(file, model), assign=True)
    return SavedModel(config, model.eval(), tokenizer, None)


def read_config(file: Gguf) -> TransformerConfig:
    """The config that the metadata describe. Raises InputError with every reason why there is none."""
    architecture = file.metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        hint = nearest(str(architecture), ARCHITECTURES)
        raise InputError(f'{file.path} holds a model of the architecture "{architecture}", none of {known}.{hint}')
    if file.metadata.get("split.count", 1) > 1:
        parts = file.metadata["split.count"]
        raise InputError(f"{file.path} is one of {parts} parts: join them with llama.cpp's gguf-split --merge.")
    begin = f"{architecture}."
    ask = Settings({key.removeprefix(begin): value for key, value in file.metadata.items() if key.startswith(begin)})
    needed = ("embedding_length", "block_count", "feed_forward_length", "attention.head_count", "context_length")
    ask.reasons.extend(f"{begin}{name} is missing" for name in needed if name not in ask.values)
    for name in ("logit_scale", "residual_scale", "embedding_scale"):
        ask.only(name, 1.0)
    n_heads = ask.get("attention.head_count", 1)
    width = ask.get("attention.key_length", ask.get("embedding_length", 1) // max(n_heads, 1))
    ask.only("attention.value_length", width)
    has = file.tensors.stored
    config = dict[str, Any](
        vocab_size=has["token_embd.weight"].shape[0] if "token_embd.weight" in has else 0,
        d_model=ask.get("embedding_length", 1),
        n_heads=n_heads,
        n_kv_heads=ask.get("attention.head_count_kv", n_heads),
        d_head=width,
        d_ff=ask.get("feed_forward_length", 1),
        n_encoder_layers=0,
        n_decoder_layers=ask.get("block_count", 1),
        max_length=ask.get("context_length", 1),
        norm_placement="pre",
        norm="rms",
        norm_epsilon=ask.get("attention.layer_norm_rms_epsilon", 1e-5),
        final_norm=True,
        activation="silu",
        gated=True,
        bias=False,
        qkv_bias="blk.0.attn_q.bias" in has,
        query_key_norm="blk.0.attn_q_norm.weight" in has,
        attention_scale=ask.optional("attention.scale", float),
        window=ask.optional("attention.sliding_window", int),
        **rotary_fields(file, ask, ARCHITECTURES[architecture], width),
        tied_embeddings="output.weight" not in has,
        embedding_scale=False,
        n_experts=ask.get("expert_count", 0),
        experts_per_token=ask.get("expert_used_count", 2),
        dropout=0.0,
    )
    try:
        return ask.build(**config)
    except Refused as error:
        raise Refused(f"{file.path}: {error.what}", error.reasons) from error


def rotary_fields(file: Gguf, ask: Settings, layout: RotaryLayout, width: int) -> dict[str, Any]:
    """Positions: the rotary scheme and its scaling."""
    turned = ask.get("rope.dimension_count", width)
    kind = ask.get("rope.scaling.type", "linear" if "rope.scale_linear" in ask.values else "none")
    fields: dict[str, Any] = {
        "positions": "rotary",
        "rotary_base": ask.get("rope.freq_base", 10_000.0),
        "rotary_share": turned / width,
        "rotary_layout": layout,
        "rotary_trained_length": ask.get("rope.scaling.original_context_length", 8192),
    }
    factor = ask.get("rope.scaling.factor", ask.get("rope.scale_linear", 1.0))
    if kind not in ("none", "linear", "yarn"):
        ask.reasons.append(f'the rope scaling is "{kind}", and here it can be none, linear or yarn')
    elif kind == "yarn":
        ask.only("rope.scaling.attn_factor", 1.0)
        trained = ask.get("rope.scaling.original_context_length", ask.get("context_length", 8192))
        high, low = ask.get("rope.scaling.yarn_beta_fast", 32.0), ask.get("rope.scaling.yarn_beta_slow", 1.0)
        fields |= {"rotary_trained_length": trained, "rotary_low": low, "rotary_high": high}
    if kind != "none":
        fields |= {"rotary_scaling": kind, "rotary_factor": factor}
    if FREQUENCIES in file.tensors:
        fields |= slowed(file.tensors[FREQUENCIES], fields, turned, ask)
    return fields


def slowed(divisors: Tensor, fields: dict[str, Any], width: int, ask: Settings) -> dict[str, Any]:
    """Llama 3.1's scaling, of which a file holds only the result: what each frequency is divided by [width / 2]."""
    factor = round(float(divisors.max()), 3)
    if factor == 1:
        return {}
    base, trained = fields["rotary_base"], fields["rotary_trained_length"]
    given = Rotary(width, base=base).frequencies() / divisors
    scaled = Rotary(width, base=base, scaling="llama3", factor=factor, trained_length=trained)
    if fields.get("rotary_scaling") or not torch.allclose(scaled.frequencies(), given, rtol=1e-4):
        ask.reasons.append(f"{FREQUENCIES} is not what Llama 3.1 makes of a factor {factor} and {trained} tokens")
    return {"rotary_scaling": "llama3", "rotary_factor": factor}


def read_weights(file: Gguf, model: Transformer) -> Mapping[str, Tensor]:
    """The tensors under our names, each checked."""
    wanted: dict[str, dict[str, Tensor]] = {}  # by their names; the experts of a layer stand in one tensor of theirs
    for name, tensor in model.state_dict().items():
        wanted.setdefault(their_name(name), {})[name] = tensor
    extra = sorted(set(file.tensors) - wanted.keys() - {FREQUENCIES})
    if extra:
        raise InputError(f"{file.path} holds a tensor {extra[0]} that a model of its architecture has no place for.")
    weights: dict[str, Tensor] = {}
    for theirs, ours in wanted.items():
        if theirs not in file.tensors:
            raise InputError(f"{file.path} has no tensor {theirs}, so its model is not whole.")
        shape = next(iter(ours.values())).shape
        shape = (len(ours), *shape) if "_exps." in theirs else tuple(shape)
        tensor = file.tensors[theirs]
        if tensor.shape != shape:
            raise InputError(
                f"{file.path}: {theirs} has the shape {list(tensor.shape)}, but its metadata ask for {list(shape)}."
            )
        if not bool(torch.isfinite(tensor).all()):
            raise InputError(f"{file.path}: {theirs} holds values that are not finite numbers, so the model is spoilt.")
        weights |= zip(ours, tensor if "_exps." in theirs else [tensor], strict=True)
    return weights


def their_name(name: str) -> str:
    """The name in the file of one of our tensors."""
    stem, kind = name.rsplit(".", 1)
    if stem in OUTER:
        return f"{OUTER[stem]}.{kind}"
    _, number, part = stem.split(".", 2)
    if ".experts." in part:
        head, tail = part.split(".experts.")
        return f"blk.{number}.{INNER[head + '.' + tail.partition('.')[2]]}_exps.{kind}"
    return f"blk.{number}.{INNER[part]}.{kind}"
