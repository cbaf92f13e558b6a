"""T5 and T5 1.1 against the independent library, both ways."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from parity import check_back, close, loaded, padded, randomised
from parity_both import check_both, check_greedy_both, rewrite
from transformers.models.t5.modeling_t5 import T5Attention

from allyouneed.checkpoints.huggingface import family_named, load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.parts.relative import BucketBias
from allyouneed.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 320,
    "d_model": 32,
    "d_kv": 6,
    "d_ff": 48,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}


def t5(*, untied: bool = False, **changes: Any) -> Any:
    """A random model. `untied`: with a matrix of its own for the output, as T5 1.1 is published."""
    theirs = transformers.T5ForConditionalGeneration(transformers.T5Config(**(SIZES | changes)))
    if untied:
        theirs.lm_head.weight = torch.nn.Parameter(torch.zeros_like(theirs.lm_head.weight))
    randomised(theirs)
    with torch.no_grad():  # logits of order 1: unscaled scores and states are larger than elsewhere
        for module in theirs.modules():
            if isinstance(module, T5Attention):
                module.q.weight.mul_(6**-0.5)
        if theirs.config.scale_decoder_outputs:
            theirs.shared.weight.mul_(32**0.5)
    return theirs


ONE_ONE = {"untied": True, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
MODELS: dict[str, dict[str, Any]] = {
    "T5": {},
    "T5, few buckets": {"relative_attention_num_buckets": 6, "relative_attention_max_distance": 5},
    "T5 1.1": ONE_ONE,
    "T5 1.1, tied": {**ONE_ONE, "untied": False},
    "T5 with a gate of SiLU": {"feed_forward_proj": "gated-silu"},
    "T5 with GELU": {"feed_forward_proj": "gelu_new"},
}


@pytest.mark.parametrize("name", MODELS)
def test_t5_agrees_both_ways(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = t5(**MODELS[name])
    ours = loaded(theirs, tmp_path / "theirs")
    check_both(theirs, ours, ("left", "right"))
    check_greedy_both(theirs, ours, start=0)
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named("t5"))


@pytest.mark.parametrize("two_way", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20), (32, 20), (64, 128)])
def test_every_distance_has_their_bucket(buckets: int, farthest: int, two_way: bool) -> None:
    distance = torch.arange(-1000, 1001)
    ours = BucketBias(1, buckets=buckets, farthest=farthest, two_way=two_way).bucket(distance)
    their_bucket = T5Attention._relative_position_bucket  # pyright: ignore[reportPrivateUsage]  # there is no other way in
    theirs = their_bucket(distance, two_way, buckets, farthest)
    assert ours.tolist() == theirs.tolist()


@torch.no_grad()
def test_a_text_longer_than_the_farthest_distance(tmp_path: Path) -> None:
    theirs = t5()
    ours = loaded(theirs, tmp_path)
    generator = torch.Generator().manual_seed(1)
    long, short = (torch.randint(4, 320, (length,), generator=generator).tolist() for length in (300, 140))
    batch, keep = padded([long, short], "left")
    target = torch.randint(4, 320, (2, 200), generator=generator)
    logits = theirs(batch, attention_mask=keep.long(), decoder_input_ids=target).logits
    close(ours(batch, target, keep), logits)
    close(ours.read(target, ours.start(ours.encode(batch, keep)))[0], logits[:, -1])


def test_names_of_older_files(tmp_path: Path) -> None:
    theirs = t5()
    theirs.save_pretrained(tmp_path)
    table = theirs.shared.weight.detach()
    copies = {f"{side}.embed_tokens.weight": table.clone() for side in ("encoder", "decoder")}
    unused = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(32, 4)}
    rewrite(tmp_path, {"n_positions": 512}, **copies, **unused, **{"lm_head.weight": table.clone()})
    check_both(theirs, load_transformer(tmp_path), ("left", "right"))
    rewrite(tmp_path, {}, **{"encoder.embed_tokens.weight": table + 1})
    with pytest.raises(InputError, match=r"encoder.embed_tokens.weight differs from shared.weight"):
        load_transformer(tmp_path)


def test_a_config_that_asks_for_more_is_refused_whole(tmp_path: Path) -> None:
    t5().save_pretrained(tmp_path)
    rewrite(tmp_path, {"feed_forward_proj": "gated-mish", "num_decoder_layers": 0, "d_kv": "6"})
    with pytest.raises(Refused, match=r"config.json \(T5\)") as caught:
        load_transformer(tmp_path)
    told = "; ".join(caught.value.reasons)
    assert len(caught.value.reasons) == 3
    for words in (
        "3 encoder and 0 decoder layers",
        "feed_forward_proj is 'gated-mish'",
        "d_kv is '6', not of type int",
    ):
        assert words in told


def test_what_t5_cannot_hold_is_refused_whole(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = loaded(t5(), tmp_path / "theirs").config
    other = replace(config, attention_scale=None, bias=True, output_scale=0.5, norm="layer", positions="alibi")
    with pytest.raises(Refused, match="T5 cannot hold this model") as caught:
        save_huggingface(tmp_path / "ours", Transformer(other), tokenizer, family_named("t5"))
    assert {reason.split(" is ")[0] for reason in caught.value.reasons} == {
        "attention_scale",
        "bias",
        "qkv_bias",
        "attention_output_bias",
        "output_scale",
        "norm",
        "positions",
    }
