"""The kinds of model there are: each a config, and the module that is built from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from allyouneed.models.mamba import Mamba, MambaConfig
from allyouneed.models.ngram import NGram, NGramConfig
from allyouneed.models.pointer import PointerConfig, PointerNetwork
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig


@dataclass(frozen=True)
class Architecture:
    """A frozen dataclass of settings with a `line`, the module that takes it, and the paper that both come from."""

    config: Any
    model: Any
    paper: str


ARCHITECTURES: Mapping[str, Architecture] = {
    "transformer": Architecture(TransformerConfig, Transformer, "Transformer (Vaswani 2017)"),
    "mamba": Architecture(MambaConfig, Mamba, "Mamba (Gu 2023)"),
    "ngram": Architecture(NGramConfig, NGram, "N-gram (Chen & Goodman 1999)"),
    "pointer": Architecture(PointerConfig, PointerNetwork, "Pointer network (Vinyals 2015)"),
    "recurrent": Architecture(RecurrentConfig, Recurrent, "Recurrent (Cho 2014, Bahdanau 2015)"),
    "turing": Architecture(TuringConfig, NeuralTuringMachine, "Neural Turing Machine (Graves 2014)"),
    "set": Architecture(SetConfig, ReadProcessWrite, "Read, process, write (Vinyals 2016)"),
}


def architecture_of(config: object) -> str:
    """The name under which a config's kind of model is known."""
    return next(name for name, kind in ARCHITECTURES.items() if type(config) is kind.config)


def assemble(config: Any) -> nn.Module:
    """A new model of a config, with its first weights."""
    return ARCHITECTURES[architecture_of(config)].model(config)
