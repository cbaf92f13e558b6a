"""The guide's models under test: a small random one stands in for those that ship."""

import pytest

from allyouneed.guide.models import Models
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import Translator
from allyouneed.text.tokenizer import Tokenizer

SHIPPED = ("zoo:fr-en", "zoo:en-fr")


@pytest.fixture(scope="session")
def pipe(model: Transformer, tokenizer: Tokenizer) -> Translator:
    return Translator(model, tokenizer, name="zoo:fr-en", card="# A small model\n")


@pytest.fixture(scope="session")
def models(model: Transformer, tokenizer: Tokenizer) -> Models:
    def load(name: str) -> Translator:
        return Translator(model, tokenizer, name=name, card="# A small model\n")

    return Models(shipped=SHIPPED, load=load)
