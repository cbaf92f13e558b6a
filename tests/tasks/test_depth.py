"""Pointers to follow: what is drawn is what a reader would find, and what is measured is what was done."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from allyouneed import training
from allyouneed.errors import UsageError
from allyouneed.models.transformer import Memory, Transformer, TransformerConfig
from allyouneed.tasks.depth import Depth, DepthBatch, DepthData, draw_chains, with_steps
from allyouneed.training.loss import negative_log_likelihood

RECIPE = Path(training.__file__).parents[1] / "recipes" / "universal.toml"
FEW = DepthData(places=9, values=3, max_depth=4, dev_texts=20)


def task(data: DepthData = FEW) -> Depth:
    needed = 261 + 2 * (data.places + data.values)
    return Depth.prepare(data, vocab_size=needed, seed=1, folder=Path(), report=print)


def universal(*, halting: bool = True, steps: int = 5) -> Transformer:
    torch.manual_seed(0)
    return Transformer(
        TransformerConfig(
            vocab_size=285,
            d_model=16,
            n_heads=2,
            d_ff=16,
            n_encoder_layers=steps,
            n_decoder_layers=0,
            positions="coordinates",
            max_length=16,
            shared_depth=True,
            halting=halting,
            dropout=0.0,
        )
    )


def test_answers_are_found_by_following_the_names() -> None:
    chains = draw_chains(50, FEW, np.random.default_rng(3))
    for (text, answers), depths in zip(task().text(chains), chains.depth, strict=True):
        places = text.split()
        assert len(places) == 9
        for place, answer, depth in zip(places, answers.split(), depths.tolist(), strict=True):
            followed = 0
            while place.isupper():
                place, followed = places["ABCDEFGHI".index(place)], followed + 1
            assert (place, followed) == (answer, depth)


def test_every_depth_is_drawn_and_none_is_deeper() -> None:
    depth = draw_chains(300, DepthData(), np.random.default_rng(0)).depth
    shares = np.bincount(depth.flatten()) / depth.size
    assert len(shares) == 9
    assert shares.min() > 0.03


def test_a_tokenizer_has_one_piece_a_word() -> None:
    made = task()
    assert made.tokenizer.vocab_size == 285
    assert len(set(made.ids.tolist())) == 12
    for text, answers in made.text(draw_chains(3, FEW, np.random.default_rng(0))):
        assert len(made.tokenizer.encode(text)) == 9
        assert set(made.tokenizer.encode(answers)) <= set(made.ids[9:].tolist())


def test_a_batch_is_a_text_between_marks_and_its_answers() -> None:
    made = task()
    batch = made.batch(2, np.random.default_rng(5))
    (text, answers), _ = made.text(draw_chains(2, FEW, np.random.default_rng(5)))
    assert batch.tokens[0].tolist() == made.tokenizer.wrap(made.tokenizer.encode(text))
    assert batch.gold[:9].tolist() == made.tokenizer.encode(answers)
    again = made.batch(2, np.random.default_rng(5))
    assert torch.equal(batch.tokens, again.tokens)
    assert not torch.equal(batch.tokens, made.batch(2, np.random.default_rng(6)).tokens)


def test_plans_fill_the_budget() -> None:
    made = task()
    plans = made.batches(50, 1, 0)
    assert set(plans) == {4}
    assert (made.padded_tokens(4), made.target_tokens(4)) == (44, 36)
    with pytest.raises(UsageError, match=r"training\.batch_tokens = 10 holds no text of 11 tokens"):
        made.batches(10, 1, 0)


def test_a_vocabulary_of_another_size_is_refused() -> None:
    with pytest.raises(UsageError, match=r"tokenizer\.vocab_size = 300: 9 places and 3 values need 285"):
        Depth.prepare(FEW, vocab_size=300, seed=1, folder=Path(), report=print)
    with pytest.raises(UsageError, match=r"data\.max_tokens = 10: 9 places are 11 tokens with their marks"):
        task(FEW.model_copy(update={"max_tokens": 10}))


def test_the_ponder_cost_is_part_of_the_loss_in_training_alone() -> None:
    made, model = task(), universal()
    batch = made.batch(3, np.random.default_rng(0))
    trained = made.loss(model.train(), batch, negative_log_likelihood)
    assert model.encoder.ponder is not None
    expected = model.config.ponder_weight * float(model.encoder.ponder.detach()) * len(batch.gold)
    assert float((trained[0] - trained[1]).detach()) == pytest.approx(expected, rel=1e-4)
    assert expected > 0
    plain = made.loss(model.eval(), batch, negative_log_likelihood)
    assert float(plain[0].detach()) == pytest.approx(float(plain[1].detach()))


class Oracle:
    """Knows the depths: right where they are small, and takes as many steps as they say."""

    def __init__(self, made: Depth) -> None:
        self.made, self.config = made, universal().config

    def states(self, gold: Tensor, depth: Tensor) -> Tensor:
        wrong = self.made.ids[9] + (gold + 1 - self.made.ids[9]) % 3
        return torch.nn.functional.one_hot(torch.where(depth < 3, gold, wrong), 285).float()


def test_accuracy_and_steps_are_told_by_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    made = task()
    oracle = Oracle(made)

    def steps(_model: Transformer, batch: DepthBatch) -> tuple[Tensor, Tensor]:
        return oracle.states(batch.gold, batch.depth), batch.depth + 1.0

    def features(states: Tensor) -> tuple[Tensor, Tensor, None]:
        return states * 50, torch.eye(285), None

    monkeypatch.setattr("allyouneed.tasks.depth.with_steps", steps)
    model = universal()
    monkeypatch.setattr(model, "features", features)
    measures = made.validate(model, negative_log_likelihood, max_tokens=44, sentences=0)
    assert [measures[f"depth {number}"] for number in range(5)] == [1, 1, 1, 0, 0]
    assert [measures[f"steps {number}"] for number in range(5)] == [1, 2, 3, 4, 5]
    depth = made.dev.depth
    assert measures["accuracy"] == pytest.approx((depth < 3).mean())
    assert measures["texts"] == pytest.approx((depth < 3).all(1).mean())


@torch.no_grad()
def test_steps_are_those_at_which_places_stop() -> None:
    made, model = task(), universal().eval()
    batch = made.batch(2, np.random.default_rng(0))
    halt = model.encoder.halt
    assert halt is not None
    for bias, steps in ((9.0, 1), (0.0, 2), (-1.0, 4), (-9.0, 5)):
        halt.weight.zero_()
        halt.bias.fill_(bias)
        states, taken = with_steps(model, batch)
        assert taken.tolist() == [steps] * 18
        torch.testing.assert_close(states, batch.states(model))
    assert not vars(halt)["_forward_hooks"]


@torch.no_grad()
def test_each_place_has_its_own_steps() -> None:
    made, model = task(), universal().eval()
    batch = made.batch(2, np.random.default_rng(0))
    halt = model.encoder.halt
    assert halt is not None
    halt.weight.normal_(std=2)
    asked: list[Tensor] = []
    halt.register_forward_hook(lambda _module, _inputs, output: asked.append(output.sigmoid()))
    _, taken = with_steps(model, batch)
    expected: list[int] = []
    for row in range(2):
        for place in range(1, 10):
            spent = np.cumsum([float(probability[row, place]) for probability in asked])
            expected.append(int((spent < 0.99)[:-1].sum()) + 1)
    assert taken.tolist() == expected
    assert len(set(expected)) > 2


@torch.no_grad()
def test_without_halting_every_step_is_taken() -> None:
    made, model = task(), universal(halting=False).eval()
    assert with_steps(model, made.batch(1, np.random.default_rng(0)))[1].tolist() == [5] * 9
    assert "steps 0" not in made.validate(model, negative_log_likelihood, max_tokens=44, sentences=0)


def test_padding_free_texts_are_read_whole() -> None:
    made = task()
    batch = made.batch(2, np.random.default_rng(0))
    seen: list[Tensor] = []

    class Reader:
        def encode(self, tokens: Tensor) -> Memory:
            seen.append(tokens)
            return Memory(torch.arange(22.0).view(2, 11, 1), None)

    states = DepthBatch.states(batch, Reader())  # pyright: ignore[reportArgumentType]  # all that it needs of a model
    assert states.flatten().tolist() == [*range(1, 10), *range(12, 21)]
    assert torch.equal(seen[0], batch.tokens)


def test_the_recipe_trains(tmp_path: Path) -> None:
    short = ["training.updates=6", "training.validate_every=3", "training.cooldown=0", "model.d_ff=16"]
    small = [
        "data.places=16",
        "data.values=4",
        "data.max_tokens=18",
        "data.dev_texts=10",
        "training.batch_tokens=90",
    ]
    out = training.train(training.read_recipe(RECIPE, [*short, *small]), tmp_path / "run")
    card = (out / "README.md").read_text("utf-8")
    assert "A model that follows pointers" in card
    assert "| steps 0 | " in card
    assert tomllib.loads((out / "recipe.toml").read_text("utf-8"))["task"] == "depth"
