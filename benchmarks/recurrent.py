"""Training speed of an encoder-decoder with additive attention: whole updates, ours and JoeyNMT's recurrent model.

Its package asks for many others that the model does without. These suffice beside ours:
pip install --no-deps joeynmt importlib_metadata zipp; then run this file: python benchmarks/recurrent.py
"""

import argparse
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import workload
from allyouneed.measure import turns
from workload import BOS, EOS, PAD, Batch, Shape

SMOOTHING, CLIP = 0.1, 1.0
VOCABULARY = 8_000
SHAPE = Shape(d_model=256, d_ff=0, n_heads=1, n_layers=1, vocab_size=VOCABULARY)


@dataclass(frozen=True)
class Widths:
    """Of the model. JoeyNMT's output layer has no maxout before it: it is as wide as the states."""

    hidden: int
    embedding: int
    readout: int


WIDTHS = {
    "a quarter of the paper's widths": Widths(256, 160, 128),  # Bahdanau 2015, appendix A.2.3: 1,000, 620 and 500
    "all widths alike": Widths(256, 256, 256),
}


@dataclass(frozen=True)
class Work:
    """What each peer trains on."""

    widths: Widths
    batches: int
    tokens: int  # about how many target tokens a batch has

    def load(self) -> list[Batch]:
        """The batches, of sentences that are sorted by length."""
        return workload.training_batches(SHAPE, count=self.batches, tokens=self.tokens)


def allyouneed(work: Work) -> turns.Pass:
    """The update of `allyouneed train`, as it is: RNNsearch."""
    from allyouneed.models.recurrent import Recurrent, RecurrentConfig
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

    batches = work.load()
    keep_freed_memory()
    sources = [row[(row != PAD) & (row != EOS)] for batch in batches for row in batch.source]
    targets = [row[(row != PAD) & (row != BOS)] for batch in batches for row in batch.target_in]
    ends = np.cumsum([0] + [len(batch.source) for batch in batches])
    plan = [np.arange(start, end) for start, end in pairwise(ends)]
    tokens = [torch.cat(side).numpy().astype(np.int32) for side in (sources, targets)]
    offsets = [np.cumsum([0] + [len(row) for row in side]) for side in (sources, targets)]
    encoded = Encoded((tokens[0], tokens[1]), (offsets[0], offsets[1]))
    task = GivenBatches(cast(Any, None), encoded, encoded, [])  # no tokenizer: the text is tokens already
    config = RecurrentConfig(
        vocab_size=VOCABULARY,
        d_embedding=work.widths.embedding,
        d_hidden=work.widths.hidden,
        d_attention=work.widths.hidden,
        d_readout=work.widths.readout,
        initialisation="uniform",
    )
    settings = Training(label_smoothing=SMOOTHING, clip_norm=CLIP)
    trainer, progress = Trainer(Recurrent(config), task, settings, seed=1, ranks=Ranks()), Progress()
    return lambda: turns.timed([lambda: [trainer.update(progress) for _ in plan]])


class Joey(nn.Module):
    """JoeyNMT's recurrent encoder and decoder with Bahdanau's attention around torch's embeddings."""

    def __init__(self, widths: Widths) -> None:
        super().__init__()
        embedding, hidden = widths.embedding, widths.hidden
        decoders, encoders, losses = (import_module(f"joeynmt.{name}") for name in ("decoders", "encoders", "loss"))
        self.source, self.target = (nn.Embedding(VOCABULARY, embedding, padding_idx=PAD) for _ in range(2))
        self.encoder: Any = encoders.RecurrentEncoder(rnn_type="gru", hidden_size=hidden, emb_size=embedding)
        self.decoder: Any = decoders.RecurrentDecoder(
            rnn_type="gru", emb_size=embedding, hidden_size=hidden, encoder=self.encoder, vocab_size=VOCABULARY
        )
        self.measure: Any = losses.XentLoss(pad_index=PAD, smoothing=SMOOTHING)

    def forward(self, source: Tensor, given: Tensor, gold: Tensor) -> Tensor:
        """The summed loss, as its model's `forward` has it."""
        mask = (source != PAD)[:, None]
        states, last = self.encoder(self.source(source), mask.sum(-1)[:, 0], mask)
        logits, _, _, _ = self.decoder(
            trg_embed=self.target(given),
            encoder_output=states,
            encoder_hidden=last,
            src_mask=mask,
            unroll_steps=given.shape[1],
        )
        return self.measure(logits.log_softmax(-1), trg=gold)


def by_length(batch: Batch) -> Batch:
    """The same pairs, longest source first, as JoeyNMT's encoder wants them."""
    order = (batch.source != PAD).sum(1).argsort(descending=True)
    return Batch(batch.source[order], batch.target_in[order], batch.target_out[order])


def joeynmt(work: Work) -> turns.Pass:
    """JoeyNMT's model, its loss, and the Adam that its trainer makes."""
    batches = [by_length(batch) for batch in work.load()]
    model = Joey(work.widths).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(batch: Batch) -> float:
        loss = model(batch.source, batch.target_in, batch.target_out) / batch.target_tokens
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.detach())

    return lambda: turns.timed([lambda: [step(batch) for batch in batches]])


PEERS = {"allyouneed": allyouneed, "JoeyNMT": joeynmt}


def measure(work: Work, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: target tokens a second, and peak memory."""
    measured = turns.measure({name: (prepare, (work,)) for name, prepare in PEERS.items()}, rounds=rounds)
    tokens = sum(batch.target_tokens for batch in work.load())
    rows = {
        peer.name: {
            "tokens_per_second": tokens / peer.median(0),
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
        }
        for peer in measured
        if not peer.failure
    }
    return {"tokens": tokens, "batches": work.batches, "rows": rows}


def main() -> None:
    """Prints the rows and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn (default 5)")
    parser.add_argument("--batches", type=int, default=6, help="batches a turn (default 6)")
    parser.add_argument("--tokens", type=int, default=2_000, help="target tokens a batch (default 2,000)")
    options = parser.parse_args()
    for title, widths in WIDTHS.items():
        print(f"{title}: {widths.hidden} hidden, {widths.embedding} embedded, {widths.readout} read out")
        rows = measure(Work(widths, options.batches, options.tokens), rounds=options.rounds)["rows"]
        for name, row in rows.items():
            print(
                f"{name:12} {row['tokens_per_second']:9,.0f} target tokens/s  {row['peak_mb']:7,.0f} MB  "
                f"others {row['others']:.0%}"
            )
        if len(rows) == len(PEERS):
            ours, theirs = (rows[name]["tokens_per_second"] for name in PEERS)
            print(f"allyouneed is {ours / theirs:.2f} x as fast")


if __name__ == "__main__":
    main()
