"""The recipe: all that makes a model, in one TOML file. Each field's default and meaning stand once, here or, for the
text, in the task that reads it.
"""

import json
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from allyouneed.checkpoints.native import fits
from allyouneed.errors import UsageError, nearest
from allyouneed.models.presets import PRESETS
from allyouneed.tasks.registry import TASKS
from allyouneed.tasks.task import Data, Section
from allyouneed.training.optimizers import Optimizer
from allyouneed.training.schedules import Schedule

Share = Annotated[float, Field(ge=0, lt=1)]


class TokenizerSettings(Section):
    """The subword model, trained on the training text."""

    vocab_size: Annotated[int, Field(ge=261)] = Field(default=8000, description="pieces, shared by all languages")


class ModelSettings(Section):
    """A preset and the fields that differ from it; or a model to begin with, and its dropout."""

    model_config = ConfigDict(extra="allow", frozen=True)
    preset: str = Field(default="transformer-small", description="a name that `allyouneed models` lists")
    start: str | None = Field(default=None, description="a trained model that it begins with, tokenizer and all")


class Training(Section):
    """The optimisation: Adam as in the paper (Vaswani 2017, section 5.3), weight decay apart (Loshchilov 2019), or what
    models before it were trained with.
    """

    optimizer: Optimizer = Field(default="adam", description="how gradients become steps: adam, or older ways")

    updates: Annotated[int, Field(gt=0)] = Field(default=10_000, description="optimiser steps in all")
    batch_tokens: Annotated[int, Field(gt=0)] = Field(
        default=2048, description="padded tokens of a batch, on the longer side"
    )
    accumulate: Annotated[int, Field(gt=0)] = Field(
        default=1, description="batches an update; the ranks of torchrun share them"
    )
    peak_rate: Annotated[float, Field(gt=0)] = Field(
        default=1e-3, description="learning rate at the end of the warm-up"
    )
    warmup: Annotated[int, Field(ge=1)] = Field(default=1000, description="updates until the peak")
    schedule: Schedule = Field(default="inverse-sqrt", description="how the rate falls after the peak")
    final_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="share of the peak at which the schedules linear and cosine end"
    )
    cooldown: Annotated[int, Field(ge=0)] = Field(
        default=0, description="inverse-sqrt: last updates, over which the rate falls on to 0"
    )
    betas: tuple[Share, Share] = Field(default=(0.9, 0.98), description="what Adam remembers of means and squares")
    epsilon: Annotated[float, Field(gt=0)] = Field(default=1e-9, description="added to the root of the squares")
    weight_decay: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="of matrices: adam takes off so much times the rate, others add it to the gradient"
    )
    momentum: Share = Field(default=0.0, description="that sgd and rmsprop remember")
    decay: Share = Field(default=0.95, description="what adadelta and rmsprop remember of the squares")
    label_smoothing: Share = Field(default=0.1, description="share of the target spread evenly")
    clip_norm: Annotated[float, Field(gt=0)] = Field(default=1.0, description="largest norm of the gradient")
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="of the products; weights stay float32"
    )
    validate_every: Annotated[int, Field(gt=0)] = Field(default=1000, description="updates between validations")
    validate_bleu: Annotated[int, Field(ge=0)] = Field(
        default=200, description="validation sentences translated for BLEU; 0: none"
    )
    checkpoint_every: Annotated[int, Field(gt=0)] = Field(default=500, description="updates between exact checkpoints")
    patience: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="validations without a better loss before stopping"
    )
    average: Annotated[int, Field(gt=0)] = Field(
        default=5, description="last validated models that are averaged at the end"
    )
    ema_decay: Share = Field(
        default=0.0,
        description="share kept by the running average of the weights, which is validated and saved; 0: no average",
    )


class Recipe(Section):
    """A whole recipe. `data` is of the class that its task names."""

    task: str = Field(default="translation", description="kind of work: " + ", ".join(TASKS))
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=1, description="decides every random draw")
    description: str = Field(default="", description="a sentence for the model card")
    data: Data
    tokenizer: TokenizerSettings = TokenizerSettings()
    model: ModelSettings = ModelSettings()
    training: Training = Training()


@cache
def recipe_of(task: str) -> type[Recipe]:
    """The recipes of a task: those whose text has its fields."""
    return create_model("Recipe", __base__=Recipe, data=(TASKS[task].data, ...))


def read_recipe(path: str | Path, overrides: list[str] | None = None) -> Recipe:
    """Reads a recipe and applies `key.path=value` overrides. All errors come in one message."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        there = sorted(file.name for file in path.parent.glob("*.toml"))
        raise UsageError(f"There is no recipe {path}.{nearest(path.name, there)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}.") from None
    for override in overrides or []:
        _apply(raw, override)
    return parse_recipe(raw, str(path))


def parse_recipe(raw: dict[str, Any], name: str) -> Recipe:
    """A recipe from its tables; `name` stands in the message."""
    task = raw.get("task", Recipe.model_fields["task"].default)
    if not isinstance(task, str) or task not in TASKS:
        raise UsageError(f'{name}: "task" = {task!r} is none of {", ".join(TASKS)}.{nearest(str(task), TASKS)}')
    kind = recipe_of(task)
    model = raw.get("model")
    model = cast(dict[str, Any], model) if isinstance(model, dict) else {}
    hints = model_hints(model)
    problems = [_unknown(f"model.{key}", key, list(hints)) for key in model if key not in hints]
    for key, value in model.items():
        if key in hints.keys() - ModelSettings.model_fields and not fits(value, hints[key]):
            wanted = getattr(hints[key], "__name__", str(hints[key]))
            problems.append(f'"model.{key}" = {value!r} is not of type {wanted}')
    if "start" in model and "tokenizer" in raw:
        problems.append('"model.start" brings its tokenizer along: leave the table "tokenizer" out')
    try:
        recipe = kind.model_validate(raw)
    except ValidationError as error:
        problems += [_explain(problem, kind) for problem in _roots(error)]
    else:
        if not problems:
            return recipe
    text = "; ".join(problems)
    raise UsageError(f"{name}: {text}" + ("" if text.endswith("?") else "."))


def model_hints(model: dict[str, Any]) -> dict[str, Any]:
    """What may stand in a recipe's table `model`, with its types: a preset, and the settings of its kind of model; or a
    model to begin with, whose numbers are what they are.
    """
    if "start" in model:
        return {"start": str, "dropout": float}
    preset = model.get("preset", ModelSettings().preset)
    known = preset if isinstance(preset, str) and preset in PRESETS else ModelSettings().preset
    hints = {name: hint for name, hint in get_type_hints(PRESETS[known].config).items() if name != "vocab_size"}
    return {"preset": str, "start": str, **hints}


def _apply(raw: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise UsageError(f'"{override}" is no override: write key.path=value, such as training.updates=2000.')
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        inner = raw.setdefault(table, {})
        if not isinstance(inner, dict):
            raise UsageError(f'"{key}": "{table}" holds a value, not a table.')
        raw = cast(dict[str, Any], inner)
    raw[last] = value


def _roots(error: ValidationError) -> list[Any]:
    """The problems without those of tables that are at fault only for what is in them."""
    places = [problem["loc"] for problem in error.errors()]
    return [
        problem
        for problem in error.errors()
        if not any(
            len(place) > len(problem["loc"]) and place[: len(problem["loc"])] == problem["loc"] for place in places
        )
    ]


def _explain(problem: Any, kind: type[BaseModel]) -> str:
    """One problem in words: where it is, what is wrong, and what is allowed."""
    path, sort = problem["loc"], problem["type"]
    where = ".".join(str(part) for part in path)
    if sort == "extra_forbidden":
        return _unknown(where, str(path[-1]), _fields(kind, path[:-1]))
    if sort == "missing":
        return f'"{where}" is missing'
    if sort == "value_error":
        return f'"{where}": {problem["ctx"]["error"]}'
    return f'"{where}" = {problem["input"]!r}: {problem["msg"][0].lower()}{problem["msg"][1:]}'


def _unknown(where: str, key: str, allowed: list[str]) -> str:
    hint = nearest(key, allowed) or f" Allowed here: {', '.join(allowed)}."
    return f'unknown key "{where}".{hint}'.rstrip(".")


def _fields(kind: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Names allowed in the table at `path`."""
    for part in path:
        if isinstance(part, str):  # a number chooses among tables of one class
            hint = kind.model_fields[part].annotation
            kind = next(one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, BaseModel))
    return list(kind.model_fields)


def to_toml(recipe: Recipe) -> str:
    """The recipe with every value and its meaning written out; reading it back gives the same recipe."""
    lines = [*_scalars(recipe)]
    begun = recipe.model.start is not None
    for name in ("model", "training", "data") if begun else ("tokenizer", "model", "training", "data"):
        lines += ["", f"[{name}]", *_scalars(getattr(recipe, name), only_set=begun and name == "model")]
    for name, value in recipe.data:
        if _holds_tables(value):
            for table in value:
                lines += ["", f"[[data.{name}]]", *_scalars(table, only_set=True)]
    return "\n".join(lines) + "\n"


def _holds_tables(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], BaseModel)


def _scalars(section: BaseModel, *, only_set: bool = False) -> list[str]:
    lines: list[str] = []
    notes = type(section).model_fields
    for key, value in section:
        is_table = isinstance(value, BaseModel) or _holds_tables(value)
        if is_table or value is None or (only_set and key not in section.model_fields_set):
            continue
        text = f"{key} = {_toml(value)}"
        note = notes[key].description if key in notes else None
        lines.append(f"{text:<32}  # {note}" if note else text)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # the one escape that JSON lacks
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, cast(Iterable[object], value))) + "]"
    return repr(value)
