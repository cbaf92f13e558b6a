"""Models that read one text and write another."""

from collections.abc import Mapping

from allyouneed.models.presets.preset import Preset, Value

# T5 neither centres nor shifts anything: no biases, and no 1/√K, which its initial weights make up for.
T5: Mapping[str, Value] = {
    "norm_placement": "pre",
    "norm": "rms",
    "norm_epsilon": 1e-6,
    "final_norm": True,
    "bias": False,
    "attention_scale": 1.0,
    "positions": "t5",
    "embedding_scale": False,
    "max_length": 512,
    "attention_dropout": 0.1,
}

T5_1_1: Mapping[str, Value] = {
    **T5,
    "activation": "gelu-tanh",
    "gated": True,
    "tied_embeddings": False,
    "shared_embeddings": True,
}

BART: Mapping[str, Value] = {
    "activation": "gelu",
    "positions": "learned",
    "position_offset": 2,
    "embedding_norm": True,
    "embedding_scale": False,
}

PRE: Mapping[str, Value] = {"norm_placement": "pre", "final_norm": True}


def t5(width: int, heads: int, d_ff: int, layers: int, d_head: int = 64) -> Mapping[str, Value]:
    """T5's sizes. Where input and output share a table, the output is divided by √D."""
    sizes = {"d_model": width, "n_heads": heads, "d_head": d_head, "d_ff": d_ff}
    return {**T5, **sizes, "n_encoder_layers": layers, "n_decoder_layers": layers, "output_scale": width**-0.5}


def t5_1_1(width: int, heads: int, d_ff: int, layers: int) -> Mapping[str, Value]:
    """The sizes of T5 1.1: the output has a table of its own."""
    sizes = {"d_model": width, "n_heads": heads, "d_head": 64, "d_ff": d_ff}
    return {**T5_1_1, **sizes, "n_encoder_layers": layers, "n_decoder_layers": layers}


BOTH: dict[str, Preset] = {
    "transformer-base": Preset({}, 37_000, 65_000_000, "Vaswani 2017, table 3 (base)"),
    "transformer-big": Preset(
        {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3},
        37_000,
        213_000_000,
        "Vaswani 2017, table 3 (big)",
    ),
    "transformer-small": Preset(
        {**PRE, "d_model": 256, "n_heads": 4, "d_ff": 1024, "n_encoder_layers": 4, "n_decoder_layers": 2},
        8_000,
        None,
        "for two cores: a deeper encoder and a shallower decoder (Kasai 2021), pre-norm (Xiong 2020)",
    ),
    "transformer-tiny": Preset(
        {**PRE, "d_model": 128, "n_heads": 4, "d_ff": 512, "n_encoder_layers": 2, "n_decoder_layers": 2},
        4_000,
        None,
        "for a first run of a few minutes",
    ),
    "marian": Preset(
        {"activation": "silu", "positions": "sinusoidal-halves", "max_length": 512, "output_bias": True},
        58_101,
        None,
        "Junczys-Dowmunt 2018 (Marian's transformer); vocabulary of opus-mt-en-de (Tiedemann 2020)",
    ),
    "shaw-base": Preset(
        {"d_ff": 1024, "positions": "shaw", "relative_distance": 16},
        37_000,
        None,
        "Shaw 2018, section 4.1 (base); the heads of a layer share their distances here (section 3.3)",
    ),
    "t5-small": Preset(
        t5(512, 8, 2048, 6), 32_128, 60_506_624, "Raffel 2020, section 3.7 (60M); count as released", exact=True
    ),
    "t5-base": Preset(
        t5(768, 12, 3072, 12), 32_128, 222_903_552, "Raffel 2020, section 3.7 (220M); count as released", exact=True
    ),
    "t5-large": Preset(
        t5(1024, 16, 4096, 24), 32_128, 737_668_096, "Raffel 2020, section 3.7 (770M); count as released", exact=True
    ),
    "t5-3b": Preset(
        t5(1024, 32, 16384, 24, 128),
        32_128,
        2_851_598_336,
        "Raffel 2020, section 3.7 (2.8B); count as released",
        exact=True,
    ),
    "t5-11b": Preset(
        t5(1024, 128, 65536, 24, 128),
        32_128,
        11_307_321_344,
        "Raffel 2020, section 3.7 (11B); count as released",
        exact=True,
    ),
    "t5-1.1-small": Preset(
        t5_1_1(512, 6, 1024, 8), 32_128, 76_961_152, "google/t5-v1_1-small, as released", exact=True
    ),
    "t5-1.1-base": Preset(
        t5_1_1(768, 12, 2048, 12), 32_128, 247_577_856, "google/t5-v1_1-base, as released", exact=True
    ),
    "t5-1.1-large": Preset(
        t5_1_1(1024, 16, 2816, 24), 32_128, 783_150_080, "google/t5-v1_1-large, as released", exact=True
    ),
    "t5-1.1-xl": Preset(
        t5_1_1(2048, 32, 5120, 24), 32_128, 2_849_757_184, "google/t5-v1_1-xl, as released", exact=True
    ),
    "t5-1.1-xxl": Preset(
        t5_1_1(4096, 64, 10240, 24), 32_128, 11_135_332_352, "google/t5-v1_1-xxl, as released", exact=True
    ),
    "bart-base": Preset(
        {**BART, "d_model": 768, "n_heads": 12, "d_ff": 3072},
        50_265,
        140_000_000,
        "Lewis 2020, section 2.1 (6 + 6 layers); count in the notes of fairseq's release",
    ),
    "bart-large": Preset(
        {**BART, "d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_encoder_layers": 12, "n_decoder_layers": 12},
        50_265,
        406_291_456,
        "Lewis 2020, section 2.1 (12 + 12 layers); count of the released bart-large",
        exact=True,
    ),
    "universal-base": Preset(
        {
            "d_model": 1024,
            "n_heads": 16,
            "d_ff": 4096,
            "positions": "coordinates",
            "shared_depth": True,
            "dropout": 0.3,
        },
        37_000,
        65_000_000,
        "Dehghani 2018, table 7 (base: as many parameters as transformer-base); sizes of tensor2tensor's "
        "universal_transformer_base",
    ),
}
