"""One vector for a whole sentence (Bahdanau 2015): what it costs, by how long the source is."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from sacrebleu.metrics.bleu import BLEU

from allyouneed.pipeline import Translator, load
from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.translators import search, transformer, vector
from allyouneed.text import everyday

TABLE = "Bahdanau 2015, table 1 (all sentences)"
BINS = ((1, 5), (6, 10), (11, 20), (21, 30), (31, 45), (46, 60))  # words of a source
PHRASES = 3000  # pairs that the statistical system learns from: as many as it can manage

Texts = Sequence[tuple[str, ...]]  # source and translation


class Bottleneck(Experiment):
    """Translation with one vector, with attention, with attention alone, and by phrases."""

    name = "bottleneck"
    title = "One vector for a whole sentence"
    note = (
        "English to French, sentences of the everyday grammar. The three models are of one size but for what attention "
        "adds, and were trained for as many updates on as many tokens. The statistical system, which needs the package "
        "`nltk`, learned from the first 3,000 of their 100,000 pairs. BLEU of greedy translations of sentences that "
        "are held out, as many of each length, by the largest number of source words."
    )
    paper = (
        Cited(what="BLEU, RNNencdec, trained on up to 30 words", value=13.93, source=TABLE, confirmed=True),
        Cited(what="BLEU, RNNsearch, trained on up to 30 words", value=21.50, source=TABLE, confirmed=True),
        Cited(what="BLEU, RNNencdec, trained on up to 50 words", value=17.82, source=TABLE, confirmed=True),
        Cited(what="BLEU, RNNsearch, trained on up to 50 words", value=26.75, source=TABLE, confirmed=True),
        Cited(what="BLEU, the same, trained longer", value=28.45, source=TABLE, confirmed=True),
        Cited(what="BLEU, Moses (statistical)", value=33.30, source=TABLE, confirmed=True),
    )
    keys = ("model", "source words")
    charts = (Chart("lines", x="source words", y="BLEU", by=("model",)),)

    def arms(self, setting: Setting) -> list[Arm]:
        """The models that are trained by recipes; the statistical system is none."""
        return [vector(setting), search(setting), transformer(setting)]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """BLEU of each bin of lengths."""
        bins = binned(setting.choose(60, 3), setting.choose(2000, 80))
        sources = [source for texts in bins.values() for source, _ in texts]
        rows: list[Row] = []
        for name, arm in trained.items():
            translated = load(arm.folder, Translator).translate(sources, beam=1)
            rows += scores(name, bins, [one.text for one in translated])
        if find_spec("nltk"):
            rows += scores("by phrases", bins, by_phrases(setting, sources))
        return rows


def binned(count: int, most: int) -> dict[int, list[tuple[str, ...]]]:
    """Held-out sentences by length: at most `count` in a bin, from the first `most` that there are."""
    bins: dict[int, list[tuple[str, ...]]] = {high: [] for _, high in BINS}
    for pair in everyday.sentences(seed=0, count=most, split="test"):
        words = len(pair[0].split())
        place = next(high for low, high in BINS if low <= words <= high)
        if len(bins[place]) < count:
            bins[place].append(pair)
        if all(len(texts) == count for texts in bins.values()):
            break
    return {high: texts for high, texts in bins.items() if texts}


def scores(name: str, bins: Mapping[int, Texts], outputs: Sequence[str]) -> list[Row]:
    """BLEU of the outputs, which stand bin after bin."""
    rows: list[Row] = []
    start = 0
    for high, texts in bins.items():
        part = list(outputs[start : start + len(texts)])
        score = BLEU().corpus_score(part, [[target for _, target in texts]]).score
        rows.append({"model": name, "source words": high, "BLEU": score, "sentences": len(texts)})
        start += len(texts)
    return rows


def by_phrases(setting: Setting, sources: Sequence[str]) -> list[str]:
    """Translations of the statistical system."""
    from allyouneed.statistical import PhraseTranslator

    pairs = everyday.sentences(seed=setting.seed, count=setting.choose(PHRASES, 100), split="train")
    return PhraseTranslator.train((source, target) for source, target in pairs).translate(sources)
