"""The verbs for text alone: generate, fill, score and attend with a decoder or an encoder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allyouneed.checkpoints import places
from allyouneed.cli.score import is_file, usual_model
from allyouneed.pipeline import Generation, LanguageModel, MaskedModel, Translator, load

Command = Callable[..., Any]

PROMPTS = ["The mouse ate", "", "The cat sat on the mat", " \t"]
STDIN = "".join(f"{prompt}\n" for prompt in PROMPTS).encode()
OPTIONS = ["--seed", "4", "--temperature", "2", "--max-tokens", "12"]
SETTINGS: dict[str, Any] = {"seed": 4, "temperature": 2.0, "max_tokens": 12}
LONG = " ".join(["the"] * 70)


@pytest.fixture
def written(decoder_folder: Path) -> list[str]:
    """What the model writes after each prompt that is not blank."""
    pipe = load(decoder_folder, LanguageModel)
    return [pipe.generate([PROMPTS[n]], numbers=[n], **SETTINGS)[0].text if n in (0, 2) else "" for n in range(4)]


def test_generate_gives_a_line_for_every_line(command: Command, decoder_folder: Path, written: list[str]) -> None:
    status, out, err = command("generate", "--model", decoder_folder, *OPTIONS, stdin=STDIN)
    assert (status, err) == (0, "")
    flat = [text.replace("\n", " ").replace("\r", " ") for text in written]
    assert out.split("\n")[:-1] == [PROMPTS[0] + flat[0], "", PROMPTS[2] + flat[2], ""]


def test_generate_prints_prompts_of_its_arguments(command: Command, decoder_folder: Path, written: list[str]) -> None:
    status, out, err = command("generate", "--model", decoder_folder, *OPTIONS, *PROMPTS)
    assert (status, err) == (0, "")
    assert out == f"{PROMPTS[0]}{written[0]}\n\n{PROMPTS[2]}{written[2]}\n\n"


def test_generate_streams_a_line_alone_as_it_does_many(
    command: Command, decoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = command("generate", "--model", decoder_folder, *OPTIONS, stdin=b"The mouse ate\nThe\n").out
    monkeypatch.setattr(LanguageModel, "generate", None)
    alone = command("generate", "--model", decoder_folder, *OPTIONS, stdin=b"The mouse ate\n").out
    assert alone == many.partition("\n")[0] + "\n"


def test_generate_as_json(command: Command, decoder_folder: Path, written: list[str]) -> None:
    lines = command("generate", "--model", decoder_folder, *OPTIONS, "--json", stdin=STDIN).out.split("\n")[:-1]
    facts = [json.loads(line) for line in lines]
    assert [one["prompt"] for one in facts] == PROMPTS
    assert [one["text"] for one in facts] == written
    assert facts[0].keys() == {"prompt", "text", "tokens", "logprob", "finished"}
    assert facts[0]["logprob"] < 0


def test_generate_hands_on_every_setting(
    command: Command, decoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def generate(_: object, prompts: list[str], **settings: Any) -> list[Any]:
        asked.append({name: value for name, value in settings.items() if name not in ("on_progress", "numbers")})
        return [Generation("", [], 0.0, True) for _ in prompts]

    monkeypatch.setattr(LanguageModel, "generate", generate)
    given = ["generate", "--model", decoder_folder, "--json", "The"]
    drawing = "--temperature 0.5 --top-k 9 --top-p 0.8 --min-p 0.1 --repetition-penalty 1.2 --seed 3".split()
    command(*given, *drawing, "--stop", "a", "--stop", "b c", "--max-tokens", "7")
    command(*given, "--beam", "3")
    assert asked == [
        {
            "temperature": 0.5,
            "top_k": 9,
            "top_p": 0.8,
            "min_p": 0.1,
            "repetition_penalty": 1.2,
            "seed": 3,
            "stop": ["a", "b c"],
            "max_tokens": 7,
            "beam": None,
        },
        {"stop": [], "max_tokens": 128, "beam": 3},
    ]


def test_generate_stops_and_searches(command: Command, decoder_folder: Path, written: list[str]) -> None:
    stop = written[0][4]
    out = command("generate", "--model", decoder_folder, *OPTIONS, "--stop", stop, PROMPTS[0]).out
    assert out == f"{PROMPTS[0]}{written[0].partition(stop)[0]}\n"
    out = command("generate", "--model", decoder_folder, "--beam", "2", "--max-tokens", "9", PROMPTS[0]).out
    found = load(decoder_folder, LanguageModel).generate([PROMPTS[0]], beam=2, max_tokens=9)[0]
    assert out == f"{PROMPTS[0]}{found.text}\n"


def test_generate_with_an_encoder_decoder_prints_the_other_text(command: Command, saved_folder: Path) -> None:
    status, out, _ = command("generate", "--model", saved_folder, "--temperature", "0", stdin=b"The cat.\n\nThe dog.\n")
    pipe = load(saved_folder, Translator)
    found = pipe.generate(["The cat.", "The dog."], temperature=0.0)
    assert status == 0
    assert out.split("\n") == [found[0].text, "", found[1].text, ""]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_generate_says_which_line_is_too_long_and_goes_on(
    command: Command, decoder_folder: Path, arguments: list[str]
) -> None:
    data = f"The cat\n\n{LONG}\nThe\n".encode()
    status, out, err = command("generate", "--model", decoder_folder, *OPTIONS, *arguments, stdin=data)
    first, blank, long, last, end = out.split("\n")
    others = command("generate", "--model", decoder_folder, *OPTIONS, *arguments, stdin=b"The cat\n\n\nThe\n").out
    assert (status, [first, blank, last, end]) == (1, [*others.split("\n")[:2], *others.split("\n")[3:]])
    assert long == ('{"line": 3, "error": "has 70 tokens, and this model reads at most 63"}' if arguments else "")
    assert err == "Line 3 has 70 tokens, and this model reads at most 63. It has a blank answer.\n"
    status, out, err = command("generate", "--model", decoder_folder, LONG)
    assert (status, out) == (1, "\n")
    assert err == "Line 1 has 70 tokens, and this model reads at most 63. It has a blank answer.\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "2", "--top-k", "3", "--seed", "1"], "draws nothing: it goes without --top-k, --seed."),
        (["--temperature", "-1"], "temperature = -1.0: 0 (the likeliest token) or more is needed."),
        (["--stop", ""], "A stop string is empty"),
        (["--max-tokens", "0"], "--max-tokens"),
    ],
)
def test_generate_refuses(command: Command, decoder_folder: Path, options: list[str], message: str) -> None:
    status, out, err = command("generate", "--model", decoder_folder, *options, "The")
    assert (status, out) == (2, "")
    assert message in err


def test_verbs_refuse_models_of_another_kind(
    command: Command, saved_folder: Path, decoder_folder: Path, encoder_folder: Path
) -> None:
    for verb, folder, wanted in (
        ("generate", encoder_folder, "is an encoder, which only reads, and this needs a model that writes."),
        ("translate", decoder_folder, "is a decoder, which goes on with a text, and this needs an encoder-decoder"),
        ("fill", decoder_folder, "is a decoder, which goes on with a text, and a gap needs a model that reads on both"),
        ("fill", saved_folder, "did not learn to fill gaps."),
    ):
        status, out, err = command(verb, "--model", folder, "The cat.")
        assert (status, out) == (2, "")
        assert wanted in err


def test_fill_gives_a_line_for_every_line(command: Command, encoder_folder: Path) -> None:
    texts = ["The mouse ate the ___.", "", "The ___ ate the [MASK]"]
    status, out, err = command(
        "fill", "--model", encoder_folder, "--top", "2", stdin="".join(f"{text}\n" for text in texts).encode()
    )
    assert (status, err) == (0, "")
    found = load(encoder_folder, MaskedModel).fill([texts[0], texts[2]], k=2)
    printed = [
        "\t".join([one.text, *(" ".join(f"{g.token}={g.probability:.4f}" for g in gap) for gap in one.guesses)])
        for one in found
    ]
    assert out.split("\n") == [printed[0], "", printed[1], ""]
    facts = [
        json.loads(line) for line in command("fill", "--model", encoder_folder, "--json", *texts).out.split("\n")[:-1]
    ]
    assert [one["source"] for one in facts] == texts
    assert [[len(gap) for gap in one["gaps"]] for one in facts] == [[5], [], [5, 5]]
    assert facts[0]["text"] == found[0].text
    assert facts[0]["gaps"][0][0]["token"] == found[0].guesses[0][0].token


def test_fill_refuses_a_model_that_learned_no_gaps(command: Command, saved_folder: Path) -> None:
    status, out, err = command("fill", "--model", saved_folder, "--top", "3", "The ___.")
    assert (status, out) == (2, "")
    assert err == f"{saved_folder} did not learn to fill gaps.\n"


def test_fill_says_which_line_has_no_gap(command: Command, encoder_folder: Path) -> None:
    status, out, err = command("fill", "--model", encoder_folder, stdin=b"the ___\n\nthe cat\n___ cat\n")
    assert (status, [bool(line) for line in out.split("\n")]) == (1, [True, False, False, True, False])
    assert err == "Line 3 has no gap: write ___ where a token is missing. It has a blank answer.\n"


@pytest.mark.parametrize("line", ["decoder", "encoder"])
def test_score_of_texts_from_everywhere(
    command: Command, decoder_folder: Path, encoder_folder: Path, tmp_path: Path, line: str
) -> None:
    folder = decoder_folder if line == "decoder" else encoder_folder
    texts = ["The mouse ate the cheese.", "", "The cat."]
    pipe = load(folder)
    assert isinstance(pipe, LanguageModel | MaskedModel)
    expected = pipe.score([texts[0], texts[2]])
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    outs = [
        command("score", "--model", folder, *texts),
        command("score", "--model", folder, tmp_path / "texts.txt"),
        command("score", "--model", folder, stdin=(tmp_path / "texts.txt").read_bytes()),
    ]
    for status, out, err in outs:
        assert (status, err) == (0, "")
        first, blank, last, end = out.split("\n")
        assert (blank, end) == ("", "")
        for printed, score in zip((first, last), expected, strict=True):
            total, perplexity, tokens = printed.split("\t")
            assert float(total) == pytest.approx(score.total, abs=1e-3)
            assert float(perplexity) == pytest.approx(score.perplexity, rel=1e-3)
            assert [token.rpartition("=")[0] for token in tokens.split(" ")] == score.tokens
    facts = json.loads(command("score", "--model", folder, "--json", texts[0]).out)
    assert facts["text"] == texts[0]
    assert sum(facts["logprobs"]) == pytest.approx(facts["total"])
    status, out, err = command("score", "--model", folder, stdin=f"a\n\n{LONG}\na\n".encode())
    scored, blank, long, again, end = out.split("\n")
    assert (status, blank, long, end) == (1, "", "", "")
    assert scored == again != ""
    assert err.startswith("Line 3 has 70 tokens")


def test_a_text_may_be_longer_than_a_file_is_called(tmp_path: Path) -> None:
    for text in ("The mouse ate the cheese. " * 200, "nul\0nul", "a.txt b.txt", str(tmp_path)):
        assert not is_file(text)
    (tmp_path / "a.txt").touch()
    assert is_file(str(tmp_path / "a.txt"))


def test_score_takes_the_model_that_fits_its_arguments(
    command: Command, monkeypatch: pytest.MonkeyPatch, saved_folder: Path, decoder_folder: Path, tmp_path: Path
) -> None:
    assert usual_model(["The cat."]) == usual_model(["texts.txt"]) == "zoo:lm-en"
    assert (
        usual_model(["a.tsv"]) == usual_model(["a.tsv.gz"]) == usual_model(["a", "b"]) == usual_model([]) == "zoo:en-fr"
    )
    (tmp_path / "lm-en").symlink_to(decoder_folder)
    (tmp_path / "en-fr").symlink_to(saved_folder)
    monkeypatch.setattr(places, "ZOO", tmp_path)
    assert command("score", "The cat.").out == command("score", "--model", decoder_folder, "The cat.").out
    pair = ["The cat.", "Le chat."]
    assert command("score", *pair).out == command("score", "--model", saved_folder, *pair).out
    assert "--model zoo:lm-en" in command("score", stdin=b"no tab\n").err


def test_attend_shows_the_one_side(command: Command, decoder_folder: Path, encoder_folder: Path) -> None:
    for folder in (decoder_folder, encoder_folder):
        view = load(folder).attend("The cat.")
        assert command("attend", "--model", folder, "The cat.").out == view.text() + "\n\n"
        facts = json.loads(command("attend", "--model", folder, "--json", "The cat.").out)
        assert list(facts) == view.sides
        status, _, err = command("attend", "--model", folder, "The cat.", "--side", "cross")
        assert status == 2
        assert 'There is no side "cross"' in err
        assert command("attend", "--model", folder, "The cat.", "--target", "x").status == 2
