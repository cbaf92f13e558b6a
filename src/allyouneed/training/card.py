"""The model card: what a trained model is, made from what the run knows."""

import os
import platform
from dataclasses import fields
from typing import Any

import torch

from allyouneed.models.architectures import ARCHITECTURES, architecture_of
from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import TransformerConfig
from allyouneed.tasks.task import Task, TokenData
from allyouneed.training.recipe import Recipe, Training
from allyouneed.training.state import Progress


def card(
    recipe: Recipe,
    config: TransformerConfig,
    progress: Progress,
    measures: dict[str, float],
    kept: str,
    task: Task,
) -> str:
    """Markdown: size, data, training and measures."""
    settings = recipe.training
    longest = f", at most {recipe.data.max_tokens} tokens each" if isinstance(recipe.data, TokenData) else ""
    sources = "".join(f"- {origin}\n" for origin in recipe.data.origins())
    rows = "\n".join(f"| {name} | {value:.3f} |" for name, value in measures.items())
    return f"""# {recipe.description or task.title}

{task.title}, trained by the task `{recipe.task}`. {ARCHITECTURES[architecture_of(config)].paper},
{count_parameters(config):,} parameters: {shape(config)}.

## Data

{task.size()}{longest}, from

{sources}
## Training

{begun(recipe)}Seed {recipe.seed}; {progress.update:,} updates on {progress.tokens:,} predictions in
{progress.seconds / 60:.0f} minutes ({progress.tokens / max(progress.seconds, 1e-9):,.0f} a second) on
{os.cpu_count()} cores
({platform.machine()}, torch {torch.__version__}); peak rate {settings.peak_rate:g} after {settings.warmup:,} updates,
label smoothing {settings.label_smoothing:g}, {dropout(config)}{averaged(settings)}products in {settings.precision}.
Kept: {kept}.

| validation | |
|---|---|
{rows}

{task.measures} `recipe.toml` holds every setting.
"""


def shape(config: Any) -> str:
    """A model's size in words: its own settings, where it is no Transformer."""
    if not isinstance(config, TransformerConfig):
        changed = {f.name: getattr(config, f.name) for f in fields(config) if getattr(config, f.name) != f.default}
        return ", ".join(f"{name} {value}" for name, value in changed.items())
    return (
        f"{stacks(config)}, width {config.d_model}, {config.n_heads} heads, feed-forward width {config.d_ff}, "
        f"{config.norm_placement}-norm, {config.vocab_size:,} subword pieces"
    )


def begun(recipe: Recipe) -> str:
    """The model that the run began with, where there was one."""
    return f"It began with the weights and the tokenizer of {recipe.model.start}.\n\n" if recipe.model.start else ""


def averaged(settings: Training) -> str:
    """The running average of a run that has one."""
    return f"running average of the weights with decay {settings.ema_decay:g}, " if settings.ema_decay else ""


def dropout(config: Any) -> str:
    """The rate of a model that has one."""
    return f"dropout {config.dropout:g}, " if hasattr(config, "dropout") else ""


def stacks(config: TransformerConfig) -> str:
    """The layers in words."""
    there = (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers))
    return " and ".join(f"{count} {name} layers" for name, count in there if count)
