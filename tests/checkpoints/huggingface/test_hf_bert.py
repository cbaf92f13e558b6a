"""BERT and RoBERTa against the independent library, both ways."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from parity import check_back, close, loaded, padded, randomised, texts
from parity_both import rewrite
from safetensors.torch import load_file
from torch import Tensor

from allyouneed.checkpoints.huggingface import family_named, load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
}


def bert(**changes: Any) -> Any:
    return transformers.BertForMaskedLM(transformers.BertConfig(**(SIZES | changes)))


def roberta(**changes: Any) -> Any:
    changes = {"type_vocab_size": 1, **changes}
    return transformers.RobertaForMaskedLM(transformers.RobertaConfig(**(SIZES | changes)))


MODELS: dict[str, Callable[[], Any]] = {
    "bert": bert,
    "bert, relu, 3 segments": lambda: bert(hidden_act="relu", type_vocab_size=3, layer_norm_eps=1e-3),
    "roberta": roberta,
    "roberta, 2 segments, padding 5": lambda: roberta(type_vocab_size=2, pad_token_id=5),
}


def positions(theirs: Any, keep: Tensor) -> Tensor:
    """Where their tables keep the position of each token."""
    offset = theirs.config.pad_token_id + 1 if theirs.config.model_type == "roberta" else 0
    return (keep.long().cumsum(-1) - 1).clamp_min(0) + offset


@torch.no_grad()
def check_encoder(theirs: Any, ours: Transformer) -> None:
    """Same logits: single and batched, padded on either side, with segments where there are several."""
    rows = [[token + 6 for token in row] for row in texts(300)]  # no token is a padding
    single = [theirs(torch.tensor([row])).logits[0] for row in rows]
    for row, logits in zip(rows, single, strict=True):
        close(ours(torch.tensor([row]))[0], logits)
    for side in ("left", "right"):
        batch, keep = padded(rows, side)
        batch[~keep] = theirs.config.pad_token_id
        segments = batch % max(1, theirs.config.type_vocab_size)
        for given in (None, segments):
            told = {"attention_mask": keep.long(), "token_type_ids": given, "position_ids": positions(theirs, keep)}
            logits = theirs(batch, **told).logits[keep]
            close(ours(batch, keep=keep, segments=given)[keep], logits)
            if given is None:
                close(logits, torch.cat(single))


@pytest.mark.parametrize("name", MODELS)
def test_an_encoder_agrees_both_ways(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = randomised(MODELS[name]())
    ours = loaded(theirs, tmp_path / "theirs")
    check_encoder(theirs, ours)
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named(name.split(",")[0]))


@pytest.mark.parametrize("kind", ["Bert", "Roberta"])
@torch.no_grad()
def test_the_class_without_a_head_has_a_pooler(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = getattr(transformers, f"{kind}Config")(**SIZES, pad_token_id=1)
    theirs = randomised(getattr(transformers, f"{kind}Model")(config))
    ours = loaded(theirs, tmp_path / "theirs")
    assert ours.readout is None
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    again, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert again.config.architectures == [f"{kind}Model"]
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    batch, keep = padded(texts(320), "right")
    memory = ours.encode(batch, keep)
    for one in (theirs, again):
        made = one(batch, attention_mask=keep.long(), position_ids=positions(one, keep))
        close(memory.states[keep], made.last_hidden_state[keep])
        close(ours.pool(memory), made.pooler_output)


def test_a_file_without_a_pooler(tmp_path: Path) -> None:
    theirs = randomised(transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False))
    ours = loaded(theirs, tmp_path)
    assert ours.pooler is None
    row = torch.tensor([texts(320)[0]])
    with torch.no_grad():
        close(ours.encode(row).states, theirs(row).last_hidden_state)


def test_the_first_files(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Norms with gamma and beta, both heads of the training, buffers, and the output beside the embedding."""
    theirs = randomised(transformers.BertForPreTraining(transformers.BertConfig(**SIZES)))
    theirs.save_pretrained(tmp_path / "theirs")
    norms = {
        name: tensor for name, tensor in load_file(tmp_path / "theirs/model.safetensors").items() if "LayerNorm" in name
    }
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor.clone()
        for name, tensor in norms.items()
    }
    beside = {
        "bert.embeddings.position_ids": torch.arange(40)[None],
        "cls.predictions.decoder.weight": theirs.bert.embeddings.word_embeddings.weight.detach().clone(),
    }
    rewrite(tmp_path / "theirs", {"architectures": ["BertForMaskedLM"]}, **dict.fromkeys(norms), **old, **beside)
    ours = load_transformer(tmp_path / "theirs")
    assert ours.pooler is not None
    assert ours.readout is not None
    row = torch.tensor([texts(320)[0]])
    with torch.no_grad():
        expected = theirs(row)
        close(ours(row), expected.prediction_logits)
        close(ours.pool(ours.encode(row)), theirs.bert(row).pooler_output)
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    again = transformers.BertForMaskedLM.from_pretrained(tmp_path / "ours")
    with torch.no_grad():
        close(again(row).logits, expected.prediction_logits)
        close(
            transformers.BertModel.from_pretrained(tmp_path / "ours")(row).pooler_output, theirs.bert(row).pooler_output
        )


def test_an_encoder_without_segments_is_one_with_a_segment_that_says_nothing(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    config = replace(loaded(randomised(bert()), tmp_path / "theirs").config, n_segments=0)
    ours = randomised(Transformer(config))
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    check_encoder(transformers.BertForMaskedLM.from_pretrained(tmp_path / "ours").eval(), ours)


def test_a_config_that_asks_for_more_is_refused_whole(tmp_path: Path) -> None:
    bert().save_pretrained(tmp_path)
    rewrite(tmp_path, {"is_decoder": True, "position_embedding_type": "relative_key", "hidden_act": "mish"})
    with pytest.raises(Refused, match=r"config.json \(BERT\)") as caught:
        load_transformer(tmp_path)
    assert [reason.split(",")[0] for reason in caught.value.reasons] == [
        "is_decoder is True",
        "position_embedding_type is 'relative_key'",
        "hidden_act is 'mish'",
    ]


def test_what_neither_can_hold_is_refused_whole(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = loaded(roberta(), tmp_path / "theirs").config
    other = replace(config, norm_placement="pre", embedding_norm=False, position_offset=0)
    for name, more in (("roberta", {"position_offset"}), ("bert", set[str]())):
        with pytest.raises(Refused, match="cannot hold this model") as caught:
            save_huggingface(tmp_path / "ours", Transformer(other), tokenizer, family_named(name))
        assert {reason.split(" is ")[0] for reason in caught.value.reasons} == {
            "norm_placement",
            "embedding_norm",
        } | more
