"""One checkpoint and one text here and in an independent library, compared from layer to layer."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch
from torch import Tensor, nn

from allyouneed.checkpoints.huggingface import family_of, load_huggingface, save_huggingface
from allyouneed.checkpoints.huggingface.family import Family
from allyouneed.checkpoints.huggingface.files import read_json
from allyouneed.checkpoints.native import CONFIG, load_model
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.text.vocabulary import Vocabulary

TEXT = "The mouse ate the cheese, and the cat that had seen it all went back to sleep."
LIBRARY = "transformers"

Example = tuple[Tensor, Tensor | None]  # what is read [1, S], and what a decoder beside an encoder is told [1, T]


@dataclass(frozen=True)
class Place:
    """A point on the way through both models: the largest difference there, and the largest value of the library's.

    `share` is the largest difference at a position as a part of the largest value there, or of 1 where that is smaller:
    some models have single positions whose values are a thousand times those of all others.
    """

    name: str
    difference: float
    largest: float
    share: float

    def beyond(self, tolerance: float) -> bool:
        """Is the share more than this? One that is no number is."""
        return not self.share <= tolerance


@dataclass(frozen=True)
class Comparison:
    """What `verify` found: `library` with its version, the class that it loaded, and all places in order."""

    family: str
    library: str
    model: str
    tokens: int
    tolerance: float
    places: list[Place]

    @property
    def begins(self) -> Place | None:
        """The first place where the two differ by more than the tolerance; None where they agree."""
        return next((place for place in self.places if place.beyond(self.tolerance)), None)


def verify(folder: Path, text: str = TEXT, *, tolerance: float = 1e-4) -> Comparison:
    """Runs a text through a checkpoint here and in the independent library, in float32, and compares.

    A folder of this package's own format is written in the Hugging Face layout for that, into a temporary folder, and
    what is read back is compared; its logits must also be those from before it was written.

    Raises InputError where the library is not installed, and for what `load_huggingface` refuses.
    """
    if find_spec(LIBRARY) is None:
        raise InputError(
            f'verify compares with the library {LIBRARY}, which is not installed: "pip install {LIBRARY}" does it.'
        )
    with checkpoint_of(folder) as (checkpoint, original):
        saved = load_huggingface(checkpoint)
        values = read_json(checkpoint / CONFIG)
        family = family_of(values, checkpoint)
        given = example(text, saved.tokenizer, saved.config, shortest=family.shortest(saved.config))
        theirs = load_theirs(checkpoint, family, values)
        places = compare(saved.model, theirs, family, given)
        if original is not None:
            logits = run(original, given)["logits"], run(saved.model, given)["logits"]
            places.append(measured("logits, before it was written", *logits))
    library = f"{LIBRARY} {version(LIBRARY)}"
    return Comparison(family.name, library, type(theirs).__name__, given[0].shape[1], tolerance, places)


@contextmanager
def checkpoint_of(folder: Path) -> Generator[tuple[Path, Transformer | None]]:
    """A folder in the Hugging Face layout: the folder itself, or what a native one is written as, with its model."""
    if "format" not in read_json(folder / CONFIG):
        yield folder, None
        return
    saved = load_model(folder)
    with TemporaryDirectory() as temporary:
        written = Path(temporary) / "written"
        save_huggingface(written, saved.model, saved.tokenizer)
        yield written, saved.model


def example(text: str, tokenizer: Vocabulary, config: TransformerConfig, *, shortest: int) -> Example:
    """What both models read, [1, S], and of an encoder-decoder what its decoder does, [1, T]: the same text again.

    A text of less than `shortest` tokens is repeated.
    """
    ids = tokenizer.encode(text)
    ids *= -(-shortest // max(len(ids), 1))
    read = tokenizer.wrap(ids)
    written = [tokenizer.pad if tokenizer.start is None else tokenizer.start, *ids]
    if not ids:
        raise InputError("The text is empty: give one to compare on with --text.")
    if max(len(read), len(written)) > config.max_length:
        raise InputError(
            f"The text has {len(read)} tokens, and the model reads at most {config.max_length}: give a shorter one "
            "with --text."
        )
    return torch.tensor([read]), torch.tensor([written]) if config.is_encoder_decoder else None


def load_theirs(folder: Path, family: Family, values: dict[str, Any]) -> nn.Module:
    """The library's model of a folder, in the class that its config names, or else in the family's first."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    named = [name for name in values.get("architectures") or [] if name in family.architectures]
    kind: Any = getattr(transformers, [*named, family.architectures[0]][0])
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True).eval()


def compare(model: Transformer, theirs: nn.Module, family: Family, given: Example) -> list[Place]:
    """All places that both models pass, in order."""
    here = {side: list[nn.Module](getattr(model, side).layers) for side in family.stacks if hasattr(model, side)}
    base = cast(nn.Module, theirs.base_model)
    there = {side: list(base.get_submodule(family.stacks[side]).children()) for side in here}
    ours, others = passed(here, lambda: run(model, given)), passed(there, lambda: run_theirs(theirs, given))
    return [measured(name, state, unpadded(others[name], state)) for name, state in ours.items() if name in others]


def unpadded(theirs: Tensor, ours: Tensor) -> Tensor:
    """Their states [1, T', D] without what they appended to a text to fill its last block or window."""
    return theirs[:, : ours.shape[1]] if theirs.dim() == 3 else theirs


def passed(stacks: Mapping[str, Sequence[nn.Module]], run: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """The states [1, T, D] that go into a model's stacks and come out of each layer, and then what `run` gives."""
    states: dict[str, Tensor] = {}
    handles: list[Any] = []

    def keep_input(name: str) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
        return lambda module, given, named: states.update({name: given[0] if given else named["hidden_states"]})

    def keep_output(name: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda module, given, made: states.update({name: made if isinstance(made, Tensor) else made[0]})

    for side, layers in stacks.items():
        handles.append(layers[0].register_forward_pre_hook(keep_input(f"{side} embeddings"), with_kwargs=True))
        for number, layer in enumerate(layers):
            handles.append(layer.register_forward_hook(keep_output(f"{side} layer {number}")))
    try:
        made = run()
    finally:
        for handle in handles:
            handle.remove()
    return {**states, **made}


@torch.inference_mode()
def run(model: Transformer, given: Example) -> dict[str, Tensor]:
    """The logits [1, T, V], and the vector of the whole text [1, D] where there is one."""
    tokens, target = given
    if model.config.line == "decoder":
        return {"logits": model(tokens)}
    memory = model.encode(tokens)
    states = memory.states if target is None else model.decode(target, memory)
    made = {"logits": model.logits(states)}
    return made if model.pooler is None else {**made, "pooled vector": model.pool(memory)}


@torch.inference_mode()
def run_theirs(theirs: nn.Module, given: Example) -> dict[str, Tensor]:
    """The same of the library's model, as far as its class gives it."""
    tokens, target = given
    made = theirs(input_ids=tokens) if target is None else theirs(input_ids=tokens, decoder_input_ids=target)
    named = {"logits": made.get("logits"), "pooled vector": made.get("pooler_output")}
    return {name: tensor for name, tensor in named.items() if tensor is not None}


def measured(name: str, ours: Tensor, theirs: Tensor) -> Place:
    """The difference at one place, between two [..., D]."""
    sizes = theirs.abs().amax(-1)
    if ours.shape != theirs.shape:
        return Place(name, math.nan, float(sizes.max()), math.nan)
    differences = (ours - theirs).abs().amax(-1)
    return Place(name, float(differences.max()), float(sizes.max()), float((differences / sizes.clamp_min(1)).max()))
