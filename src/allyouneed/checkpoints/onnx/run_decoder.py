"""Lets the model go on with a text, by its likeliest token each time: python run.py "The mouse ate"."""

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
session = InferenceSession(str(here / "model.onnx"))

# Nothing was read before: keys and values [batch, heads, 0, width] for each layer.
given = [one for one in session.get_inputs() if one.name.startswith("past_key_values")]
past = {one.name: np.zeros([1, one.shape[1], 0, one.shape[3]], np.float32) for one in given}
new = tokenizer.encode(sys.argv[1]).ids
length, written = 0, list[int]()
while len(written) < 40:
    length += len(new)
    tokens = {"input_ids": np.array([new], np.int64), "attention_mask": np.ones([1, length], np.int64)}
    logits, *present = session.run(None, tokens | past)
    token = int(np.asarray(logits)[0, -1].argmax())
    if token in ends:
        break
    written.append(token)
    new, past = [token], dict(zip(past, present, strict=True))
print(tokenizer.decode(tokenizer.encode(sys.argv[1], add_special_tokens=False).ids + written))
