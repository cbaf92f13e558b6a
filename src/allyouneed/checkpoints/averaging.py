"""The mean of several models' weights (Vaswani 2017, section 6.1)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from allyouneed.checkpoints.native import (
    CONFIG,
    TOKENIZER,
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
        check_folder(folder)
    first = folders[0]
    for other in folders[1:]:
        check_alike(first, other)
    saved = load_model(first)
    sums: dict[str, Tensor] = {name: tensor.double() for name, tensor in own_tensors(saved.model).items()}
    on_progress(1)
    for number, folder in enumerate(folders[1:], start=2):
        for name, tensor in own_tensors(load_model(folder).model).items():
            sums[name] += tensor
        on_progress(number)
    for name, tensor in own_tensors(saved.model).items():
        tensor.copy_(sums[name] / len(folders))
    return saved


def check_alike(first: Path, other: Path) -> None:
    """Refuses two models whose weights do not mean the same."""
    one, two = (asdict(read_config(folder / CONFIG)[1]) for folder in (first, other))
    differing = [f"{name} ({one[name]} and {two[name]})" for name in one if one[name] != two[name]]
    if differing:
        raise InputError(f"{first} and {other} cannot be averaged: they differ in {', '.join(differing)}.")
    if (first / TOKENIZER).read_bytes() != (other / TOKENIZER).read_bytes():
        raise InputError(f"{first} and {other} cannot be averaged: their tokenizers differ.")
