"""What each layer of an encoder looks at."""

from dataclasses import replace

import torch
from torch import Tensor

from allyouneed.models.config import TransformerConfig
from allyouneed.models.layers import Look
from allyouneed.parts.attention import Place
from allyouneed.parts.backends import SHORT
from allyouneed.parts.masks import Mask, explicit, global_tokens, padding
from allyouneed.parts.patterns import blocks_around, first_block_again, window_around


def encoder_looks(
    config: TransformerConfig, positions: Tensor, keep: Tensor | None, place: Place, marks: Tensor | None
) -> list[Look]:
    """For each step of the encoder, what the tokens at positions [S] or [B, S] see.

    `keep` [B, S] is True at real tokens. `marks` [B, S] are True at tokens that see all and that all see, beside those
    that the config has.
    """
    depth, length = config.n_encoder_layers, positions.shape[-1]
    if config.reach == "full":
        if marks is not None:
            raise ValueError("global positions are for a reach of windows or blocks: here every token sees all others")
        return [Look(None if keep is None else padding(keep), place)] * depth
    marks = all_marks(config, positions, keep, marks)
    drawn = config.reach == "blocks" and config.random_blocks and config.random_choice == "drawn"
    masks = [whole(config, length, seed, keep, marks) for seed in range(depth if drawn else 1)]
    place = replace(place, marks=marks if config.global_projections else None)
    if length * length < SHORT:  # a matrix, which serves all layers at once
        masks = [explicit(mask.dense(length, length + ahead(config, length), positions.device)) for mask in masks]
    found = [Look(mask, place) for mask in masks]
    return found if drawn else found * depth


def all_marks(config: TransformerConfig, positions: Tensor, keep: Tensor | None, marks: Tensor | None) -> Tensor | None:
    """The tokens that see all, [1 or B, S], or None where there are none. Padding on the left stands at position 0, and
    would see all for nothing.
    """
    if marks is not None and (marks.dim() != 2 or marks.shape[-1] != positions.shape[-1] or marks.dtype != torch.bool):
        wanted = f"booleans [B, {positions.shape[-1]}] are needed"
        raise ValueError(f"global positions are {marks.dtype} {list(marks.shape)}: {wanted}")
    if config.global_tokens:
        first = (positions < config.global_tokens).view(-1, positions.shape[-1])
        first = first if keep is None else first & keep
        marks = first if marks is None else marks | first
    return marks if marks is not None and bool(marks.any()) else None


def whole(config: TransformerConfig, length: int, seed: int, keep: Tensor | None, marks: Tensor | None) -> Mask:
    """Who sees whom: the pattern of a layer and the global tokens, without padding."""
    if config.reach == "window":
        mask = window_around(config.reach_window)
    else:
        drawn = config.random_blocks if config.random_choice == "drawn" else 0
        mask = blocks_around(length, block=config.reach_block, drawn=drawn, seed=seed, ends=config.end_blocks)
    mask = mask if marks is None else mask | global_tokens(marks)
    mask = mask if keep is None else mask & padding(keep)
    times = config.counts_first_again
    return first_block_again(mask, length, block=config.reach_block, times=times) if times else mask


def ahead(config: TransformerConfig, length: int) -> int:
    """Keys that stand before all others because they count more than once."""
    return config.counts_first_again * min(config.reach_block, length)
