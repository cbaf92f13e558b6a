"""The mean of several models' weights (Vaswani 2017, section 6.1)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from allyouneed.checkpoints.native import (
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    SavedModel,
    check_folder,
    load_model,
    own_tensors,
    read_config,
)
from allyouneed.errors import InputError


@torch.no_grad()
def average_models(folders: Sequence[Path], on_progress: Callable[[int], None] = lambda done: None) -> SavedModel:
    """The first folder's model with the mean of all folders' weights, summed in float64; one model is read at a time.

    Raises InputError, before any weights are read, when configs or tokenizers differ; it names the fields.
    """
    for folder in folders:
        check_folder(folder, (CONFIG, WEIGHTS))
    first = folders[0]
    for other in folders[1:]:
        check_alike(first, other)
    saved = load_model(first)

    def weights() -> Iterator[Mapping[str, Tensor]]:
        for number, folder in enumerate(folders, start=1):
            yield own_tensors((saved if folder is first else load_model(folder)).model)
            on_progress(number)

    mean = mean_weights(weights())
    for name, tensor in own_tensors(saved.model).items():
        tensor.copy_(mean[name])
    return saved


def mean_weights(models: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' weights, summed in float64 and given back in the type of each tensor."""
    sums: dict[str, Tensor] = {}
    types: dict[str, torch.dtype] = {}
    count = 0
    for weights in models:
        count += 1
        for name, tensor in weights.items():
            types[name] = tensor.dtype
            sums[name] = tensor.double() + sums.get(name, 0.0)
    return {name: (total / count).to(types[name]) for name, total in sums.items()}


def check_alike(first: Path, other: Path) -> None:
    """Refuses two models whose weights do not mean the same."""
    one, two = (asdict(read_config(folder / CONFIG)[1]) for folder in (first, other))
    differing = [f"{name} ({one[name]} and {two[name]})" for name in one if one[name] != two[name]]
    if differing:
        raise InputError(f"{first} and {other} cannot be averaged: they differ in {', '.join(differing)}.")
    if tokenizer_of(first) != tokenizer_of(other):
        raise InputError(f"{first} and {other} cannot be averaged: their tokenizers differ.")


def tokenizer_of(folder: Path) -> bytes | None:
    """What the file of a folder's tokenizer holds; None where the model reads no text."""
    path = folder / TOKENIZER
    return path.read_bytes() if path.is_file() else None
