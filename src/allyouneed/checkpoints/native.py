"""The package's own format: a folder of plain files. Nothing in it is pickled, and nothing is ever unpickled.

`config.json` (format, architecture, every field of the config), `model.safetensors`, `tokenizer.json`, and where they
are known `recipe.toml` (what made it), `metrics.jsonl` (how the training went) and `README.md` (the model card).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin, get_type_hints

import torch
from torch import Tensor, nn

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.checkpoints.weights import EmptyParameters, Weights, check_numbers, stored, write_safetensors
from allyouneed.errors import InputError, nearest
from allyouneed.models.architectures import ARCHITECTURES, architecture_of
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.foreign import load_vocabulary
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Vocabulary

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
RECIPE, METRICS, CARD = "recipe.toml", "metrics.jsonl", "README.md"


class SavedModel(NamedTuple):
    """What a model folder holds. The model is in evaluation mode, its weights in float32. It has the methods of a
    Transformer as far as its kind of model can offer them.
    """

    config: TransformerConfig
    model: Transformer
    tokenizer: Any  # a Vocabulary; None beside a model that reads no text
    recipe: str | None


def save_model(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Vocabulary | None,
    *,
    recipe_text: str | None = None,
    metrics_text: str | None = None,
    card: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Writes a model folder, whole or not at all; files of these names are replaced and others are left alone.

    `recipe_text`, `metrics_text` and `card` are the texts of their files; None leaves what is there. `dtype` is
    float32, or float16 for half the size.

    Raises InputError when the disk is full, a weight does not fit into float16, or the tokenizer is another model's.
    """
    own: Any = model.config
    if tokenizer is not None and hasattr(own, "vocab_size"):
        check_tokenizer("The tokenizer", tokenizer, own)
    config = {"format": FORMAT, "architecture": architecture_of(own), **asdict(own)}
    tensors = {name: stored(name, tensor, dtype) for name, tensor in own_tensors(model).items()}
    texts = {CONFIG: json.dumps(config, indent=2) + "\n", RECIPE: recipe_text, METRICS: metrics_text, CARD: card}
    with staged_folder(Path(folder)) as staging:
        for name, text in texts.items():
            if text is not None:
                (staging / name).write_text(text, "utf-8", newline="\n")
        if tokenizer is not None:
            tokenizer.save(staging / TOKENIZER)
        write_safetensors(staging / WEIGHTS, tensors, staging / CONFIG)


def load_model(folder: str | Path) -> SavedModel:
    """Reads a model folder. The weights are memory-mapped: what is float32 in the file is not copied.

    Raises InputError with one sentence for a missing, foreign, truncated or damaged file, for the first tensor that
    does not fit, for weights that are not numbers, and for a tokenizer that belongs to another model.
    """
    folder = Path(folder)
    check_folder(folder, (CONFIG, WEIGHTS))
    architecture, config = read_config(folder / CONFIG)
    tokenizer = load_tokenizer(folder, config) if hasattr(config, "vocab_size") else None
    with EmptyParameters():
        model = ARCHITECTURES[architecture].model(config)
    fill(model, folder / WEIGHTS)
    return SavedModel(config, model.eval(), tokenizer, read_text(folder / RECIPE))


def load_tokenizer(folder: Path, config: TransformerConfig) -> Vocabulary:
    """The tokenizer of a model that reads text. Raises InputError where it does not belong to the model."""
    check_folder(folder, (TOKENIZER,))
    tokenizer = load_vocabulary(folder, config.line)
    check_tokenizer(str(folder / TOKENIZER), tokenizer, config)
    return tokenizer


def check_tokenizer(name: str, tokenizer: Vocabulary, config: TransformerConfig) -> None:
    """Refuses a tokenizer of another size than the model's vocabulary."""
    own = isinstance(tokenizer, Tokenizer)  # one of another kind may have fewer pieces than its model has embeddings
    if tokenizer.vocab_size > config.vocab_size or (own and tokenizer.vocab_size != config.vocab_size):
        raise InputError(
            f"{name} has {tokenizer.vocab_size:,} pieces, but the model's vocabulary has {config.vocab_size:,}: the "
            "tokenizer belongs to another model."
        )


def check_folder(folder: Path, names: Sequence[str]) -> None:
    """Refuses a folder that lacks one of the files without which there is no model."""
    if not folder.is_dir():
        raise InputError(f"There is no model folder {folder}.")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder} is no model folder: it lacks {' and '.join(missing)}.")


def read_config(path: Path) -> tuple[str, TransformerConfig]:
    """Architecture and config of a `config.json`. Errors name the field, what is allowed, and the nearest spelling."""
    try:
        raw: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    if not isinstance(raw, dict) or "format" not in raw:
        raise InputError(f'{path} has no "format": this is no folder that allyouneed wrote.')
    values = cast(dict[str, Any], raw)
    version, architecture = values.pop("format"), values.pop("architecture", None)
    if version != FORMAT:
        raise InputError(f"{path} has format {version!r}, and this version of allyouneed reads format {FORMAT}.")
    if architecture not in ARCHITECTURES:
        hint = nearest(str(architecture), ARCHITECTURES)
        raise InputError(f"{path}: unknown architecture {architecture!r} (known: {', '.join(ARCHITECTURES)}).{hint}")
    kind = ARCHITECTURES[architecture].config
    check_fields(path, kind, values)
    try:
        return architecture, kind.from_fields(values)
    except ValueError as error:
        raise InputError(f"{path}: {error}.") from error


def check_fields(path: Path, kind: type, values: Mapping[str, object]) -> None:
    """Holds names and types of `values` against a config class."""
    hints = get_type_hints(kind)
    for name, value in values.items():
        if name not in hints:
            raise InputError(f'{path}: unknown field "{name}".{nearest(name, hints)}')
        if not fits(value, hints[name]):
            wanted = getattr(hints[name], "__name__", str(hints[name]))
            raise InputError(f'{path}: "{name}" = {value!r} is not of type {wanted}.')
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise InputError(f'{path}: the field "{field.name}" is missing.')


def fits(value: object, hint: Any) -> bool:
    """Is a JSON value of the type that a config field is annotated with?"""
    if get_origin(hint) is UnionType:
        return any(fits(value, option) for option in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(fits(item, get_args(hint)[0]) for item in cast(list[object], value))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is hint


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What the model stores, in its own order; a tensor that stands in several places once, under its first name."""
    seen = set[int]()
    tensors = dict[str, Tensor]()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor
    return tensors


@torch.no_grad()
def fill(model: nn.Module, path: Path) -> None:
    """Puts the weights of a file into the model, after every name and shape was checked."""
    weights = Weights([path])
    tensors = own_tensors(model)
    for name, tensor in tensors.items():
        if name not in weights.names:
            raise InputError(f"{path} has no tensor {name}: the weights belong to another model.")
        shape = weights.shape(name)
        if shape != list(tensor.shape):
            raise InputError(f"{path}: {name} has the shape {shape}, but the config asks for {list(tensor.shape)}.")
    extra = sorted(weights.names - tensors.keys())
    if extra:
        raise InputError(f"{path} holds a tensor {extra[0]} that the config has no place for.")
    read = {name: weights.tensor(name, whole=not tensor.is_floating_point()) for name, tensor in tensors.items()}
    for name, tensor in read.items():
        check_numbers(f"{path}: {name}", tensor)
    model.load_state_dict(read, assign=True)


def read_text(path: Path) -> str | None:
    """The text of a file, or None where there is none."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
