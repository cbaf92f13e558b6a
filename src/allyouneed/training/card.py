"""The model card: what a trained model is, made from what the run knows."""

import os
import platform

import torch

from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import TransformerConfig
from allyouneed.tasks.task import Task
from allyouneed.training.recipe import Recipe
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
    sources = "".join(f"- {origin}\n" for origin in recipe.data.origins())
    rows = "\n".join(f"| {name} | {value:.3f} |" for name, value in measures.items())
    return f"""# {recipe.description or task.title}

{task.title}, trained by the task `{recipe.task}`. Transformer (Vaswani 2017), {count_parameters(config):,} parameters:
{stacks(config)}, width {config.d_model}, {config.n_heads} heads, feed-forward width {config.d_ff},
{config.norm_placement}-norm, {config.vocab_size:,} subword pieces.

## Data

{task.size()}, at most {recipe.data.max_tokens} tokens each, from

{sources}
## Training

Seed {recipe.seed}; {progress.update:,} updates on {progress.tokens:,} predicted tokens in {progress.seconds / 60:.0f}
minutes ({progress.tokens / max(progress.seconds, 1e-9):,.0f} tokens/s) on {os.cpu_count()} cores
({platform.machine()}, torch {torch.__version__}); peak rate {settings.peak_rate:g} after {settings.warmup:,} updates,
label smoothing {settings.label_smoothing:g}, dropout {config.dropout:g}, products in {settings.precision}. Kept:
{kept}.

| validation | |
|---|---|
{rows}

{task.measures} `recipe.toml` holds every setting.
"""


def stacks(config: TransformerConfig) -> str:
    """The layers in words."""
    there = (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers))
    return " and ".join(f"{count} {name} layers" for name, count in there if count)
