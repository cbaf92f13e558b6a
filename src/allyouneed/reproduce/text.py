"""Text that several experiments are made on, as overrides of a recipe or as files."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from allyouneed.errors import InputError
from allyouneed.reproduce.experiment import Setting
from allyouneed.text import everyday
from allyouneed.text.corpus import read_documents

PROSE = {"train": "lm-en.txt.zst", "dev": "lm-en.dev.txt"}


def everyday_pairs(source: str, target: str, *, train: int, dev: int = 500) -> tuple[str, str]:
    """Overrides that take a translation's sentences from the everyday grammar."""
    table = f'everyday=["{source}", "{target}"]'
    return f"data.train=[{{{table}, count={train}}}]", f'data.dev=[{{{table}, count={dev}, split="dev"}}]'


def prose_tables(setting: Setting) -> tuple[str, ...]:
    """Overrides that take English prose: the corpus `lm-en`, or for a quick run a little that is made up.

    Raises InputError where the corpus is not there.
    """
    if not setting.quick:
        return (*rooted(corpus(setting, "train").parent), *text_tables(PROSE["train"], PROSE["dev"]))
    for split in PROSE:
        written(setting.folder / "text" / f"{split}.txt", lambda split=split: "\n\n".join(prose(setting, split)))
    return (*rooted(setting.folder / "text"), *text_tables("train.txt", "dev.txt"))


def prose(setting: Setting, split: str) -> list[str]:
    """The documents of `prose_tables`. Those of a quick run are everyday sentences in a row."""
    if not setting.quick:
        return list(read_documents(corpus(setting, split)))
    count = 2000 if split == "train" else 400
    sentences = everyday.sentences(seed=1, count=count, split=split, languages=("en",))
    return [" ".join(text for (text,) in part) for part in runs(sentences, 40)]


def corpus(setting: Setting, split: str) -> Path:
    """The file of `lm-en`."""
    path = setting.corpora / PROSE[split]
    if not path.is_file():
        raise InputError(f"There is no {path}: name the folder of the corpora by --corpora, or make a quick run.")
    return path


def rooted(folder: Path) -> tuple[str]:
    """The override that says where files are."""
    return (f"data.root={json.dumps(str(folder), ensure_ascii=False)}",)


def text_tables(train: str, dev: str, *, lines: bool = False) -> tuple[str, str]:
    """Overrides that take documents from files: paragraphs, or each line a document."""
    kind = ', documents="lines"' if lines else ""
    return f'data.train=[{{text="{train}"{kind}}}]', f'data.dev=[{{text="{dev}"{kind}}}]'


def written(path: Path, text: Callable[[], str]) -> Path:
    """A file with this text, made where it is not yet there, whole or not at all."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.saving")
        temporary.write_text(text() + "\n", "utf-8", newline="\n")
        temporary.replace(path)
    return path


def runs(items: Iterable[tuple[str, ...]], size: int) -> Iterator[Sequence[tuple[str, ...]]]:
    """Items in runs of `size`, the last one shorter."""
    stream = iter(items)
    while part := list(islice(stream, size)):
        yield part
