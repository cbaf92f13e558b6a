"""BigBird (Zaheer 2020): BERT's encoder, whose blocks of tokens see their neighbours, the first and the last block.

The other library draws the random blocks while it trains, anew for each head. Outside training it takes the first block
for each of them, so that this one counts several times; its models are read as such (`random_choice` "first"), and a
model whose blocks are drawn cannot be written. That library also turns a model to full attention, for good, as soon as
it reads one text of at most (5 + 2 · random_blocks) · reach_block tokens; here a model stays what its config says, and
of such texts the two say the same only where `reach` is "full".
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from allyouneed.checkpoints.huggingface import bert
from allyouneed.checkpoints.huggingface.family import Entry, Family
from allyouneed.checkpoints.huggingface.settings import Settings, attention_biases
from allyouneed.models.config import TransformerConfig

ATTENTION = {"block_sparse": "blocks", "original_full": "full"}


def config(values: dict[str, Any]) -> TransformerConfig:
    """Ours of a `config.json`."""
    ask = Settings({"hidden_act": "gelu_new", "max_position_embeddings": 4096, "vocab_size": 50_358, **values})
    ask.only("attention_type", *ATTENTION)
    reach = ATTENTION.get(ask.get("attention_type", "block_sparse"), "full")
    blocks = {
        "reach_block": ask.get("block_size", 64),
        "random_blocks": ask.get("num_random_blocks", 3),
        "random_choice": "first",
    }
    return bert.read(
        ask,
        offset=0,
        qkv_bias=ask.get("use_bias", True),
        embedding_scale=ask.get("rescale_embeddings", False),
        reach=reach,
        **(blocks if reach == "blocks" else {}),
    )


def describe(config: TransformerConfig) -> dict[str, Any]:
    """A `config.json` of ours."""
    qkv_bias, _ = attention_biases(config)
    blocks = {"random_choice": "first", "random_blocks": config.random_blocks or "1 or more"}
    values = bert.write(
        "BigBird",
        config,
        classes=("BigBirdForMaskedLM", "BigBirdModel"),
        position_offset=0,
        embedding_scale=(False, True),
        qkv_bias=(True, False),
        reach=("blocks", "full"),
        reach_block=config.reach_block,
        **(blocks if config.reach == "blocks" else {}),
    )
    return {
        **values,
        "attention_type": next(theirs for theirs, ours in ATTENTION.items() if ours == config.reach),
        "block_size": config.reach_block,
        "num_random_blocks": config.random_blocks,
        "use_bias": qkv_bias,
        "rescale_embeddings": config.embedding_scale,
    }


def entries(config: TransformerConfig) -> list[Entry]:
    """The names of the class BigBirdForMaskedLM, and of BigBirdModel where there is no head."""
    return bert.body(config, "bert", pooler="pooler") + bert.head(config)


def refine(config: TransformerConfig, names: Collection[str]) -> TransformerConfig:
    """A file without a pooler or a head is one of a model without it."""
    head = "cls.predictions.transform.dense.weight" in names
    return replace(config, pooler="pooler.weight" in names, output_transform=head, output_bias=head)


def shortest(config: TransformerConfig) -> int:
    """Of shorter texts their model sees all, and goes on so."""
    return (5 + 2 * config.random_blocks) * config.reach_block + 1 if config.reach == "blocks" else 1


BIGBIRD = Family(
    name="BigBird",
    model_types=("big_bird",),
    architectures=("BigBirdForMaskedLM", "BigBirdModel", "BigBirdForPreTraining"),
    config=config,
    describe=describe,
    entries=entries,
    prefixes=("bert.",),
    ignored=(r"embeddings\.(position|token_type)_ids", r"cls\.seq_relationship\.(weight|bias)"),
    copies=bert.copies,
    refine=refine,
    stacks={"encoder": "encoder.layer"},
    shortest=shortest,
)
