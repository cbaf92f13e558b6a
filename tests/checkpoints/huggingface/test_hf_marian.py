"""Marian and PEGASUS against the independent library, both ways; and our own translators written as they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from parity import check_back, loaded, randomised, texts
from parity_both import check_both, check_greedy_both, rewrite, written

from allyouneed.checkpoints.huggingface import family_named, load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.errors import InputError
from allyouneed.models.config import TransformerConfig
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

VOCABULARY = 320
START = VOCABULARY - 1  # the padding, with which Marian's decoder begins
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 40,
    "activation_function": "swish",
    "scale_embedding": True,
    "pad_token_id": START,
    "decoder_start_token_id": START,
    "eos_token_id": 0,
}


def with_waves(theirs: Any) -> Any:
    """A random model; its tables of positions are computed, and its output has a bias."""
    randomised(theirs)
    with torch.no_grad():
        theirs.final_logits_bias.normal_(generator=torch.Generator().manual_seed(4))
        for stack in (theirs.model.encoder, theirs.model.decoder):
            stack.embed_positions.weight.copy_(stack.embed_positions.create_weight())
    return theirs


def marian(**changes: Any) -> Any:
    return with_waves(transformers.MarianMTModel(transformers.MarianConfig(**(SIZES | changes))))


def pegasus(**changes: Any) -> Any:
    config = transformers.PegasusConfig(**(SIZES | changes))
    return with_waves(transformers.PegasusForConditionalGeneration(config))


CHANGES: dict[str, dict[str, Any]] = {
    "as published": {},
    "two tables": {"share_encoder_decoder_embeddings": False},
    "three tables": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    "relu, unscaled": {"activation_function": "relu", "scale_embedding": False},
}


@pytest.mark.parametrize("name", CHANGES)
def test_marian_agrees_both_ways(name: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = marian(**CHANGES[name])
    ours = loaded(theirs, tmp_path / "theirs")
    check_both(theirs, ours, ("right",))
    check_greedy_both(theirs, ours, start=START)
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named("marian"))


def test_pegasus_agrees_both_ways(tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = pegasus()
    ours = loaded(theirs, tmp_path / "theirs")
    assert ours.config.norm_placement == "pre"
    check_both(theirs, ours, ("right",))
    check_greedy_both(theirs, ours, start=START)
    check_back(theirs, ours, tokenizer, tmp_path / "ours")


def test_tables_of_positions_are_checked_and_skipped(tmp_path: Path) -> None:
    theirs = marian()
    theirs.save_pretrained(tmp_path)
    waves = theirs.model.encoder.embed_positions.weight.detach()
    names = [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    rewrite(tmp_path, {}, **{name: waves.clone() for name in names})
    row, target = torch.tensor([texts(VOCABULARY)[0]]), written(VOCABULARY)[:1]
    with torch.no_grad():
        expected = theirs(row, decoder_input_ids=target).logits
        torch.testing.assert_close(load_transformer(tmp_path)(row, target), expected, rtol=0, atol=2e-5)
    rewrite(tmp_path, {}, **{names[1]: waves.roll(1, 1)})
    with pytest.raises(InputError, match=r"embed_positions.weight hold another table of positions than the sines"):
        load_transformer(tmp_path)


def test_a_file_without_the_bias_of_the_output(tmp_path: Path) -> None:
    theirs = marian()
    theirs.final_logits_bias.zero_()
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, {}, final_logits_bias=None)
    ours = load_transformer(tmp_path)
    assert ours.output_bias is None
    check_both(theirs, ours, ("right",))


def test_the_table_under_another_name(tmp_path: Path) -> None:
    theirs = marian()
    theirs.save_pretrained(tmp_path)
    table = theirs.model.shared.weight.detach()
    rewrite(tmp_path, {}, **{"model.shared.weight": None, "lm_head.weight": table.clone()})
    check_both(theirs, load_transformer(tmp_path), ("right",))
    rewrite(tmp_path, {}, **{"model.shared.weight": table + 1})
    with pytest.raises(
        InputError, match=r"differs from model.shared.weight, although config.json says that they are one"
    ):
        load_transformer(tmp_path)


OWN = TransformerConfig(VOCABULARY, d_model=32, n_heads=4, d_ff=48, n_encoder_layers=2, n_decoder_layers=2)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (OWN, transformers.MarianMTModel),
        (replace(OWN, tied_embeddings=False), transformers.MarianMTModel),
        (replace(OWN, shared_embeddings=False), transformers.MarianMTModel),
        (replace(OWN, norm_placement="pre", final_norm=True), transformers.PegasusForConditionalGeneration),
    ],
)
def test_our_own_translators_are_written(
    config: TransformerConfig, kind: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    ours = randomised(Transformer(config))
    save_huggingface(tmp_path, ours, tokenizer)
    theirs, report = kind.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert theirs.config.decoder_start_token_id == tokenizer.start
    check_both(theirs.eval(), ours, ("right",))
    check_both(theirs, load_transformer(tmp_path), ("right",))


def test_what_marian_cannot_hold_is_refused_whole(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = TransformerConfig(
        VOCABULARY, 32, 4, 2, n_encoder_layers=1, n_decoder_layers=1, norm_placement="pre", positions="learned"
    )
    with pytest.raises(Refused, match="Marian cannot hold this model") as caught:
        save_huggingface(tmp_path / "ours", Transformer(config), tokenizer, family_named("marian"))
    assert sorted(reason.split(" is ")[0] for reason in caught.value.reasons) == [
        "n_kv_heads",
        "norm_placement",
        "positions",
    ]
    assert not (tmp_path / "ours").exists()


def test_a_config_that_asks_for_more_is_refused_whole(tmp_path: Path) -> None:
    marian().save_pretrained(tmp_path)
    rewrite(
        tmp_path,
        {"normalize_before": True, "decoder_ffn_dim": 40, "decoder_vocab_size": 100, "activation_function": "x"},
    )
    with pytest.raises(Refused, match=r"config.json \(Marian\)") as caught:
        load_transformer(tmp_path)
    told = "; ".join(caught.value.reasons)
    assert len(caught.value.reasons) == 4
    for name in (
        "normalize_before is True",
        "decoder_ffn_dim is 40",
        "decoder_vocab_size is 100",
        "activation_function is 'x'",
    ):
        assert name in told
