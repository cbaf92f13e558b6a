"""The source backwards (Sutskever 2014): a help where both languages go the same way, and where they do not?"""

from collections.abc import Mapping

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.translators import BACKWARDS, vector

SECTION = "Sutskever 2014, section 3.3 (English to French)"
LANGUAGES = {"English to French": "fr", "English to Korean": "ko"}


class Reversal(Experiment):
    """Encoder-decoders without attention that read their source forwards or backwards."""

    name = "reversal"
    title = "The source sentence backwards"
    note = (
        "Recurrent encoder-decoders without attention, alike but for the end from which they read their source: into "
        "French, whose words stand much as the English ones do, and into Korean, whose verb comes last. Sentences of "
        "the everyday grammar; perplexity a token, and BLEU of greedy translations, on sentences that are held out."
    )
    paper = (
        Cited(what="perplexity, as written", value=5.8, source=SECTION, confirmed=True),
        Cited(what="perplexity, backwards", value=4.7, source=SECTION, confirmed=True),
        Cited(what="BLEU, as written", value=25.9, source=SECTION, confirmed=True),
        Cited(what="BLEU, backwards", value=30.6, source=SECTION, confirmed=True),
    )
    keys = ("languages", "source")
    charts = (
        Chart("bars", x="languages", y="perplexity", by=("source",), unit="a token"),
        Chart("bars", x="languages", y="BLEU", by=("source",)),
    )
    seeds = (1, 2, 3)

    def arms(self, setting: Setting) -> list[Arm]:
        """Each pair of languages, and each way to read."""
        return [
            vector(setting, target=target, source=source, name=f"{languages}, {source}")
            for languages, target in LANGUAGES.items()
            for source in BACKWARDS
        ]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Perplexity and BLEU on the held-out sentences."""
        rows: list[Row] = []
        for name, arm in trained.items():
            languages, _, source = name.partition(", ")
            found = arm.validate(sentences=setting.choose(500, 5))
            measures = {"perplexity": found["perplexity"], "BLEU": found["bleu"]}
            rows.append({"languages": languages, "source": source, **measures})
        return rows
