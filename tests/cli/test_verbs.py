"""What each verb prints and writes."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from toy import toy_recipe

from allyouneed import training
from allyouneed.checkpoints import places
from allyouneed.checkpoints.native import load_model, save_model
from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import Translation, Translator, load
from allyouneed.text.tokenizer import Tokenizer

Command = Callable[..., Any]

SENTENCE = "The mouse ate the cheese."
SIDES = ["cross", "decoder", "encoder"]


def test_translate_prints_what_the_pipeline_gives(command: Command, saved_folder: Path) -> None:
    status, out, _ = command("translate", "--model", saved_folder, SENTENCE, "The cat.")
    assert status == 0
    assert out.split("\n")[:-1] == [
        one.text for one in load(saved_folder, Translator).translate([SENTENCE, "The cat."])
    ]


def test_the_model_that_ships_keeps_blank_lines_in_their_place(command: Command) -> None:
    status, out, err = command("translate", stdin=b"Open the file.\n\nSave the changes before you close the window.\n")
    assert (status, err) == (0, "")
    first, blank, last, end = out.split("\n")
    assert first.startswith("Ouvr")
    assert (blank, end) == ("", "")
    assert "fenêtre" in last


def test_translate_in_int8_writes_with_weights_in_bytes(command: Command, saved_folder: Path) -> None:
    best = load(saved_folder, Translator, precision="int8").translate([SENTENCE])[0]
    assert best.score != load(saved_folder, Translator).translate([SENTENCE])[0].score
    out = command("translate", "--model", saved_folder, "--precision", "int8", "--json", SENTENCE).out
    assert json.loads(out)["score"] == best.score


def test_translate_nbest_gives_as_many_lines_for_every_line(command: Command, saved_folder: Path) -> None:
    status, out, _ = command("translate", "--model", saved_folder, "--nbest", "3", stdin=f"{SENTENCE}\n\n".encode())
    assert status == 0
    best = load(saved_folder, Translator).translate([SENTENCE], nbest=3)[0].nbest
    assert out.split("\n") == [*(f"{one.score:.4f}\t{one.text}" for one in best), "", "", "", ""]


def test_translate_ranks_a_beam_by_what_it_leaves_out(command: Command) -> None:
    pipe = load("zoo:en-fr", Translator)
    plain, covered = (pipe.translate([SENTENCE], nbest=2, coverage_penalty=penalty)[0].nbest for penalty in (0, 0.4))
    assert covered[0].score != plain[0].score
    out = command("translate", "--nbest", "2", "--coverage-penalty", "0.4", SENTENCE).out
    assert out.split("\n")[:-1] == [f"{one.score:.4f}\t{one.text}" for one in covered]
    status, out, err = command("translate", "--beam", "1", "--coverage-penalty", "0.4", SENTENCE)
    assert (status, out) == (2, "")
    assert "widen beam" in err


def test_translate_align_as_text_and_json(command: Command, saved_folder: Path) -> None:
    alignment = load(saved_folder, Translator).translate([SENTENCE], align=True)[0].alignment
    assert alignment
    pairs = " ".join(f"{source}-{target}" for source, target in alignment.words)
    assert command("translate", "--model", saved_folder, "--align", SENTENCE).out.endswith(f"\t{pairs}\n")
    out = command("translate", "--model", saved_folder, "--align", "--json", "--nbest", "2", SENTENCE).out
    given = json.loads(out)
    assert given["source"] == SENTENCE
    assert given["alignment"]["source_tokens"] == alignment.source
    assert given["tokens"] == alignment.target
    assert [list(pair) for pair in alignment.words] == given["alignment"]["words"]
    assert given["nbest"][0]["text"] == given["text"]
    assert len(given["nbest"]) == 2


def test_translate_holds_constraints_and_the_terms_of_a_glossary(command: Command, tmp_path: Path) -> None:
    held = command("translate", "--beam", "8", "--constraint", "Cette souris", SENTENCE)
    assert (held.status, held.out) == (0, "Cette souris a mangé le fromage.\n")
    terms = tmp_path / "terms.tsv"
    terms.write_text("program\tlogiciel\nfolder\trépertoire\n", "utf-8")
    lines = "The program is running.\n\nSave the picture in the folder.\nOpen the file.\n"
    first, blank, second, third, end = command("translate", "--glossary", terms, stdin=lines.encode()).out.split("\n")
    assert first == "Le logiciel est en cours d'exécution."
    assert "répertoire" in second
    assert (blank, end) == ("", "")
    assert third == command("translate", "Open the file.").out.rstrip("\n")
    twice = command("translate", "--glossary", terms, "--constraint", "logiciel", "The program is running.").out
    assert twice == first + "\n"
    refused = command("translate", "--beam", "1", "--constraint", "le", SENTENCE)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == "beam = 1: with constraints 2 to 64 is needed.\n"
    missing = command("translate", "--glossary", tmp_path / "none.tsv", SENTENCE)
    assert (missing.status, missing.out) == (1, "")
    assert "none.tsv" in missing.err


def test_translate_says_which_line_is_too_long_and_goes_on(command: Command, saved_folder: Path) -> None:
    data = f"The cat.\n\n{'the ' * 70}\nThe mat.\n".encode()
    status, out, err = command("translate", "--model", saved_folder, "--beam", "1", stdin=data)
    others = command("translate", "--model", saved_folder, "--beam", "1", stdin=b"The cat.\n\n\nThe mat.\n")
    assert (status, out) == (1, others.out)
    assert err.startswith("Line 3 has ")
    assert err.endswith("tokens, and this model reads at most 63. It has a blank answer.\n")
    ranked = command("translate", "--model", saved_folder, "--nbest", "2", stdin=data)
    assert [bool(line) for line in ranked.out.split("\n")] == [*[True] * 2, *[False] * 4, *[True] * 2, False]
    huge = b"x" * 100_000 + b"\n"
    assert command("translate", "--model", saved_folder, stdin=huge).err.startswith("Line 1 has 100,001 tokens")


def test_a_broken_model_is_one_sentence(command: Command, model_folder: Path) -> None:
    weights = model_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    for arguments in (
        ["translate", "--model", model_folder, "hi"],
        ["evaluate", model_folder],
        ["attend", "--model", model_folder, "hi"],
    ):
        status, out, err = command(*arguments)
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        assert "is cut short" in err


def test_score_from_everywhere(command: Command, saved_folder: Path, tmp_path: Path) -> None:
    pairs = [("The cat.", "Le chat."), (SENTENCE, "La souris a mangé le fromage.")]
    expected = load(saved_folder, Translator).score(*zip(*pairs, strict=True))
    (tmp_path / "a.txt").write_text("".join(f"{source}\n" for source, _ in pairs), "utf-8")
    (tmp_path / "b.txt").write_text("".join(f"{target}\n" for _, target in pairs), "utf-8")
    rows = "".join(f"{source}\t{target}\tnews\n" for source, target in pairs)
    (tmp_path / "ab.tsv").write_text(rows, "utf-8")
    (tmp_path / "ba.tsv").write_text("".join(f"{target}\t{source}\n" for source, target in pairs), "utf-8")
    outs = [
        command("score", "--model", saved_folder, "--json", tmp_path / "a.txt", tmp_path / "b.txt"),
        command("score", "--model", saved_folder, "--json", tmp_path / "ab.tsv"),
        command("score", "--model", saved_folder, "--json", tmp_path / "ba.tsv", "--columns", "1", "0"),
        command("score", "--model", saved_folder, "--json", stdin=rows.replace("\tnews", "").encode()),
    ]
    for status, out, err in outs:
        assert (status, err) == (0, "")
        given = [json.loads(line) for line in out.split("\n")[:-1]]
        assert [one["total"] for one in given] == pytest.approx([one.total for one in expected], abs=1e-4)
        assert [one["tokens"] for one in given] == [one.tokens for one in expected]


def test_score_prints_a_line_for_every_line(command: Command, saved_folder: Path) -> None:
    status, out, _ = command("score", "--model", saved_folder, stdin=b"The cat.\tLe chat.\n\nThe cat.\t\n")
    assert status == 0
    first, blank, empty_target, end = out.split("\n")
    total, perplexity, tokens = first.split("\t")
    expected = load(saved_folder, Translator).score(["The cat."], ["Le chat."])[0]
    assert float(total) == pytest.approx(expected.total, abs=1e-3)
    assert float(perplexity) == pytest.approx(expected.perplexity, rel=1e-4)
    assert [token.rpartition("=")[0] for token in tokens.split(" ")] == expected.tokens
    assert (blank, end) == ("", "")
    assert empty_target.split("\t")[2].startswith("</s>=")


@pytest.mark.parametrize(
    ("given", "stdin", "status", "message"),
    [
        (["one"], b"", 2, "score takes a source and a target (two texts or two files), or one .tsv or .jsonl file"),
        (["a", "b", "c"], b"", 2, "score takes a source and a target"),
        (["none.txt", "none.fr"], b"", 1, 'There is no file "none.txt".'),
        ([], b"a\tb\nno tab\n", 1, "Line 2 of standard input has 0 tabs: one is needed"),
        ([], b"a\tb\tc\n", 1, "Line 1 of standard input has 2 tabs: one is needed"),
    ],
)
def test_score_refuses(
    command: Command, saved_folder: Path, given: list[str], stdin: bytes, status: int, message: str
) -> None:
    outcome = command("score", "--model", saved_folder, *given, stdin=stdin)
    assert (outcome.status, outcome.out) == (status, "")
    assert outcome.err.startswith(message)


def test_score_refuses_files_of_unequal_length(command: Command, saved_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat.\nThe mat.\n", "utf-8")
    (tmp_path / "b.txt").write_text("Le chat.\n", "utf-8")
    status, _, err = command("score", "--model", saved_folder, tmp_path / "a.txt", tmp_path / "b.txt")
    assert status == 1
    assert 'a.txt" has 2 and' in err
    assert 'b.txt" has 1.' in err


def test_evaluate_measures_whole_text(
    command: Command, saved_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [SENTENCE, "The cat sat on the mat."]
    targets = ["La souris a mangé le fromage.", "Le chat s'est assis sur le tapis."]
    outputs = ["La souris a mangé le fromage !", "Le chat est assis sur le tapis."]

    def translated(*_: object, **__: object) -> list[Translation]:
        return [Translation(output, 0.0, []) for output in outputs]

    monkeypatch.setattr(Translator, "translate", translated)
    table = tmp_path / "own.tsv"
    rows = [*zip(sources, targets, strict=True), ("The dog.", "")]
    table.write_text("".join(f"{source}\t{target}\n" for source, target in rows), "utf-8")
    status, out, err = command("evaluate", saved_folder, table, "--json")
    assert (status, err) == (0, "")
    facts = json.loads(out)
    assert facts["bleu"] == pytest.approx(sacrebleu.corpus_bleu(outputs, [targets]).score)
    assert facts["chrf"] == pytest.approx(sacrebleu.corpus_chrf(outputs, [targets]).score)
    assert 20 < facts["bleu"] < 99
    assert facts["bleu_signature"].startswith("nrefs:1|case:mixed|")
    assert (facts["sentences"], facts["skipped"]) == (2, 1)
    scores = load(saved_folder, Translator).score(sources, targets)
    loss = -sum(one.total for one in scores) / sum(len(one.tokens) for one in scores)
    assert facts["loss"] == pytest.approx(loss, abs=1e-5)
    text = command("evaluate", saved_folder, table).out
    assert text.startswith(f"BLEU        {facts['bleu']:.2f}  (nrefs:1|")
    assert "skipped 1 pair with a blank side" in text


def test_evaluate_takes_the_recipes_columns_and_validation_text(
    command: Command, model_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "dev.tsv").write_text(f"Le chat.\tThe cat.\nLa souris.\t{SENTENCE}\n", "utf-8")
    table = '[[data.{}]]\nsource = "dev.tsv"\ncolumns = [1, 0]\n'
    recipe = f'[data]\nroot = "{tmp_path.as_posix()}"\n' + table.format("train") + table.format("dev")
    (model_folder / "recipe.toml").write_text(recipe, "utf-8")
    by_recipe = json.loads(command("evaluate", model_folder, "--json").out)
    by_file = json.loads(command("evaluate", model_folder, tmp_path / "dev.tsv", "--json").out)
    by_hand = json.loads(command("evaluate", model_folder, tmp_path / "dev.tsv", "--columns", "1", "0", "--json").out)
    other = json.loads(command("evaluate", model_folder, tmp_path / "dev.tsv", "--columns", "0", "1", "--json").out)
    assert by_recipe["loss"] == by_file["loss"] == by_hand["loss"] != other["loss"]
    (model_folder / "recipe.toml").unlink()
    status, _, err = command("evaluate", model_folder)
    assert status == 2
    assert "has no recipe that names a validation text" in err


def test_evaluate_names_the_line_that_is_too_long(command: Command, saved_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(f"The cat.\tLe chat.\nThe cat.\t{'le ' * 70}\n", "utf-8")
    status, _, err = command("evaluate", saved_folder, tmp_path / "t.tsv")
    assert status == 1
    assert "t.tsv, line 2: a side has" in err


@pytest.mark.parametrize("suffix", ["png", "svg", "html", "json", "npz"])
def test_attend_writes_every_format(command: Command, saved_folder: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"map.{suffix}"
    assert command("attend", "--model", saved_folder, SENTENCE, "--out", path) == (0, "", "")
    assert path.stat().st_size > 500


def test_attend_prints_a_map(command: Command, saved_folder: Path) -> None:
    view = load(saved_folder, Translator).attend(SENTENCE, "La souris.")
    arguments = ["attend", "--model", saved_folder, SENTENCE, "--target", "La souris."]
    assert command(*arguments).out == view.text() + "\n\n"
    assert (
        command(*arguments, "--side", "encoder", "--layer", "0", "--head", "3").out
        == view.text("encoder", 0, 3) + "\n\n"
    )
    assert json.loads(command(*arguments, "--json").out).keys() == {"encoder", "decoder", "cross"}
    assert command("attend", "--model", saved_folder, stdin=b"The cat.\nThe mat.\n").out.count("\n\n") == 2
    data = f"The cat.\n\n{'the ' * 70}\nThe mat.\n".encode()
    status, out, err = command("attend", "--model", saved_folder, "--json", stdin=data)
    assert [sorted(json.loads(line)) for line in out.splitlines()] == [SIDES, [], ["error", "line"], SIDES]
    assert (status, err.partition(" tokens")[0]) == (1, "Line 3 has 70")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "2"], "There is no cross layer 2: layers go from 0 to 1"),
        (["--head", "7"], 'There is no cross head 7: heads go from 0 to 3, or "mean".'),
        (["--head", "all"], '--head all is neither a number nor "mean".'),
        (["--out", "map.gif"], "map.gif: the ending says the format"),
    ],
)
def test_attend_refuses(command: Command, saved_folder: Path, options: list[str], message: str) -> None:
    status, out, err = command("attend", "--model", saved_folder, SENTENCE, *options)
    assert (status, out) == (2, "")
    assert message in err


def test_average(
    command: Command, model: Transformer, tokenizer: Tokenizer, saved_folder: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    other = Transformer(model.config)
    save_model(tmp_path / "other", other, tokenizer)
    status, out, _ = command("average", saved_folder, tmp_path / "other", "--out", tmp_path / "mean")
    assert (status, out) == (0, f"{tmp_path / 'mean'}\n")
    mean = load_model(tmp_path / "mean").model.embedding.weight
    assert torch.allclose(mean, (model.embedding.weight + other.embedding.weight) / 2)
    assert (
        (tmp_path / "mean" / "README.md").read_text("utf-8").startswith(f"The mean of the weights of {saved_folder}, ")
    )
    assert command("average", saved_folder, "--out", tmp_path / "x").status == 2
    status, _, err = command("average", tmp_path / "other", tmp_path / "mean", "--out", tmp_path / "mean")
    assert status == 2
    assert "is one of the models to average" in err
    status, _, err = command("average", saved_folder, tmp_path / "mean", "--out", tmp_path / "other")
    assert (status, err) == (1, f"{tmp_path / 'other'} is there already: name a new folder.\n")
    kept = load_model(tmp_path / "other").model.embedding.weight
    assert torch.equal(kept, other.embedding.weight)


def test_models_counts_presets_beside_the_paper(command: Command) -> None:
    status, out, _ = command("models")
    assert status == 0
    line = next(line for line in out.split("\n") if "transformer-base" in line)
    assert line.split()[1:3] == ["63,082,496", "65,000,000"]
    facts = json.loads(command("models", "transformer-big", "--json").out)
    assert (facts["parameters"], facts["d_model"], facts["n_heads"]) == (214_245_376, 1024, 16)


def test_models_lists_what_ships(
    command: Command, saved_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(saved_folder, tmp_path / "zoo" / "xx-yy")
    monkeypatch.setattr(places, "ZOO", tmp_path / "zoo")
    assert "zoo:xx-yy" in command("models").out
    out = command("models", "zoo:xx-yy").out
    assert "d_model             32\n" in out
    assert out.endswith("\n\n# A small model\n")
    shipped = json.loads(command("models", "--json").out)["shipped"][0]
    assert (shipped["name"], shipped["title"]) == ("zoo:xx-yy", "A small model")
    status, _, err = command("models", "zoo:xx-yyy")
    assert status == 2
    assert 'Did you mean "zoo:xx-yy"?' in err


def test_tokenize(command: Command, saved_folder: Path, tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(SENTENCE)
    assert command("tokenize", "--model", saved_folder, SENTENCE).out == " ".join(tokenizer.pieces(ids)) + "\n"
    assert command("tokenize", "--model", saved_folder, "--ids", SENTENCE).out == " ".join(map(str, ids)) + "\n"
    given = json.loads(command("tokenize", "--model", saved_folder, "--json", SENTENCE).out)
    assert given == {"text": SENTENCE, "pieces": tokenizer.pieces(ids), "ids": ids}


def test_guide_hands_on_what_was_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from allyouneed import guide

    asked: list[Any] = []

    def serve(*given: object, **named: object) -> None:
        asked.append((given, named))

    monkeypatch.setattr(guide, "serve", serve)
    assert command("guide", "--lang", "en", "--model", "a", "--model", "b", "--port", "0", "--no-open").status == 0
    assert asked == [((["a", "b"], "en"), {"port": 0, "open_browser": False})]
    assert command("guide", "--lang", "fr").status == 2


def test_train_from_text_to_a_folder_that_translates(command: Command, tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, updates=4)
    arguments = ["train", recipe, "training.validate_every=2", "training.validate_bleu=0", "--out", tmp_path / "run"]
    status, out, err = command(*arguments)
    assert (status, out) == (0, f"{tmp_path / 'run'}\n")
    assert "validation: loss" in err
    assert command("translate", "--model", tmp_path / "run", "--beam", "1", "the cat").status == 0
    status, _, err = command(*arguments)
    assert status == 0
    assert "already trained 4 of 4 updates" in err


def test_train_finds_recipes_that_ship_and_names_the_folder_after_them(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def run(recipe: Any, folder: Path) -> Path:
        asked.append((recipe.data.root, folder))
        return folder

    monkeypatch.setattr(training, "train", run)
    monkeypatch.chdir(tmp_path)
    assert command("train", "en-fr", "data.root=here") == (0, f"{Path('runs') / 'en-fr'}\n", "")
    assert asked == [("here", Path("runs") / "en-fr")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recipee.toml"], r'There is no recipe recipee\.toml\. Did you mean "recipe\.toml"\?'),
        (["recipe.toml", "training.update=5"], r'unknown key "training\.update".* Did you mean "updates"'),
        (["recipe.toml", "five"], r'"five" is no override: write key\.path=value'),
    ],
)
def test_train_refuses(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    toy_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    status, out, err = command("train", *arguments)
    assert (status, out) == (2, "")
    assert re.search(message, err)
    assert not (tmp_path / "runs").exists()


def test_train_says_how_to_go_on_when_it_is_stopped(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(recipe: Any, folder: Path) -> Path:
        (folder / "checkpoints" / "update-00000500").mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", run)
    status, out, err = command("train", toy_recipe(tmp_path), "--out", tmp_path / "run")
    assert (status, out) == (130, "")
    assert err == f"Stopped: the same command goes on from the last checkpoint in {tmp_path / 'run'}.\n"
