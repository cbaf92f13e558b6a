"""What `evaluate` says of models of text."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.pipeline import LanguageModel, load
from allyouneed.text.tokenizer import Tokenizer

Command = Callable[..., Any]

DOCUMENTS = ["The mouse ate the cheese.", "The cat sat on the mat, and the dog slept.\nThe mat.", "A dog."]


def saved(folder: Path, tokenizer: Tokenizer, *, encoder: int, decoder: int) -> Path:
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        n_heads=4,
        d_ff=48,
        n_encoder_layers=encoder,
        n_decoder_layers=decoder,
        max_length=64,
    )
    save_model(folder, Transformer(config), tokenizer)
    return folder


@pytest.fixture
def language_folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    return saved(tmp_path / "language", tokenizer, encoder=0, decoder=1)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n\n".join(DOCUMENTS) + "\n", "utf-8")
    return tmp_path / "text.txt"


def test_a_language_models_perplexity_is_that_of_its_scores(
    command: Command, language_folder: Path, text: Path
) -> None:
    status, out, err = command("evaluate", language_folder, text, "--json")
    assert (status, err) == (0, "")
    facts = json.loads(out)
    pipe = load(language_folder, LanguageModel)
    tokens = sum(map(len, pipe.tokenizer.encode_batch(DOCUMENTS)))
    size = sum(len(document.encode()) for document in DOCUMENTS)
    assert (facts["documents"], facts["tokens"], facts["bytes"]) == (3, tokens, size)
    ended = [[*pipe.tokenizer.prefix, *pipe.tokenizer.encode(document), 2] for document in DOCUMENTS]
    with torch.no_grad():
        logprobs = [pipe.model(torch.tensor([row[:-1]])).log_softmax(-1) for row in ended]
    total = -sum(
        float(one[0].gather(1, torch.tensor(row[1:])[:, None]).sum()) for one, row in zip(logprobs, ended, strict=True)
    )
    assert facts["loss"] == pytest.approx(total / (tokens + 3), rel=1e-5)
    assert facts["perplexity"] == pytest.approx(math.exp(facts["loss"]))
    assert facts["bits_per_byte"] == pytest.approx(total / math.log(2) / size, rel=1e-5)
    lines = command("evaluate", language_folder, text).out.split("\n")
    assert lines[0].startswith(f"perplexity  {facts['perplexity']:.3f} a token  ({facts['loss']:.4f} nats)")
    assert lines[1] == f"bits        {facts['bits_per_byte']:.4f} a byte"
    assert lines[2].startswith(f"text        3 documents, {tokens} tokens, {size} bytes, in rows of 64")


def test_an_encoder_guesses_hidden_tokens(command: Command, tmp_path: Path, tokenizer: Tokenizer, text: Path) -> None:
    folder = saved(tmp_path / "masked", tokenizer, encoder=1, decoder=0)
    facts = json.loads(command("evaluate", folder, text, "--json").out)
    assert facts["perplexity"] > 50
    assert 0 <= facts["accuracy"] < 0.5
    out = command("evaluate", folder, text).out
    assert f"perplexity  {facts['perplexity']:.3f} a hidden token" in out
    assert "of the hidden tokens guessed" in out


def test_validation_text_comes_from_the_recipe(command: Command, language_folder: Path, text: Path) -> None:
    table = f'[[data.{{}}]]\ntext = "{text.name}"\n'
    head = f'task = "language"\n[data]\nroot = "{text.parent.as_posix()}"\nmax_tokens = 8\n'
    (language_folder / "recipe.toml").write_text(head + table.format("train") + table.format("dev"), "utf-8")
    by_recipe, by_file = (
        json.loads(command("evaluate", language_folder, *given, "--json").out) for given in ([], [text])
    )
    assert by_recipe["row"] == by_file["row"] == 8
    assert by_recipe["loss"] == by_file["loss"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "has no recipe that names a validation text: name a file of text."),
        (["none.txt"], 1, 'here is no file "none.txt"'),
        (["text.txt", "--precision", "int8"], 2, "reads text as a whole, which is measured in float32 alone"),
    ],
)
def test_what_cannot_be_measured(
    command: Command, language_folder: Path, arguments: list[str], status: int, message: str
) -> None:
    found = command("evaluate", language_folder, *arguments)
    assert found.status == status
    assert message in found.err


def test_a_recipe_of_pairs_names_no_text(command: Command, language_folder: Path) -> None:
    recipe = '[[data.train]]\nsource = "a.tsv"\n[[data.dev]]\nsource = "a.tsv"\n'
    (language_folder / "recipe.toml").write_text(recipe, "utf-8")
    found = command("evaluate", language_folder)
    assert found.status == 2
    assert "names no plain text: name a file of text." in found.err
