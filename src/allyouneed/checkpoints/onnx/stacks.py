"""The graphs of an encoder and of a decoder. Names of inputs and outputs are those that Optimum gives them."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from allyouneed.checkpoints.native import own_tensors
from allyouneed.checkpoints.onnx.graph import BOOL, FLOAT, INT, Graph
from allyouneed.checkpoints.onnx.layers import (
    Sublayer,
    Told,
    activated,
    attention,
    biased,
    coordinates,
    counted,
    embedded,
    keys_values,
    linear,
    normed,
    stacked,
    turn,
)
from allyouneed.models.layers import Layer
from allyouneed.models.transformer import Transformer

NEVER = float(np.finfo(np.float32).min)  # added to scores; finite, so that a row that may look nowhere gives no NaN
END = np.iinfo(np.int64).max
TOTAL = "past_sequence_length + sequence_length"


def encoder_graph(model: Transformer) -> Graph:
    """Tokens and which of them are real -> states, and where there is no decoder, logits."""
    g, config, inputs = Graph(own_tensors(model)), model.config, model.encoder_inputs
    where = ["batch_size", "sequence_length"]
    tokens, mask = g.input("input_ids", INT, where), g.input("attention_mask", INT, where)
    segments = g.input("token_type_ids", INT, where) if config.n_segments else None
    positions = counted(g, mask)
    seen = g("Where", g("Cast", g("Unsqueeze", mask, [1, 2]), to=BOOL), 0.0, NEVER)
    seen = biased(g, seen, positions, positions, inputs, config.max_length)
    told = Told(seen, turn(g, positions, inputs))

    def sublayers(step: int, layer: Layer) -> Sequence[Sublayer]:
        def look_around(x: str) -> str:
            part, width = layer.self_attention, config.rotary_width
            keys, values = keys_values(g, x, part, told, width)
            return attention(g, x, keys, values, part=part, told=told, width=width)

        return [look_around]

    x = embedded(g, tokens, positions, inputs, model.embedding, segments)
    x = stacked(g, x, model.encoder, coordinates(g, positions, inputs), sublayers)
    x = normed(g, x, model.encoder_norm)
    if not config.is_encoder_decoder:
        g.output("logits", logits(g, x, model), [*where, config.vocab_size])
    g.output("last_hidden_state", x, [*where, config.d_model])
    if model.pooler is not None:
        first = g("GatherND", x, g("ArgMax", mask, axis=1), batch_dims=1)
        g.output("pooler_output", g("Tanh", linear(g, first, model.pooler)), ["batch_size", config.d_model])
    return g


def decoder_graph(model: Transformer) -> Graph:
    """Tokens, and the keys and values of those before them -> logits, and the keys and values of all.

    Beside an encoder `use_cache_branch` says whether anything was written before; where not, what is given as past
    counts for nothing, and keys and values of the source are made from the encoder's states.
    """
    g, config, inputs = Graph(own_tensors(model)), model.config, model.decoder_inputs
    both, where = config.is_encoder_decoder, ["batch_size", "sequence_length"]
    tokens = g.input("input_ids", INT, where)
    if both:
        read = ["batch_size", "encoder_sequence_length"]
        states = g.input("encoder_hidden_states", FLOAT, [*read, config.d_model])
        mask, read_mask = None, g.input("encoder_attention_mask", INT, read)
        source = Told(g("Where", g("Cast", g("Unsqueeze", read_mask, [1, 2]), to=BOOL), 0.0, NEVER))
        past = source_read(g, model, states, cache_inputs(g, model))
    else:
        mask, source = g.input("attention_mask", INT, ["batch_size", TOTAL]), Told()
        past = cache_inputs(g, model)
    own = "decoder." if both else ""
    tolds, positions = looks(g, model, tokens, mask, past[f"0.{own}key"])
    present = dict(past)

    def sublayers(step: int, layer: Layer) -> Sequence[Sublayer]:
        told, width, (key, value) = tolds[step], config.rotary_width, (f"{step}.{own}key", f"{step}.{own}value")

        def look_around(x: str) -> str:
            new = keys_values(g, x, layer.self_attention, told, width)
            for name, part in zip((key, value), new, strict=True):
                present[name] = g("Concat", past[name], part, axis=2)
            return attention(g, x, present[key], present[value], part=layer.self_attention, told=told, width=width)

        def look_at_source(x: str) -> str:
            keys, values = past[f"{step}.encoder.key"], past[f"{step}.encoder.value"]
            return attention(g, x, keys, values, part=layer.cross_attention, told=source)

        return [look_around, look_at_source] if both else [look_around]

    x = embedded(g, tokens, positions, inputs, model.target_table)
    x = stacked(g, x, model.decoder, coordinates(g, positions, inputs), sublayers)
    g.output("logits", logits(g, normed(g, x, model.decoder_norm), model), [*where, config.vocab_size])
    for name, value in present.items():
        length = "encoder_sequence_length" if "encoder" in name else TOTAL
        g.output(f"present.{name}", value, cache_shape(model, length))
    return g


def cache_shape(model: Transformer, length: str) -> list[str | int]:
    """[B, G, length, K]."""
    config = model.config
    return ["batch_size", config.n_kv_heads or config.n_heads, length, config.head_width]


def cache_inputs(g: Graph, model: Transformer) -> dict[str, str]:
    """The keys and values of every step's own text, and beside an encoder of the source, as inputs."""
    both = model.config.is_encoder_decoder
    past: dict[str, str] = {}
    for step in range(model.config.n_decoder_layers):
        for side in ("decoder.", "encoder.") if both else ("",):
            length = "past_encoder_sequence_length" if side == "encoder." else "past_sequence_length"
            for part in ("key", "value"):
                past[f"{step}.{side}{part}"] = g.input(
                    f"past_key_values.{step}.{side}{part}", FLOAT, cache_shape(model, length)
                )
    return past


def source_read(g: Graph, model: Transformer, states: str, past: dict[str, str]) -> dict[str, str]:
    """What was there before a pass: as it is given, or nothing of the own text, and all of the source, of which these
    are the states.
    """
    branch = g.input("use_cache_branch", BOOL, [1])

    def begin() -> Sequence[str]:
        found: list[str] = []
        for step, layer in enumerate(model.decoder.layers):
            nothing = [g("Slice", past[f"{step}.decoder.{part}"], [0], [0], [2]) for part in ("key", "value")]
            found += [*nothing, *keys_values(g, states, layer.cross_attention, Told())]
        return found

    return dict(zip(past, g.choose(branch, lambda: [*past.values()], begin), strict=True))


def looks(g: Graph, model: Transformer, tokens: str, mask: str | None, past: str) -> tuple[list[Told], str]:
    """What the attention of each step is told, and the positions of the tokens, [1 or B, T].

    `mask` [B, S] says which of all slots are real, those of the past among them; None: all.
    """
    config, inputs = model.config, model.decoder_inputs
    new = g("Shape", tokens, start=1, end=2)
    total = g("Shape", mask, start=1, end=2) if mask else g("Add", g("Shape", past, start=2, end=3), new)

    def newest(x: str, axis: int) -> str:
        return g("Slice", x, g("Neg", new), [END], [axis])

    slots = g("Range", 0, g("Squeeze", total), 1)
    keys = counted(g, mask) if mask else g("Unsqueeze", slots, [0])
    queries = newest(keys, 1)
    allowed = g("LessOrEqual", g("Unsqueeze", slots, [0]), g("Unsqueeze", newest(slots, 0), [1]))
    if mask:
        allowed = g("And", allowed, g("Cast", g("Unsqueeze", mask, [1, 2]), to=BOOL))
    turned = turn(g, queries, inputs)

    def told(allowed: str) -> Told:
        added = biased(g, g("Where", allowed, 0.0, NEVER), queries, keys, inputs, config.max_length)
        return Told(added, turned)

    depth = range(config.n_decoder_layers)
    far = None if all(map(config.has_window, depth)) else told(allowed)
    near = None
    if config.window is not None:
        behind = g("Sub", g("Unsqueeze", queries, [1, 3]), g("Unsqueeze", keys, [1, 2]))
        near = told(g("And", allowed, g("Less", behind, config.window)))
    return [(near if config.has_window(step) else far) or Told() for step in depth], queries


def logits(g: Graph, x: str, model: Transformer) -> str:
    """[B, T, D] -> [B, T, V]."""
    if model.readout is not None:
        x = normed(g, activated(g, linear(g, x, model.readout.dense), model.readout.activation), model.readout.norm)
    if model.config.output_scale != 1:
        x = g("Mul", x, model.config.output_scale)
    weight: Tensor = model.output_weight  # tied, it is stored as it is embedded, and turned as the model is loaded
    product = g("MatMul", x, g("Transpose", weight, perm=[1, 0]) if model.config.tied_embeddings else g.turned(weight))
    return product if model.output_bias is None else g("Add", product, model.output_bias)
