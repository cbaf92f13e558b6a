"""Recurrent models: before attention, with it, and language models."""

from collections.abc import Mapping

from allyouneed.models.presets.preset import Preset, Value
from allyouneed.models.recurrent import RecurrentConfig

# What a model without attention does with its one summary (Cho 2014, section A.1).
SUMMARISED: Mapping[str, Value] = {
    "bidirectional": False,
    "attention": "none",
    "bridge": "tanh",
    "summary": "every-step",
}

# One table in three places, which leaves most of a small model's numbers to its layers.
SMALL: Mapping[str, Value] = {
    "d_embedding": 80,
    "d_hidden": 112,
    "d_readout": 80,
    "d_attention": 64,
    "tied_embeddings": True,
    "shared_embeddings": True,
    "initialisation": "uniform",
    "dropout": 0.0,
}

LANGUAGE_MODEL: Mapping[str, Value] = {
    "cell": "lstm",
    "n_encoder_layers": 0,
    "attention": "none",
    "readout": "none",
    "initialisation": "uniform",
}


def recurrent(fields: Mapping[str, Value], vocab_size: int, source: str, published: int | None = None) -> Preset:
    """A preset of this kind of model."""
    return Preset(fields, vocab_size, published, source, config=RecurrentConfig)


RECURRENT: dict[str, Preset] = {
    "sutskever-lstm": recurrent(
        {
            "cell": "lstm",
            "source_vocab_size": 160_000,
            "n_encoder_layers": 4,
            "n_decoder_layers": 4,
            "bidirectional": False,
            "reverse_source": True,
            "d_embedding": 1000,
            "attention": "none",
            "bridge": "copy",
            "readout": "none",
            "output_bias": False,
            "initialisation": "uniform",
        },
        80_000,
        "Sutskever 2014, section 3.4 (384M, without the biases that torch's equations have)",
        384_000_000,
    ),
    "rnnencdec": recurrent(
        {**SUMMARISED}, 30_000, "Bahdanau 2015, section 4.2 and A.2 (RNNencdec); the model of Cho 2014"
    ),
    "rnnsearch": recurrent({}, 30_000, "Bahdanau 2015, sections 4.2 and A.2 (RNNsearch)"),
    "lstm-lm": recurrent(
        {**LANGUAGE_MODEL, "n_decoder_layers": 2, "d_embedding": 650, "d_hidden": 650, "dropout": 0.5},
        10_000,
        "Zaremba 2014, section 4.1 (medium); first weights within 0.08 instead of 0.05",
    ),
    "rnnencdec-small": recurrent({**SMALL, **SUMMARISED}, 1000, "for two cores: rnnencdec, a ninth as wide"),
    "rnnencdec-reversed-small": recurrent(
        {**SMALL, **SUMMARISED, "reverse_source": True},
        1000,
        "for two cores: rnnencdec-small, which reads its source backward (Sutskever 2014, section 3.3)",
    ),
    "rnnsearch-small": recurrent({**SMALL}, 1000, "for two cores: rnnsearch, a ninth as wide"),
    "lstm-lm-small": recurrent(
        {**LANGUAGE_MODEL, "d_embedding": 256, "d_hidden": 256, "tied_embeddings": True, "dropout": 0.1},
        6_000,
        "for two cores: one layer, and the output is the embedding's transpose (Press 2017)",
    ),
}
