"""One update, seen from outside."""

from typing import Any, cast

import numpy as np
import pytest
import torch

from allyouneed.models.stepper import Stepper
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks.encoded import Encoded
from allyouneed.tasks.hypotheses import hypotheses
from allyouneed.tasks.translation import Translation
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.training.loop import Trainer
from allyouneed.training.parallel import Ranks
from allyouneed.training.recipe import Training
from allyouneed.training.state import Progress


def trainer(settings: Training | None = None, *, dropout: float = 0.1) -> Trainer:
    """Six pairs of three tokens, and a model for them."""
    tokens = np.arange(18, dtype=np.int32) + 4
    offsets = np.arange(0, 19, 3, dtype=np.int64)
    pairs = Encoded((tokens, tokens), (offsets, offsets))
    torch.manual_seed(1)
    config = TransformerConfig(
        vocab_size=32,
        d_model=16,
        n_heads=2,
        d_ff=16,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_length=64,
        dropout=dropout,
    )
    task = Translation(cast(Any, None), pairs, pairs, [])  # no tokenizer: the text is tokens already
    return Trainer(Transformer(config), task, settings or Training(peak_rate=0.1, warmup=1), seed=1, ranks=Ranks())


def test_translations_come_from_the_updated_weights(tokenizer: Tokenizer) -> None:
    training, progress = trainer(), Progress()
    model = cast(Transformer, training.model)
    for _ in range(3):
        kept = Stepper.of(model)
        training.update(progress)
        assert Stepper.of(model) is not kept
    model.eval()
    [[found]] = hypotheses(model, tokenizer, [[4, 5, 6]], beam=1)
    fresh = Transformer(model.config).eval()
    fresh.load_state_dict(model.state_dict())
    [[expected]] = hypotheses(fresh, tokenizer, [[4, 5, 6]], beam=1)
    assert found == expected


def test_accumulated_is_the_whole_batch() -> None:
    whole = trainer(Training(batch_tokens=24), dropout=0.0)
    parts = trainer(Training(batch_tokens=12, accumulate=2), dropout=0.0)
    results = [training.update(Progress()) for training in (whole, parts)]
    assert results[0].tokens == results[1].tokens == 24
    for name in ("loss", "likelihood", "gradient_norm"):
        one, other = (getattr(result, name) for result in results)
        assert one == pytest.approx(other, rel=1e-5)


def test_each_update_draws_its_own_dropout_and_can_be_replayed() -> None:
    still = Training(peak_rate=1e-12, batch_tokens=24)
    training, progress = trainer(still, dropout=0.5), Progress()
    _, second = (training.update(progress).loss for _ in range(2))

    def again(update: int) -> float:
        """The second epoch's batch, as the update after this one."""
        return trainer(still, dropout=0.5).update(Progress(update=update, epoch=1)).loss

    assert again(1) == pytest.approx(second, rel=1e-5)
    assert abs(again(2) - second) > 1e-3


def test_weight_decay_shrinks_matrices_alone() -> None:
    plain, shrunk = (trainer(Training(weight_decay=decay, peak_rate=0.01, warmup=1), dropout=0.0) for decay in (0, 0.5))
    before = {name: tensor.clone() for name, tensor in plain.model.named_parameters()}
    for training in (plain, shrunk):
        training.update(Progress())
    others = dict(shrunk.model.named_parameters())
    for name, tensor in plain.model.named_parameters():
        taken = 0.01 * 0.5 * before[name] if tensor.dim() > 1 else torch.zeros_like(tensor)
        torch.testing.assert_close(tensor - others[name], taken, atol=1e-6, rtol=1e-4)


def test_the_schedule_of_the_recipe_is_followed() -> None:
    linear = trainer(Training(schedule="linear", updates=11, warmup=1, peak_rate=1.0, final_share=0.5))
    assert [linear.rate(update) for update in (1, 6, 11)] == pytest.approx([1.0, 0.75, 0.5])


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_average_follows_the_weights_once_an_update(accumulate: int) -> None:
    settings = Training(peak_rate=0.1, warmup=1, batch_tokens=12, accumulate=accumulate, ema_decay=0.4)
    training, progress = trainer(settings), Progress()
    assert training.average is not None
    expected = {name: tensor.detach().double() for name, tensor in training.model.named_parameters()}
    for update in range(1, 8):
        training.update(progress)
        kept = min(0.4, (1 + update) / (10 + update))  # 2/11, 3/12, ... and 0.4 from the fifth update on
        for name, tensor in training.model.named_parameters():
            expected[name] = kept * expected[name] + (1 - kept) * tensor.detach().double()
    for name, tensor in training.average.weights.items():
        torch.testing.assert_close(tensor.double(), expected[name], atol=1e-6, rtol=1e-5, msg=name)


def test_an_average_changes_nothing_of_the_training() -> None:
    plain, averaged = trainer(), trainer(Training(peak_rate=0.1, warmup=1, ema_decay=0.5))
    for training in (plain, averaged):
        progress = Progress()
        for _ in range(3):
            training.update(progress)
            with training.averaged():
                assert training.model.training
    others = dict(averaged.model.named_parameters())
    for name, tensor in plain.model.named_parameters():
        assert torch.equal(tensor, others[name]), name


def test_validated_is_the_average(tokenizer: Tokenizer) -> None:
    training, progress = trainer(Training(peak_rate=0.1, warmup=1, ema_decay=0.9)), Progress()
    model = cast(Transformer, training.model)
    assert training.average is not None
    for _ in range(3):
        training.update(progress)
        model.eval()
        hypotheses(model, tokenizer, [[4, 5, 6]], beam=1)  # packs the weights of the update
        average = {name: tensor.clone() for name, tensor in training.average.weights.items()}
        fresh = Transformer(model.config).eval()
        fresh.load_state_dict(average)
        [[expected]] = hypotheses(fresh, tokenizer, [[4, 5, 6]], beam=1)
        with training.averaged():
            [[found]] = hypotheses(model, tokenizer, [[4, 5, 6]], beam=1)
        assert found == expected


def test_the_weights_come_back_when_a_validation_fails() -> None:
    training = trainer(Training(peak_rate=0.1, warmup=1, ema_decay=0.9))
    training.update(Progress())
    before = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}

    def fail() -> None:
        with training.averaged():
            assert not all(torch.equal(tensor, before[name]) for name, tensor in training.model.state_dict().items())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert all(torch.equal(tensor, before[name]) for name, tensor in training.model.state_dict().items())
