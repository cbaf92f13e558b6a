import json
import shutil
from pathlib import Path

import pytest
import torch

from allyouneed.checkpoints.averaging import average_models
from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer
from allyouneed.text.tokenizer import Tokenizer


@pytest.fixture
def three(model: Transformer, tokenizer: Tokenizer, tmp_path: Path) -> list[Path]:
    folders = [tmp_path / name for name in "abc"]
    for seed, folder in enumerate(folders):
        torch.manual_seed(seed)
        save_model(folder, Transformer(model.config), tokenizer)
    return folders


def test_the_mean_of_every_weight(three: list[Path]) -> None:
    done: list[int] = []
    mean = average_models(three, done.append).model.state_dict()
    states = [load_model(folder).model.state_dict() for folder in three]
    for name in mean:
        expected = torch.stack([state[name].double() for state in states]).mean(0).float()
        assert torch.allclose(mean[name], expected, rtol=1e-6, atol=1e-9), name
    assert done == [1, 2, 3]


def test_the_mean_of_one_model_with_itself(three: list[Path], tmp_path: Path) -> None:
    twin = Path(shutil.copytree(three[0], tmp_path / "twin"))
    mean = average_models([three[0], twin]).model.state_dict()
    for name, tensor in load_model(three[0]).model.state_dict().items():
        assert torch.equal(mean[name], tensor)


def test_other_configs_are_refused_with_the_fields(three: list[Path]) -> None:
    path = three[1] / "config.json"
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**config, "d_ff": 64, "dropout": 0.5}), "utf-8")
    with pytest.raises(
        InputError, match=r"cannot be averaged: they differ in d_ff \(48 and 64\), dropout \(0.1 and 0.5\)"
    ):
        average_models(three)


def test_other_tokenizers_are_refused(three: list[Path]) -> None:
    texts = ["quite other words, so that the pieces differ; and more of them, as many as the vocabulary wants to have"]
    Tokenizer.train(texts, vocab_size=320).save(three[2] / "tokenizer.json")
    with pytest.raises(InputError, match=r"a and .*c cannot be averaged: their tokenizers differ"):
        average_models(three)


def test_a_folder_that_is_none(three: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no model folder"):
        average_models([*three, tmp_path / "d"])
