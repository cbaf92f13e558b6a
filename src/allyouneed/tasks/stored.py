"""What preparing a task makes once and takes up the next time: the subword model, and text as numbers."""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from allyouneed.checkpoints.atomic import staged_folder
from allyouneed.errors import UsageError
from allyouneed.text.foreign import load_vocabulary
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.vocabulary import Line, Vocabulary

Arrays = dict[str, npt.NDArray[Any]]
TOKENIZER = "tokenizer.json"


def subwords(
    folder: Path,
    texts: Callable[[], Iterable[str]],
    *,
    vocab_size: int,
    line: Line,
    report: Callable[[str], None],
    sentinels: int = 0,
) -> Vocabulary:
    """The tokenizer of so many pieces that is in `folder`, which may be another model's, or a new one, trained on the
    texts and put there.
    """
    if (folder / TOKENIZER).is_file() and (found := load_vocabulary(folder, line)).vocab_size == vocab_size:
        return found
    report(f"training the subword model ({vocab_size:,} pieces)")
    tokenizer = Tokenizer.train(texts(), vocab_size=vocab_size, sentinels=sentinels)
    with staged_folder(folder) as staging:
        tokenizer.save(staging / TOKENIZER)
    return tokenizer.for_line(line)


def own(tokenizer: Vocabulary) -> Tokenizer:
    """A tokenizer of this package, with whose marks pairs of texts are made; any other is refused."""
    if not isinstance(tokenizer, Tokenizer):
        raise UsageError(
            "Pairs of texts are trained on with a tokenizer of this package, and that of model.start is of another "
            "kind: it can go on with text alone (the tasks language and masked)."
        )
    return tokenizer


def cache_of(folder: Path, *facts: object) -> Path:
    """The file in `folder` for text in numbers: its name hangs on the tokenizer there, and on what else made them."""
    made_from = ((folder / TOKENIZER).read_text("utf-8"), *facts)
    name = hashlib.sha256(json.dumps(made_from, default=str, sort_keys=True).encode()).hexdigest()[:16]
    return folder / "cache" / f"{name}.safetensors"


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Writes the arrays, whole or not at all."""
    with staged_folder(path.parent) as staging:
        save_file(arrays, staging / path.name)


def load_arrays(path: Path, names: Iterable[str]) -> Arrays | None:
    """Reads the arrays of these names back, or None where there are none or they are damaged."""
    try:
        with safe_open(path, "numpy") as file:
            return {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError):
        return None
