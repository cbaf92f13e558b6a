"""Longformer and BigBird against the independent library, both ways: long texts and short ones, and global tokens."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from parity import check_back, close, loaded, padded, randomised
from torch import Tensor

from allyouneed.checkpoints.huggingface import family_named, save_huggingface
from allyouneed.checkpoints.huggingface.settings import Refused
from allyouneed.checkpoints.verify import verify
from allyouneed.models.transformer import Transformer
from allyouneed.parts import patterns
from allyouneed.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 200,
}
LENGTHS = (90, 71, 47)  # all but the last are beyond what the blocks' full attention would reach; none is a multiple


def theirs_of(family: str, kind: str, values: dict[str, Any]) -> Any:
    config = getattr(transformers, f"{family}Config")(**values)
    return randomised(getattr(transformers, kind)(config))


def longformer(kind: str = "LongformerForMaskedLM", **changes: Any) -> Any:
    return theirs_of("Longformer", kind, SIZES | {"attention_window": 8, "type_vocab_size": 1} | changes)


def bigbird(kind: str = "BigBirdForMaskedLM", **changes: Any) -> Any:
    return theirs_of("BigBird", kind, SIZES | {"block_size": 4, "num_random_blocks": 3} | changes)


def rows(lengths: tuple[int, ...] = LENGTHS) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(6, 320, (length,), generator=generator).tolist() for length in lengths]


def filled(theirs: Any, side: str = "right", lengths: tuple[int, ...] = LENGTHS) -> tuple[Tensor, Tensor]:
    batch, keep = padded(rows(lengths), side)
    return batch.masked_fill(~keep, theirs.config.pad_token_id), keep


def places(theirs: Any, keep: Tensor) -> Tensor:
    """Where their tables keep the position of each token."""
    offset = theirs.config.pad_token_id + 1 if theirs.config.model_type == "longformer" else 0
    return (keep.long().cumsum(-1) - 1).clamp_min(0) + offset


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"attention_window": [16, 16, 16], "type_vocab_size": 2, "pad_token_id": 4}])
def test_windows_agree_both_ways(changes: dict[str, Any], tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = longformer(**changes)
    ours = loaded(theirs, tmp_path / "theirs")
    for length in (1, 3, 8, 60):
        row = torch.tensor([rows()[0][:length]])
        close(ours(row), theirs(row).logits)
    for side in ("left", "right"):
        batch, keep = filled(theirs, side)
        told = {"attention_mask": keep.long(), "position_ids": places(theirs, keep)}
        close(ours(batch, keep=keep)[keep], theirs(batch, **told).logits[keep])
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named("longformer"))


@torch.no_grad()
def test_global_tokens_are_marked_with_each_call(tmp_path: Path) -> None:
    theirs = longformer()
    ours = loaded(theirs, tmp_path)
    batch, keep = filled(theirs)
    marks = torch.zeros_like(keep)
    marks[:, 0] = marks[0, 50] = marks[0, 51] = marks[2, 40] = True
    for mark in (marks, marks & torch.tensor([True, False, True])[:, None]):
        logits = theirs(batch, attention_mask=keep.long(), global_attention_mask=mark.long()).logits[keep]
        close(ours.logits(ours.encode(batch, keep, global_positions=mark).states)[keep], logits)
        assert not torch.allclose(ours(batch, keep=keep)[keep], logits, atol=1e-3)
    row = batch[:1]
    alone = ours.logits(ours.encode(row, global_positions=marks[:1]).states)
    close(alone, theirs(row, global_attention_mask=marks[:1].long()).logits)


@torch.no_grad()
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_random_blocks": 1, "block_size": 7},
        {"use_bias": False, "rescale_embeddings": True, "hidden_act": "relu"},
        {"attention_type": "original_full"},
    ],
)
def test_blocks_agree_both_ways(changes: dict[str, Any], tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = bigbird(**changes)
    ours = loaded(theirs, tmp_path / "theirs")
    for length in (88, 90) if theirs.config.attention_type == "block_sparse" else (90, 9):
        row = torch.tensor([rows()[0][:length]])
        close(ours(row), theirs(row).logits)
    for side in ("left", "right"):
        batch, keep = filled(theirs, side)
        told = {"attention_mask": keep.long(), "position_ids": places(theirs, keep)}
        close(ours(batch, keep=keep)[keep], theirs(batch, **told).logits[keep])
    check_back(theirs, ours, tokenizer, tmp_path / "ours", family=family_named("big_bird"))


@torch.no_grad()
@pytest.mark.parametrize("make", [longformer, bigbird])
def test_beyond_a_thousand_tokens_where_only_open_blocks_are_computed(make: Any, tmp_path: Path) -> None:
    own = {"attention_window": 100} if make is longformer else {"block_size": 32}
    theirs = make(max_position_embeddings=1300, num_hidden_layers=2, **own)
    ours = loaded(theirs, tmp_path)
    batch, keep = filled(theirs, lengths=(1250, 1101))
    marks = torch.zeros_like(keep)
    marks[:, ::400] = make is longformer
    told: dict[str, Any] = {"attention_mask": keep.long(), "position_ids": places(theirs, keep)}
    given = {"global_positions": marks} if make is longformer else {}
    told |= {"global_attention_mask": marks.long()} if make is longformer else {}
    memory = ours.encode(batch, keep, **given)
    close(ours.logits(memory.states)[keep], theirs(batch, **told).logits[keep], tolerance=1e-4)


@torch.no_grad()
def test_a_model_of_blocks_stays_one_where_theirs_turns_full(tmp_path: Path) -> None:
    theirs = bigbird()
    ours = loaded(theirs, tmp_path)
    short, long = (torch.tensor([rows()[0][:length]]) for length in (44, 45))
    full = Transformer(replace(ours.config, reach="full")).eval()
    full.load_state_dict(ours.state_dict())
    close(ours(long), theirs(long).logits)
    close(full(short), theirs(short).logits)
    assert not torch.allclose(ours(short), full(short), atol=1e-2)
    close(full(long), theirs(long).logits)  # after a short text theirs is another model


def ignoring(answer: Any, **_: object) -> Any:
    return answer()


@torch.no_grad()
def test_drawn_blocks_compute_what_theirs_do_with_the_same_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = bigbird()
    ours = loaded(theirs, tmp_path)
    drawn = Transformer(replace(ours.config, random_choice="drawn")).eval()
    drawn.load_state_dict(ours.state_dict())
    plans: list[list[list[int]]] = []
    for seed in range(3):
        mask, plain = (
            patterns.blocks_around(90, block=4, drawn=count, seed=seed, ends=True).dense(90, 90)[::4, ::4]
            for count in (3, 0)
        )
        plans.append([(~plain[row] & mask[row]).nonzero().flatten().tolist() for row in range(1, 22)])
    assert plans[0] != plans[1]
    for layer, plan in zip(theirs.bert.encoder.layer, plans, strict=True):
        for_each_head = partial(list, [np.array(plan, np.int32)] * 4)
        monkeypatch.setattr(
            layer.attention.self, "_bigbird_block_rand_mask_with_head", partial(ignoring, for_each_head)
        )
    row = torch.tensor([rows()[0]])
    close(drawn(row), theirs(row).logits)
    assert not torch.allclose(drawn(row), ours(row), atol=1e-2)


@torch.no_grad()
@pytest.mark.parametrize(("make", "kind"), [(longformer, "LongformerModel"), (bigbird, "BigBirdModel")])
def test_the_class_without_a_head_has_a_pooler(make: Any, kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    theirs = make(kind)
    ours = loaded(theirs, tmp_path / "theirs")
    assert ours.readout is None
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    again, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert again.config.architectures == [kind]
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    batch, keep = filled(theirs)
    memory = ours.encode(batch, keep)
    for one in (theirs, again):
        made = one(batch, attention_mask=keep.long(), position_ids=places(theirs, keep))
        close(memory.states[keep], made.last_hidden_state[keep])
        close(ours.pool(memory), made.pooler_output)


@pytest.mark.parametrize("make", [longformer, bigbird])
def test_verify_gives_them_a_text_that_is_long_enough(make: Any, tokenizer: Tokenizer, tmp_path: Path) -> None:
    ours = loaded(make(pad_token_id=0), tmp_path / "theirs")
    save_huggingface(tmp_path / "ours", ours, tokenizer)
    found = verify(tmp_path / "ours")
    assert found.begins is None
    assert len(found.places) == 5
    assert found.tokens % 4  # what they append to it is left out
    assert make is longformer or found.tokens > 44


def test_what_the_layouts_cannot_hold_is_said(tokenizer: Tokenizer, tmp_path: Path) -> None:
    for theirs, change, message in (
        (longformer(), {"global_tokens": 2}, "Longformer cannot hold this model: global_tokens is 2, not 0"),
        (bigbird(), {"random_choice": "drawn"}, "BigBird cannot hold this model: random_choice is drawn, not first"),
        (bigbird(), {"end_blocks": False, "random_blocks": 0}, "BigBird cannot hold this model: end_blocks is False"),
    ):
        ours = loaded(theirs, tmp_path / "theirs")
        other = Transformer(replace(ours.config, **change))
        family = family_named(message.split()[0])
        with pytest.raises(Refused, match=message):
            save_huggingface(tmp_path / "ours", other, tokenizer, family=family)


def test_windows_of_unlike_width_are_refused(tmp_path: Path) -> None:
    theirs = longformer(attention_window=[8, 8, 16])
    with pytest.raises(Refused, match=r"attention_window is \[8, 8, 16\], and here it can only be one even number"):
        loaded(theirs, tmp_path)
