"""How many heads? The same width cut into more and more of them (Vaswani 2017, table 3, rows A)."""

from collections.abc import Mapping

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, budget
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.text import everyday_pairs

HEADS = (1, 2, 4, 8, 16)
TABLE = "Vaswani 2017, table 3 (A)"


class Heads(Experiment):
    """Transformers of one width with 1 to 16 heads."""

    name = "heads"
    title = "One wide look, or several narrow ones?"
    note = (
        "Transformers of width 128, one layer on each side, whose attention is cut into 1 to 16 heads, "
        "128 to 8 numbers wide: as many parameters and products each. English to French, sentences of the everyday "
        "grammar; loss in nats a token, and BLEU of greedy translations, on sentences that are held out."
    )
    paper = (
        Cited(what="BLEU, 1 head", value=24.9, source=TABLE, confirmed=True),
        Cited(what="BLEU, 4 heads", value=25.5, source=TABLE),
        Cited(what="BLEU, 8 heads (base)", value=25.8, source="Vaswani 2017, table 3 (base)", confirmed=True),
        Cited(what="BLEU, 16 heads", value=25.8, source=TABLE),
        Cited(what="BLEU, 32 heads", value=25.4, source=TABLE),
    )
    keys = ("heads",)
    charts = (
        Chart("lines", x="heads", y="loss", unit="nats a token", logarithmic=True),
        Chart("lines", x="heads", y="BLEU", logarithmic=True),
    )

    def arms(self, setting: Setting) -> list[Arm]:
        """One for each number of heads."""
        common = (
            "model.preset=transformer-tiny",
            "model.n_encoder_layers=1",
            "model.n_decoder_layers=1",
            f"model.d_model={setting.choose(128, 32)}",
            f"model.d_ff={setting.choose(384, 64)}",
            f"tokenizer.vocab_size={setting.choose(1000, 500)}",
            *budget(setting, updates=1000, batch_tokens=1024),
            *everyday_pairs("en", "fr", train=setting.choose(20_000, 300), dev=setting.choose(500, 40)),
        )
        return [Arm(f"{heads} heads", "en-fr", (*common, f"model.n_heads={heads}")) for heads in HEADS]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Loss and BLEU on the held-out sentences."""
        rows: list[Row] = []
        for heads in HEADS:
            found = trained[f"{heads} heads"].validate(sentences=setting.choose(500, 5))
            rows.append({"heads": heads, "loss": found["loss"], "BLEU": found["bleu"]})
        return rows
