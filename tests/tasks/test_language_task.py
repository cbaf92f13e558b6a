"""Language modelling: every token is predicted once, and texts that share a row do not see each other."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor
from toy import toy_recipe

from allyouneed.errors import InputError
from allyouneed.models.mamba import Mamba, MambaConfig
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks.documents import Texts, cut
from allyouneed.tasks.language import Language, packed
from allyouneed.text.tokenizer import BOS, EOS
from allyouneed.training import read_recipe
from allyouneed.training.loss import negative_log_likelihood

LENGTHS = [3, 40, 8, 1, 7, 21, 5, 2, 60, 4]
ROW = 20


def texts(lengths: list[int] = LENGTHS) -> Texts:
    """Documents whose tokens are all different."""
    ends = np.cumsum([0, *lengths])
    rows = [[BOS, *range(4 + start, 4 + end), EOS] for start, end in pairwise(ends)]
    return Texts(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]), bytes=1000)


def language(lengths: list[int] = LENGTHS) -> Language:
    return Language(cast(Any, None), texts(lengths), texts(lengths), max_tokens=ROW)


def model_with(**fields: Any) -> Transformer:
    torch.manual_seed(0)
    known: dict[str, Any] = {
        "vocab_size": 200,
        "d_model": 32,
        "n_heads": 4,
        "d_ff": 48,
        "n_encoder_layers": 0,
        "n_decoder_layers": 2,
        "norm_placement": "pre",
        "max_length": 64,
    }
    return Transformer(TransformerConfig(**{**known, **fields})).eval()


def test_every_token_is_predicted_once_from_the_one_before_it() -> None:
    task = language()
    seen: list[tuple[int, int]] = []
    for plan in task.batches(60, seed=1, epoch=0):
        batch = task.batch(plan, np.random.default_rng(0))
        assert task.target_tokens(plan) == len(batch.gold)
        assert task.padded_tokens(plan) == batch.tokens.numel() <= 60
        assert batch.tokens.shape[1] <= ROW
        seen += zip(batch.tokens.flatten()[batch.real].tolist(), batch.gold.tolist(), strict=True)
    stream = texts().tokens.tolist()
    expected = [pair for pair in pairwise(stream) if pair != (EOS, BOS)]
    assert sorted(seen) == sorted(expected)


def test_a_long_document_goes_on_where_its_last_piece_ended() -> None:
    pieces = cut(texts([45]), ROW, marks=True)
    assert pieces.size.tolist() == [20, 20, 6]
    rows = [pieces.tokens(piece, more=1).tolist() for piece in range(3)]
    assert rows[0][0] == BOS
    assert [row[0] for row in rows[1:]] == [row[-1] for row in rows[:-1]]
    assert rows[-1][-1] == EOS


def test_short_documents_share_rows_and_others_in_each_epoch() -> None:
    task = language([4] * 100)
    first, again, second = (task.batches(100, seed=1, epoch=epoch) for epoch in (0, 0, 1))
    rows = [[row.tolist() for plan in plans for row in plan] for plans in (first, again, second)]
    assert rows[0] == rows[1]
    assert sorted(rows[0]) != sorted(rows[2])
    assert sorted(piece for row in rows[0] for piece in row) == list(range(100))
    assert {len(row) for row in rows[0]} == {ROW // 5}


def with_a_state() -> Mamba:
    """A model that looks at nothing, and must forget where a text ends."""
    torch.manual_seed(0)
    model = Mamba(MambaConfig(vocab_size=200, d_model=16, n_layers=2, d_state=4)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(("rates_log", "step.bias")):
                parameter.normal_(std=0.3)  # at first next to nothing comes from the state
    return model


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "t5", "shaw", "a state"])
def test_packed_is_separate(positions: str) -> None:
    model = with_a_state() if positions == "a state" else model_with(positions=positions)
    pieces = cut(texts(), ROW, marks=True)
    short = np.flatnonzero(pieces.size < ROW)
    together = packed(pieces, [short[:4], short[4:6], short[6:]])
    assert together.pieces is not None
    both: list[tuple[Tensor, list[Tensor]]] = []
    for batches in ([together], [packed(pieces, [np.array([piece])]) for piece in short]):
        losses = [negative_log_likelihood(*model.features(batch.states(model)), batch.gold)[0] for batch in batches]
        total = torch.stack(losses).sum() / sum(len(batch.gold) for batch in batches)
        both.append((total, list(torch.autograd.grad(total, list(model.parameters()), materialize_grads=True))))
    assert both[0][0].item() == pytest.approx(both[1][0].item(), abs=1e-5)
    for one, other in zip(both[0][1], both[1][1], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_packed_is_separate_beyond_a_sliding_window() -> None:
    model = model_with(positions="rotary", window=3)
    pieces = cut(texts(), ROW, marks=True)
    short = np.flatnonzero(pieces.size < ROW)
    together = packed(pieces, [short]).states(model)
    separate = torch.cat([packed(pieces, [np.array([piece])]).states(model) for piece in short])
    torch.testing.assert_close(together, separate, atol=1e-5, rtol=1e-4)


def test_measures_are_those_of_a_model_that_knows_nothing() -> None:
    task, model = language(), model_with()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    measures = task.validate(model, negative_log_likelihood, max_tokens=60, sentences=0)
    tokens = sum(LENGTHS) + len(LENGTHS)
    assert measures["loss"] == pytest.approx(math.log(200))
    assert measures["perplexity"] == pytest.approx(200)
    assert measures["bits_per_byte"] == pytest.approx(tokens * math.log2(200) / 1000)


def test_what_the_model_adds_to_its_loss_counts_in_training_alone() -> None:
    task = language()
    model = model_with(n_experts=4, dropout=0.0)
    plan = task.batches(60, seed=1, epoch=0)[0]
    batch = task.batch(plan, np.random.default_rng(0))
    in_use = [loss.detach() for loss in task.loss(model, batch, negative_log_likelihood)]
    model.train()
    in_training = [loss.detach() for loss in task.loss(model, batch, negative_log_likelihood)]
    assert float(in_use[0]) == float(in_use[1])
    added = float(in_training[0] - in_training[1])
    assert added == pytest.approx(float(torch.as_tensor(model.extra_loss()).detach()) * len(batch.gold), rel=1e-3)
    assert added > 0


def test_a_row_must_fit_into_a_batch() -> None:
    with pytest.raises(
        InputError, match=r"longest training example has 20 tokens, and a batch training\.batch_tokens = 10:"
    ):
        language().batches(10, seed=1, epoch=0)


def test_text_is_trained_on_and_taken_up_again(tmp_path: Path) -> None:
    data = read_recipe(toy_recipe(tmp_path, task="language")).data
    news: list[str] = []
    arguments = {"vocab_size": 320, "seed": 1, "folder": tmp_path / "run", "report": news.append}
    first = Language.prepare(cast(Any, data), **cast(Any, arguments))
    assert news == ["training the subword model (320 pieces)", "tokenising the text"]
    second = Language.prepare(cast(Any, data), **cast(Any, arguments))
    assert len(news) == 2
    assert np.array_equal(first.train.texts.tokens, second.train.texts.tokens)
    assert first.train.texts.bytes == second.train.texts.bytes
    text = (tmp_path / "train.txt").read_text("utf-8")
    assert first.train.texts.bytes == len(text.encode()) - 2 * text.count("\n\n") - 1
    documents = [
        first.tokenizer.decode(row[1:-1]) for row in np.split(first.train.texts.tokens, first.train.texts.offsets[1:-1])
    ]
    assert "\n\n".join(documents) + "\n" == text
