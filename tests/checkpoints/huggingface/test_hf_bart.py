"""BART against the independent library, both ways."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from parity import check_back, loaded, randomised
from parity_both import check_both, check_greedy_both, rewrite

from allyouneed.checkpoints.huggingface import family_named, load_transformer, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 320,
    "d_model": 32,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 40,
}


def bart(**changes: Any) -> Any:
    """A random model whose output has a bias."""
    theirs = randomised(transformers.BartForConditionalGeneration(transformers.BartConfig(**(SIZES | changes))))
    theirs.final_logits_bias.normal_(generator=torch.Generator().manual_seed(4))
    return theirs


@pytest.mark.parametrize("changes", [{}, {"activation_function": "relu", "scale_embedding": True}])
def test_bart_agrees_both_ways(changes: dict[str, Any], tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = bart(**changes)
    ours = loaded(theirs, tmp_path / "theirs")
    check_both(theirs, ours, ("right",))
    check_greedy_both(theirs, ours, start=2)
    check_back(theirs, ours, tokenizer, tmp_path / "ours")


def test_a_file_of_the_class_without_output(tmp_path: Path) -> None:
    theirs = bart()
    theirs.final_logits_bias.zero_()
    ours = loaded(theirs.model, tmp_path)
    assert ours.output_bias is None
    check_both(theirs, ours, ("right",))


def test_old_names_and_copies(tmp_path: Path) -> None:
    theirs = bart()
    theirs.save_pretrained(tmp_path)
    table = theirs.model.shared.weight.detach()
    copies = {f"model.{side}.embed_tokens.weight": table.clone() for side in ("encoder", "decoder")}
    version = {f"model.{side}.version": torch.ones(1) for side in ("encoder", "decoder")}
    rewrite(tmp_path, {"normalize_embedding": True, "normalize_before": False}, **copies, **version)
    check_both(theirs, load_transformer(tmp_path), ("right",))


def test_a_table_of_another_length_is_named(tmp_path: Path) -> None:
    bart().save_pretrained(tmp_path)
    rewrite(tmp_path, {"max_position_embeddings": 50})
    with pytest.raises(
        InputError, match=r"embed_positions.weight has the shape \[42, 32\], but .* asks for \[52, 32\]"
    ):
        load_transformer(tmp_path)


def test_a_config_that_asks_for_more_is_refused_whole(tmp_path: Path) -> None:
    bart().save_pretrained(tmp_path)
    rewrite(
        tmp_path,
        {
            "normalize_before": True,
            "decoder_attention_heads": 2,
            "static_position_embeddings": True,
            "encoder_layers": 0,
            "add_final_layer_norm": True,
        },
    )
    with pytest.raises(Refused, match=r"config.json \(BART\)") as caught:
        load_transformer(tmp_path)
    assert [reason.split(",")[0] for reason in caught.value.reasons] == [
        "static_position_embeddings is True",
        "normalize_before is True",
        "add_final_layer_norm is True",
        "decoder_attention_heads is 2",
        "encoder_layers is 0",
    ]


def test_what_bart_cannot_hold_is_refused_whole(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = loaded(bart(), tmp_path / "theirs").config
    other = replace(config, position_offset=0, final_norm=True, norm_epsilon=1e-6, tied_embeddings=False)
    with pytest.raises(Refused, match="BART cannot hold this model") as caught:
        save_huggingface(tmp_path / "ours", Transformer(other), tokenizer, family_named("bart"))
    assert sorted(caught.value.reasons) == [
        "final_norm is True, not False",
        "norm_epsilon is 1e-06, not 1e-05",
        "position_offset is 0, not 2",
        "shared_embeddings is False, not True",
        "tied_embeddings is False, not True",
    ]
