"""The recipe: all that makes a model, in one TOML file. Each field's default and meaning stand here and only here."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from allyouneed.errors import UsageError, nearest
from allyouneed.models.transformer import TransformerConfig


class Section(BaseModel):
    """A part of the recipe: unknown keys are refused, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextSource(Section):
    """Where sentence pairs come from: two aligned files, one `.tsv`, or the everyday grammar."""

    source: str | None = Field(default=None, description="file of source lines, or the .tsv that holds both sides")
    target: str | None = Field(default=None, description="file of target lines; left out when `source` is a .tsv")
    columns: tuple[int, int] = Field(
        default=(0, 1), description="columns of the .tsv that hold source and target, from 0"
    )
    everyday: tuple[str, str] | None = Field(
        default=None, description='languages of the everyday grammar, such as ["en", "fr"]'
    )
    count: Annotated[int, Field(gt=0)] = Field(
        default=20_000, description="sentences to take from the everyday grammar"
    )
    split: Literal["train", "dev", "test"] = Field(default="train", description="which frames of the everyday grammar")


class Data(Section):
    """The text."""

    root: str = Field(default=".", description="folder that file names are relative to")
    train: tuple[TextSource, ...] = Field(min_length=1, description="sources of training pairs, taken together")
    dev: tuple[TextSource, ...] = Field(min_length=1, description="sources of validation pairs")
    max_tokens: Annotated[int, Field(gt=1)] = Field(
        default=150, description="longest sentence in tokens; longer ones are listed"
    )


class TokenizerSettings(Section):
    """The subword model, trained on the training text, both sides together."""

    vocab_size: Annotated[int, Field(ge=300)] = Field(default=8000, description="pieces, shared by both languages")


MODEL_KEYS = ["preset", *(field.name for field in fields(TransformerConfig) if field.name != "vocab_size")]


class ModelSettings(Section):
    """A preset and the fields that differ from it."""

    model_config = ConfigDict(extra="allow", frozen=True)
    preset: str = Field(default="transformer-small", description="a name that `allyouneed models` lists")


class Training(Section):
    """The optimisation. Adam as in the paper (Vaswani 2017, section 5.3)."""

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
    warmup: Annotated[int, Field(ge=1)] = Field(
        default=1000, description="updates until the peak; then the rate falls as 1/sqrt"
    )
    cooldown: Annotated[int, Field(ge=0)] = Field(
        default=0, description="last updates, over which the rate falls on to 0"
    )
    betas: tuple[float, float] = Field(default=(0.9, 0.98), description="Adam's two memories")
    epsilon: Annotated[float, Field(gt=0)] = Field(default=1e-9, description="Adam's epsilon")
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.1, description="share of the target spread evenly"
    )
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


class Recipe(Section):
    """A whole recipe."""

    task: Literal["translation"] = Field(default="translation", description="kind of work")
    seed: int = Field(default=1, description="decides every random draw")
    description: str = Field(default="", description="a sentence for the model card")
    data: Data
    tokenizer: TokenizerSettings = TokenizerSettings()
    model: ModelSettings = ModelSettings()
    training: Training = Training()


def read_recipe(path: Path, overrides: list[str] | None = None) -> Recipe:
    """Reads a recipe and applies `key.path=value` overrides. All errors come in one message."""
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
    problems = [_unknown(f"model.{key}", key, MODEL_KEYS) for key in raw.get("model", {}) if key not in MODEL_KEYS]
    try:
        recipe = Recipe.model_validate(raw)
    except ValidationError as error:
        problems += [_explain(problem) for problem in error.errors()]
    else:
        if not problems:
            return recipe
    text = "; ".join(problems)
    raise UsageError(f"{name}: {text}" + ("" if text.endswith("?") else "."))


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


def _explain(problem: Any) -> str:
    """One problem in words: where it is, what is wrong, and what is allowed."""
    path, kind = problem["loc"], problem["type"]
    where = ".".join(str(part) for part in path)
    if kind == "extra_forbidden":
        return _unknown(where, str(path[-1]), _fields(path[:-1]))
    if kind == "missing":
        return f'"{where}" is missing'
    return f'"{where}" = {problem["input"]!r}: {problem["msg"][0].lower()}{problem["msg"][1:]}'


def _unknown(where: str, key: str, allowed: list[str]) -> str:
    hint = nearest(key, allowed) or f" Allowed here: {', '.join(allowed)}."
    return f'unknown key "{where}".{hint}'.rstrip(".")


def _fields(path: tuple[int | str, ...]) -> list[str]:
    """Names allowed in the table at `path`."""
    model: type[BaseModel] = Recipe
    tables = {
        "data": Data,
        "tokenizer": TokenizerSettings,
        "training": Training,
        "train": TextSource,
        "dev": TextSource,
    }
    for part in path:
        model = tables.get(str(part), model)
    return list(model.model_fields)


def to_toml(recipe: Recipe) -> str:
    """The recipe with every value and its meaning written out; reading it back gives the same recipe."""
    lines = [*_scalars(recipe)]
    for name in ("tokenizer", "model", "training"):
        section = getattr(recipe, name)
        lines += ["", f"[{name}]", *_scalars(section)]
    lines += ["", "[data]", *_scalars(recipe.data)]
    for name in ("train", "dev"):
        for source in getattr(recipe.data, name):
            lines += ["", f"[[data.{name}]]", *_scalars(source, only_set=True)]
    return "\n".join(lines) + "\n"


def _scalars(section: BaseModel, *, only_set: bool = False) -> list[str]:
    lines: list[str] = []
    notes = type(section).model_fields
    for key, value in section:
        is_table = isinstance(value, BaseModel) or (
            isinstance(value, tuple) and value and isinstance(value[0], BaseModel)
        )
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
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
