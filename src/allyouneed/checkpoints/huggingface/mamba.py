"""Mamba (Gu & Dao 2023): no attention; one block with a selective state space, repeated."""

from typing import Any

from torch import Tensor

from allyouneed.checkpoints.huggingface.family import Entry, Family, layer, same, transposed
from allyouneed.checkpoints.huggingface.settings import Refused, Settings
from allyouneed.models.mamba import Mamba, MambaConfig


def config(values: dict[str, Any]) -> MambaConfig:
    """Ours of a `config.json`."""
    ask = Settings(values)
    ask.only("hidden_act", "silu", "swish")
    ask.only("quantization_config", None)
    rank = values.get("time_step_rank", "auto")
    found: dict[str, Any] = {
        "vocab_size": ask.get("vocab_size", 50_280),
        "d_model": ask.need("hidden_size"),
        "n_layers": ask.need("num_hidden_layers"),
        "d_state": ask.get("state_size", 16),
        "d_convolution": ask.get("conv_kernel", 4),
        "expand": ask.get("expand", 2),
        "dt_rank": None if rank == "auto" else ask.need("time_step_rank"),
        "norm_epsilon": ask.get("layer_norm_epsilon", 1e-5),
        "bias": ask.get("use_bias", False),
        "convolution_bias": ask.get("use_conv_bias", True),
        "tied_embeddings": ask.get("tie_word_embeddings", True),
    }
    try:
        if not ask.reasons:
            return MambaConfig(**found)
    except ValueError as error:
        ask.reasons.append(str(error))
    raise Refused("it asks for what this package cannot do", ask.reasons)


def describe(config: MambaConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "state_size": config.d_state,
        "conv_kernel": config.d_convolution,
        "expand": config.expand,
        "intermediate_size": config.n_channels,
        "time_step_rank": config.step_rank,
        "hidden_act": "silu",
        "layer_norm_epsilon": config.norm_epsilon,
        "use_bias": config.bias,
        "use_conv_bias": config.convolution_bias,
        "tie_word_embeddings": config.tied_embeddings,
    }


def one_channel_each(ours: str, theirs: str) -> Entry:
    """A convolution in which every channel sees itself alone: [F, W] of ours is [F, 1, W] of theirs."""

    def split(tensors: list[Tensor]) -> list[Tensor]:
        return [tensor.squeeze(1) for tensor in tensors]

    def join(tensors: list[Tensor]) -> list[Tensor]:
        return [tensor.unsqueeze(1) for tensor in tensors]

    return Entry((ours,), (theirs,), split, join)


def entries(config: MambaConfig) -> list[Entry]:
    """The rates stand the other way round: a row a channel."""
    table = [same("embedding.weight", "backbone.embeddings.weight"), same("norm.weight", "backbone.norm_f.weight")]
    for number in range(config.n_layers):
        ours, theirs = f"layers.{number}.mixer", f"backbone.layers.{number}.mixer"
        table += layer(f"layers.{number}.norm", f"backbone.layers.{number}.norm", bias=False)
        table += layer(f"{ours}.input", f"{theirs}.in_proj", bias=config.bias)
        table.append(one_channel_each(f"{ours}.convolution", f"{theirs}.conv1d.weight"))
        if config.convolution_bias:
            table.append(same(f"{ours}.convolution_bias", f"{theirs}.conv1d.bias"))
        table += layer(f"{ours}.selection", f"{theirs}.x_proj", bias=False)
        table += layer(f"{ours}.step", f"{theirs}.dt_proj")
        table.append(transposed(f"{ours}.rates_log", f"{theirs}.A_log"))
        table.append(same(f"{ours}.skip", f"{theirs}.D"))
        table += layer(f"{ours}.output", f"{theirs}.out_proj", bias=config.bias)
    return table if config.tied_embeddings else [*table, same("output.weight", "lm_head.weight")]


def copies(config: MambaConfig) -> dict[str, str]:
    """The output is the embedding, where they are tied."""
    return {"lm_head.weight": "embeddings.weight"} if config.tied_embeddings else {}


MAMBA = Family(
    name="Mamba",
    model_types=("mamba",),
    architectures=("MambaForCausalLM", "MambaModel"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("backbone.",),
    copies=copies,
    kind=MambaConfig,
    build=Mamba,
)
