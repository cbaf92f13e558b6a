"""llama.cpp as a peer, where its Python binding is installed: the same weights in its file, and its greedy writing.

The binding compiles llama.cpp for the machine that it is installed on, so it is no dependency of the project:
`pip install llama-cpp-python`, which needs a C++ compiler.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from allyouneed.measure import turns
from workload import Texts

if TYPE_CHECKING:
    from allyouneed.models.transformer import Transformer

Kind = Literal["F32", "Q8_0"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Ours -> theirs, inside a layer.
LAYER = {
    "self_attention.query": "attn_q",
    "self_attention.key": "attn_k",
    "self_attention.value": "attn_v",
    "self_attention.output": "attn_output",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.inner": "ffn_up",
    "feed_forward.outer": "ffn_down",
    "residuals.0.norm": "attn_norm",
    "residuals.1.norm": "ffn_norm",
}


def installed() -> bool:
    """Is the binding there?"""
    return importlib.util.find_spec("llama_cpp") is not None


def to_gguf(model: Transformer, path: Path, kind: Kind) -> None:
    """Writes a decoder without a tokenizer. Vectors stay in float32, as in published files."""
    import gguf
    from gguf.quants import quantize

    config, weights = model.config, model.state_dict()
    groups = config.n_kv_heads or config.n_heads
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_length)
    writer.add_embedding_length(config.d_model)
    writer.add_block_count(config.n_decoder_layers)
    writer.add_feed_forward_length(config.d_ff)
    writer.add_head_count(config.n_heads)
    writer.add_head_count_kv(groups)
    writer.add_rope_dimension_count(config.d_model // config.n_heads)
    writer.add_rope_freq_base(config.rotary_base)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    names = {"embedding": "token_embd", "decoder_norm": "output_norm"}
    for layer in range(config.n_decoder_layers):
        names |= {f"decoder.{layer}.{ours}": f"blk.{layer}.{theirs}" for ours, theirs in LAYER.items()}
    for ours, theirs in names.items():
        weight = weights[f"{ours}.weight"]
        heads = {"query": config.n_heads, "key": groups}.get(ours.rpartition(".")[2])
        if heads is not None:  # what is turned together stands side by side there
            weight = weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).flatten(0, 2)
        numbers = weight.contiguous().numpy()
        stored = gguf.GGMLQuantizationType[kind if numbers.ndim > 1 else "F32"]
        writer.add_tensor(f"{theirs}.weight", quantize(numbers, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Writer:
    """A model in llama.cpp that goes on with several texts at a time, each token the likeliest one."""

    def __init__(self, path: Path, *, texts: int, longest: int) -> None:
        self.api: Any = importlib.import_module("llama_cpp")
        self.quiet = self.api.llama_log_callback(say_nothing)  # kept, for the library does not keep it
        self.api.llama_log_set(self.quiet, None)
        self.api.llama_backend_init()
        model = self.api.llama_model_load_from_file(str(path).encode(), self.api.llama_model_default_params())
        how = self.api.llama_context_default_params()
        how.n_ctx, how.n_seq_max = texts * longest, texts
        how.n_batch = how.n_ubatch = texts * longest
        how.n_threads = how.n_threads_batch = turns.THREADS
        self.context = self.api.llama_init_from_model(model, how)
        self.width = self.api.llama_vocab_n_tokens(self.api.llama_model_get_vocab(model))
        self.batch = self.api.llama_batch_init(texts * longest, 0, 1)

    def __call__(self, prompts: Texts, length: int) -> Texts:
        """What is written after each prompt; all are equally long."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        best = self._advance(prompts, 0)
        found = [[token] for token in best]
        for place in range(len(prompts[0]), len(prompts[0]) + length - 1):
            best = self._advance([[token] for token in best], place)
            for text, token in zip(found, best, strict=True):
                text.append(token)
        return found

    def _advance(self, rows: Texts, place: int) -> list[int]:
        """Reads tokens of each text from a place on -> the likeliest next one of each."""
        import numpy as np

        at, last = 0, list[int]()
        for row, tokens in enumerate(rows):
            for offset, token in enumerate(tokens):
                self.batch.token[at] = token
                self.batch.pos[at] = place + offset
                self.batch.n_seq_id[at] = 1
                self.batch.seq_id[at][0] = row
                self.batch.logits[at] = offset == len(tokens) - 1
                at += 1
            last.append(at - 1)
        self.batch.n_tokens = at
        if self.api.llama_decode(self.context, self.batch):
            raise RuntimeError("llama.cpp could not read the batch")
        logits = (self.api.llama_get_logits_ith(self.context, index) for index in last)
        return [int(np.ctypeslib.as_array(row, (self.width,)).argmax()) for row in logits]


def say_nothing(level: int, text: bytes, data: object) -> None:
    """Takes a message of the library."""
    del level, text, data
