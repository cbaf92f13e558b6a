"""The model card: what a trained model is, made from what the run knows."""

import os
import platform

import torch

from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import TransformerConfig
from allyouneed.tasks.translation import Translation
from allyouneed.training.recipe import Recipe, TextSource
from allyouneed.training.state import Progress


def card(
    recipe: Recipe,
    config: TransformerConfig,
    progress: Progress,
    measures: dict[str, float],
    kept: str,
    task: Translation,
) -> str:
    """Markdown: size, data, training and measures."""
    settings = recipe.training
    sources = "\n".join(f"- {_source(table)}" for table in recipe.data.train)
    rows = "\n".join(f"| {name} | {value:.3f} |" for name, value in measures.items())
    return f"""# {recipe.description or "A translation model"}

Transformer (Vaswani 2017), {count_parameters(config):,} parameters: {config.n_encoder_layers} encoder and
{config.n_decoder_layers} decoder layers, width {config.d_model}, {config.n_heads} heads, feed-forward width
{config.d_ff}, {config.norm_placement}-norm, {config.vocab_size:,} subword pieces shared by both sides.

## Data

{len(task.train):,} training pairs, {len(task.dev):,} validation pairs, at most {recipe.data.max_tokens} tokens a side,
from

{sources}

## Training

Seed {recipe.seed}; {progress.update:,} updates on {progress.tokens:,} target tokens in {progress.seconds / 60:.0f}
minutes ({progress.tokens / max(progress.seconds, 1e-9):,.0f} tokens/s) on {os.cpu_count()} cores
({platform.machine()}, torch {torch.__version__}); peak rate {settings.peak_rate:g} after {settings.warmup:,} updates,
label smoothing {settings.label_smoothing:g}, dropout {config.dropout:g}, products in {settings.precision}. Kept:
{kept}.

| validation | |
|---|---|
{rows}

The loss is in nats a subword token; BLEU is that of greedy translations of the first {settings.validate_bleu}
validation sentences. `recipe.toml` holds every setting.
"""


def _source(table: TextSource) -> str:
    if table.everyday is not None:
        return (
            f"{table.count:,} sentences of the everyday grammar ({'-'.join(table.everyday)}, {table.split} frames), "
            "which this package generates: invented sentences, correct but plain"
        )
    name = table.source if table.target is None else f"{table.source} and {table.target}"
    return f"`{name}`"
