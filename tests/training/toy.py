"""A corpus and a recipe so small that a whole training takes a few seconds."""

import random
from pathlib import Path

WORDS = [
    "the",
    "cat",
    "dog",
    "mouse",
    "sees",
    "eats",
    "likes",
    "small",
    "old",
    "red",
    "house",
    "tree",
    "river",
    "runs",
    "sleeps",
    "under",
    "near",
    "with",
    "and",
]

RECIPE = """
seed = 3
description = "a toy"
[tokenizer]
vocab_size = 320
[model]
preset = "transformer-tiny"
d_model = 32
d_ff = 64
n_encoder_layers = 1
n_decoder_layers = 1
[training]
updates = {updates}
batch_tokens = 120
accumulate = 2
warmup = 20
peak_rate = 3e-3
validate_every = 15
validate_bleu = 5
checkpoint_every = 4
average = 2
[data]
root = "{root}"
max_tokens = 60
[[data.train]]
source = "train.tsv"
[[data.dev]]
source = "dev.tsv"
"""


def toy_recipe(folder: Path, *, updates: int = 60) -> Path:
    """Writes a corpus whose target is the source backwards, in capitals, and its recipe."""
    draw = random.Random(0)
    for name, count in (("train", 400), ("dev", 30)):
        lines: list[str] = []
        for _ in range(count):
            words = [draw.choice(WORDS) for _ in range(draw.randint(2, 9))]
            lines.append(" ".join(words) + "\t" + " ".join(reversed(words)).upper() + "\n")
        (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(updates=updates, root=folder), "utf-8")
    return path
