"""Says what may stand in the gap of a text, likeliest first: python run.py "The cat is sleeping in the ___."."""

import json
import sys
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

here = Path(__file__).parent
config = json.loads((here / "config.json").read_text("utf-8"))
spelt = json.loads((here / "tokenizer_config.json").read_text("utf-8"))
tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))
session = InferenceSession(str(here / "model.onnx"))


def ids(text: str) -> list[int]:
    """The tokens of a text without marks."""
    return tokenizer.encode(text, add_special_tokens=False).ids


before, after = sys.argv[1].split("___")
rest = ids("1" + after)[len(ids("1")) :]  # a text that goes on begins with no space of its own
read = [config["bos_token_id"], *ids(before.rstrip()), tokenizer.token_to_id(spelt["mask_token"]), *rest]
tokens = np.array([[*read, config["eos_token_id"]]], np.int64)
inputs = {one.name: np.zeros_like(tokens) for one in session.get_inputs()}  # one kind of text, where it has kinds
inputs |= {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
[logits] = session.run(["logits"], inputs)
found = np.asarray(logits)[0, len(read) - len(rest) - 1]
chances = np.exp(found - found.max()) / np.exp(found - found.max()).sum()
for token in chances.argsort()[: -5 - 1 : -1]:
    print(f"{chances[token]:.3f} {tokenizer.decode([token])}")
