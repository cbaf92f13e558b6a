"""Parsing as a task: what the tables name is what is learned, and what is written is measured as EVALB would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from allyouneed.decoding.search import Hypothesis
from allyouneed.errors import InputError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.tasks import parsing
from allyouneed.tasks.parsing import Parsing
from allyouneed.tasks.treebanks import Treebank, TreeData, TreeSource
from allyouneed.text.corpus import Skipped
from allyouneed.text.trees.linear import Order
from allyouneed.training.loss import negative_log_likelihood

TREES = """
( (S (NP-SBJ (DT The) (NN mouse)) (VP (VBD ate) (NP (DT the) (NN cheese))) (. .)))
(S (NP (PRP She)) (VP (VBZ sleeps))) (S (NP (-NONE- *))) (INTJ (UH Yes))
"""
MOUSE = ("The mouse ate the cheese .", "(S (NP XX XX )NP (VP XX (NP XX XX )NP )VP XX )S")


def silent(message: str) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/one.mrg", "a/two.mrg", "other.mrg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(TREES, "utf-8")
    return tmp_path


def bank(folder: Path, order: Order = "depth-first", **table: Any) -> Treebank:
    return Treebank((TreeSource(**table),), folder, 1, order)


def test_a_file_gives_sentences_and_signs_and_their_places(folder: Path) -> None:
    skipped = Skipped()
    pairs = list(bank(folder, trees="other.mrg").read(skipped))
    assert (pairs[0].source, pairs[0].target) == MOUSE
    assert [(Path(pair.file).name, pair.line) for pair in pairs] == [
        ("other.mrg", 2),
        ("other.mrg", 3),
        ("other.mrg (tree 3)", 3),
    ]
    assert (skipped.count, skipped.line) == (1, 3)
    assert next(iter(bank(folder, "breadth-first", trees="other.mrg"))).target.startswith("S / NP VP XX /")


def test_a_pattern_names_many_files(folder: Path) -> None:
    assert len(list(bank(folder, trees="a/*.mrg"))) == 6
    assert len(list(bank(folder, trees="**/*.mrg"))) == 9
    with pytest.raises(InputError, match=r'no file in ".*" has a name like "b/\*\.mrg"\.$'):
        list(bank(folder, trees="b/*.mrg"))
    with pytest.raises(InputError, match=r'there is no file ".*othre\.mrg"\. Did you mean "other\.mrg"'):
        list(bank(folder, trees="othre.mrg"))
    with pytest.raises(ValueError, match='neither "trees" \\(bracketed files\\) nor "everyday"'):
        list(bank(folder))


def test_unbalanced_brackets_are_named_with_file_and_line(folder: Path) -> None:
    (folder / "bad.mrg").write_text("(S (NN a))\n(S (NN b)\n", "utf-8")
    with pytest.raises(InputError, match=r'bad\.mrg", line 2: a bracket that is never closed\.$'):
        list(bank(folder, trees="bad.mrg"))


def test_what_is_known_of_the_text_changes_with_it(folder: Path) -> None:
    facts = bank(folder, trees="other.mrg").facts()
    assert facts == bank(folder, trees="other.mrg").facts()
    (folder / "other.mrg").write_text(TREES * 2, "utf-8")
    assert facts != bank(folder, trees="other.mrg").facts()
    assert facts != bank(folder, "breadth-first", trees="other.mrg").facts()


def prepared(folder: Path, order: Order = "depth-first", **fields: Any) -> Parsing:
    everyday = {"everyday": ["en"], "count": 40}
    data: dict[str, Any] = {"root": str(folder), "train": [everyday], "dev": [{"trees": "other.mrg"}], "order": order}
    return Parsing.prepare(
        TreeData.model_validate(data | fields), vocab_size=400, seed=1, folder=folder / "run", report=silent
    )


@pytest.fixture
def model() -> Transformer:
    config = TransformerConfig(
        400, d_model=16, n_heads=2, d_ff=16, n_encoder_layers=1, n_decoder_layers=1, max_length=128
    )
    return Transformer(config).eval()


def writing(signs: Callable[[int], str], task: Parsing) -> Callable[..., list[list[Hypothesis]]]:
    """A search that finds these signs for the sentence of each number."""

    def found(_model: Any, _vocabulary: Any, sources: list[list[int]], **settings: Any) -> list[list[Hypothesis]]:
        assert settings["beam"] == 1
        written = [task.tokenizer.encode(signs(number)) for number in range(len(sources))]
        return [[Hypothesis(tokens, 0.0, 0.0, [], finished=True)] for tokens in written]

    return found


@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
def test_true_signs_are_exact(folder: Path, model: Transformer, monkeypatch: pytest.MonkeyPatch, order: Order) -> None:
    task = prepared(folder, order)
    assert task.size() == "40 training and 3 validation trees"
    monkeypatch.setattr(parsing, "hypotheses", writing(lambda number: task.dev_text[number].target, task))
    found = task.validate(model, negative_log_likelihood, max_tokens=200, sentences=3)
    assert (found["f1"], found["exact"], found["mended"]) == (100, 100, 0)
    assert found["loss"] > 0


def test_wrong_signs_are_measured_and_mended(folder: Path, model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    task = prepared(folder)
    signs = ["(S (NP XX XX )NP (VP XX XX XX", "(S (NP XX )NP (VP XX )VP )S"]
    monkeypatch.setattr(parsing, "hypotheses", writing(lambda number: signs[number], task))
    found = task.validate(model, negative_log_likelihood, max_tokens=200, sentences=2)
    # Of 4 + 3 true brackets S NP VP and S NP VP are found, and nothing else is said.
    assert found["f1"] == pytest.approx(100 * 2 * 6 / (6 + 7))
    assert (found["exact"], found["mended"]) == (50, 50)
    assert "f1" not in task.validate(model, negative_log_likelihood, max_tokens=200, sentences=0)


def test_trees_that_are_too_long_are_left_out_of_both(folder: Path) -> None:
    task = prepared(folder, train=[{"trees": "a/*.mrg"}, {"everyday": ["en"], "count": 40}], max_tokens=20)
    assert len(task.trees) == len(task.dev) == len(task.dev_text) == 2
    assert [tree.words for tree in task.trees] == [pair.source.split() for pair in task.dev_text]
    assert "one.mrg, line 2: " in (folder / "run" / "too-long.txt").read_text("utf-8")


def test_the_random_model_writes_something_over_the_words(folder: Path, model: Transformer) -> None:
    task = prepared(folder)
    found = task.validate(cast(Any, model), negative_log_likelihood, max_tokens=200, sentences=3)
    assert 0 <= found["f1"] <= 100
