"""Models that go on with a text."""

from collections.abc import Mapping

from allyouneed.models.presets.preset import Preset, Value

PRE: Mapping[str, Value] = {
    "n_encoder_layers": 0,
    "norm_placement": "pre",
    "final_norm": True,
    "embedding_scale": False,
}

GPT: Mapping[str, Value] = {**PRE, "activation": "gelu-tanh", "positions": "learned", "attention_dropout": 0.1}

BLOOM: Mapping[str, Value] = {
    **PRE,
    "activation": "gelu-tanh",
    "positions": "alibi",
    "embedding_norm": True,
    "max_length": 2048,
    "dropout": 0.0,
}

LLAMA: Mapping[str, Value] = {
    **PRE,
    "norm": "rms",
    "activation": "silu",
    "gated": True,
    "bias": False,
    "positions": "rotary",
    "tied_embeddings": False,
    "dropout": 0.0,
}

LLAMA_2: Mapping[str, Value] = {**LLAMA, "max_length": 4096}
LLAMA_3: Mapping[str, Value] = {**LLAMA, "max_length": 8192, "rotary_base": 500_000.0, "n_kv_heads": 8}
LLAMA_3_1: Mapping[str, Value] = {
    **LLAMA_3,
    "max_length": 131_072,
    "rotary_scaling": "llama3",
    "rotary_factor": 8.0,
    "rotary_trained_length": 8192,
    "rotary_low": 1.0,
    "rotary_high": 4.0,
}

QWEN_2: Mapping[str, Value] = {
    **LLAMA,
    "norm_epsilon": 1e-6,
    "qkv_bias": True,
    "rotary_base": 1e6,
    "max_length": 32_768,
}

QWEN_3: Mapping[str, Value] = {
    **LLAMA,
    "norm_epsilon": 1e-6,
    "query_key_norm": True,
    "rotary_base": 1e6,
    "max_length": 40_960,
    "n_kv_heads": 8,
    "d_head": 128,
}

SMOLLM_2: Mapping[str, Value] = {**LLAMA, "rotary_base": 100_000.0, "max_length": 8192, "tied_embeddings": True}


def sizes(width: int, layers: int, heads: int, d_ff: int, kv_heads: int | None = None) -> Mapping[str, Value]:
    """D, L, H, F, and G where heads share their keys and values."""
    named = {"d_model": width, "n_decoder_layers": layers, "n_heads": heads, "d_ff": d_ff}
    return named if kv_heads is None else {**named, "n_kv_heads": kv_heads}


GPTS: dict[str, Preset] = {
    "gpt2": Preset(
        {**GPT, **sizes(768, 12, 12, 3072)},
        50_257,
        124_439_808,
        "Radford 2019, table 2 (117M there; 124M in the release's notes)",
        exact=True,
    ),
    "gpt2-medium": Preset(
        {**GPT, **sizes(1024, 24, 16, 4096)}, 50_257, 354_823_168, "Radford 2019, table 2 (345M there)", exact=True
    ),
    "gpt2-large": Preset(
        {**GPT, **sizes(1280, 36, 20, 5120)}, 50_257, 774_030_080, "Radford 2019, table 2 (762M there)", exact=True
    ),
    "gpt2-xl": Preset(
        {**GPT, **sizes(1600, 48, 25, 6400)}, 50_257, 1_557_611_200, "Radford 2019, table 2 (1542M there)", exact=True
    ),
    "gpt3": Preset(
        {
            **GPT,
            **sizes(12_288, 96, 96, 49_152),
            "max_length": 2048,
            "window": 256,
            "window_layers": tuple(range(1, 96, 2)),
        },
        50_257,
        174_600_000_000,
        "Brown 2020, table 2.1 (175B) and table D.1; every second layer is banded (section 2.1), at a width that the "
        "paper does not give: 256 stands for it here",
    ),
    "gpt-neox-20b": Preset(
        {
            **PRE,
            **sizes(6144, 44, 64, 24_576),
            "activation": "gelu-tanh",
            "positions": "rotary",
            "rotary_share": 0.25,
            "parallel_residual": True,
            "tied_embeddings": False,
            "max_length": 2048,
            "dropout": 0.0,
        },
        50_432,
        20_000_000_000,
        "Black 2022, section 2.1; vocabulary padded as released",
    ),
    "bloom-560m": Preset(
        {**BLOOM, **sizes(1024, 24, 16, 4096)},
        250_880,
        559_214_592,
        "Le Scao 2022, table 3; count in the model card",
        exact=True,
    ),
    "bloom-176b": Preset(
        {**BLOOM, **sizes(14_336, 70, 112, 57_344)},
        250_880,
        176_247_271_424,
        "Le Scao 2022, table 3; count in the model card",
        exact=True,
    ),
}

LLAMAS: dict[str, Preset] = {
    "llama-7b": Preset(
        {**LLAMA, **sizes(4096, 32, 32, 11_008), "norm_epsilon": 1e-6, "max_length": 2048},
        32_000,
        6_738_415_616,
        "Touvron 2023a, table 2 (6.7B); count as released",
        exact=True,
    ),
    "llama-13b": Preset(
        {**LLAMA, **sizes(5120, 40, 40, 13_824), "norm_epsilon": 1e-6, "max_length": 2048},
        32_000,
        13_015_864_320,
        "Touvron 2023a, table 2 (13.0B); count as released",
        exact=True,
    ),
    "llama-33b": Preset(
        {**LLAMA, **sizes(6656, 60, 52, 17_920), "norm_epsilon": 1e-6, "max_length": 2048},
        32_000,
        32_500_000_000,
        "Touvron 2023a, table 2",
    ),
    "llama-65b": Preset(
        {**LLAMA, **sizes(8192, 80, 64, 22_016), "norm_epsilon": 1e-6, "max_length": 2048},
        32_000,
        65_200_000_000,
        "Touvron 2023a, table 2",
    ),
    "llama-2-7b": Preset(
        {**LLAMA_2, **sizes(4096, 32, 32, 11_008)},
        32_000,
        6_738_415_616,
        "Touvron 2023b, table 1 (7B); count as released",
        exact=True,
    ),
    "llama-2-13b": Preset(
        {**LLAMA_2, **sizes(5120, 40, 40, 13_824)},
        32_000,
        13_015_864_320,
        "Touvron 2023b, table 1 (13B); count as released",
        exact=True,
    ),
    "llama-2-70b": Preset(
        {**LLAMA_2, **sizes(8192, 80, 64, 28_672, 8)},
        32_000,
        68_976_648_192,
        "Touvron 2023b, table 1 (70B); count as released",
        exact=True,
    ),
    "llama-3-8b": Preset(
        {**LLAMA_3, **sizes(4096, 32, 32, 14_336)},
        128_256,
        8_030_261_248,
        "Dubey 2024, table 3 (8B); count as released",
        exact=True,
    ),
    "llama-3-70b": Preset(
        {**LLAMA_3, **sizes(8192, 80, 64, 28_672)},
        128_256,
        70_553_706_496,
        "Dubey 2024, table 3 (70B); count as released",
        exact=True,
    ),
    "llama-3.1-8b": Preset(
        {**LLAMA_3_1, **sizes(4096, 32, 32, 14_336)},
        128_256,
        8_030_261_248,
        "Dubey 2024, table 3 (8B); count and scaled positions as released",
        exact=True,
    ),
    "llama-3.1-405b": Preset(
        {**LLAMA_3_1, **sizes(16_384, 126, 128, 53_248)},
        128_256,
        405_000_000_000,
        "Dubey 2024, table 3 (405B); scaled positions as released",
    ),
    "llama-3.2-1b": Preset(
        {**LLAMA_3_1, **sizes(2048, 16, 32, 8192), "rotary_factor": 32.0, "tied_embeddings": True},
        128_256,
        1_235_814_400,
        "meta-llama/Llama-3.2-1B, as released",
        exact=True,
    ),
}

OTHERS: dict[str, Preset] = {
    "mistral-7b": Preset(
        {**LLAMA, **sizes(4096, 32, 32, 14_336, 8), "max_length": 8192, "window": 4096},
        32_000,
        7_241_732_096,
        "Jiang 2023, table 1; count as released",
        exact=True,
    ),
    "mixtral-8x7b": Preset(
        {
            **LLAMA,
            **sizes(4096, 32, 32, 14_336, 8),
            "max_length": 32_768,
            "rotary_base": 1e6,
            "n_experts": 8,
        },
        32_000,
        46_702_792_704,
        "Jiang 2024, table 1; count as released, 12.9B of it used by a token",
        exact=True,
    ),
    "qwen2-0.5b": Preset(
        {**QWEN_2, **sizes(896, 24, 14, 4864, 2), "tied_embeddings": True},
        151_936,
        494_032_768,
        "Yang 2024, table 1 (0.5B); count as released",
        exact=True,
    ),
    "qwen2-1.5b": Preset(
        {**QWEN_2, **sizes(1536, 28, 12, 8960, 2), "tied_embeddings": True},
        151_936,
        1_543_714_304,
        "Yang 2024, table 1 (1.5B); count as released",
        exact=True,
    ),
    "qwen2-7b": Preset(
        {**QWEN_2, **sizes(3584, 28, 28, 18_944, 4)},
        152_064,
        7_615_616_512,
        "Yang 2024, table 1 (7B); count and vocabulary as released",
        exact=True,
    ),
    "qwen3-0.6b": Preset(
        {**QWEN_3, **sizes(1024, 28, 16, 3072), "tied_embeddings": True},
        151_936,
        596_049_920,
        "Yang 2025, table 1 (0.6B); count as released",
        exact=True,
    ),
    "qwen3-8b": Preset(
        {**QWEN_3, **sizes(4096, 36, 32, 12_288)},
        151_936,
        8_190_735_360,
        "Yang 2025, table 1 (8B); count as released",
        exact=True,
    ),
    "smollm2-135m": Preset(
        {**SMOLLM_2, **sizes(576, 30, 9, 1536, 3)},
        49_152,
        134_515_008,
        "Allal 2025; HuggingFaceTB/SmolLM2-135M, as released",
        exact=True,
    ),
    "smollm2-360m": Preset(
        {**SMOLLM_2, **sizes(960, 32, 15, 2560, 5)},
        49_152,
        361_821_120,
        "Allal 2025; HuggingFaceTB/SmolLM2-360M, as released",
        exact=True,
    ),
    "smollm2-1.7b": Preset(
        {**SMOLLM_2, **sizes(2048, 24, 32, 8192), "rotary_base": 130_000.0},
        49_152,
        1_711_376_384,
        "Allal 2025; HuggingFaceTB/SmolLM2-1.7B, as released",
        exact=True,
    ),
    "decoder-small": Preset(
        {**LLAMA, **sizes(256, 5, 4, 640, 2), "d_head": 64, "max_length": 512, "tied_embeddings": True, "dropout": 0.1},
        6_000,
        None,
        "for two cores: RMS norm, rotary positions, grouped heads and a gate, as decoders are built since 2023",
    ),
}

DECODERS: dict[str, Preset] = {**GPTS, **LLAMAS, **OTHERS}
