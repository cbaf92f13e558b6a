import json
from pathlib import Path

import pytest
import torch

from allyouneed.errors import InputError, UsageError
from allyouneed.guide.export import export, others, places, saved, spelt
from allyouneed.guide.models import Models
from allyouneed.guide.widgets import WIDGETS


def test_answers_are_those_of_the_live_guide(models: Models) -> None:
    values, answers = saved(WIDGETS["causal-mask"], models)
    assert values["mask"] == ["none", "causal", "window", "padding", "prefix"]
    assert values["layer"] == [0, 1]
    assert values["sentence"] == [""]
    default = WIDGETS["causal-mask"].answer({}, models)["inputs"]
    wanted = {**default, "mask": "none"}
    assert answers[spelt(wanted)] == WIDGETS["causal-mask"].answer(wanted, models)


def test_inputs_are_spelt_as_the_front_end_does() -> None:
    assert spelt({"a": 1.0, "b": 0.5, "c": "é", "d": True}) == '{"a":1,"b":0.5,"c":"é","d":true}'


def test_many_values_are_left_out() -> None:
    assert list(others({"type": "integer", "default": 3, "min": 1, "max": 99}, None)) == []
    assert list(others({"type": "integer", "default": 3, "min": 1, "max": 99}, 4)) == [1, 2, 3, 4]
    assert list(others({"type": "boolean", "default": True}, None)) == [False, True]
    assert list(others({"type": "string", "default": ""}, None)) == []


def test_layers_and_heads_that_an_answer_points_out_come_along(models: Models) -> None:
    answer = WIDGETS["self-attention"].answer({}, models)
    strongest = [claim["strongest"] for claim in answer["claims"]]
    assert list(places(answer)) == [{"layer": one["layer"], "head": one["head"]} for one in strongest]
    answers = saved(WIDGETS["self-attention"], models)[1]
    assert {spelt({**answer["inputs"], **place}) for place in places(answer)} <= answers.keys()


def test_wrong_folder_and_language_are_refused(models: Models, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written to"):
        export(file / "site", "en", models)
    with pytest.raises(UsageError, match='no language "fr", only ko and en'):
        export(tmp_path, "fr", models)


def test_file_holds_everything(models: Models, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    path = export(tmp_path / "site", "en", models)
    assert torch.get_num_threads() == threads
    text = path.read_text(encoding="utf-8")
    assert path.name == "index.html"
    assert 'src="web/' not in text
    assert 'href="web/' not in text
    data = text.split('id="data">', 1)[1].split("</script>", 1)[0]
    assert set(json.loads(data)["baked"]) == set(WIDGETS)
