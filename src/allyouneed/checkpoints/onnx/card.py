"""The README.md of a folder of ONNX graphs: how it is run, and what goes in and out."""

import re
from collections.abc import Mapping

from onnx import ValueInfoProto, helper

from allyouneed.checkpoints.onnx.graph import OPSET, Graph
from allyouneed.models.config import TransformerConfig

TEXT = """# {name}

Written by allyouneed as ONNX: operations of version {opset}, weights in float32. This runs it, without PyTorch and
without allyouneed:

```sh
pip install onnxruntime tokenizers numpy
python run.py "{example}"
```

`tokenizer.json` turns text into tokens, with the marks around it that the model reads, and tokens into text.
`config.json` has the ids of the marks.

{tables}

## Use

- `attention_mask` is 1 at real tokens and 0 at padding, which may stand on either side. Positions are counted over real
  tokens inside the graph: it takes no `position_ids`.
{use}- A text has at most {longest} tokens.
- {libraries}
"""
EXAMPLES = {
    "encoder": "The cat is sleeping in the ___.",
    "decoder": "The mouse ate",
    "both": "The mouse ate the cheese.",
}
PAST = """- `past_key_values.*` are empty at first, [batch_size, {heads}, 0, {width}]. Each later pass is given the
  `present.*` of the one before, and as `input_ids` only what is new, one token or more. A beam that branches or dies is
  a row of them that is copied or left out. N counts layers from 0.
"""
USE = {
    "encoder": "",
    "decoder": "- It covers the tokens of the past and the new ones.\n" + PAST,
    "both": PAST
    + """- The decoder begins with `decoder_start_token_id`. It looks at the encoder's `last_hidden_state`
  (`encoder_hidden_states`) where the encoder's `attention_mask` (`encoder_attention_mask`) is 1.
- `use_cache_branch` is false in the first pass, which reads the source, and true in all later ones.
""",
}
KNOWN = """`config.json` is that of the model type "{}". Optimum loads the folder as it is, though it may ask after
  `position_ids`, and Transformers.js does, where it knows the type, with `subfolder: ""` and `dtype: "fp32"`; what it
  decodes may hold marks."""
UNKNOWN = """No family of the Hugging Face layout holds this model, so `config.json` names no model type: Optimum and
  Transformers.js cannot tell what it is, onnxruntime runs it."""


def card(name: str, config: TransformerConfig, graphs: Mapping[str, Graph], model_type: str | None) -> str:
    """The text of the card. `model_type`: what `config.json` calls the model; None: nothing."""
    heads = config.n_kv_heads or config.n_heads
    return TEXT.format(
        name=name,
        opset=OPSET,
        example=EXAMPLES[config.line],
        tables="\n\n".join(f"## {file}\n\n{table(graph)}" for file, graph in graphs.items()),
        use=USE[config.line].format(heads=heads, width=config.head_width),
        longest=config.max_length,
        libraries=UNKNOWN if model_type is None else KNOWN.format(model_type),
    )


def table(graph: Graph) -> str:
    """Names, types and shapes; what differs in a layer's number alone shares a row."""
    rows = ["| | name | type | shape |", "|---|---|---|---|"]
    for side, values in (("in", graph.inputs), ("out", graph.outputs)):
        rows += dict.fromkeys(f"| {side} | {cells(value)} |" for value in values)
    return "\n".join(rows)


def cells(value: ValueInfoProto) -> str:
    """The cells of an input or output."""
    kind = value.type.tensor_type
    shape = [dimension.dim_param or str(dimension.dim_value) for dimension in kind.shape.dim]
    name = re.sub(r"\.\d+\.", ".N.", value.name)
    return f"`{name}` | {helper.tensor_dtype_to_np_dtype(kind.elem_type)} | [{', '.join(shape)}]"
