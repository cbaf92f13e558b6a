"""The guide's models under test: small random ones, one of each line, stand in for those that ship."""

from typing import Any, cast

import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.models.pointer import PointerConfig, PointerNetwork
from allyouneed.models.recurrent import Recurrent, RecurrentConfig
from allyouneed.models.sets import ReadProcessWrite, SetConfig
from allyouneed.models.transformer import Transformer
from allyouneed.models.turing import NeuralTuringMachine, TuringConfig
from allyouneed.pipeline import LanguageModel, Loaded, MaskedModel, Pointer, Sorter, TapeMachine, Translator
from allyouneed.text.tokenizer import Tokenizer

RECURRENT = {
    "zoo:rnnencdec-en-fr": {},
    "zoo:rnnencdec-reversed-en-fr": {"reverse_source": True},
    "zoo:rnnencdec-en-ko": {},
    "zoo:rnnencdec-reversed-en-ko": {"reverse_source": True},
    "zoo:rnnsearch-en-fr": {"attention": "additive", "summary": "start", "bidirectional": True},
}
POINTERS = {"zoo:hull": "pointer", "zoo:hull-attention": "attention", "zoo:hull-lstm": "plain"}
OTHERS = (*POINTERS, "zoo:ntm-copy", "zoo:sort")
SHIPPED = ("zoo:fr-en", "zoo:en-fr", "zoo:lm-en", "zoo:mlm-en", *RECURRENT, *OTHERS)
CARD = "# A small model\n"


@pytest.fixture(scope="session")
def pipe(model: Transformer, tokenizer: Tokenizer) -> Translator:
    return Translator(model, tokenizer, name="zoo:fr-en", card=CARD)


@pytest.fixture(scope="session")
def language_model(decoder: Transformer, tokenizer: Tokenizer) -> LanguageModel:
    return LanguageModel(decoder, tokenizer.for_line("decoder"), name="zoo:lm-en", card=CARD)


@pytest.fixture(scope="session")
def masked_model(encoder: Transformer, tokenizer: Tokenizer) -> MaskedModel:
    return MaskedModel(encoder, tokenizer.for_line("encoder"), name="zoo:mlm-en", card=CARD)


def recurrent(name: str, tokenizer: Tokenizer) -> Translator:
    """A small encoder-decoder from before the Transformer."""
    fields: dict[str, Any] = {"attention": "none", "summary": "every-step", "bidirectional": False, **RECURRENT[name]}
    torch.manual_seed(list(RECURRENT).index(name))
    sizes = {"d_embedding": 12, "d_hidden": 16, "d_readout": 12, "d_attention": 8, "max_length": 256}
    config = RecurrentConfig(vocab_size=tokenizer.vocab_size, **sizes, **fields)
    model = Recurrent(config)
    if model.decoder.cross_attention is not None:
        torch.nn.init.normal_(model.decoder.cross_attention.direction)  # which begins with zeros
    return Translator(cast(Any, model), tokenizer, name=name, card=CARD)


def other(name: str) -> Loaded:
    """A small model of points, of bits or of sets."""
    torch.manual_seed(9)
    if name in POINTERS:
        output: Any = POINTERS[name]
        config = PointerConfig(output=output, d_model=16, max_points=None if output == "pointer" else 60)
        return Pointer(PointerNetwork(config), name=name, card=CARD)
    if name == "zoo:ntm-copy":
        return TapeMachine(NeuralTuringMachine(TuringConfig(n_slots=24, d_controller=20)), name=name, card=CARD)
    return Sorter(ReadProcessWrite(SetConfig(d_model=16)), name=name, card=CARD)


@pytest.fixture(scope="session")
def models(pipe: Translator, language_model: LanguageModel, masked_model: MaskedModel, tokenizer: Tokenizer) -> Models:
    def load(name: str) -> Loaded:
        if name in RECURRENT:
            return recurrent(name, tokenizer)
        if name in OTHERS:
            return other(name)
        if name in (language_model.name, masked_model.name):
            return language_model if name == language_model.name else masked_model
        return Translator(pipe.model, pipe.tokenizer, name=name, card=CARD)

    return Models(shipped=SHIPPED, load=load)
