"""`load` and the loaded thing: a model, its tokenizer and what they can do together.

An encoder-decoder is a `Translator`, a decoder a `LanguageModel`, an encoder a `MaskedModel`.
"""

from pathlib import Path
from typing import TypeVar, overload

from allyouneed.checkpoints.conversion import read_model
from allyouneed.checkpoints.native import CARD, CONFIG, read_config, read_text
from allyouneed.errors import UsageError, nearest
from allyouneed.models.stepper import Precision
from allyouneed.pipeline.common import Pipeline as Pipeline
from allyouneed.pipeline.common import Score as Score
from allyouneed.pipeline.common import TextError as TextError
from allyouneed.pipeline.common import TooLongError as TooLongError
from allyouneed.pipeline.gaps import Filling as Filling
from allyouneed.pipeline.gaps import Guess as Guess
from allyouneed.pipeline.language import LanguageModel as LanguageModel
from allyouneed.pipeline.masked import MaskedModel as MaskedModel
from allyouneed.pipeline.translator import Alignment as Alignment
from allyouneed.pipeline.translator import Translation as Translation
from allyouneed.pipeline.translator import Translator as Translator
from allyouneed.pipeline.translator import gathered as gathered
from allyouneed.pipeline.translator import strongest as strongest
from allyouneed.pipeline.writing import Generation as Generation
from allyouneed.pipeline.writing import Writer as Writer
from allyouneed.text.vocabulary import Line

ZOO = Path(__file__).parents[1] / "zoo"

AnyPipeline = Translator | LanguageModel | MaskedModel
Kind = TypeVar("Kind", bound=Pipeline)


def shipped(line: Line | None = None) -> list[str]:
    """Names of the models in the package: all, or those with these stacks."""
    folders = sorted(path.parent for path in ZOO.glob("*/config.json"))
    return [f"zoo:{folder.name}" for folder in folders if line is None or read_config(folder / CONFIG)[1].line == line]


@overload
def load(name: str | Path, *, precision: Precision = "float32") -> AnyPipeline: ...
@overload
def load(name: str | Path, kind: type[Kind], *, precision: Precision = "float32") -> Kind: ...
def load(name: str | Path, kind: type[Pipeline] = Pipeline, *, precision: Precision = "float32") -> Pipeline:
    """A model ready to use: a shipped one ("zoo:en-fr"), a folder in this package's or the Hugging Face layout, or a
    .gguf file. With `kind` (`Translator`, `LanguageModel`, `MaskedModel`) one of another kind is refused.

    Raises UsageError for an unknown name, with the nearest one, and for another kind; InputError where there is no
    usable model.
    """
    place = place_of(str(name))
    saved = read_model(place)
    kinds: dict[Line, type[AnyPipeline]] = {"both": Translator, "decoder": LanguageModel, "encoder": MaskedModel}
    own = kinds[saved.config.line]
    if not issubclass(own, kind):
        raise UsageError(f"{name} is {own.what}, and this needs {kind.what}.")
    card = read_text(place / CARD) if place.is_dir() else None
    return own(saved.model, saved.tokenizer, name=str(name), card=card or "", recipe=saved.recipe, precision=precision)


def place_of(name: str) -> Path:
    """Where the model of that name is. Raises UsageError where there is none."""
    if name.startswith("zoo:"):
        if name not in shipped():
            raise UsageError(
                f'There is no shipped model "{name}", but {", ".join(shipped()) or "none"}.{nearest(name, shipped())}'
            )
        return ZOO / name.removeprefix("zoo:")
    if not Path(name).exists():
        hint = nearest(f"zoo:{name}", shipped())
        raise UsageError(f'"{name}" is neither a folder nor a shipped model ({", ".join(shipped()) or "none"}).{hint}')
    return Path(name)
