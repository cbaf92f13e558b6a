"""Beyond the trained length: which way to say where a token stands goes on to work (Press 2022)?"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, budget
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.text import prose, prose_tables
from allyouneed.tasks.documents import cut, encode_texts
from allyouneed.tasks.language import packed

SCHEMES = {"sinusoidal": "sinusoidal", "learned": "learned", "T5 bias": "t5", "rotary": "rotary", "ALiBi": "alibi"}
TIMES = 4  # as far as this many trained lengths is measured
ROWS = 16  # measured at a time
FIGURE = "Press 2022, section 2.2: tokens beyond the trained 512 until the perplexity is worse than there"


class Positions(Experiment):
    """Language models alike but for their position scheme, on texts longer than any that they were trained on."""

    name = "positions"
    title = "Beyond the trained length"
    note = (
        "Decoders that were trained on rows of 64 tokens of English prose, alike but for how they know where a token "
        "stands, read rows of 256 that were held out. Loss in nats a token, by how many tokens of the row have been "
        "read: up to 64 is what they know, and beyond it more text to look back at should only help."
    )
    paper = (
        Cited(what="sinusoidal: tokens beyond 512", value=20, source=FIGURE),
        Cited(what="rotary: tokens beyond 512", value=200, source=FIGURE),
        Cited(what="T5 bias: tokens beyond 512", value=600, source=FIGURE),
    )
    keys = ("positions", "tokens read")
    charts = (Chart("lines", x="tokens read", y="loss", by=("positions",), unit="nats a token"),)

    def arms(self, setting: Setting) -> list[Arm]:
        """One for each scheme."""
        length = setting.choose(64, 16)
        common = (
            f"model.d_model={setting.choose(128, 32)}",
            "model.n_heads=4",
            "model.n_kv_heads=4",
            f"model.d_head={setting.choose(32, 8)}",
            f"model.d_ff={setting.choose(256, 64)}",
            f"model.n_decoder_layers={setting.choose(2, 1)}",
            f"model.max_length={TIMES * length}",
            f"tokenizer.vocab_size={setting.choose(1000, 400)}",
            *budget(setting, updates=800, batch_tokens=1024),
            f"data.max_tokens={length}",
            *prose_tables(setting),
        )
        return [Arm(name, "lm-en", (*common, f"model.positions={scheme}")) for name, scheme in SCHEMES.items()]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """The mean loss of each stretch of the trained length."""
        rows: list[Row] = []
        documents = prose(setting, "dev")
        for name, arm in trained.items():
            length = arm.recipe.data.model_dump()["max_tokens"]
            losses = losses_by_position(arm, documents, TIMES * length)
            for stretch in range(TIMES):
                part = losses[:, stretch * length : (stretch + 1) * length]
                rows.append({"positions": name, "tokens read": (stretch + 1) * length, "loss": float(part.mean())})
        return rows


@torch.inference_mode()
def losses_by_position(arm: Trained, documents: list[str], row: int) -> Tensor:
    """The loss of each token in rows of `row` tokens, [rows, row]; what is left at a document's end is left out."""
    model: Any = arm.model
    pieces = cut(encode_texts(documents, arm.task.tokenizer), row, marks=True)
    whole = np.flatnonzero(pieces.size == row)
    losses: list[Tensor] = []
    for start in range(0, len(whole), ROWS):
        batch = packed(pieces, [np.array([piece]) for piece in whole[start : start + ROWS]])
        logits = model.logits(batch.states(model)).float()
        gold = logits.gather(1, batch.gold[:, None])[:, 0]
        losses.append((logits.logsumexp(-1) - gold).view(-1, row))
    return torch.cat(losses)
