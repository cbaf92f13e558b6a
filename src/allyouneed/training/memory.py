"""Memory: kept by the process that will want it again, and counted before it is asked for."""

import ctypes
import os
import sys

from allyouneed.errors import InputError
from allyouneed.models.presets import count_parameters
from allyouneed.models.transformer import TransformerConfig

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Lets the C library keep what a step frees, since the next step asks for the same: handing large tensors back to
    the system costs a page fault for each 4 KiB, about a tenth of a small model's step. Only glibc knows how;
    elsewhere nothing happens.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 2**31 - 1)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def release_freed_memory() -> None:
    """Hands back what piled up between blocks of unlike size. Called now and then, it costs next to nothing and keeps a
    long run as small as a short one.
    """
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def available_bytes() -> int | None:
    """Memory that a new process could use, or None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = dict(line.split(":", 1) for line in file)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def training_bytes(config: TransformerConfig, batch_tokens: int, *, averaged: bool) -> int:
    """About how much a training step holds: weights, gradients, Adam's two moments and, where there is one, the running
    average; and the activations kept for the backward pass (some 16 widths and 3 feed-forward widths a layer and
    token), in float32.
    """
    weights = (5 if averaged else 4) * count_parameters(config)
    if type(config) is not TransformerConfig:
        return 4 * weights  # what activations take is another thing for each kind of model
    layers = config.n_encoder_layers + (1.5 if config.is_encoder_decoder else 1) * config.n_decoder_layers
    activations = batch_tokens * layers * (16 * config.d_model + 3 * config.d_ff)
    return int(4 * (weights + activations))


def check_memory(config: TransformerConfig, batch_tokens: int, *, averaged: bool) -> None:
    """Refuses a training that cannot fit, before anything is allocated."""
    needed, there = training_bytes(config, batch_tokens, averaged=averaged), available_bytes()
    if there is not None and needed > there:
        raise InputError(
            f"This recipe needs about {needed / 1e9:.1f} GB of memory and {there / 1e9:.1f} GB are free: "
            f"lower training.batch_tokens (now {batch_tokens}) or the model's size "
            f"({count_parameters(config):,} parameters)."
        )
