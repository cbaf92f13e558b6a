"""Models that go on with a text by a selective state space in place of attention."""

from allyouneed.models.mamba import MambaConfig
from allyouneed.models.presets.preset import Preset


def released(name: str, width: int, layers: int, count: int) -> Preset:
    """A size whose weights were published. Its vocabulary of 50,277 pieces is padded to a multiple of 8."""
    fields = {"d_model": width, "n_layers": layers}
    source = f"Gu & Dao 2023, section 4.2.2; count of the released state-spaces/{name}"
    return Preset(fields, 50_280, count, source, exact=True, config=MambaConfig)


MAMBAS: dict[str, Preset] = {
    "mamba-130m": released("mamba-130m", 768, 24, 129_135_360),
    "mamba-370m": released("mamba-370m", 1024, 48, 371_516_416),
    "mamba-790m": released("mamba-790m", 1536, 48, 793_204_224),
    "mamba-1.4b": released("mamba-1.4b", 2048, 48, 1_372_178_432),
    "mamba-2.8b": released("mamba-2.8b", 2560, 64, 2_768_345_600),
    "mamba-small": Preset(
        {"d_model": 256, "n_layers": 6, "d_state": 8},
        6_000,
        None,
        "for two cores: half the state of the published sizes, since a scan's time grows with it",
        config=MambaConfig,
    ),
}
