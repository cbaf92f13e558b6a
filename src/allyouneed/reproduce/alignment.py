"""Where a translation looks (Bahdanau 2015, figure 3): does attention find the words that the grammar knows are one?"""

from collections.abc import Mapping

from allyouneed.pipeline import Translator, load
from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained
from allyouneed.reproduce.links import bare, linked_sentences
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.translators import search, transformer

SOURCE = "The agreement on the European Economic Area was signed in August 1992."
TARGET = "L'accord sur la zone économique européenne a été signé en août 1992."
SOUGHT = {"zone": "area", "économique": "economic", "européenne": "european"}


class Alignment(Experiment):
    """RNNsearch and the Transformer on sentences whose words are linked."""

    name = "alignment"
    title = "Where a translation looks"
    note = (
        "English to French, sentences of the everyday grammar, which knows of many nouns, adjectives and verbs which "
        "word is whose. Given the right translation, a French word is aligned with the English word that gets most of "
        "its attention: RNNsearch's, or that of the Transformer's last layer, its heads together. The alignment error "
        "rate is the share of linked words that are aligned with another one. The last column counts, of zone, "
        "économique and européenne in the sentence on the European Economic Area, which nothing was trained on, those "
        "aligned with Area, Economic and European."
    )
    paper = (
        Cited(what="European Economic Area: right of 3", value=3, source="Bahdanau 2015, figure 3 (a)", confirmed=True),
    )
    keys = ("model",)
    charts = (Chart("bars", x="model", y="alignment error rate"),)
    seeds = (1, 2, 3)

    def arms(self, setting: Setting) -> list[Arm]:
        """Both models."""
        return [search(setting), transformer(setting)]

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """The share of links that are missed, and the well-known sentence."""
        sentences = linked_sentences(setting.choose(300, 10))
        links = sum(len(one.links) for one in sentences)
        rows: list[Row] = []
        for name, arm in trained.items():
            translator = load(arm.folder, Translator)
            found = sum(len({*aligned(translator, one.source, one.target)} & {*one.links}) for one in sentences)
            row: Row = {"model": name, "alignment error rate": 1 - found / links, "links": links}
            rows.append(row | {"European Economic Area": sum(economic_area(translator))})
        return rows


def aligned(translator: Translator, source: str, target: str) -> list[tuple[int, int]]:
    """For each target word the source word that it looks at most: (source word, target word)."""
    read, written = translator.encode([source, target])
    return translator.align(read, written).words


def economic_area(translator: Translator) -> list[bool]:
    """Whether each of the three words is aligned as it should be."""
    read, written = bare(SOURCE), bare(TARGET)
    found = {written[to]: read[place] for place, to in aligned(translator, SOURCE, TARGET)}
    return [found[ours] == theirs for ours, theirs in SOUGHT.items()]
