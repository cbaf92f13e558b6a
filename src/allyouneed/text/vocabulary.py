"""What every tokenizer offers, native or foreign: text to ids and back, and the ids that mean something themselves."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Line = Literal["encoder", "decoder", "both"]  # which stacks the model has that reads the ids


@dataclass(frozen=True)
class Marks:
    """The ids that stand for no text. One that a vocabulary lacks is None."""

    pad: int = 0  # fills the rows of a batch; always a valid id, and always masked
    bos: int | None = None  # begins a text
    eos: int | None = None  # ends a text
    unk: int | None = None  # stands for what the vocabulary cannot spell
    mask: int | None = None  # hides a token that an encoder is to guess
    start: int | None = None  # what a decoder beside an encoder begins with
    ends: tuple[int, ...] = ()  # each of them ends a text that is being written
    prefix: tuple[int, ...] = ()  # what the model reads before a text
    suffix: tuple[int, ...] = ()  # and after it


class Vocabulary(Protocol):
    """A tokenizer as models, tasks and searches see it."""

    marks: Marks

    @property
    def vocab_size(self) -> int:
        """How many ids there are, marks included."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of one text, without marks."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of many texts, without marks. Raises InputError for a lone surrogate, which is no character."""
        ...

    def readable(self, text: str) -> str:
        """A source as a model is to read it that writes another text: as it stands, unless a vocabulary says more."""
        return text

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`. Marks say nothing, and bytes that are no UTF-8 become U+FFFD."""
        ...

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as shown to a reader: without the space before it, a part of a character as ⟨EC⟩."""
        ...

    def save(self, path: str | Path) -> None:
        """Writes a tokenizer.json that `allyouneed.text.foreign.load_vocabulary` reads back."""
        ...

    def wrap(self, ids: Iterable[int]) -> list[int]:
        """The ids of a text with the marks around it that the model reads."""
        return [*self.marks.prefix, *ids, *self.marks.suffix]

    def stream(self, after: Iterable[int] = ()) -> "Decoder":
        """Turns ids into text while they arrive. `after`: the ids of the text that they go on from."""
        return Decoder(self, after)

    @property
    def pad(self) -> int:
        """Fills the rows of a batch."""
        return self.marks.pad

    @property
    def bos(self) -> int | None:
        """Begins a text."""
        return self.marks.bos

    @property
    def eos(self) -> int | None:
        """Ends a text."""
        return self.marks.eos

    @property
    def unk(self) -> int | None:
        """Stands for what the vocabulary cannot spell."""
        return self.marks.unk

    @property
    def mask(self) -> int | None:
        """Hides a token that an encoder is to guess."""
        return self.marks.mask

    @property
    def start(self) -> int | None:
        """What a decoder beside an encoder begins with."""
        return self.marks.start

    @property
    def ends(self) -> tuple[int, ...]:
        """Each of them ends a text that is being written."""
        return self.marks.ends

    @property
    def prefix(self) -> tuple[int, ...]:
        """What the model reads before a text."""
        return self.marks.prefix

    @property
    def suffix(self) -> tuple[int, ...]:
        """What the model reads after a text."""
        return self.marks.suffix


class Decoder:
    """Text out of ids that come one by one. Only whole characters leave it: the bytes of an unfinished one are held
    back. The parts add up to `decode` of all the ids, wherever these spell UTF-8.
    """

    def __init__(self, vocabulary: Vocabulary, after: Iterable[int] = ()) -> None:
        self._vocabulary = vocabulary
        self._before = list(after)  # the ids of the part before: a vocabulary may strip the space at the very start
        self._held: list[int] = []  # the ids whose text has not left yet

    def add(self, token: int) -> str:
        """The text that `token` completes; empty while a character is unfinished."""
        self._held.append(token)
        text = self._new_text()
        return "" if text.endswith("�") else self._leave(text)

    def rest(self) -> str:
        """What is still held back, with U+FFFD for broken bytes; after it the next text may begin."""
        text = self._new_text()
        self._before, self._held = [], []
        return text

    def _new_text(self) -> str:
        shown = len(self._vocabulary.decode(self._before))
        return self._vocabulary.decode(self._before + self._held)[shown:]

    def _leave(self, text: str) -> str:
        if text:  # ids without text cannot keep a space alive, so they join what comes next
            self._before, self._held = self._held, []
        return text
