"""Training speed and memory of a small modern decoder: whole updates, ours and Hugging Face's class in a plain loop."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allyouneed.measure import turns
from allyouneed.models.transformer import TransformerConfig
from llama import modern

ROWS, LENGTH = 8, 257  # of a batch: texts, and their tokens, the last of which is only predicted


@dataclass(frozen=True)
class Work:
    """What each peer trains on: random text in full rows."""

    batches: int

    def load(self) -> tuple[TransformerConfig, list[Tensor]]:
        """A decoder of 10 million parameters, and the batches [ROWS, LENGTH]."""
        config = modern(
            vocab_size=8_000,
            d_model=256,
            n_heads=4,
            n_kv_heads=2,
            d_ff=1024,
            n_decoder_layers=8,
            max_length=LENGTH,
            dropout=0.0,
        )
        draw = random.Random(23)
        count = self.batches * ROWS * LENGTH
        tokens = torch.tensor([draw.randrange(4, config.vocab_size) for _ in range(count)])
        return config, list(tokens.view(self.batches, ROWS, LENGTH))


def allyouneed(work: Work) -> turns.Pass:
    """The update of `allyouneed train`, as it is."""
    from allyouneed.models.transformer import Transformer
    from allyouneed.tasks.language import Language, PackedBatch
    from allyouneed.training.loop import Trainer
    from allyouneed.training.memory import keep_freed_memory
    from allyouneed.training.parallel import Ranks
    from allyouneed.training.recipe import Training
    from allyouneed.training.state import Progress

    config, batches = work.load()

    class GivenBatches(Language):
        """A text whose epoch is the given batches, in their order."""

        def __init__(self) -> None:
            """Needs no tokenizer: the text is tokens already."""

        def batches(self, max_tokens: int, seed: int, epoch: int) -> list[Any]:
            del max_tokens, seed, epoch
            return batches

        def batch(self, plan: Any, draw: np.random.Generator) -> PackedBatch:
            del draw
            gold = plan[:, 1:].flatten()
            return PackedBatch(plan[:, :-1], gold, torch.arange(len(gold)), None)

        def target_tokens(self, plan: Any) -> int:
            return plan[:, 1:].numel()

    keep_freed_memory()
    trainer = Trainer(Transformer(config), GivenBatches(), Training(label_smoothing=0.0), seed=1, ranks=Ranks())
    progress = Progress()
    return lambda: turns.timed([lambda: [trainer.update(progress) for _ in batches]])


def plain_loop(work: Work, fused: bool) -> turns.Pass:
    """LlamaForCausalLM, its own loss, AdamW."""
    from llama import fresh_llama

    config, batches = work.load()
    model: Any = fresh_llama(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)

    def step(tokens: Tensor) -> float:
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    return lambda: turns.timed([lambda: [step(tokens) for tokens in batches]])


PEERS: dict[str, tuple[Callable[..., turns.Pass], tuple[Any, ...]]] = {
    "allyouneed": (allyouneed, ()),
    "Hugging Face": (plain_loop, (False,)),
    "Hugging Face, fused AdamW": (plain_loop, (True,)),
}


def measure(work: Work, *, rounds: int) -> dict[str, Any]:
    """Rows of the table: predicted tokens a second, and peak memory."""
    peers = {name: (prepare, (work, *more)) for name, (prepare, more) in PEERS.items()}
    measured = [peer for peer in turns.measure(peers, rounds=rounds) if not peer.failure]
    tokens = work.batches * ROWS * (LENGTH - 1)
    rows = {
        peer.name: {
            "tokens_per_second": tokens / peer.median(0),
            "peak_mb": peer.peak_mb,
            "others": peer.disturbance,
        }
        for peer in measured
    }
    return {"tokens": tokens, "batches": work.batches, "rows": rows}
