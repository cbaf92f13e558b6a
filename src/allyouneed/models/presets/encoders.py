"""Models that read."""

from collections.abc import Mapping

from allyouneed.models.presets.preset import Preset, Value

ENCODER: Mapping[str, Value] = {
    "n_decoder_layers": 0,
    "activation": "gelu",
    "positions": "learned",
    "embedding_scale": False,
    "embedding_norm": True,
    "attention_dropout": 0.1,
}

BASE: Mapping[str, Value] = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_encoder_layers": 12}
LARGE: Mapping[str, Value] = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_encoder_layers": 24}

BERT: Mapping[str, Value] = {**ENCODER, "max_length": 512, "norm_epsilon": 1e-12, "n_segments": 2, "pooler": True}

# Two rows of the table of positions belong to padding. One kind of segment, as in the weights for transformers.
ROBERTA: Mapping[str, Value] = {
    **ENCODER,
    "max_length": 512,
    "position_offset": 2,
    "n_segments": 1,
    "output_transform": True,
    "output_bias": True,
}

# RoBERTa's encoder, in which a token sees 256 others on either side; global tokens have projections of their own.
LONGFORMER: Mapping[str, Value] = {**ROBERTA, "max_length": 4096, "reach": "window", "global_projections": True}

BIGBIRD: Mapping[str, Value] = {
    **BERT,
    "max_length": 4096,
    "activation": "gelu-tanh",
    "output_transform": True,
    "output_bias": True,
    "reach": "blocks",
}

ENCODERS: dict[str, Preset] = {
    "bert-base": Preset(
        {**BERT, **BASE},
        30_522,
        109_482_240,
        "Devlin 2019, section 3 (110M); count of the released bert-base-uncased, its two training heads left out",
        exact=True,
    ),
    "bert-large": Preset(
        {**BERT, **LARGE},
        30_522,
        335_141_888,
        "Devlin 2019, section 3 (340M); count of the released bert-large-uncased, its two training heads left out",
        exact=True,
    ),
    "roberta-base": Preset(
        {**ROBERTA, **BASE},
        50_265,
        125_000_000,
        "Liu 2019, table 9 (base); count in the notes of fairseq's release",
    ),
    "roberta-large": Preset(
        {**ROBERTA, **LARGE},
        50_265,
        355_000_000,
        "Liu 2019, table 9 (large); count in the notes of fairseq's release",
    ),
    "longformer-base": Preset(
        {**LONGFORMER, **BASE},
        50_265,
        148_711_257,
        "Beltagy 2020, section 5; count of the class for masked words, released longformer-base-4096's config",
        exact=True,
    ),
    "longformer-large": Preset(
        {**LONGFORMER, **LARGE},
        50_265,
        434_653_273,
        "Beltagy 2020, section 5; count of the class for masked words, released longformer-large-4096's config",
        exact=True,
    ),
    "bigbird-base": Preset(
        {**BIGBIRD, **BASE},
        50_358,
        128_111_286,
        "Zaheer 2020, section 4; count of the class for masked words, released bigbird-roberta-base's config",
        exact=True,
    ),
    "bigbird-large": Preset(
        {**BIGBIRD, **LARGE},
        50_358,
        360_225_974,
        "Zaheer 2020, section 4; count of the class for masked words, released bigbird-roberta-large's config",
        exact=True,
    ),
    "encoder-small": Preset(
        {
            "d_model": 192,
            "n_heads": 4,
            "d_ff": 768,
            "n_encoder_layers": 4,
            "n_decoder_layers": 0,
            "activation": "gelu",
            "positions": "learned",
            "embedding_scale": False,
            "embedding_norm": True,
            "max_length": 256,
        },
        6_000,
        None,
        "for two cores: the shape of Devlin 2019, four layers deep",
    ),
}
