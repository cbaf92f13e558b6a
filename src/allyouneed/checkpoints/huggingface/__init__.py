"""Checkpoints in the Hugging Face layout, in and out: a file a family, its names and its config both ways."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.huggingface.bart import BART
from allyouneed.checkpoints.huggingface.bert import BERT
from allyouneed.checkpoints.huggingface.bigbird import BIGBIRD
from allyouneed.checkpoints.huggingface.bloom import BLOOM
from allyouneed.checkpoints.huggingface.family import Family
from allyouneed.checkpoints.huggingface.files import (
    CONFIG,
    SHARD_BYTES,
    check_place,
    read_json,
    read_weights,
    their_dtype,
    write_json,
    write_weights,
)
from allyouneed.checkpoints.huggingface.gpt2 import GPT2
from allyouneed.checkpoints.huggingface.gpt_neox import GPT_NEOX
from allyouneed.checkpoints.huggingface.llama import LLAMA, MISTRAL, QWEN2, QWEN3
from allyouneed.checkpoints.huggingface.longformer import LONGFORMER
from allyouneed.checkpoints.huggingface.mamba import MAMBA
from allyouneed.checkpoints.huggingface.marian import MARIAN
from allyouneed.checkpoints.huggingface.mixtral import MIXTRAL
from allyouneed.checkpoints.huggingface.pegasus import PEGASUS
from allyouneed.checkpoints.huggingface.roberta import ROBERTA
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.huggingface.t5 import T5
from allyouneed.checkpoints.huggingface.tensors import filled, their_tensors
from allyouneed.checkpoints.huggingface.tokens import check_vocabulary, mark_ids, write_tokenizer
from allyouneed.checkpoints.native import SavedModel
from allyouneed.errors import InputError, UsageError, nearest
from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer
from allyouneed.text.foreign import load_vocabulary
from allyouneed.text.vocabulary import Vocabulary

# In the order in which they are tried for a model that is written.
FAMILIES: tuple[Family, ...] = (
    *(LLAMA, MISTRAL, QWEN2, QWEN3, MIXTRAL, GPT2, GPT_NEOX, BLOOM, MAMBA),
    *(BERT, ROBERTA, LONGFORMER, BIGBIRD, MARIAN, PEGASUS, BART, T5),
)


def family_named(name: str) -> Family:
    """A family by its name or model type. Raises UsageError with the nearest spelling where there is none."""
    for family in FAMILIES:
        if name.lower() in (family.name.lower(), *family.model_types):
            return family
    known = [family.model_types[0] for family in FAMILIES]
    raise UsageError(f'There is no family "{name}" (known: {", ".join(known)}).{nearest(name, known)}')


def family_of(values: dict[str, Any], path: Path) -> Family:
    """The family of a `config.json`. Raises InputError with the nearest ones where it is unknown."""
    model_type = str(values.get("model_type"))
    classes = [str(name) for name in values.get("architectures") or []]
    for family in FAMILIES:
        if model_type in family.model_types or set(classes) & set(family.architectures):
            return family
    known = {word: family.name for family in FAMILIES for word in (*family.model_types, *family.architectures)}
    close = {known[match]: None for word in (model_type, *classes) for match in get_close_matches(word, known)}
    nearest_ones = f" The nearest: {', '.join(close)}." if close else ""
    raise InputError(
        f'{path}: unknown architecture "{", ".join(classes) or model_type}" (model type "{model_type}"); families are '
        f"{', '.join(family.name for family in FAMILIES)}.{nearest_ones}"
    )


def load_transformer(folder: Path) -> Transformer:
    """The model in a folder, without a tokenizer: in evaluation mode, its weights in float32.

    Weights are memory-mapped; what is float32 in the file and stands in one piece is not copied.

    Raises InputError for a missing, foreign or damaged file, for an unknown family, for tensors that do not fit, and
    `Refused` with all reasons where the config asks for what this package cannot do.
    """
    if not folder.is_dir():
        raise InputError(f"There is no model folder {folder}.")
    values = read_json(folder / CONFIG)
    family = family_of(values, folder / CONFIG)
    try:
        config = family.config(values)
    except Refused as refusal:
        raise Refused(f"{folder / CONFIG} ({family.name}): {refusal.what}", refusal.reasons) from refusal
    return filled(config, family, read_weights(folder), folder)


def load_huggingface(folder: Path) -> SavedModel:
    """The model in a folder with its tokenizer (see `load_transformer`).

    Raises InputError also where the tokenizer is missing, or has more pieces than the model has embeddings.
    """
    model = load_transformer(folder)
    tokenizer = load_vocabulary(folder, model.config.line)
    check_vocabulary(tokenizer, model.config, folder)
    return SavedModel(model.config, model, tokenizer, None)


def describing(config: TransformerConfig, family: Family | None) -> tuple[Family, dict[str, Any]]:
    """The family, or else the first that can hold a config, with the `config.json` that it writes.

    Raises `Refused` with all reasons; without a family, with those of the one that is nearest.
    """
    if family is not None:
        return family, family.describe(config)
    refusals: list[Refused] = []
    for one in FAMILIES:
        if not isinstance(config, one.kind):
            continue
        try:
            return one, one.describe(config)
        except Refused as refusal:
            refusals.append(refusal)
    if not refusals:
        raise Refused("No family of the Hugging Face layout can hold this model", ["it is of a kind that none has"])
    stacks = ("n_encoder_layers", "n_decoder_layers")  # a family with other ones is near to nothing

    def distance(refusal: Refused) -> tuple[bool, int]:
        return any(reason.startswith(stacks) for reason in refusal.reasons), len(refusal.reasons)

    best = min(refusals, key=distance)
    raise Refused(f"No family of the Hugging Face layout can hold this model; the nearest: {best.what}", best.reasons)


def described(config: TransformerConfig, tokenizer: Vocabulary, family: Family | None) -> tuple[Family, dict[str, Any]]:
    """What `describing` finds, with the class, the model type and the marks in the `config.json`."""
    family, values = describing(config, family)
    kind = {"architectures": [family.architectures[0]], "model_type": family.model_types[0]}
    return family, {**kind, **mark_ids(tokenizer, config), **values}


def save_huggingface(
    folder: Path,
    model: Transformer,
    tokenizer: Vocabulary,
    family: Family | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Writes a folder that other libraries read, whole or not at all; without a `family`, the first that fits.

    Raises `Refused` with every reason why the family cannot hold the model, and InputError where the folder already
    holds one, where the disk is full, or where a weight does not fit into `dtype`.
    """
    family, values = described(model.config, tokenizer, family)
    check_vocabulary(tokenizer, model.config, folder)
    check_place(folder)
    tensors = their_tensors(model, family, dtype)
    with staged_folder(folder) as staging:
        write_json(staging / CONFIG, {**values, "torch_dtype": their_dtype(dtype)})
        write_weights(staging, tensors, shard_bytes)
        write_tokenizer(staging, tokenizer, model.config)
