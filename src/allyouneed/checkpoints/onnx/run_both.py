"""Lets the model answer a text, by its likeliest token each time: python run.py "The mouse ate the cheese."."""

import json
import sys
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

here = Path(__file__).parent
config = json.loads((here / "config.json").read_text("utf-8"))
ends = np.atleast_1d(config["eos_token_id"])
tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))
encoder, decoder = (InferenceSession(str(here / f"{name}.onnx")) for name in ("encoder_model", "decoder_model_merged"))

source = np.array([tokenizer.encode(sys.argv[1]).ids], np.int64)
real = np.ones_like(source)
[states] = encoder.run(["last_hidden_state"], {"input_ids": source, "attention_mask": real})

# Nothing was written before: keys and values [batch, heads, 0, width] for each layer and both sides.
given = [one for one in decoder.get_inputs() if one.name.startswith("past_key_values")]
past = {one.name: np.zeros([1, one.shape[1], 0, one.shape[3]], np.float32) for one in given}
token, written = config["decoder_start_token_id"], list[int]()
while len(written) < 2 * source.size + 20:
    inputs = {
        "input_ids": np.array([[token]], np.int64),
        "encoder_attention_mask": real,
        "encoder_hidden_states": states,
        "use_cache_branch": np.array([len(written) > 0]),
    }
    logits, *present = decoder.run(None, inputs | past)
    token = int(np.asarray(logits)[0, -1].argmax())
    if token in ends:
        break
    written.append(token)
    past = dict(zip(past, present, strict=True))
print(tokenizer.decode(written))
