"""Mixtral (Jiang 2024): Mistral's block with several feed-forward networks, of which each token uses its best two."""

from typing import Any

import torch
from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Entry, Family, same
from allyouneed.checkpoints.huggingface.llama import (
    FIXED,
    FREE,
    IGNORED,
    attention_entries,
    copies,
    frame_entries,
    one_window,
    shared_fields,
    shared_settings,
)
from allyouneed.checkpoints.huggingface.settings import Refused, Settings, hold
from allyouneed.models.config import TransformerConfig


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    return ask.build(
        **shared_fields(ask, base=1e6, epsilon=1e-5),
        window=ask.optional("sliding_window", int),
        n_experts=ask.get("num_local_experts", 8),
        experts_per_token=ask.get("num_experts_per_tok", 2),
        balance_weight=ask.get("router_aux_loss_coef", 0.001),
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    free = (*FREE, "window", "n_experts", "experts_per_token")
    hold("Mixtral", config, free=free, **FIXED, bias=False, window_layers=one_window(config))
    if not config.n_experts:
        raise Refused("Mixtral cannot hold this model", ["n_experts is 0"])
    return {
        **shared_settings("Mixtral", config),
        "sliding_window": config.window,
        "num_local_experts": config.n_experts,
        "num_experts_per_tok": config.experts_per_token,
        "router_aux_loss_coef": config.balance_weight,
    }


def entries(config: TransformerConfig) -> list[Entry]:
    """Each expert's three matrices for itself: the layout of files."""
    table = frame_entries(config)
    names = {"gate": "w1", "outer": "w2", "inner": "w3"}
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"model.layers.{number}"
        table += attention_entries(config, f"{ours}.self_attention", f"{theirs}.self_attn")
        table.append(same(f"{ours}.feed_forward.router.weight", f"{theirs}.block_sparse_moe.gate.weight"))
        for expert in range(config.n_experts):
            for one, other in names.items():
                here = f"{ours}.feed_forward.experts.{expert}.{one}.weight"
                table.append(same(here, f"{theirs}.block_sparse_moe.experts.{expert}.{other}.weight"))
    return table


def stacked_entries(config: TransformerConfig) -> list[Entry]:
    """All experts of a layer in two tensors, [E, 2·F, D] and [E, D, F]: the layout of newer classes in memory."""
    table = frame_entries(config)
    for number in range(config.n_decoder_layers):
        ours, theirs = f"decoder.{number}", f"model.layers.{number}"
        table += attention_entries(config, f"{ours}.self_attention", f"{theirs}.self_attn")
        table.append(same(f"{ours}.feed_forward.router.weight", f"{theirs}.mlp.gate.weight"))
        experts = [f"{ours}.feed_forward.experts.{expert}" for expert in range(config.n_experts)]
        gates = [f"{expert}.{part}.weight" for expert in experts for part in ("gate", "inner")]
        table.append(Entry(tuple(gates), (f"{theirs}.mlp.experts.gate_up_proj",), halved, stacked_halves))
        outer = [f"{expert}.outer.weight" for expert in experts]
        table.append(Entry(tuple(outer), (f"{theirs}.mlp.experts.down_proj",), unstacked, stacked))
    return table


def unstacked(tensors: list[Tensor]) -> list[Tensor]:
    """[E, ...] -> E × [...]."""
    return list(tensors[0].unbind(0))


def stacked(tensors: list[Tensor]) -> list[Tensor]:
    """E × [...] -> [E, ...]."""
    return [torch.stack(tensors)]


def halved(tensors: list[Tensor]) -> list[Tensor]:
    """[E, 2·F, D] -> 2·E × [F, D]: gate and inner of each expert."""
    return [half for expert in tensors[0].unbind(0) for half in expert.chunk(2, 0)]


def stacked_halves(tensors: list[Tensor]) -> list[Tensor]:
    """2·E × [F, D] -> [E, 2·F, D]."""
    return [torch.stack(tensors).unflatten(0, (-1, 2)).flatten(1, 2)]


MIXTRAL = Family(
    name="Mixtral",
    model_types=("mixtral",),
    architectures=("MixtralForCausalLM", "MixtralModel"),
    config=config,
    describe=describe,
    entries=entries,
    older=(stacked_entries,),
    prefixes=("model.",),
    ignored=IGNORED,
    copies=copies,
    stacks={"decoder": "layers"},
)
