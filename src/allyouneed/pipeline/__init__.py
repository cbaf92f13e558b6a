"""`load` and the loaded thing: a model, and what can be done with it.

Of the models of text an encoder-decoder is a `Translator`, a decoder a `LanguageModel`, an encoder a `MaskedModel`.
"""

from pathlib import Path
from typing import Any, TypeVar, cast, get_args, overload

from allyouneed.checkpoints.conversion import read_model
from allyouneed.checkpoints.native import CARD, read_text
from allyouneed.checkpoints.places import place_of as place_of
from allyouneed.checkpoints.places import shipped as shipped
from allyouneed.errors import UsageError
from allyouneed.models.stepper import Precision
from allyouneed.pipeline.common import Loaded as Loaded
from allyouneed.pipeline.common import Pipeline as Pipeline
from allyouneed.pipeline.common import Score as Score
from allyouneed.pipeline.common import TextError as TextError
from allyouneed.pipeline.common import TooLongError as TooLongError
from allyouneed.pipeline.gaps import Filling as Filling
from allyouneed.pipeline.gaps import Guess as Guess
from allyouneed.pipeline.language import LanguageModel as LanguageModel
from allyouneed.pipeline.masked import MaskedModel as MaskedModel
from allyouneed.pipeline.ngram import NGramModel as NGramModel
from allyouneed.pipeline.pointing import Pointer as Pointer
from allyouneed.pipeline.pointing import PointError as PointError
from allyouneed.pipeline.pointing import Pointing as Pointing
from allyouneed.pipeline.sorting import Sorted as Sorted
from allyouneed.pipeline.sorting import Sorter as Sorter
from allyouneed.pipeline.tape import Copied as Copied
from allyouneed.pipeline.tape import TapeMachine as TapeMachine
from allyouneed.pipeline.translator import Alignment as Alignment
from allyouneed.pipeline.translator import Translation as Translation
from allyouneed.pipeline.translator import Translator as Translator
from allyouneed.pipeline.translator import gathered as gathered
from allyouneed.pipeline.translator import strongest as strongest
from allyouneed.pipeline.writing import Generation as Generation
from allyouneed.pipeline.writing import Writer as Writer

AnyPipeline = Translator | LanguageModel | MaskedModel
Kind = TypeVar("Kind", bound=Loaded)
KINDS: dict[str, type[Loaded]] = {  # by line
    "both": Translator,
    "decoder": LanguageModel,
    "encoder": MaskedModel,
    "points": Pointer,
    "bits": TapeMachine,
    "set": Sorter,
}


@overload
def load(name: str | Path, *, precision: Precision = "float32") -> AnyPipeline: ...
@overload
def load(name: str | Path, kind: type[Kind], *, precision: Precision = "float32") -> Kind: ...
def load(name: str | Path, kind: type[Loaded] = Loaded, *, precision: Precision = "float32") -> Loaded:
    """A model ready to use: a shipped one ("zoo:en-fr"), a folder in this package's or the Hugging Face layout, a .gguf
    file, or a model of the hub ("hf:organisation/name"). With `kind` (`Translator`, `LanguageModel`, `MaskedModel`) one
    of another kind is refused.

    Raises UsageError for an unknown name, with the nearest one, and for another kind; InputError where there is no
    usable model.
    """
    if precision not in get_args(Precision):
        raise UsageError(f'precision = "{precision}": one of {", ".join(get_args(Precision))} is needed.')
    place = place_of(str(name))
    saved = read_model(place)
    own = KINDS[saved.config.line]
    if not issubclass(own, kind):
        raise UsageError(f"{name} is {own.what}, and this needs {kind.what}.")
    card = read_text(place / CARD) if place.is_dir() else None
    about: dict[str, Any] = {"name": str(name), "card": card or "", "recipe": saved.recipe}
    if not issubclass(own, Pipeline):
        return own(saved.model, **about)
    return cast(type[Any], own)(saved.model, saved.tokenizer, precision=precision, **about)
