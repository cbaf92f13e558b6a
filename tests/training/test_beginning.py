"""Trainings that begin with a model that is there already: its numbers, weights and tokenizer, and what is refused."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers
from toy import WORDS, stop_before, toy_text

from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.errors import UsageError
from allyouneed.pipeline import LanguageModel, load
from allyouneed.tasks.stored import subwords
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.training import train
from allyouneed.training.recipe import Recipe, parse_recipe, read_recipe, to_toml

TEXT = {"language": ("text", "txt"), "masked": ("text", "txt"), "denoising": ("text", "txt")}


def recipe_for(folder: Path, task: str, start: object, **training: object) -> Recipe:
    toy_text(folder)
    key, suffix = TEXT.get(task, ("source", "tsv"))
    data = {"root": str(folder), "max_tokens": 32}
    settings = {"updates": 3, "batch_tokens": 200, "warmup": 1, "validate_every": 3, "validate_bleu": 0, "average": 1}
    raw: dict[str, Any] = {
        "task": task,
        "model": {"start": str(start), "dropout": 0.0},
        "training": {**settings, **training},
        "data": {**data, **{part: [{key: f"{part}.{suffix}"}] for part in ("train", "dev")}},
    }
    return parse_recipe(raw, "it")


@pytest.fixture
def foreign_folder(tmp_path: Path) -> Path:
    """A tiny Llama in the Hugging Face layout, with another kind of tokenizer."""
    folder = tmp_path / "llama"
    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        [" ".join(WORDS)] * 3,
        trainers.BpeTrainer(vocab_size=300, special_tokens=["</s>"], initial_alphabet=alphabet, show_progress=False),
    )
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    model: Any = transformers.LlamaForCausalLM(config)
    model.save_pretrained(folder)
    core.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize(("task", "fixture"), [("language", "decoder_folder"), ("translation", "saved_folder")])
def test_it_begins_with_the_weights_and_the_tokenizer(
    task: str, fixture: str, tmp_path: Path, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    start = request.getfixturevalue(fixture)
    before, kept = load_model(start), (start / "model.safetensors").read_bytes()
    train(recipe_for(tmp_path, task, start, peak_rate=1e-9), tmp_path / "run")
    after = load_model(tmp_path / "run")
    for name, weight in before.model.state_dict().items():
        torch.testing.assert_close(after.model.state_dict()[name], weight, atol=1e-6, rtol=0)
    assert before.config.dropout > after.config.dropout == 0
    assert (tmp_path / "run" / "tokenizer.json").read_bytes() == (start / "tokenizer.json").read_bytes()
    said = capfd.readouterr().err
    first, last = (line for line in said.splitlines() if "validation: " in line and "kept" not in line)
    assert first.startswith("before the first update")
    assert first.partition("validation")[2] == last.partition("validation")[2]  # so slow a training changes nothing
    assert "training the subword model" not in said
    assert f"began with the weights and the tokenizer of {start}." in (tmp_path / "run" / "README.md").read_text(
        "utf-8"
    )
    train(recipe_for(tmp_path, task, start, peak_rate=1e-2), tmp_path / "other")
    assert not torch.equal(load_model(tmp_path / "other").model.target_table.weight, before.model.target_table.weight)
    assert (start / "model.safetensors").read_bytes() == kept


def test_a_tokenizer_of_another_size_that_was_left_is_made_anew(tokenizer: Tokenizer, tmp_path: Path) -> None:
    toy_text(tmp_path)
    tokenizer.save(tmp_path / "tokenizer.json")
    left = tmp_path / "tokenizer.json"
    settings: Any = {"line": "decoder", "report": print}
    for size, said in ((320, left.read_bytes()), (300, None)):
        found = subwords(tmp_path, lambda: WORDS * 20, vocab_size=size, **settings)
        assert found.vocab_size == size
        assert (left.read_bytes() == said) is (said is not None)


def test_stopped_it_goes_on_with_its_own_weights(
    decoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_for(tmp_path, "language", decoder_folder, updates=5, checkpoint_every=2)
    train(recipe, tmp_path / "calm")
    stop_before(3, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "stopped")
    monkeypatch.undo()
    train(recipe, tmp_path / "stopped")
    calm, stopped_run = (tmp_path / name / "model.safetensors" for name in ("calm", "stopped"))
    assert calm.read_bytes() == stopped_run.read_bytes()


@pytest.mark.parametrize("average", [1, 2])
def test_where_a_training_only_harms_the_model_it_began_with_is_kept(
    average: int,
    decoder_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    settings = {"updates": 40, "validate_every": 2, "checkpoint_every": 2, "patience": 3, "average": average}
    recipe = recipe_for(tmp_path, "language", decoder_folder, peak_rate=3.0, **settings)
    stop_before(5, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "run")
    monkeypatch.undo()
    train(recipe, tmp_path / "run")
    before, after = load_model(decoder_folder), load_model(tmp_path / "run")
    for name, weight in before.model.state_dict().items():
        assert torch.equal(after.model.state_dict()[name], weight)
    said = [line for line in capfd.readouterr().err.splitlines() if "  validation: " in line]
    [first], [*worse], [kept] = ([line for line in said if line.startswith(start)] for start in ("bef", "upd", "kept"))
    assert kept == f"kept: the model that it began with  {first.partition('update  ')[2]}"
    assert len(worse) == 3  # it was out of patience with the third
    assert "Kept: the model that it began with." in (tmp_path / "run" / "README.md").read_text("utf-8")


def test_a_published_checkpoint_goes_on_with_its_own_tokenizer(foreign_folder: Path, tmp_path: Path) -> None:
    before = load(foreign_folder, LanguageModel)
    train(recipe_for(tmp_path, "language", foreign_folder, updates=12, peak_rate=1e-2), tmp_path / "run")
    after = load(tmp_path / "run", LanguageModel)
    assert after.tokenizer.encode("the mouse eats") == before.tokenizer.encode("the mouse eats")
    texts = (tmp_path / "dev.txt").read_text("utf-8").split("\n\n")[:8]
    lines = [text.splitlines()[0] for text in texts]
    scores = [sum(score.total for score in pipe.score(lines)) for pipe in (before, after)]
    assert scores[1] > 0.8 * scores[0]  # log-probabilities: the text is likelier than it was


def test_written_out_and_read_back(tmp_path: Path, decoder_folder: Path) -> None:
    recipe = recipe_for(tmp_path, "language", decoder_folder)
    text = to_toml(recipe)
    assert "preset" not in text
    assert "[tokenizer]" not in text
    assert parse_recipe(tomllib.loads(text), "text") == recipe


def test_what_is_refused(decoder_folder: Path, saved_folder: Path, foreign_folder: Path, tmp_path: Path) -> None:
    def refused(task: str, start: object, out: str = "run") -> str:
        with pytest.raises(UsageError) as caught:
            train(recipe_for(tmp_path, task, start), tmp_path / out)
        return str(caught.value)

    said = refused("translation", decoder_folder)
    assert said.endswith(f'model.start "{decoder_folder}" is a decoder alone: take another model.')
    assert "neither a folder nor a shipped model" in refused("language", tmp_path / "nowhere")
    assert 'There is no shipped model "zoo:lm-fr"' in refused("language", "zoo:lm-fr")
    assert "is the folder of this run itself" in refused("language", foreign_folder, out="llama")
    assert "data.sentinels 100: the tokenizer of model.start has 0 sentinels." in refused("denoising", saved_folder)
    assert 'zoo:mamba-en" is a model without dropout' in refused("language", "zoo:mamba-en")
    save_model(tmp_path / "mixed", load_model(saved_folder).model, load(foreign_folder).tokenizer)
    assert "that of model.start is of another kind" in refused("translation", tmp_path / "mixed")
    assert not (tmp_path / "run" / "recipe.toml").exists()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            '[model]\nstart = "a"\npreset = "decoder-small"\n',
            r'unknown key "model\.preset"\. Allowed here: start, dropout',
        ),
        ('[model]\nstart = "a"\nd_model = 8\n', r'unknown key "model\.d_model"'),
        (
            '[model]\nstart = "a"\n[tokenizer]\nvocab_size = 300\n',
            'brings its tokenizer along: leave the table "tokenizer"',
        ),
        ("[model]\nstart = 3\n", r'"model\.start" = 3: input should be a valid string'),
    ],
)
def test_what_may_not_stand_beside_it(tables: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    path.write_text(tables + '[[data.train]]\nsource = "a.tsv"\n[[data.dev]]\nsource = "b.tsv"\n', "utf-8")
    with pytest.raises(UsageError, match=message):
        read_recipe(path)
