"""Corpora and recipes so small that a whole training takes a few seconds."""

import os
import random
import socket
from pathlib import Path

import pytest
import torch

from allyouneed.models.architectures import architecture_of
from allyouneed.tasks.task import TokenData
from allyouneed.training.beginning import config_of
from allyouneed.training.loop import Trainer, UpdateResult
from allyouneed.training.recipe import read_recipe
from allyouneed.training.run import train
from allyouneed.training.state import Progress

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
task = "{task}"
seed = 3
description = "a toy"
[tokenizer]
vocab_size = 320
[model]
preset = "transformer-tiny"
d_model = 32
d_ff = 64
n_encoder_layers = {encoder}
n_decoder_layers = {decoder}
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
ema_decay = {ema_decay}
[data]
root = "{root}"
max_tokens = 60
{settings}
[[data.train]]
{key} = "train.{suffix}"
[[data.dev]]
{key} = "dev.{suffix}"
"""
LAYERS = {"translation": (1, 1), "language": (0, 1), "masked": (1, 0), "denoising": (1, 1)}
SETTINGS = {"denoising": "sentinels = 20"}
# What makes any recipe a run of seconds: of its training, its kind of model, and its task.
TINY = [
    "training.updates=1",
    "training.warmup=1",
    "training.cooldown=0",
    "training.batch_tokens=128",
    "training.accumulate=1",
    "training.average=1",
    "training.validate_bleu=0",
]
TINY_MODELS = {
    "transformer": [
        "model.d_model=32",
        "model.n_heads=2",
        "model.n_kv_heads=2",
        "model.d_head=16",
        "model.d_ff=32",
    ],
    "mamba": ["model.d_model=16", "model.n_layers=1"],
    "recurrent": ["model.d_embedding=16", "model.d_hidden=16", "model.d_attention=16", "model.d_readout=16"],
    "pointer": ["model.d_model=16"],
    "turing": ["model.d_controller=8", "model.n_slots=8"],
    "set": ["model.d_model=16"],
}
PAIRS = ['data.train=[{source="train.tsv"}]', 'data.dev=[{source="dev.tsv"}]', "tokenizer.vocab_size=320"]
TEXT = ['data.train=[{text="train.txt"}]', 'data.dev=[{text="dev.txt"}]', "tokenizer.vocab_size=320"]
TINY_TEXT = {
    "translation": PAIRS,
    "language": TEXT,
    "masked": TEXT,
    "denoising": [*TEXT, "data.sentinels=20"],
    "parsing": [
        'data.train=[{everyday=["en"], count=60}]',
        'data.dev=[{everyday=["en"], count=20, split="dev"}]',
        "tokenizer.vocab_size=400",
    ],
    "pointing": ["data.dev_sets=3"],
    "n-grams": ["training.batch_tokens=256"],
}


def tiny(path: Path, folder: Path) -> list[str]:
    """Overrides that make a recipe a run of seconds on the toy text in `folder`."""
    recipe = read_recipe(path)
    overrides = [*TINY, *TINY_MODELS[architecture_of(config_of(recipe))], *TINY_TEXT.get(recipe.task, [])]
    return overrides + ["data.max_tokens=32", f"data.root={folder}"] * isinstance(recipe.data, TokenData)


def toy_recipe(folder: Path, *, task: str = "translation", updates: int = 60, ema_decay: float = 0.0) -> Path:
    """Writes a corpus and its recipe."""
    toy_text(folder)
    encoder, decoder = LAYERS[task]
    key, suffix = ("source", "tsv") if task == "translation" else ("text", "txt")
    path = folder / "recipe.toml"
    path.write_text(
        RECIPE.format(
            task=task,
            updates=updates,
            ema_decay=ema_decay,
            root=folder,
            encoder=encoder,
            decoder=decoder,
            key=key,
            suffix=suffix,
            settings=SETTINGS.get(task, ""),
        ),
        "utf-8",
    )
    return path


def toy_text(folder: Path) -> None:
    """Writes train.tsv and dev.tsv, pairs whose target is the source backwards, in capitals; and train.txt and dev.txt,
    documents of one line or of many.
    """
    draw = random.Random(0)
    for name, count in (("train", 400), ("dev", 30)):
        (folder / f"{name}.tsv").write_text("".join(toy_pair(draw) for _ in range(count)), "utf-8")
        documents = (toy_document(draw, number % 3 == 0) for number in range(count // 5))
        (folder / f"{name}.txt").write_text("\n\n".join(documents) + "\n", "utf-8")


def toy_pair(draw: random.Random) -> str:
    """A line of a .tsv."""
    words = [draw.choice(WORDS) for _ in range(draw.randint(2, 9))]
    return " ".join(words) + "\t" + " ".join(reversed(words)).upper() + "\n"


def toy_document(draw: random.Random, long: bool) -> str:
    """Some lines of words."""
    lines = draw.randint(2, 40) if long else 1
    return "\n".join(" ".join(draw.choices(WORDS, k=draw.randint(2, 9))) for _ in range(lines))


def stop_before(update: int, patch: pytest.MonkeyPatch) -> None:
    """Lets trainings be interrupted when so many updates are done, until the patch is undone."""
    go_on = Trainer.update

    def stopped(trainer: Trainer, progress: Progress) -> UpdateResult:
        if progress.update == update:
            raise KeyboardInterrupt
        return go_on(trainer, progress)

    patch.setattr(Trainer, "update", stopped)


def train_as_rank(recipe: Path, out: Path, rank: int, ranks: int, port: int) -> None:
    """A whole training in a process of its own, told as `torchrun` tells it which of how many it is."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    train(read_recipe(recipe), out)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
