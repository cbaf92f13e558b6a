"""Masks as they are written, and what is said of what cannot be read."""

import pytest
import torch

from allyouneed.errors import UsageError
from allyouneed.parts import masks
from allyouneed.parts.mask_text import NAMES, mask_from_text
from allyouneed.parts.masks import Mask

LENGTH = 12
NUMBERS = torch.tensor([[0] * 5 + [1] * 4 + [2] * 3])
KEEP = torch.tensor([[False] * 2 + [True] * 7 + [False] * 3])

WRITTEN: dict[str, Mask] = {
    "causal": masks.causal(),
    "window(4)": masks.sliding_window(4),
    "window(4, 2)": masks.sliding_window(4, ahead=2),
    "dilated(3, 2)": masks.dilated_window(3, 2),
    "dilated(3,2,1)": masks.dilated_window(3, 2, ahead=1),
    "prefix(3)": masks.prefix(3),
    "global(2)": masks.global_tokens(2),
    "random(4, 1)": masks.random_blocks(LENGTH, block=4, count=1, seed=0),
    "random(4, 1, 7)": masks.random_blocks(LENGTH, block=4, count=1, seed=7),
    "blocks(5)": masks.block_diagonal(5),
    "documents(5, 4, 3)": masks.documents(NUMBERS),
    "padding(2, 3)": masks.padding(KEEP),
    "causal & window(3) | global(1)": (masks.causal() & masks.sliding_window(3)) | masks.global_tokens(1),
    "global(1) | causal & window(3)": (masks.causal() & masks.sliding_window(3)) | masks.global_tokens(1),
    "causal & (window(3) | global(1))": masks.causal() & (masks.sliding_window(3) | masks.global_tokens(1)),
    "~causal & window(3)": ~masks.causal() & masks.sliding_window(3),
    "~(causal & window(3))": ~(masks.causal() & masks.sliding_window(3)),
    " ~~causal&prefix( 2 ) ": masks.causal() & masks.prefix(2),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_rule_says_what_it_says(text: str) -> None:
    found = mask_from_text(text, LENGTH).dense(LENGTH, LENGTH)
    assert torch.equal(found.expand(1, 1, -1, -1), WRITTEN[text].dense(LENGTH, LENGTH).expand(1, 1, -1, -1))


def test_every_name_is_tried() -> None:
    assert all(any(name in text for text in WRITTEN) for name in NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'The mask "" cannot be read: it ends where a rule is needed.'),
        ("causal &", "it ends where a rule is needed"),
        ("causal windw(3)", '"windw" at character 8 stands where "&", "|" or the end is needed'),
        ("windw(3)", r'"windw" is no rule; there are causal, .*, padding. Did you mean "window"\?'),
        ("window", r"window at character 1 is written window\(width\) or window\(width, ahead\)"),
        ("causal(3)", "causal at character 1 is written causal"),
        ("window()", r'"\)" at character 8 stands where a whole number is needed'),
        ("window(3", r'it ends where "," or "\)" is needed'),
        ("window(-3)", "'-' at character 8 means nothing"),
        ("window(0)", "a sliding window holds at least its own position: width 0 is below 1"),
        ("window(99999999999999999999)", "the number at character 8 is above 1,000,000,000"),
        ("dilated(3, 0)", "a dilated window takes every first, second, ... key: step 0 is below 1"),
        ("random(4, 9)", "9 random blocks: 12 positions have between 0 and 3 blocks of 4"),
        ("random(0, 1)", "a block holds at least one position"),
        ("documents(5, 4)", "texts of 5, 4 tokens do not fill the 12 that there are"),
        ("documents(12, 0)", "texts of 12, 0 tokens do not fill the 12 that there are"),
        ("(causal", r'it ends where "&", "|" or "\)" is needed'),
        ("causal)", r'"\)" at character 7 stands where "&", "|" or the end is needed'),
        ("(" * 60 + "causal" + ")" * 60, "more than 50 parentheses stand within each other"),
        ("__import__('os')", "means nothing"),
    ],
)
def test_what_is_no_rule_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mask_from_text(text, LENGTH)


def test_too_many_random_blocks_are_refused() -> None:
    with pytest.raises(UsageError, match="blocks of 1 cut 5,000 positions into more than 4,096"):
        mask_from_text("random(1, 1)", 5000)
