"""The translators that several experiments compare: recipes that ship, and a Transformer of their size and budget."""

from allyouneed.reproduce.experiment import Arm, Setting, quick_budget
from allyouneed.reproduce.text import everyday_pairs

VECTOR, SEARCH, TRANSFORMER = "RNNencdec", "RNNsearch", "Transformer"
BACKWARDS = {"as written": "rnnencdec-en-{}", "backwards": "rnnencdec-reversed-en-{}"}


def vector(setting: Setting, *, target: str = "fr", source: str = "as written", name: str = VECTOR) -> Arm:
    """An encoder-decoder without attention, which reads its source as written or backwards."""
    return Arm(name, BACKWARDS[source].format(target), quickly(setting, target, *RECURRENT))


def search(setting: Setting) -> Arm:
    """The same with additive attention."""
    return Arm(SEARCH, "rnnsearch-en-fr", quickly(setting, "fr", *RECURRENT, "model.d_attention=32"))


def transformer(setting: Setting) -> Arm:
    """A Transformer of about as many parameters as RNNsearch, on the same text for as many updates."""
    own = (
        "model.preset=transformer-tiny",
        "model.n_decoder_layers=1",
        "model.d_model=112",
        "model.d_ff=336",
        "training.peak_rate=2e-3",
    )
    return Arm(TRANSFORMER, "rnnsearch-en-fr", (*own, *quickly(setting, "fr", "model.d_model=32", "model.d_ff=64")))


RECURRENT = ("model.d_hidden=32", "model.d_embedding=32", "model.d_readout=32")


def quickly(setting: Setting, target: str, *small: str) -> tuple[str, ...]:
    """Overrides of a quick run: small models, and a little text."""
    return (*small, *quick_budget(), *everyday_pairs("en", target, train=400, dev=40)) if setting.quick else ()
