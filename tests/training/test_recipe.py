"""Recipes: defaults written once, every mistake named at once, and a round trip through the file that a run keeps."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from toy import tiny, toy_text

from allyouneed.errors import UsageError
from allyouneed.models.presets import count_parameters
from allyouneed.tasks.registry import TASKS
from allyouneed.tasks.task import TokenData
from allyouneed.training import train
from allyouneed.training.beginning import config_of
from allyouneed.training.recipe import Recipe, parse_recipe, read_recipe, to_toml

PAIR = '[[data.train]]\nsource = "a.tsv"\n[[data.dev]]\nsource = "b.tsv"\n'
SHIPPED = sorted(Path(str(files("allyouneed") / "recipes")).rglob("*.toml"))


def written(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, "utf-8")
    return path


def test_all_mistakes_in_one_message(tmp_path: Path) -> None:
    tables = ("[training]", "peek_rate = 1", "updates = 0", "[model]", "d_mdel = 3", "[[data.train]]", "sorce = 'x'")
    text = "\n".join(("sed = 3", *tables, "[[data.dev]]"))
    with pytest.raises(UsageError) as caught:
        read_recipe(written(tmp_path, text))
    message = str(caught.value)
    assert 'unknown key "sed"' in message
    assert 'Did you mean "seed"' in message
    assert 'unknown key "training.peek_rate"' in message
    assert 'Did you mean "peak_rate"' in message
    assert '"training.updates" = 0: input should be greater than 0' in message
    assert 'unknown key "data.train.0.sorce"' in message
    assert 'Did you mean "source"' in message
    assert 'unknown key "model.d_mdel". Did you mean "d_model"?' in message
    assert "\n" not in message


def test_overrides_are_toml_values(tmp_path: Path) -> None:
    path = written(tmp_path, PAIR)
    recipe = read_recipe(path, ["training.updates=7", "model.preset=transformer-tiny", "model.dropout=0.2"])
    assert recipe.training.updates == 7
    assert recipe.model.preset == "transformer-tiny"
    assert recipe.model.model_extra == {"dropout": 0.2}
    with pytest.raises(UsageError, match='"updates" is no override'):
        read_recipe(path, ["updates"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=-1", '"seed" = -1: input should be greater than or equal to 0'),
        ("seed=18446744073709551616", '"seed" = 18446744073709551616: input should be less than 9223372036854775808'),
        ("training.betas=[0.9, 1.0]", r'"training\.betas\.1" = 1\.0: input should be less than 1'),
        ("training.peak_rate=inf", r'"training\.peak_rate" = inf: input should be a finite number'),
        (
            "data.dev=[{}]",
            r'"data\.dev\.0": a table of data names one source, and this one neither "source" \(a f',
        ),
        ('data.dev=[{source="a", everyday=["en", "fr"]}]', r'"data\.dev\.0": .* both "source" \(a file\) and "every'),
        ("task=pointing", r'"data\.dev_sizes" = \[\]: tuple should have at least 1 item'),
        ("model=3", '"model" = 3: input should be a valid dictionary'),
        ("model.bias=False", r'"model\.bias" = .False. is not of type bool'),  # which is no TOML, and so a text
        ("model.d_model=64.5", r'"model\.d_model" = 64\.5 is not of type int'),
    ],
)
def test_values_that_are_none(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_recipe(written(tmp_path, "[data]\ndev_sizes = []\n" if "pointing" in override else PAIR), [override])


def test_files_that_are_no_recipes(tmp_path: Path) -> None:
    path = written(tmp_path, "updates = = 3")
    with pytest.raises(UsageError, match=r"recipe.toml is not TOML: .*line 1"):
        read_recipe(path)
    with pytest.raises(UsageError, match=r'no recipe .*recipes\.toml\. Did you mean "recipe\.toml"'):
        read_recipe(tmp_path / "recipes.toml")
    with pytest.raises(UsageError, match='"data\\.dev" is missing'):
        parse_recipe({"data": {"train": [{"source": "a"}]}}, "it")


def test_written_out_and_read_back(tmp_path: Path) -> None:
    description = r'description = "a \"b\" \\ c\r\n\t\u0007\u007f\u2028ë"'
    layers = "[model]\nbias = false\nwindow = 4\nwindow_layers = [0, 2]\n"
    recipe = read_recipe(written(tmp_path, f"{description}\n{layers}{PAIR}"))
    text = to_toml(recipe)
    assert parse_recipe(tomllib.loads(text), "text") == recipe
    assert "# learning rate at the end of the warm-up" in text


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_recipes_are_whole(path: Path) -> None:
    recipe = read_recipe(path)
    assert isinstance(recipe, Recipe)
    assert recipe.description
    config = config_of(recipe)
    assert config.line == TASKS[recipe.task].line
    assert count_parameters(config) > 0
    if isinstance(recipe.data, TokenData):
        assert recipe.data.max_tokens <= min(config.max_length, recipe.training.batch_tokens)
    assert 0 <= recipe.training.final_share <= 1
    assert recipe.training.warmup + recipe.training.cooldown <= recipe.training.updates


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_recipes_make_an_update(path: Path, tmp_path: Path) -> None:
    toy_text(tmp_path)
    train(read_recipe(path, tiny(path, tmp_path)), tmp_path / "run")
    assert (tmp_path / "run" / "model.safetensors").is_file()


def test_there_are_shipped_recipes() -> None:
    assert {"en-fr", "fr-en", "lm-en", "mlm-en", "denoise-en", "infill-en"} <= {path.stem for path in SHIPPED}
    assert {read_recipe(path).task for path in SHIPPED} == set(TASKS)


def test_each_task_has_fields_of_its_own() -> None:
    text = {"train": [{"text": "a.txt"}], "dev": [{"everyday": ["en"], "documents": "lines"}]}
    recipe = parse_recipe({"task": "language", "data": text}, "it")
    assert parse_recipe(tomllib.loads(to_toml(recipe)), "it") == recipe
    with pytest.raises(UsageError, match=r'unknown key "data\.train\.0\.text".*"data\.dev\.0\.documents"') as caught:
        parse_recipe({"data": text}, "it")
    assert "at least 1 item" not in str(caught.value)  # the tables are there, and it is their keys that are wrong
    with pytest.raises(UsageError, match=r'unknown key "data\.permut"\. Did you mean "permute"'):
        parse_recipe({"task": "denoising", "data": {**text, "permut": True}}, "it")
    with pytest.raises(
        UsageError, match=r'"data\.dev\.0\.documents" = .pages.: input should be .paragraphs. or .lines'
    ):
        parse_recipe({"task": "masked", "data": {**text, "dev": [{"documents": "pages"}]}}, "it")


def test_unknown_tasks() -> None:
    with pytest.raises(UsageError, match=r'"task" = .langage. is none of translation, .*Did you mean "language"'):
        parse_recipe({"task": "langage"}, "it")
    with pytest.raises(UsageError, match=r'"task" = \[\] is none of'):
        parse_recipe({"task": []}, "it")
