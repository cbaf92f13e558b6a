"""The files of the Hugging Face layout: `config.json`, weights in one file or in shards, and the tokenizer's."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from allyouneed.checkpoints.weights import Weights, write_safetensors
from allyouneed.errors import InputError

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
SHARD = "model-{:05}-of-{:05}.safetensors"
SHARDS = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
SHARD_BYTES = 5 * 10**9
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".msgpack", ".h5")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises InputError where there is none."""
    try:
        values: Any = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{path.parent} is no model folder: it lacks {path.name}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    if not isinstance(values, dict):
        raise InputError(f"{path} holds no JSON object.")
    return cast(dict[str, Any], values)


def read_weights(folder: Path) -> Weights:
    """The weights of a folder, from one file or from the shards that its index names.

    Raises InputError for a missing shard, for a tensor that is not where the index says, and for weights that are
    pickled: those are never opened.
    """
    if (folder / SINGLE).is_file():
        return Weights([folder / SINGLE])
    if not (folder / INDEX).is_file():
        raise InputError(lacking(folder))
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise InputError(f'{folder / INDEX} has no "weight_map".')
    shards = sorted({str(name) for name in cast(dict[str, Any], places).values()})
    astray = [name for name in shards if Path(name).name != name]
    if astray:
        raise InputError(f'{folder / INDEX} names "{astray[0]}", which is no file beside it.')
    missing = [name for name in shards if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder} lacks {some(missing)}: {len(missing)} of the {len(shards)} shards that {INDEX} names."
        )
    weights = Weights([folder / name for name in shards])
    for name, place in cast(dict[str, Any], places).items():
        if name not in weights.names or weights.path(name).name != place:
            raise InputError(f"{folder / place} has no tensor {name}, although {INDEX} says so.")
    return weights


def lacking(folder: Path) -> str:
    """What to do about a folder without weights in safetensors."""
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
    if not pickled:
        return f"{folder} is no model folder: it lacks {SINGLE} (or {INDEX} with its shards)."
    return how_to_convert(folder, pickled)


def how_to_convert(folder: Path, pickled: list[str]) -> str:
    """What to do about pickled weights."""
    return (
        f"{folder} holds its weights as {some(pickled)}, which is never opened, since reading such a file can run a "
        "program that is hidden in it. Where you trust it, convert it: transformers' save_pretrained(folder, "
        "safe_serialization=True), or safetensors.torch.save_file(torch.load(file, weights_only=True), "
        f'"{SINGLE}").'
    )


def some(names: list[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """A JSON object, its keys in the order given."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", "utf-8", newline="\n")


def write_weights(folder: Path, tensors: Mapping[str, Tensor], shard_bytes: int) -> None:
    """One file, or shards of at most `shard_bytes` (a larger tensor has its own) and their index."""
    shards: list[dict[str, Tensor]] = [{}]
    room = shard_bytes
    for name, tensor in tensors.items():
        if tensor.nbytes > room and shards[-1]:
            shards.append({})
            room = shard_bytes
        shards[-1][name] = tensor
        room -= tensor.nbytes
    names = [SHARD.format(number, len(shards)) for number in range(1, len(shards) + 1)] if len(shards) > 1 else [SINGLE]
    for name, shard in zip(names, shards, strict=True):
        write_safetensors(folder / name, shard, folder / CONFIG)
    if len(shards) > 1:
        places = {tensor: name for name, shard in zip(names, shards, strict=True) for tensor in shard}
        total = sum(tensor.nbytes for tensor in tensors.values())
        write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": places})


def check_place(folder: Path) -> None:
    """Refuses to write where weights of another model would stay behind and be read in place of the new ones."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    old = sorted(name for name in names if name in (SINGLE, INDEX) or SHARDS.fullmatch(name))
    if old:
        raise InputError(f"{folder} already holds a model ({some(old)}): name another folder.")


def their_dtype(dtype: torch.dtype) -> str:
    """The name of a number type in a `config.json`."""
    return str(dtype).removeprefix("torch.")
