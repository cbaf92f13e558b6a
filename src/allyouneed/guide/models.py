"""The models that the figures may use: those that ship, and the user's own. Each is loaded once, when asked for."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from torch import nn

from allyouneed import pipeline
from allyouneed.errors import InputError, UsageError, nearest
from allyouneed.models.architectures import ARCHITECTURES, architecture_of
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import Loaded

Kind = TypeVar("Kind", bound=Loaded)


@dataclass
class _Shelf:
    """One model's place. The lock is held while it computes: hooks that capture its insides see one run at a time."""

    lock: Lock = field(default_factory=Lock)
    pipe: Loaded | None = None


class Models:
    """Named models. `own` are names and folders beside the shipped ones; `open_any` lets any name be loaded.

    A page may only ask for the names that its server was started with, so no request can make it read another folder.
    """

    def __init__(
        self,
        own: Sequence[str] = (),
        *,
        shipped: Sequence[str] = (),
        open_any: bool = False,
        load: Callable[[str], Loaded] = pipeline.load,
    ) -> None:
        shipped = shipped or pipeline.shipped()
        self.own = tuple(name for name in dict.fromkeys(own) if name not in shipped)
        self._shelves = {name: _Shelf() for name in (*self.own, *shipped)}
        self._open_any = open_any
        self._load = load

    @contextmanager
    def use(self, name: str, kind: type[Kind], of: type[nn.Module] = Transformer) -> Generator[Kind]:
        """The model, for this thread alone. Raises InputError where it cannot be loaded, is not one of ours, or is of
        another kind than the figure needs, which takes a module `of` that class apart.
        """
        if name not in self._shelves:
            if not self._open_any:
                known = ", ".join(self._shelves) or "none"
                raise UsageError(f'There is no model "{name}" here.{nearest(name, self._shelves)} Models: {known}.')
            self._shelves.setdefault(name, _Shelf())
        shelf = self._shelves[name]
        with shelf.lock:
            if shelf.pipe is None:
                shelf.pipe = self._load(name)
            if not isinstance(shelf.pipe, kind):
                raise UsageError(f"{name} is {shelf.pipe.what}, and this figure needs {kind.what}.")
            if not isinstance(shelf.pipe.model, of):
                own = ARCHITECTURES[architecture_of(shelf.pipe.config)].paper
                raise UsageError(f"{name} is another kind of model, {own}, and this figure cannot look inside it.")
            yield shelf.pipe

    def card(self, name: str) -> dict[str, Any]:
        """What the chip beside a figure says of a model: stacks, size and card, or why it cannot be used."""
        known = {"name": name, "own": name in self.own}
        try:
            with self.use(name, Loaded, nn.Module) as pipe:
                parameters = sum(parameter.numel() for parameter in pipe.model.parameters())
                return {**known, "line": line_of(pipe), "parameters": parameters, "card": pipe.card}
        except InputError as problem:
            return {**known, "problem": str(problem)}

    def cards(self) -> list[dict[str, Any]]:
        """A card for each model, the user's own first."""
        return [self.card(name) for name in self._shelves]


def line_of(pipe: Loaded) -> str:
    """Which figures a model is for: a Transformer's stacks, or of another model its kind and what it reads."""
    kind = architecture_of(pipe.config)
    return pipe.config.line if kind == "transformer" else f"{kind}-{pipe.config.line}"
