"""The guide's models under test: small random ones, one of each line, stand in for those that ship."""

import pytest

from allyouneed.guide.models import Models
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import LanguageModel, MaskedModel, Pipeline, Translator
from allyouneed.text.tokenizer import Tokenizer

SHIPPED = ("zoo:fr-en", "zoo:en-fr", "zoo:lm-en", "zoo:mlm-en")
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


@pytest.fixture(scope="session")
def models(pipe: Translator, language_model: LanguageModel, masked_model: MaskedModel) -> Models:
    def load(name: str) -> Pipeline:
        if name in (language_model.name, masked_model.name):
            return language_model if name == language_model.name else masked_model
        return Translator(pipe.model, pipe.tokenizer, name=name, card=CARD)

    return Models(shipped=SHIPPED, load=load)
