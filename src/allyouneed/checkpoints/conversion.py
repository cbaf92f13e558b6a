"""From one format to another: whatever holds a model is read, and its numbers are written as they are."""

from pathlib import Path
from typing import Literal

from allyouneed.checkpoints.ctranslate2 import save_ctranslate2
from allyouneed.checkpoints.gguf import load_gguf
from allyouneed.checkpoints.huggingface import family_named, load_huggingface, save_huggingface
from allyouneed.checkpoints.huggingface.files import PICKLED, how_to_convert, read_json
from allyouneed.checkpoints.native import CONFIG, RECIPE, SavedModel, load_model, save_model
from allyouneed.checkpoints.onnx import save_onnx
from allyouneed.errors import InputError, UsageError

Format = Literal["allyouneed", "huggingface", "gguf"]
Written = Literal["allyouneed", "huggingface", "ctranslate2", "onnx"]


def format_of(source: Path) -> Format:
    """The format of a folder or file. Raises InputError where it is none that is read here."""
    if source.is_dir() and not (source / CONFIG).is_file():
        raise InputError(without_model(source))
    if source.is_dir():
        return "allyouneed" if "format" in read_json(source / CONFIG) else "huggingface"
    if not source.exists():
        raise InputError(f"There is no model {source}.")
    if source.suffix == ".gguf":
        return "gguf"
    if source.suffix in PICKLED:
        raise InputError(how_to_convert(source.parent, [source.name]))
    raise InputError(f"{source} is neither a model folder, with {CONFIG} in it, nor a .gguf file.")


def without_model(folder: Path) -> str:
    """What a folder without a model is, in one sentence or two."""
    if (folder / RECIPE).is_file():
        return f"{folder} holds a training that is not finished, and no model yet: train goes on with it."
    inside = sorted(str(path.parent) for path in folder.glob(f"*/{CONFIG}"))
    hint = f" But in it are {', '.join(inside)}." if inside else ""
    return f"{folder} is no model folder: it lacks {CONFIG}.{hint}"


def read_model(source: Path) -> SavedModel:
    """The model in a folder of this package's format or of Hugging Face's, or in a .gguf file, with its tokenizer.

    Raises InputError in the words of `load_model`, `load_huggingface` and `load_gguf`.
    """
    return {"allyouneed": load_model, "huggingface": load_huggingface, "gguf": load_gguf}[format_of(source)](source)


def convert(source: Path, target: Path, to: Written | None = None, *, family: str | None = None) -> None:
    """Writes the model of `source` into the new folder `target`. Where no format is named, this package's models are
    written in the Hugging Face layout, and all others in this package's. Weights are written in float32, which holds
    those of any source exactly. `family`: of the Hugging Face layout; None: one that fits.

    Raises UsageError where there is nothing to convert, InputError where `target` is there already, and `Refused` with
    every reason why the other format cannot hold the model.
    """
    given = format_of(source)
    to = to or ("huggingface" if given == "allyouneed" else "allyouneed")
    if to == given:
        raise UsageError(f"{source} has the format {to} already.")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise InputError(f"{target} is there already: name a new folder.")
    kind = None if family is None else family_named(family)
    if kind is not None and to != "huggingface":
        raise UsageError("A family belongs to the format huggingface.")
    saved = read_model(source)
    if to == "huggingface":
        save_huggingface(target, saved.model, saved.tokenizer, kind)
    elif to == "ctranslate2":
        save_ctranslate2(target, saved.model, saved.tokenizer)
    elif to == "onnx":
        save_onnx(target, saved.model, saved.tokenizer)
    else:
        save_model(target, saved.model, saved.tokenizer, card=f"# {target.name}\n\nConverted from {source.name}.\n")
