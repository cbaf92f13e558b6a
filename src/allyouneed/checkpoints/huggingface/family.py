"""What a family of published models is made of here: a table of tensor names, and its config in both directions."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer

Change = Callable[[list[Tensor]], list[Tensor]]


def unchanged(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors that are alike on both sides."""
    return tensors


@dataclass(frozen=True)
class Entry:
    """Tensors of ours, and those of theirs that hold the same numbers; all of `theirs` are needed.

    `split` makes ours of theirs, and `join` theirs of ours; both use torch alone, since shapes are found by running
    them without numbers. What `split` returns may be views: they are made contiguous and float32 afterwards.
    """

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    split: Change = unchanged
    join: Change = unchanged


def same(ours: str, theirs: str) -> Entry:
    """One tensor under another name."""
    return Entry((ours,), (theirs,))


def layer(ours: str, theirs: str, *, bias: bool = True) -> list[Entry]:
    """`.weight` and, with `bias`, `.bias` of a layer or a norm under another name."""
    kinds = ("weight", "bias") if bias else ("weight",)
    return [same(f"{ours}.{kind}", f"{theirs}.{kind}") for kind in kinds]


def turned(tensors: list[Tensor]) -> list[Tensor]:
    """Matrices that stand the other way round."""
    return [tensor.t() for tensor in tensors]


def transposed(ours: str, theirs: str) -> Entry:
    """A matrix that stands the other way round."""
    return Entry((ours,), (theirs,), turned, turned)


def fused_by_head(ours: str, theirs: str, n_heads: int) -> Entry:
    """`ours` with {} for query, key and value, which theirs holds in one: [H, 3, K, ...] flattened to [3·H·K, ...]."""

    def split(tensors: list[Tensor]) -> list[Tensor]:
        return [part.flatten(0, 1) for part in tensors[0].unflatten(0, (n_heads, 3, -1)).unbind(1)]

    def join(tensors: list[Tensor]) -> list[Tensor]:
        return [torch.stack([part.unflatten(0, (n_heads, -1)) for part in tensors], 1).flatten(0, 2)]

    return Entry(tuple(ours.format(part) for part in ("query", "key", "value")), (theirs,), split, join)


def no_copies(config: Any) -> Mapping[str, str]:
    """No tensor of theirs stands twice."""
    return {}


def as_it_is(config: Any, names: Collection[str]) -> Any:
    """The config says everything."""
    return config


def any_length(config: Any) -> int:
    """A text of one token is enough."""
    return 1


Table = Callable[[Any], list[Entry]]


@dataclass(frozen=True)
class Family:
    """Models of one kind as the Hugging Face layout stores them.

    `config` reads a `config.json`, and `describe` writes one (without family, class, marks and dtype, which are
    added); both raise `Refused` with every reason why they cannot. `entries` is the table of tensors,
    under their names in the first of `architectures`, the class that is written; `older` are tables of other layouts
    that are read too.

    `prefixes` begin some names in some classes and are missing in others ("transformer.", "model."): names are compared
    without them. `ignored` are regular expressions for whole names (without prefix) of tensors that say nothing:
    buffers that can be computed. `copies` says which of their tensors (without prefix) may stand in a file although
    they must equal another one: {"lm_head.weight": "wte.weight"}. `refine` sees the names in the file (without
    prefixes) where those decide: is there a pooler? `stacks` says where the list of layers of "encoder" and "decoder"
    is in a model of their library, beneath its base model. `kind` is the class of its configs, from which `build` makes
    the model. `shortest` says how many tokens a text needs for their library to compute what the config says.
    """

    name: str
    model_types: tuple[str, ...]
    architectures: tuple[str, ...]
    config: Callable[[dict[str, Any]], Any]
    describe: Callable[[Any], dict[str, Any]]
    entries: Table
    older: tuple[Table, ...] = ()
    prefixes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    copies: Callable[[Any], Mapping[str, str]] = no_copies
    refine: Callable[[Any, Collection[str]], Any] = as_it_is
    stacks: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: type[Any] = TransformerConfig
    build: Callable[[Any], Any] = Transformer
    shortest: Callable[[Any], int] = any_length

    def bare(self, name: str) -> str:
        """A tensor's name without the prefix that some classes put before it."""
        for prefix in self.prefixes:
            if name.startswith(prefix):
                return name[len(prefix) :]
        return name
