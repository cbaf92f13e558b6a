"""Everything that the README tells a reader to type is typed here, in the order in which it stands."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.ko.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = [(language, text) for language, text in BLOCK.findall((ROOT / "README.md").read_text("utf-8"))]
# A reader's training takes minutes. Here the same recipe runs for a few updates on a few sentences.
SHORTER = """ training.updates=3 training.warmup=1 training.validate_every=3 training.validate_bleu=2 \
    tokenizer.vocab_size=500 'data.train=[{ everyday = ["en", "ko"], count = 500 }]'"""


def commands() -> Iterator[str]:
    """Every line of every `sh` block."""
    for language, text in TYPED:
        if language == "sh":
            yield from text.splitlines()


def blocks(wanted: str) -> list[str]:
    """All blocks in a language."""
    return [text for language, text in TYPED if language == wanted]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's folder, with the recipe that the README has them write."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "first.toml").write_text(blocks("toml")[0], "utf-8")
    return folder


def type_in(desk: Path, command: str) -> str:
    """Runs a line as the shell would, with the environment's commands within reach."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "MPLBACKEND": "agg"}
    run = subprocess.run(
        command, shell=True, cwd=desk, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.mark.parametrize("target", [line.split()[1] for line in commands() if line.startswith("make ")])
def test_make_knows_the_target(target: str) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed here")
    run = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", [line for line in commands() if not line.startswith("make ")])
def test_command(desk: Path, command: str) -> None:
    if " train " in command:
        type_in(desk, command + SHORTER)
    elif " guide " in command or " serve " in command:
        serve(desk, command)
    else:
        out = type_in(desk, command)
        if "| allyouneed translate" in command:
            assert [bool(line) for line in out.splitlines()] == [True, False, True]
        if "map.png" in command:
            assert (desk / "map.png").read_bytes().startswith(b"\x89PNG")


def serve(desk: Path, command: str) -> None:
    """Starts a server, reads the address that it prints, and stops it."""
    quiet = ["--no-open"] if " guide " in command else []
    arguments = [str(Path(sys.executable).with_name("allyouneed")), *command.split()[1:], *quiet, "--port", "0"]
    with subprocess.Popen(arguments, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if "http://127.0.0.1:" in line:
                break
        process.terminate()
    assert "http://127.0.0.1:" in said


@pytest.mark.parametrize("code", blocks("python"))
def test_python(desk: Path, code: str) -> None:
    (desk / "snippet.py").write_text(code, "utf-8")
    type_in(desk, "python snippet.py")
    if "map.svg" in code:
        assert (desk / "map.svg").read_text("utf-8").rstrip().endswith("</svg>")


def test_recipes_have_real_keys() -> None:
    from allyouneed.training.recipe import parse_recipe

    for text in blocks("toml"):
        parse_recipe(tomllib.loads(text), "README.md")


def test_both_languages_say_the_same() -> None:
    english, korean = ((ROOT / name).read_text("utf-8") for name in READMES)
    assert BLOCK.findall(english) == BLOCK.findall(korean)
    assert english.count("\n## ") == korean.count("\n## ")


@pytest.mark.parametrize("name", READMES)
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
