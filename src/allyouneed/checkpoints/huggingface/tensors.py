"""Tensors of a family's files against those of our model: names, shapes, and what must be equal, both ways."""

import re
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Entry, Family
from allyouneed.checkpoints.huggingface.files import some
from allyouneed.checkpoints.weights import EmptyParameters, Weights, check_numbers, stored
from allyouneed.errors import InputError
from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer


def filled(config: TransformerConfig, family: Family, weights: Weights, folder: Path) -> Transformer:
    """The model that a folder's weights make. Tensors that need no change stay views of their file.

    Raises InputError that names the tensors where some are missing, left over, misshapen or not finite, and where two
    differ that must be equal.
    """
    config = family.refine(config, {family.bare(name) for name in weights.names})
    with EmptyParameters():
        model = family.build(config)
    names = real_names(config, family, weights, folder)
    table = [
        replace(entry, theirs=tuple(names[family.bare(name)] for name in entry.theirs))
        for entry in fitting_table(config, family, names, folder)
    ]
    shapes = model.state_dict()
    for entry in table:
        check_shapes(entry, [shapes[name] for name in entry.ours], weights)
    tensors: dict[str, Tensor] = {}
    for entry in table:
        where = f"{weights.path(entry.theirs[0])}: {', '.join(entry.theirs)}"
        ours = entry.split([weights.tensor(name) for name in entry.theirs])
        for name, tensor in zip(entry.ours, ours, strict=True):
            check_numbers(where, tensor)
            tensors[name] = tensor.contiguous()
    model.load_state_dict(tensors, assign=True)
    return model.eval()


def real_names(config: TransformerConfig, family: Family, weights: Weights, folder: Path) -> dict[str, str]:
    """For each bare name the name in the files, without those that say nothing and without copies of another tensor."""
    names = {family.bare(name): name for name in weights.names}
    for pattern in family.ignored:
        names = {bare: name for bare, name in names.items() if not re.fullmatch(pattern, bare)}
    for copy, original in family.copies(config).items():
        if copy not in names:
            continue
        name = names.pop(copy)
        # A file may hold a shared tensor under either name.
        first = names.setdefault(original, name)
        if first != name and not alike(weights, name, first):
            raise InputError(
                f"{folder}: {name} differs from {first}, although config.json says that they are one "
                '("tie_word_embeddings": true). Where the file is right, write false there.'
            )
    return names


def alike(weights: Weights, name: str, other: str) -> bool:
    """Do two tensors hold the same numbers?"""
    return weights.shape(name) == weights.shape(other) and torch.equal(weights.tensor(name), weights.tensor(other))


def fitting_table(config: TransformerConfig, family: Family, names: dict[str, str], folder: Path) -> list[Entry]:
    """The family's table whose tensors are there. Raises InputError where some are missing or left over."""
    tables = [table(config) for table in (family.entries, *family.older)]
    lists = [[family.bare(name) for entry in table for name in entry.theirs] for table in tables]
    lacks = [[name for name in wanted if name not in names] for wanted in lists]
    # Of tables that lack equally much, the one that has a place for more.
    best = min(range(len(tables)), key=lambda number: (len(lacks[number]), -len(lists[number])))
    if lacks[best]:
        untied = set(lacks[best]) & family.copies(replace(config, tied_embeddings=True)).keys()
        hint = (
            ', although config.json says that it is not the embedding ("tie_word_embeddings": false)' if untied else ""
        )
        raise InputError(f"{folder} lacks {plural(len(lacks[best]))}: {some(lacks[best])}{hint}.")
    extra = [name for bare, name in names.items() if bare not in set(lists[best])]
    if extra:
        raise InputError(
            f"{folder} holds {plural(len(extra))} that {family.name} with this config.json has no place for: "
            f"{some(extra)}."
        )
    return tables[best]


def plural(count: int) -> str:
    """So many tensors."""
    return "1 tensor" if count == 1 else f"{count} tensors"


def check_shapes(entry: Entry, ours: list[Tensor], weights: Weights) -> None:
    """Refuses tensors of theirs that do not have the shapes that ours (without numbers) ask for."""
    for name, wanted in zip(entry.theirs, entry.join(ours), strict=True):
        if weights.shape(name) != list(wanted.shape):
            raise InputError(
                f"{weights.path(name)}: {name} has the shape {weights.shape(name)}, but config.json asks for "
                f"{list(wanted.shape)}."
            )


def their_tensors(model: Transformer, family: Family, dtype: torch.dtype) -> dict[str, Tensor]:
    """A model's weights under the family's names. Raises InputError where one does not fit into `dtype`."""
    ours = model.state_dict()
    tensors: dict[str, Tensor] = {}
    for entry in family.entries(model.config):
        joined = entry.join([ours[name].detach().cpu() for name in entry.ours])
        tensors |= {name: stored(name, tensor, dtype) for name, tensor in zip(entry.theirs, joined, strict=True)}
    return tensors
