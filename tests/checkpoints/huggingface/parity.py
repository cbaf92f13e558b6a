"""Tiny random models of the independent library, built on the spot, against ours of the folders that they save."""

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from allyouneed.checkpoints.huggingface import load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import settled
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.vocabulary import Vocabulary

TOLERANCE = 2e-5  # on logits of order 1, in float32
LENGTHS = (9, 5, 1)
MODERN = TransformerConfig(
    vocab_size=320,
    d_model=16,
    n_heads=4,
    d_ff=24,
    n_encoder_layers=0,
    n_decoder_layers=2,
    max_length=32,
    norm_placement="pre",
    norm="rms",
    final_norm=True,
    activation="silu",
    gated=True,
    bias=False,
    positions="rotary",
    embedding_scale=False,
)


def randomised(model: Any, seed: int = 3) -> Any:
    """Their model, its weights drawn so that every one of them matters and logits are of order 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                parameter.copy_(noise / parameter.shape[-1] ** 0.5)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * noise)
            else:
                parameter.copy_(1 + 0.2 * noise)
    return model.eval()


def loaded(theirs: Any, folder: Path, **how: Any) -> Transformer:
    """Ours of what they save."""
    theirs.save_pretrained(folder, **how)
    return load_transformer(folder)


def texts(vocab_size: int, lengths: tuple[int, ...] = LENGTHS) -> list[list[int]]:
    """Random texts of these lengths, without marks."""
    generator = torch.Generator().manual_seed(8)
    return [torch.randint(4, vocab_size, (length,), generator=generator).tolist() for length in lengths]


def padded(rows: list[list[int]], side: str) -> tuple[Tensor, Tensor]:
    """Texts in one batch [B, T] with padding on a side, and what is real in it."""
    longest = max(map(len, rows))
    batch, keep = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest, dtype=torch.bool)
    for number, row in enumerate(rows):
        place = slice(0, len(row)) if side == "right" else slice(longest - len(row), longest)
        batch[number, place], keep[number, place] = torch.tensor(row), True
    return batch, keep


def their_positions(model: Any, keep: Tensor) -> dict[str, Tensor]:
    """Positions counted over real tokens, where their model takes any."""
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return {}
    return {"position_ids": (keep.long().cumsum(-1) - 1).clamp_min(0)}


def close(ours: Tensor, theirs: Tensor, tolerance: float = TOLERANCE) -> None:
    """Logits that agree, and are large enough for that to say something."""
    assert theirs.std() > 0.1
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


@torch.no_grad()
def check_decoder(theirs: Any, ours: Transformer, lengths: tuple[int, ...] = LENGTHS) -> None:
    """Same logits: single and batched, padded on either side, read at once and from a cache."""
    rows = texts(ours.config.vocab_size, lengths)
    single = [theirs(torch.tensor([row])).logits[0] for row in rows]
    for row, logits in zip(rows, single, strict=True):
        close(ours(torch.tensor([row]))[0], logits)
    for side in ("left", "right"):
        batch, keep = padded(rows, side)
        logits = theirs(batch, attention_mask=keep.long(), **their_positions(theirs, keep)).logits
        close(ours(batch, keep=keep)[keep], logits[keep])
        close(ours(batch, keep=keep)[keep], torch.cat(single))
    state = ours.read(torch.tensor([rows[0][:3]]), ours.start())[1]
    close(ours.read(torch.tensor([rows[0][3:]]), state)[0], single[0][-1:])
    written: list[Tensor] = []
    state = ours.start()
    for token in rows[0]:
        logits, state = ours.step(torch.tensor([token]), state)
        written.append(logits[0])
    close(torch.stack(written), single[0])


@torch.no_grad()
def check_greedy(
    theirs: Any, ours: Transformer, tokenizer: Vocabulary, length: int = 12, lengths: tuple[int, ...] = LENGTHS
) -> None:
    """Same text when always the likeliest token is taken."""
    batch, keep = padded(texts(ours.config.vocab_size, lengths), "left")
    theirs.generation_config.eos_token_id = None
    whole = theirs.generate(
        batch, attention_mask=keep.long(), do_sample=False, max_new_tokens=length, pad_token_id=0, use_cache=True
    )
    logits, state = ours.read(batch, ours.start(sentences=len(batch)), keep)
    tokens = [logits.argmax(-1)]
    while len(tokens) < length:
        logits, state = ours.step(tokens[-1], state)
        tokens.append(logits.argmax(-1))
    written = torch.stack(tokens, 1).tolist()
    assert written == whole[:, batch.shape[1] :].tolist()
    assert tokenizer.decode(written[0])


@torch.no_grad()
def check_back(theirs: Any, ours: Transformer, tokenizer: Vocabulary, folder: Path, **how: Any) -> None:
    """What we write is what they read: the same logits, from their class of the same name."""
    save_huggingface(folder, ours, tokenizer, **how)
    again, report = type(theirs).from_pretrained(folder, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    row = torch.tensor([texts(ours.config.vocab_size)[0]])
    inputs = {"decoder_input_ids": row} if ours.config.is_encoder_decoder else {}
    torch.testing.assert_close(again(row, **inputs).logits, theirs(row, **inputs).logits, rtol=0, atol=1e-6)
    assert settled(load_transformer(folder).config) == settled(ours.config)
