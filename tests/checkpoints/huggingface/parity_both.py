"""Tiny random encoder-decoders of the independent library against ours of the folders that they save."""

import json
from pathlib import Path
from typing import Any

import torch
from parity import close, padded, texts
from safetensors.torch import load_file, save_file
from torch import Tensor

from allyouneed.models.transformer import Memory, Transformer

LENGTHS = (9, 5, 1)
WRITTEN = 8


def written(vocab_size: int) -> Tensor:
    """What the decoders are told they have written, [B, T]."""
    generator = torch.Generator().manual_seed(21)
    return torch.randint(4, vocab_size, (len(LENGTHS), WRITTEN), generator=generator)


@torch.no_grad()
def check_both(theirs: Any, ours: Transformer, sides: tuple[str, ...]) -> None:
    """Same logits: single and batched, with and without a cache. Ours are padded on either side, theirs on `sides`."""
    rows, target = texts(ours.config.vocab_size, LENGTHS), written(ours.config.vocab_size)
    single = torch.cat(
        [theirs(torch.tensor([row]), decoder_input_ids=target[i : i + 1]).logits for i, row in enumerate(rows)]
    )
    for i, row in enumerate(rows):
        close(ours(torch.tensor([row]), target[i : i + 1]), single[i : i + 1])
    for side in ("left", "right"):
        batch, keep = padded(rows, side)
        if side in sides:
            close(theirs(batch, attention_mask=keep.long(), decoder_input_ids=target).logits, single)
        close(ours(batch, target, keep), single)
        memory = ours.encode(batch, keep)
        close(stepped(ours, memory, target), single)
        last, state = ours.read(target[:, :3], ours.start(memory))
        close(last, single[:, 2])
        close(ours.step(target[:, 3], state)[0], single[:, 3])


def stepped(ours: Transformer, memory: Memory, target: Tensor) -> Tensor:
    """The logits [B, T, V] of one token after another."""
    state, logits = ours.start(memory), list[Tensor]()
    for tokens in target.T:
        one, state = ours.step(tokens, state)
        logits.append(one)
    return torch.stack(logits, 1)


@torch.no_grad()
def check_greedy_both(theirs: Any, ours: Transformer, *, start: int, length: int = 12) -> None:
    """Same tokens when always the likeliest that is new is taken, from a batch that is padded on the right.

    Left alone, a random model writes one token again and again.
    """
    batch, keep = padded(texts(ours.config.vocab_size, LENGTHS), "right")
    settings = theirs.generation_config
    settings.eos_token_id = settings.forced_eos_token_id = None
    sizes = {"max_new_tokens": length, "num_beams": 1, "do_sample": False, "no_repeat_ngram_size": 1}
    whole = theirs.generate(batch, attention_mask=keep.long(), decoder_start_token_id=start, pad_token_id=0, **sizes)
    state, chosen = ours.start(ours.encode(batch, keep)), torch.full((len(batch), 1), start)
    while chosen.shape[1] <= length:
        logits, state = ours.step(chosen[:, -1], state)
        new = logits.scatter(1, chosen, -torch.inf).argmax(-1)
        chosen = torch.cat((chosen, new[:, None]), 1)
    assert chosen.tolist() == whole.tolist()


def rewrite(folder: Path, config: dict[str, Any], **tensors: Any) -> None:
    """Changes a saved folder: values of its config, and tensors (None: away with it)."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    kept = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    weights: dict[str, Any] = {**kept, **tensors}
    save_file({name: tensor for name, tensor in weights.items() if tensor is not None}, folder / "model.safetensors")
