"""The figure of masks on decoders with and without a source, and on rows that may look nowhere."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError
from allyouneed.pipeline import LanguageModel


def ask(models: Models, **inputs: Any) -> dict[str, Any]:
    return WIDGETS["causal-mask"].answer(inputs, models)


def test_decoder_alone_shows_its_own_weights(models: Models, language_model: LanguageModel) -> None:
    text = "The mouse ate the cheese."
    result = ask(models, model="zoo:lm-en", layer=1, head=3)
    assert (result["source"], result["sentence"]) == ("", text)
    view = language_model.attend(text)
    assert np.array(result["cells"]) == pytest.approx(view["decoder", 1, 3].numpy(), abs=1e-5)
    assert result["row_sums"] == pytest.approx([1] * result["size"], abs=1e-6)
    assert result["leak"]["moved"] == 0
    assert ask(models, model="zoo:lm-en", mask="none")["leak"]["moved"] > 0
    assert result["own_mask"] == "causal"


def test_encoder_has_no_future_to_hide(models: Models) -> None:
    with pytest.raises(FigureError, match="has no decoder"):
        ask(models, model="zoo:mlm-en")


@pytest.mark.parametrize("own", ["zoo:fr-en", "zoo:lm-en"])
@pytest.mark.parametrize("mask", ["causal", "none", "window"])
def test_claims_are_of_both_masks_whatever_is_chosen(models: Models, own: str, mask: str) -> None:
    sealed, opened = ask(models, model=own, mask=mask)["claims"]
    assert sealed["value"] == 0 < opened["value"]
    assert sealed["holds"]
    assert opened["holds"]
    if mask != "window":
        assert ask(models, model=own, mask=mask)["leak"]["moved"] == (opened if mask == "none" else sealed)["value"]


def test_row_that_may_look_nowhere(models: Models) -> None:
    empty = ask(models)["empty"]
    assert empty["undefined"] == empty["size"]
    assert empty["even"] == pytest.approx(1 / empty["size"], abs=1e-6)
    assert empty["ours"] == 0
    scores = torch.full((empty["size"],), -math.inf)
    assert scores.softmax(-1).isnan().all()
