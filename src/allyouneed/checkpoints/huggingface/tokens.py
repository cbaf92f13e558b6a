"""The tokenizer's part of the layout: `tokenizer.json`, and its marks by spelling and by id."""

from pathlib import Path
from typing import Any

from allyouneed.checkpoints.huggingface.files import write_json
from allyouneed.errors import InputError
from allyouneed.models.config import TransformerConfig
from allyouneed.text.foreign import surround
from allyouneed.text.tokenizer import is_native, read_core
from allyouneed.text.vocabulary import Vocabulary

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"


def check_vocabulary(tokenizer: Vocabulary, config: TransformerConfig, folder: Path) -> None:
    """Refuses a tokenizer with ids that the model has no embedding for."""
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size:,} pieces, but the model has only "
            f"{config.vocab_size:,} embeddings: the tokenizer belongs to another model."
        )


def mark_ids(tokenizer: Vocabulary, config: TransformerConfig) -> dict[str, Any]:
    """The marks as a `config.json` gives them."""
    ends = list(tokenizer.ends)
    ids = {
        "bos_token_id": tokenizer.bos,
        "eos_token_id": ends if len(ends) > 1 else tokenizer.eos,
        "pad_token_id": tokenizer.pad,
    }
    return {**ids, "decoder_start_token_id": tokenizer.start} if config.is_encoder_decoder else ids


def write_tokenizer(folder: Path, tokenizer: Vocabulary, config: TransformerConfig) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json`."""
    tokenizer.save(folder / TOKENIZER)
    core = read_core(folder / TOKENIZER)
    if is_native(core):
        # Other libraries put marks around a text as the file says; here the line of the model does.
        surround(core, tokenizer.prefix, tokenizer.suffix)
        (folder / TOKENIZER).write_text(core.to_str(pretty=True), "utf-8")
    ids = {"bos": tokenizer.bos, "eos": tokenizer.eos, "unk": tokenizer.unk, "pad": tokenizer.pad}
    if tokenizer.mask != tokenizer.unk or config.line == "encoder":
        ids["mask"] = tokenizer.mask
    spelt = {f"{name}_token": core.id_to_token(token) for name, token in ids.items() if token is not None}
    values = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    write_json(folder / TOKENIZER_CONFIG, {**values, "model_max_length": config.max_length, **spelt})
