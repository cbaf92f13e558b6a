"""`parse`, and `evaluate` of a parser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.errors import UsageError
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import TooLongError, Translator, load
from allyouneed.pipeline.parsing import Parser
from allyouneed.text.tokenizer import Tokenizer
from allyouneed.text.trees.linear import rebuild
from allyouneed.text.trees.reader import trees_of

Command = Callable[..., Any]

RECIPE = """
task = "parsing"
[data]
order = "depth-first"
[[data.train]]
everyday = ["en"]
[[data.dev]]
everyday = ["en"]
count = 3
split = "dev"
"""
SENTENCES = ["The mouse ate the cheese.", "", "Don't sleep ."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A parser with random weights."""
    signs = "(S (NP XX )NP (VP XX (PP XX )PP )VP XX )S"
    tokenizer = Tokenizer.train([*SENTENCES, signs, "mouse cheese ate sleep"], vocab_size=310)
    torch.manual_seed(1)
    config = TransformerConfig(
        310, d_model=16, n_heads=2, d_ff=16, n_encoder_layers=1, n_decoder_layers=1, max_length=256
    )
    save_model(tmp_path / "parser", Transformer(config), tokenizer, recipe_text=RECIPE)
    return tmp_path / "parser"


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text(
        "( (S (NP (DT The) (NN mouse)) (VP (VBD ate)) (. .)))\n(S (NP (-NONE- *)))\n(NP (NN cheese))", "utf-8"
    )
    return path


def test_every_line_gives_a_tree_over_its_words(command: Command, folder: Path) -> None:
    status, out, err = command("parse", folder, stdin="\n".join(SENTENCES).encode())
    assert (status, err) == (0, "")
    lines = out.split("\n")
    assert lines[1] == lines[3] == ""
    words = [next(trees_of([lines[number]], "here")).tree.words for number in (0, 2)]
    assert words == ["The mouse ate the cheese .".split(), "Do n't sleep .".split()]


def test_json_says_what_was_written_and_mended(command: Command, folder: Path) -> None:
    facts = json.loads(command("parse", folder, SENTENCES[0], "--json", "--beam", "2").out)
    tree, repairs = rebuild(facts["signs"], "The mouse ate the cheese .".split(), "depth-first")
    assert (facts["tree"], facts["repairs"]) == (str(tree), repairs)
    assert facts["repairs"] > 0  # nothing was learned


def test_a_parser_is_measured_on_bracketed_files(command: Command, folder: Path, treebank: Path) -> None:
    facts = json.loads(command("evaluate", folder, treebank, "--json", "--beam", "1").out)
    assert (facts["sentences"], facts["skipped"]) == (2, 1)
    assert 0 <= facts["f1"] <= 100
    assert facts["mended"] <= 2
    lines = command("evaluate", folder, treebank, "--beam", "1").out.split("\n")
    assert lines[0] == (
        f"F1          {facts['f1']:.2f}  (precision {facts['precision']:.2f}, recall {facts['recall']:.2f}; as EVALB "
        "counts with COLLINS.prm)"
    )
    assert lines[-2] == "skipped     1 trees without a word"


def test_without_files_the_recipes_trees_are_measured(command: Command, folder: Path) -> None:
    facts = json.loads(command("evaluate", folder, "--json", "--beam", "1").out)
    assert facts["sentences"] == 3


def test_what_cannot_be_parsed_is_said(command: Command, folder: Path, treebank: Path) -> None:
    treebank.write_text("(S (NN a))\n(S (NN b)", "utf-8")
    status, _, err = command("evaluate", folder, treebank)
    assert (status, err) == (1, f'"{treebank}", line 2: a bracket that is never closed.\n')
    treebank.write_text(f"(S (NN a))\n(S {'(NN mouse) ' * 300})", "utf-8")
    status, _, err = command("evaluate", folder, treebank)
    assert status == 1
    assert f"{treebank}, line 2: the sentence or its tree has " in err


def test_other_models_do_not_parse(folder: Path, saved_folder: Path) -> None:
    with pytest.raises(UsageError, match=r"did not learn to parse: train a recipe whose task is parsing\.$"):
        Parser(load(saved_folder, Translator))
    parser = Parser(load(folder, Translator))
    with pytest.raises(TooLongError):
        parser.parse(["mouse " * 400])
    assert parser.parse(["", "cheese"])[0] is None
