"""Training speed and memory: whole updates with dropout and label smoothing, every library on the same batches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

import workload
from allyouneed.measure import turns
from workload import BOS, EOS, PAD, SHAPES, Batch, Shape

SMOOTHING, DROPOUT, MAX_LENGTH = 0.1, 0.1, 512


@dataclass(frozen=True)
class Work:
    """What each peer trains on."""

    shape: str
    batches: int
    tokens: int  # about how many target tokens a batch has

    def load(self) -> tuple[Shape, list[Batch]]:
        """The model's shape and the batches."""
        shape = SHAPES[self.shape]
        return shape, workload.training_batches(shape, count=self.batches, tokens=self.tokens)


def allyouneed(work: Work) -> turns.Pass:
    """The update of `allyouneed train`, as it is."""
    from allyouneed.models.transformer import Transformer, TransformerConfig
    from allyouneed.tasks.encoded import Encoded
    from allyouneed.tasks.translation import Translation
    from allyouneed.training.loop import Trainer
    from allyouneed.training.memory import keep_freed_memory
    from allyouneed.training.parallel import Ranks
    from allyouneed.training.recipe import Training
    from allyouneed.training.state import Progress

    class GivenBatches(Translation):
        """A corpus whose epoch is the given batches, in their order."""

        def batches(self, max_tokens: int, seed: int, epoch: int) -> list[npt.NDArray[np.int64]]:
            del max_tokens, seed, epoch
            return plan

    shape, batches = work.load()
    keep_freed_memory()
    sources = [row[(row != PAD) & (row != EOS)] for batch in batches for row in batch.source]
    targets = [row[(row != PAD) & (row != BOS)] for batch in batches for row in batch.target_in]
    ends = np.cumsum([0] + [len(batch.source) for batch in batches])
    plan = [np.arange(start, end) for start, end in pairwise(ends)]
    tokens = [torch.cat(side).numpy().astype(np.int32) for side in (sources, targets)]
    offsets = [np.cumsum([0] + [len(row) for row in side]) for side in (sources, targets)]
    encoded = Encoded((tokens[0], tokens[1]), (offsets[0], offsets[1]))
    task = GivenBatches(cast(Any, None), encoded, encoded, [])  # no tokenizer: the text is tokens already
    config = TransformerConfig(
        vocab_size=shape.vocab_size,
        d_model=shape.d_model,
        n_heads=shape.n_heads,
        d_ff=shape.d_ff,
        n_encoder_layers=shape.n_layers,
        n_decoder_layers=shape.n_layers,
        dropout=DROPOUT,
        max_length=MAX_LENGTH,
    )
    settings = Training(label_smoothing=SMOOTHING)
    trainer, progress = Trainer(Transformer(config), task, settings, seed=1, ranks=Ranks()), Progress()
    return lambda: turns.timed([lambda: [trainer.update(progress) for _ in plan]])


def in_turn(step: Callable[..., Tensor], arguments: list[tuple[Tensor, ...]]) -> turns.Pass:
    """A pass that hands each batch to `step` and waits for its loss."""
    return lambda: turns.timed([lambda: [float(step(*given)) for given in arguments]])


class PlainTransformer(nn.Module):
    """torch.nn.Transformer between tied embeddings and sinusoids, as its users write it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=shape.d_model**-0.5)
        layers = shape.n_layers
        self.transformer = nn.Transformer(
            shape.d_model, shape.n_heads, layers, layers, shape.d_ff, DROPOUT, batch_first=True
        )
        self.dropout = nn.Dropout(DROPOUT)
        angles = torch.arange(MAX_LENGTH)[:, None] / 10_000 ** (torch.arange(0, shape.d_model, 2) / shape.d_model)
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), -1).flatten(1))
        self.positions: Tensor
        self.scale = math.sqrt(shape.d_model)

    def embed(self, tokens: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """[B, S] and [B, T] -> logits [B, T, V]."""
        padded = source == PAD
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
            tgt_key_padding_mask=target == PAD,
            tgt_is_causal=True,
        )
        return functional.linear(states, self.embedding.weight)


def plain(work: Work) -> turns.Pass:
    """torch.nn.Transformer, CrossEntropyLoss, Adam."""
    shape, batches = work.load()
    model = PlainTransformer(shape).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=SMOOTHING)

    def step(source: Tensor, target: Tensor, gold: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(source, target).flatten(0, 1), gold.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return in_turn(step, [(batch.source, batch.target_in, batch.target_out) for batch in batches])


def huggingface(work: Work) -> turns.Pass:
    """MarianMTModel on scaled-dot-product attention, with the Trainer's label smoother and optimiser."""
    from transformers import MarianMTModel
    from transformers.trainer_pt_utils import LabelSmoother

    from marian import marian_config

    shape, batches = work.load()
    config = marian_config(shape, tied=True, dropout=DROPOUT, max_length=MAX_LENGTH)
    model: Any = MarianMTModel._from_config(config, attn_implementation="sdpa")  # pyright: ignore[reportPrivateUsage]  # its public way loads a file
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    smoother: Any = LabelSmoother(SMOOTHING)

    def step(source: Tensor, keep: Tensor, target: Tensor, target_keep: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        output = model(
            input_ids=source, attention_mask=keep, decoder_input_ids=target, decoder_attention_mask=target_keep
        )
        loss = smoother(output, labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def arguments(batch: Batch) -> tuple[Tensor, ...]:
        keep, target_keep = (batch.source != PAD).long(), (batch.target_in != PAD).long()
        labels = batch.target_out.masked_fill(batch.target_out == PAD, -100)
        return batch.source, keep, batch.target_in, target_keep, labels

    return in_turn(step, [arguments(batch) for batch in batches])


def x_transformers(work: Work) -> turns.Pass:
    """x-transformers' encoder and decoder over one tied embedding."""
    from x_transformers import XTransformer

    shape, batches = work.load()
    settings = {
        "num_tokens": shape.vocab_size,
        "max_seq_len": MAX_LENGTH,
        "depth": shape.n_layers,
        "heads": shape.n_heads,
        "attn_dim_head": shape.d_model // shape.n_heads,
        "attn_flash": True,
        "attn_dropout": 0.0,
        "ff_mult": shape.d_ff // shape.d_model,
        "ff_dropout": DROPOUT,
        "emb_dropout": DROPOUT,
    }
    sides: dict[str, Any] = {f"{side}_{key}": value for side in ("enc", "dec") for key, value in settings.items()}
    model: Any = XTransformer(dim=shape.d_model, tie_token_emb=True, **sides)
    network = model.decoder.net
    network.to_logits.weight = model.encoder.token_emb.emb.weight
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(source: Tensor, keep: Tensor, target: Tensor, gold: Tensor) -> Tensor:
        optimizer.zero_grad()
        memory = model.encoder(source, mask=keep, return_embeddings=True)
        logits = network(target, context=memory, context_mask=keep)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), gold.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        )
        loss.backward()
        optimizer.step()
        return loss.detach()

    return in_turn(step, [(batch.source, batch.source != PAD, batch.target_in, batch.target_out) for batch in batches])


def matrix_products() -> turns.Pass:
    """The machine's own limit: a product of two float32 matrices of 2048 × 2048."""
    left, right = torch.randn(2, 2048, 2048)
    return lambda: turns.timed([lambda: left @ right] * 3)


PRODUCT_FLOPS = 2.0 * 2048**3
PEERS = {
    "allyouneed": allyouneed,
    "Hugging Face": huggingface,
    "torch.nn.Transformer": plain,
    "x-transformers": x_transformers,
}


def measure(work: Work, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: target tokens a second, share of the machine's peak, peak memory."""
    peers: dict[str, Any] = {"peak": (matrix_products, ())}
    peers |= {name: (prepare, (work,)) for name, prepare in PEERS.items()}
    peak, *measured = turns.measure(peers, rounds=rounds)
    shape, batches = work.load()
    tokens = sum(batch.target_tokens for batch in batches)
    needed = workload.useful_flops(shape, batches)
    best = PRODUCT_FLOPS / min(min(seconds) for seconds in peak.passes)
    rows = {
        peer.name: {
            "tokens_per_second": tokens / peer.median(0),
            "peak_share": needed / peer.median(0) / best,
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
        }
        for peer in measured
        if not peer.failure
    }
    return {"shape": work.shape, "tokens": tokens, "batches": len(batches), "peak_gflops": best / 1e9, "rows": rows}
