"""Attention weights out of any model, without touching what it computes."""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from allyouneed.errors import InputError, UsageError, check_whole, nearest
from allyouneed.lens import pictures
from allyouneed.parts.additive import AdditiveAttention
from allyouneed.parts.attention import NOWHERE, MultiHeadAttention, Place
from allyouneed.parts.masks import Mask, padding
from allyouneed.parts.patterns import behind

Head = int | Literal["mean"]

# Draws what is shown in a notebook or saved as a page. It stands above this room, so it is met only when it is asked.
FACE = "allyouneed.guide.look"


@dataclass(frozen=True)
class Lookup:
    """What went into one attention: from this its weights are computed, when somebody asks. B is 1 but for `each`."""

    attention: Any  # a MultiHeadAttention; in the class below it an AdditiveAttention
    x: Tensor  # [B, T, D]
    keys: Tensor  # [B, G, S, K]
    mask: Mask | None = None
    place: Place = NOWHERE

    def weights(self, head: int | None = None) -> Tensor:
        """The weights of one head [T, S], or of all [H, T, S]. Each row adds to 1."""
        weights = self.each(head)[0]
        return weights if head is None else weights[0]

    @torch.no_grad()
    def each(self, head: int | None = None) -> Tensor:
        """The weights of one head or of all, for each text of a batch [B, 1 or H, T, S]."""
        weights: Tensor = self.attention.weights(self.x, self.keys, self.mask, self.place, head=head)
        return weights.cpu()

    @property
    def rule(self) -> Mask | None:
        """Who may look at whom; a token that counts more than once stands there once."""
        if self.mask is None or getattr(self.attention, "again", None) is None:
            return self.mask
        return behind(self.mask, self.keys.shape[2] - self.x.shape[1])


@dataclass(frozen=True)
class AdditiveLookup(Lookup):
    """The same of additive attention. Its queries x [B, T, Q] come step by step: each is the state after the last."""

    keep: Tensor | None = None  # [B, S]

    @torch.no_grad()
    def each(self, head: int | None = None) -> Tensor:
        """The weights of its one head, for each text of a batch [B, 1, T, S]."""
        weights: Tensor = self.attention.weights(self.x, self.keys, self.keep)
        return weights[:, None].cpu()


def attentions(model: nn.Module) -> list[tuple[str, MultiHeadAttention | AdditiveAttention]]:
    """The attentions of a model and their names. Raises UsageError where there are none."""
    found = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention | AdditiveAttention)
    ]
    if not found:
        raise UsageError(
            "This model has no attention: it keeps what it read in a state of fixed size, and never looks back at a "
            "token."
        )
    return found


@contextmanager
def recording(model: nn.Module) -> Generator[dict[str, list[Lookup]]]:
    """While it is open, every forward pass of the model leaves its lookups here, layer by layer under their side; a
    layer that is applied several times leaves several.

    The hooks only read: the model runs the same kernels on the same numbers as without them. Raises UsageError where
    there is no attention.
    """
    lookups: dict[str, list[Lookup]] = {}
    handles = [
        module.register_forward_pre_hook(recorder(lookups.setdefault(side_of(name), [])), with_kwargs=True)
        for name, module in attentions(model)
    ]
    try:
        yield lookups
    finally:
        for handle in handles:
            handle.remove()


def recorder(lookups: list[Lookup]) -> Any:
    """A hook that appends what its module is called with."""

    def record(attention: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        if isinstance(attention, AdditiveAttention):
            query, keys, _, keep = inputs
            before = [lookup.x for lookup in lookups]
            mask = None if keep is None else padding(keep)
            lookups[:] = [AdditiveLookup(attention, torch.cat((*before, query), 1), keys, mask, keep=keep)]
            return
        assert isinstance(attention, MultiHeadAttention)
        given = dict(zip(("x", "keys", "values", "mask", "place"), inputs, strict=False)) | named
        del given["values"]
        lookups.append(Lookup(attention, **given))

    return record


def side_of(name: str) -> str:
    """The stack that a module belongs to, "encoder" or "decoder", or "cross" where one looks at the other."""
    return "cross" if name.endswith("cross_attention") else name.partition(".")[0]


class Attention:
    """The attention of one sentence: `view["cross", 1, 3]` are the weights [T, S] of layer 1 and head 3, from 0.

    Sides are "encoder", "decoder" and "cross", as far as the model has them; layers count from the end if negative; the
    head may be "mean".
    `tokens[side]` are the names of the rows (who looks) and of the columns (what is looked at).
    """

    def __init__(
        self, lookups: Mapping[str, Sequence[Lookup]], tokens: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    ) -> None:
        self.lookups = lookups
        self.tokens = tokens

    @property
    def sides(self) -> list[str]:
        """The sides that there are."""
        return list(self.lookups)

    def layers(self, side: str) -> int:
        """Layers of a side."""
        if side not in self.lookups:
            raise UsageError(f'There is no side "{side}", but {", ".join(self.sides)}.{nearest(side, self.sides)}')
        return len(self.lookups[side])

    def heads(self, side: str) -> int:
        """Heads of each layer of a side."""
        return self.lookups[side][0].attention.n_heads

    def lookup(self, side: str, layer: int) -> Lookup:
        """What went into the attention of one layer of a side."""
        layers = self.layers(side)
        check_whole(layer=layer)
        if not -layers <= layer < layers:
            raise UsageError(
                f"There is no {side} layer {layer}: layers go from 0 to {layers - 1}, or from -{layers} to -1."
            )
        return self.lookups[side][layer]

    def __getitem__(self, key: tuple[str, int, Head]) -> Tensor:
        try:
            side, layer, head = key
        except ValueError as error:
            raise UsageError(f'A map goes by its side, layer and head, as ["{self.sides[-1]}", 0, "mean"].') from error
        lookup = self.lookup(side, layer)
        if head == "mean":
            return lookup.weights().mean(0)
        if isinstance(head, str) or not 0 <= head < self.heads(side):
            raise UsageError(f'There is no {side} head {head}: heads go from 0 to {self.heads(side) - 1}, or "mean".')
        return lookup.weights(head)

    def all(self, side: str) -> Tensor:
        """The weights of every layer and head of a side, [L, H, T, S]."""
        self.layers(side)
        return torch.stack([lookup.weights() for lookup in self.lookups[side]])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """For each side its `rows`, `columns` and `weights` [L][H][T][S], as plain lists."""
        return {
            side: {
                "rows": list(self.tokens[side][0]),
                "columns": list(self.tokens[side][1]),
                "weights": pictures.rounded(self.all(side).tolist()),
            }
            for side in self.sides
        }

    def text(self, side: str | None = None, layer: int = -1, head: Head = "mean") -> str:
        """A small heat map in characters, for a terminal. Without a `side` it is the last one that there is."""
        side = self.sides[-1] if side is None else side
        return pictures.text(self[side, layer, head].tolist(), *self.tokens[side])

    def save(self, path: str | Path, *, side: str | None = None, layer: int = -1, head: Head = "mean") -> None:
        """Writes a picture of one side, layer and head (.png, .svg), or everything (.html to browse, .json, .npz).
        Without a `side` it is the last one that there is.

        Raises UsageError for another suffix and InputError where the file cannot be written.
        """
        path, side = Path(path), self.sides[-1] if side is None else side
        suffix = path.suffix.lower()
        if suffix in (".png", ".svg"):
            which = "mean of the heads" if head == "mean" else f"head {head}"
            title = f"{side}, layer {layer % self.layers(side)}, {which}"
            content = pictures.image(self[side, layer, head].numpy(), *self.tokens[side], title=title, suffix=suffix)
        elif suffix == ".html":
            content = import_module(FACE).page(self, "en", self._place(side, layer, head)).text.encode()
        elif suffix == ".json":
            content = pictures.json_text(self.to_dict())
        elif suffix == ".npz":
            content = pictures.arrays({name: self.all(name).numpy() for name in self.sides}, self.tokens)
        else:
            raise UsageError(f"{path}: the ending says the format, and it is one of .png, .svg, .html, .json and .npz.")
        write_whole(path, content)

    def show(self, *, side: str | None = None, layer: int = -1, head: Head = "mean", lang: str = "en") -> None:
        """Shows the map, from this side, layer and head on: to look through in a notebook, in characters elsewhere.
        Without a `side` it begins with the last one that there is. `lang` is "en" or "ko".
        """
        side = self.sides[-1] if side is None else side
        jupyter, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")  # a notebook has loaded its own
        if jupyter is not None and jupyter.get_ipython() is not None:
            jupyter.display.display(import_module(FACE).live(self, lang, self._place(side, layer, head)))
        elif marimo is not None and marimo.running_in_notebook():
            marimo.output.append(import_module(FACE).live(self, lang, self._place(side, layer, head)))
        else:
            print(self.text(side, layer, head))

    def _place(self, side: str, layer: int, head: Head) -> dict[str, Any]:
        """A side, layer and head that there are, as the figure counts them: from 0, and the mean is -1."""
        self[side, layer, head]
        return {"side": side, "layer": layer % self.layers(side), "head": -1 if head == "mean" else head}

    def _repr_html_(self) -> str:
        """The page, framed: notebooks show it for the object."""
        place = self._place(self.sides[-1], -1, "mean")
        return import_module(FACE).page(self, "en", place)._repr_html_()

    def __repr__(self) -> str:
        sizes = (
            f"{side} {self.layers(side)} × {self.heads(side)} of {len(rows)} × {len(columns)}"
            for side, (rows, columns) in self.tokens.items()
        )
        return f"Attention({', '.join(sizes)})"


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.saving")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error
