"""The block that repeats: attention, a network for each position, a way around each, and where its norms stand."""

from functools import lru_cache, partial
from typing import Any, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from allyouneed.guide.models import Models
from allyouneed.guide.widgets.base import FigureError, Inputs, Widget, any_model
from allyouneed.guide.widgets.drawing import drawn
from allyouneed.guide.widgets.many_heads import Trial
from allyouneed.guide.widgets.removal import without_box, without_way_around
from allyouneed.guide.widgets.self_attention import EXAMPLE
from allyouneed.guide.widgets.texts import encoded, named, row
from allyouneed.models.layers import Layer, Look, Stack
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.parts.block import Residual
from allyouneed.parts.feedforward import FeedForward
from allyouneed.pipeline import LanguageModel, Pipeline, Translator
from allyouneed.tasks.hypotheses import encode

LONGEST_SENTENCE = 64  # tokens
WIDTH, HEADS, INNER = 128, 4, 4  # of the fresh models; the inner width is so many times the outer
DEEPEST = 12  # of the fresh models
VOCABULARY = 1000
TOKENS = 32  # that a fresh model guesses where gradients are measured
Block = Literal["model", "post", "pre"]
Activation = Literal["relu", "gelu", "swiglu"]


class EncoderLayerInputs(Inputs):
    """`block` is the loaded model's own, or a fresh one with its norms after the sum ("post", the paper's) or before
    the sub-layer ("pre"). `box` counts the boxes of the block from 1.
    """

    block: Block = "model"
    activation: Activation = "relu"
    layers: int = Field(6, ge=1, le=DEEPEST)
    layer: int = Field(0, ge=0, le=127)
    box: int = Field(1, ge=1, le=8)
    sentence: str = Field("", max_length=2000)
    model: str = any_model("zoo:en-fr", "encoder", "decoder", "both")


class BlockInputs(EncoderLayerInputs):
    """The same, as the block is built today."""

    block: Block = "pre"
    activation: Activation = "swiglu"


def fresh_config(block: str, activation: Activation) -> TransformerConfig:
    """An encoder that nobody has trained."""
    return TransformerConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        n_heads=HEADS,
        # A gate is a third matrix: two thirds of the width keep the number of parameters (Shazeer 2020, section 3.1).
        d_ff=INNER * WIDTH * 2 // 3 if activation == "swiglu" else INNER * WIDTH,
        n_encoder_layers=DEEPEST,
        n_decoder_layers=0,
        max_length=LONGEST_SENTENCE,
        norm_placement="post" if block == "post" else "pre",
        final_norm=block != "post",
        activation="silu" if activation == "swiglu" else activation,
        gated=activation == "swiglu",
        dropout=0.0,
    )


@lru_cache(maxsize=8)
def fresh(block: str, activation: Activation) -> Transformer:
    """A model of that config, always from the same seed: the deepest, of which a shallower one is the first layers."""
    with drawn(1):
        return Transformer(fresh_config(block, activation)).eval()


def through(model: Transformer, tokens: Tensor, layers: int) -> Tensor:
    """What the first layers of a fresh model make of tokens, its final norm after them: [B, T] -> [B, T, D]."""
    x = model.encoder_inputs(tokens, torch.arange(tokens.shape[1]), model.embedding)
    for layer in model.encoder.layers[:layers]:
        x = layer(x, Look())
    return model.encoder_norm(x)


def order_of(layer: Layer) -> list[tuple[str, nn.Module | None]]:
    """The boxes of a layer from below: (kind, the module whose output it is; None for a sum)."""
    residuals = cast(list[Residual], list(layer.residuals))
    parts: list[tuple[str, nn.Module]] = [("attention", layer.self_attention), ("ffn", layer.feed_forward)]
    if hasattr(layer, "cross_attention"):
        parts.insert(1, ("cross", layer.cross_attention))
    boxes: list[tuple[str, nn.Module | None]] = []
    for residual, part in zip(residuals, parts, strict=True):
        norm = ("norm", residual.norm)
        boxes += [norm, part, ("add", None)] if residual.placement == "pre" else [part, ("add", None), norm]
    return boxes


def walk(layer: Layer, run: Any) -> list[dict[str, Any]]:
    """Runs the model and notes what comes out of each box of the layer: its kind and the tensor [T, D]. A sum is what
    goes into the norm after it, or what comes out of the residual block.
    """
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def note(module: nn.Module, given: tuple[Any, ...], made: Any) -> None:
        seen[module] = (given[0][0], made[0])

    boxes = order_of(layer)
    watched = [module for _, module in boxes if module is not None] + list(layer.residuals)
    handles = [module.register_forward_hook(note) for module in watched]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    found: list[dict[str, Any]] = []
    residuals = iter(cast(list[Residual], list(layer.residuals)))
    for kind, module in boxes:
        if module is not None:
            found.append({"kind": kind, "tensor": seen[module][1]})
            continue
        residual = next(residuals)
        x, out = seen[residual]
        total = out if residual.placement == "pre" else seen[residual.norm][0]
        found.append({"kind": "add", "tensor": total, "share": size(total - x) / size(total)})
    found[0]["x"] = seen[layer.residuals[0]][0]
    return found


def missed(layer: Layer, box: int, trial: Trial) -> dict[str, float]:
    """The loss of the model as it is, and without one box of a layer, in bits a token."""
    kind, module = order_of(layer)[box]
    sums = [at for at, (other, _) in enumerate(order_of(layer)) if other == "add"]
    part = layer.residuals[sums.index(box)] if module is None else module
    whole = trial.loss()
    with without_box(kind, part):
        return {"whole": whole, "without": trial.loss()}


def size(x: Tensor) -> float:
    """The mean length of the vectors of a sentence, [T, D]."""
    return x.norm(dim=-1).mean().item()


def gradients(block: str, activation: Activation, layers: int) -> list[float]:
    """The size of the gradient of each layer's last matrix before any training, by the loss of guessing random tokens
    (as in Xiong 2020, figure 3).
    """
    model = fresh(block, activation)
    tokens = torch.randint(VOCABULARY, (2, 1, TOKENS), generator=torch.Generator().manual_seed(2))
    with torch.enable_grad():
        logits = model.logits(through(model, tokens[0], layers))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[1].flatten())
        weights = [cast(FeedForward, layer.feed_forward).outer.weight for layer in model.encoder.layers[:layers]]
        found = torch.autograd.grad(loss, weights)
    return [gradient.norm().item() for gradient in found]


@lru_cache(maxsize=32)
def curves(activation: Activation, layers: int) -> dict[str, list[float]]:
    """The gradients of both blocks."""
    return {block: gradients(block, activation, layers) for block in ("post", "pre")}


def stack_of(model: Transformer) -> Stack:
    """The encoder, or of a decoder alone that."""
    return model.encoder if model.config.n_encoder_layers else model.decoder


def trained(inputs: EncoderLayerInputs, pipe: Pipeline, written: list[int]) -> tuple[list[int], Transformer, Any]:
    """The loaded model, what it reads, and how it is run."""
    model = pipe.model
    if model.config.parallel_residual:
        raise FigureError("error.parallel")
    if isinstance(pipe, LanguageModel):
        ids = [*pipe.opening, *written]
        return ids, model, lambda: model.decode(row(ids))
    ids = pipe.tokenizer.wrap(written)
    if isinstance(pipe, Translator):
        return ids, model, lambda: encode(model, pipe.tokenizer, [written])
    return ids, model, lambda: model.encode(row(ids))


@torch.no_grad()
def compute(inputs: EncoderLayerInputs, models: Models) -> dict[str, Any]:
    """The boxes of a layer in their order, what comes out of each, and the gradients of fresh blocks."""
    with models.use(inputs.model, Pipeline) as pipe:
        places = pipe.config.max_length - pipe.n_marks
        written = encoded(pipe.tokenizer, inputs.sentence or EXAMPLE, "sentence", places, LONGEST_SENTENCE - 2)
        ids, model, run = trained(inputs, pipe, written)
        tokens, sentence = named(pipe.tokenizer, ids), pipe.tokenizer.decode(written)
        depth = len(stack_of(model))
        if inputs.block != "model":
            model, depth = fresh(inputs.block, inputs.activation), inputs.layers
            run = partial(through, model, row([token % VOCABULARY for token in ids]), depth)
        stack, number = stack_of(model), min(inputs.layer, depth - 1)
        boxes = walk(stack[number], run)
        box = min(inputs.box, len(boxes))
        loss = missed(stack[number], box - 1, Trial.of(pipe, written, ids)) if inputs.block == "model" else None
    config = model.config
    return {
        "tokens": tokens,
        "sentence": sentence,
        "boxes": [
            {"kind": found["kind"], "size": size(found["tensor"])}
            | ({"share": found["share"]} if "share" in found else {})
            for found in boxes
        ],
        "entering": size(boxes[0]["x"]),
        "shape": list(boxes[0]["x"].shape),
        "cells": boxes[box - 1]["tensor"],
        "widths": {"d_model": config.d_model, "d_ff": config.d_ff, "layers": depth, "heads": config.n_heads},
        "placement": config.norm_placement,
        "norm": config.norm,
        "activation": "swiglu" if config.gated else config.activation,
        "loss": loss,
        "gradients": curves(inputs.activation, inputs.layers),
        "model": models.card(inputs.model),
        "used": {"box": box, "layer": number},
        "limits": {"box": len(boxes), "layer": depth - 1},
    }


CODE = (Layer.forward, Residual.forward, FeedForward.forward, walk, gradients, missed, without_way_around)
WIDGET = Widget(EncoderLayerInputs, compute, CODE)
BLOCK = Widget(BlockInputs, compute, CODE)
