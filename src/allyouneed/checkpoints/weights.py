"""Weights in safetensors files, read through a memory map, and models that are built around them."""

import json
import shutil
from collections.abc import Iterable, KeysView
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from allyouneed.errors import InputError
from allyouneed.models.blueprint import EmptyParameters as EmptyParameters

NUMBERS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


class Weights:
    """The tensors of safetensors files, by name. Nothing is read before it is used, and float32 is never copied.

    Raises InputError where a file is cut short or something else.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._files = {path: opened(path) for path in paths}
        self._places = {name: path for path, file in self._files.items() for name in file.keys()}  # noqa: SIM118 - a file is no mapping

    @property
    def names(self) -> KeysView[str]:
        """All that there are."""
        return self._places.keys()

    def path(self, name: str) -> Path:
        """The file that holds a tensor."""
        return self._places[name]

    def shape(self, name: str) -> list[int]:
        """Of a tensor, which is not read for it."""
        return self._slice(name).get_shape()

    def tensor(self, name: str, *, whole: bool = False) -> Tensor:
        """A tensor in float32: a view of the file where it is float32 there. `whole`: one of whole numbers, in int64.

        Raises InputError where it holds something else.
        """
        kind = self._slice(name).get_dtype()
        if whole:
            if kind != "I64":
                raise InputError(f"{self.path(name)}: {name} holds {kind}, and its numbers are int64.")
            return self._files[self.path(name)].get_tensor(name)
        if kind not in NUMBERS:
            raise InputError(f"{self.path(name)}: {name} holds {kind}, and weights are {', '.join(NUMBERS.values())}.")
        return self._files[self.path(name)].get_tensor(name).float()

    def _slice(self, name: str) -> Any:
        return self._files[self.path(name)].get_slice(name)


def opened(path: Path) -> Any:
    """A safetensors file, memory-mapped. Raises InputError where it is cut short or something else."""
    try:
        return safe_open(path, "pt")
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} {ailment(path, error)}.") from error


def ailment(path: Path, error: Exception) -> str:
    """Why a file cannot be read as safetensors: the header says how long the whole must be."""
    with path.open("rb") as file:
        size = path.stat().st_size
        head = int.from_bytes(file.read(8), "little")
        opening = file.read(1)
        if size < 8 or opening != b"{":
            return "is not a safetensors file"
        if 8 + head > size:
            return f"is cut short: {size:,} bytes, and its header alone takes {8 + head:,}"
        file.seek(8)
        try:
            header: dict[str, Any] = json.loads(file.read(head))
            whole = 8 + head + max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        except (ValueError, TypeError, KeyError, AttributeError):
            return f"is damaged: {error}"
    return f"is {'cut short' if size < whole else 'damaged'}: {size:,} bytes where {whole:,} belong"


def check_numbers(where: str, tensor: Tensor) -> None:
    """Refuses a tensor that holds something else than finite numbers; `where` is its file and name."""
    # The extremes are NaN if anything is, and they are found without a second tensor of the same size.
    if not all(bool(torch.isfinite(extreme)) for extreme in torch.aminmax(tensor)):
        raise InputError(f"{where} holds values that are not finite numbers, so the model is spoilt.")


def stored(name: str, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor as it goes into a file. Whole numbers stay what they are."""
    if not tensor.is_floating_point():
        return tensor.to("cpu").contiguous()
    if dtype == torch.float16 and bool((tensor.abs() > torch.finfo(dtype).max).any()):
        raise InputError(f"{name} holds a weight beyond ±65504, the range of float16: save in float32.")
    return tensor.detach().to("cpu", dtype).contiguous()


def write_safetensors(path: Path, tensors: dict[str, Tensor], like: Path) -> None:
    """Writes a file that the same people may read as the file `like`."""
    save_file(tensors, path, metadata={"format": "pt"})
    shutil.copymode(like, path)  # the library makes files that only their owner may read
