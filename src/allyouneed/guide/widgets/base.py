"""What every figure is made of: checked inputs, one function that computes plain numbers, and refusals in words."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from allyouneed.errors import InputError
from allyouneed.guide.language import say
from allyouneed.guide.models import Models

LARGEST_PICTURE = 256  # rows or columns; more are pooled
LONGEST_NAMED = 60  # characters of a wrong value that are repeated


class Inputs(BaseModel):
    """The inputs of one figure: names, bounds and defaults are written here once, for the page as for the notebook."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


def any_model(default: str, *lines: str) -> Any:
    """The field that names a figure's model: its own, which a reader may exchange for any other of such a line."""
    return Field(default, json_schema_extra={"lines": list(lines)})


class FigureError(InputError):
    """An input that a figure cannot serve: `key` and `params` give the sentence in the reader's language."""

    def __init__(self, key: str, field: str | None = None, **params: Any) -> None:
        self.key, self.field = key, field
        self.params = params if field is None else {"field": field, **params}
        super().__init__(say(key, self.params))

    def as_dict(self) -> dict[str, Any]:
        """The refusal as the page reads it; `message` is the English sentence."""
        return {"field": self.field, "key": self.key, "params": self.params, "message": str(self)}


@dataclass(frozen=True)
class Widget:
    """A figure: its inputs, its function, and the package's own functions that made the numbers."""

    inputs: type[Inputs]
    compute: Callable[[Any, Models], dict[str, Any]]
    code: tuple[Callable[..., Any], ...]

    def fields(self) -> dict[str, dict[str, Any]]:
        """What the controls need of each input: type, default, bounds or choices; of a model, its possible stacks."""
        kept = {
            "type": "type",
            "default": "default",
            "minimum": "min",
            "maximum": "max",
            "enum": "choices",
            "maxLength": "longest",
            "lines": "lines",
        }
        schema = self.inputs.model_json_schema()["properties"]
        return {name: {kept[k]: v for k, v in field.items() if k in kept} for name, field in schema.items()}

    def sources(self) -> list[dict[str, Any]]:
        """The code behind the numbers, as it runs."""
        return [
            {
                "name": function.__qualname__,
                "module": function.__module__,
                "line": inspect.getsourcelines(function)[1],
                "source": inspect.getsource(function),
            }
            for function in (*self.code, self.compute)
        ]

    def answer(self, raw: Mapping[str, Any], models: Models) -> dict[str, Any]:
        """The figure's numbers for these inputs, which are echoed. Raises FigureError."""
        try:
            inputs = self.inputs.model_validate(raw)
        except ValidationError as problem:
            raise self._refusal(problem) from problem
        try:
            return {"inputs": inputs.model_dump(), **plain(self.compute(inputs, models))}
        except FigureError:
            raise
        except InputError as problem:  # what the library itself refuses: a model that cannot be used
            raise FigureError("error.model", reason=str(problem)) from problem

    def _refusal(self, problem: ValidationError) -> FigureError:
        first = problem.errors()[0]
        name, value = brief(first["loc"][0]), first["input"]
        fields = self.fields()
        if name not in fields:
            return FigureError("error.unknown", name, allowed=", ".join(fields))
        field = fields[name]
        if "choices" in field:
            return FigureError("error.choice", name, value=brief(value), choices=", ".join(map(str, field["choices"])))
        if "longest" in field and isinstance(value, str):
            return FigureError("error.long", name, longest=field["longest"])
        if "min" in field:
            return FigureError("error.range", name, value=brief(value), min=field["min"], max=field["max"])
        return FigureError("error.type", name, value=brief(value), type=field["type"])


def brief(value: Any) -> str:
    """A value as a sentence names it."""
    text = str(value)
    return text if len(text) <= LONGEST_NAMED else f"{text[:LONGEST_NAMED]}…"


def plain(value: Any) -> Any:
    """Tensors as nested lists and floats to 6 significant digits; minus infinity, which JSON does not know, as None."""
    match value:
        case Tensor():
            return plain(value.tolist()) if value.is_floating_point() and value.isinf().any() else rounded(value)
        case bool() | int() | str() | None:
            return value
        case float():
            return None if value == -math.inf else float(f"{value:.6g}")
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return [plain(item) for item in value]


def rounded(x: Tensor) -> Any:
    """A tensor as nested lists, its floats to 6 significant digits: all at once, for pictures have thousands."""
    if not x.is_floating_point():
        return x.tolist()
    exact = x.detach().double().numpy()
    size = np.abs(exact, out=np.ones_like(exact), where=exact != 0)
    places = 5 - np.floor(np.log10(size))
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    return (np.round(exact * up / down) / up * down).tolist()


def pooled(matrix: Tensor) -> tuple[Tensor, int]:
    """At most 256 by 256 cells, each the mean of a block of `factor` by `factor`. [T, S] -> ([t, s], factor)."""
    factor = math.ceil(max(matrix.shape) / LARGEST_PICTURE)
    if factor == 1:
        return matrix, 1
    return torch.nn.functional.avg_pool2d(matrix[None, None], factor, ceil_mode=True)[0, 0], factor
