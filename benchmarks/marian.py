"""Our weights in other libraries' models: Hugging Face's Marian, and CTranslate2 from there."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from allyouneed.models.transformer import Transformer
from workload import BOS, EOS, PAD, UNK, Shape

# Ours -> theirs, inside a layer. Theirs has no residual blocks: each norm is named after what it follows.
ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
SELF = {f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in ATTENTION.items()}
CROSS = {f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in ATTENTION.items()}
FEED_FORWARD = {"feed_forward.inner": "fc1", "feed_forward.outer": "fc2"}
ENCODER = SELF | FEED_FORWARD | {"residuals.0.norm": "self_attn_layer_norm", "residuals.1.norm": "final_layer_norm"}
DECODER = (
    SELF
    | CROSS
    | FEED_FORWARD
    | {
        "residuals.0.norm": "self_attn_layer_norm",
        "residuals.1.norm": "encoder_attn_layer_norm",
        "residuals.2.norm": "final_layer_norm",
    }
)


def marian_config(shape: Shape, *, tied: bool, dropout: float, max_length: int) -> MarianConfig:
    """The paper's Transformer in Marian's words."""
    return MarianConfig(
        vocab_size=shape.vocab_size,
        d_model=shape.d_model,
        encoder_layers=shape.n_layers,
        decoder_layers=shape.n_layers,
        encoder_attention_heads=shape.n_heads,
        decoder_attention_heads=shape.n_heads,
        encoder_ffn_dim=shape.d_ff,
        decoder_ffn_dim=shape.d_ff,
        max_position_embeddings=max_length,
        activation_function="relu",
        dropout=dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        share_encoder_decoder_embeddings=tied,
        tie_word_embeddings=tied,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )


def to_marian(model: Transformer, shape: Shape) -> Any:
    """The same function as a MarianMTModel."""
    config = marian_config(shape, tied=False, dropout=0.0, max_length=model.config.max_length)
    theirs: Any = MarianMTModel._from_config(config, attn_implementation="sdpa")  # pyright: ignore[reportPrivateUsage]  # its public way loads a file
    ours = model.state_dict()
    weights = {
        "model.encoder.embed_tokens.weight": ours["embedding.weight"],
        "model.decoder.embed_tokens.weight": ours["target_embedding.weight"],
        "lm_head.weight": ours["output.weight"],
        # Theirs holds the sines before the cosines, ours alternates: the rows are laid over, so that embeddings agree.
        "model.encoder.embed_positions.weight": model.encoder_inputs.waves,
        "model.decoder.embed_positions.weight": model.encoder_inputs.waves,
        "final_logits_bias": torch.zeros(1, shape.vocab_size),
    }
    for side, table in (("encoder", ENCODER), ("decoder", DECODER)):
        for layer in range(shape.n_layers):
            for our_name, their_name in table.items():
                for kind in ("weight", "bias"):
                    tensor: Tensor = ours[f"{side}.{layer}.{our_name}.{kind}"]
                    weights[f"model.{side}.layers.{layer}.{their_name}.{kind}"] = tensor
    theirs.load_state_dict(weights)
    return theirs.eval()


def to_ctranslate2(marian: Any, folder: Path) -> None:
    """Writes the same model for CTranslate2. Token 17 is called "17"."""
    from ctranslate2.converters.transformers import BartLoader

    loader: Any = BartLoader()  # the loader for Marian would drop the last token, which it takes for padding
    marian.config.normalize_before = False
    marian.config.normalize_embedding = False
    spec = loader.get_model_spec(marian)
    names = [str(token) for token in range(marian.config.vocab_size)]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = str(BOS)
    spec.config.eos_token, spec.config.unk_token = str(EOS), str(UNK)
    spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
