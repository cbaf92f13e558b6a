"""The command as a whole: help, ways to end, streams."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allyouneed.cli import main
from allyouneed.cli.main import app

VERBS = (
    "guide train translate generate fill score evaluate attend average bench"
    " convert models serve reproduce parse point copy sort tokenize verify"
).split()
COMMAND = [sys.executable, "-m", "allyouneed"]


def test_every_verb_is_listed(command: Callable[..., Any]) -> None:
    status, out, _ = command("--help")
    assert status == 0
    assert re.findall(r"^  (\w+)  ", out, re.M) == VERBS
    assert "..." not in out.partition("Commands:")[2], "a summary is too long for a line"
    assert len(app.registered_commands) == len(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_whose_options_exist(command: Callable[..., Any], verb: str) -> None:
    status, out, _ = command(verb, "--help")
    assert status == 0
    before, _, after = out.partition("For example:\n")
    examples = re.findall(r"^ +(.*allyouneed .*)$", after.partition("\n\n")[0], re.M)
    assert examples
    assert before.startswith(f"Usage: allyouneed {verb} ")
    for option in re.findall(r" (--[a-z-]+)", " ".join(examples)):
        assert re.search(rf"^ +{option}\b", after, re.M), option


@pytest.mark.parametrize("arguments", [["--help"], ["translate", "--help"], ["train", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom allyouneed.cli.main import run\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try:\n    run()\n"
        "finally:\n    print(sorted({'torch', 'numpy', 'tokenizers', 'zstandard', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_version(command: Callable[..., Any]) -> None:
    status, out, _ = command("--version")
    assert status == 0
    assert re.fullmatch(r"allyouneed \d+\.\d+\.\d+\n", out)


def test_wrong_use_names_the_nearest(command: Callable[..., Any]) -> None:
    status, out, err = command("tranlate", "hello")
    assert (status, out) == (2, "")
    assert "Did you mean 'translate'" in err
    status, out, err = command("translate", "--bem", "3", "hello")
    assert (status, out) == (2, "")
    assert "--beam" in err
    assert command("translate", "--beam", "0", "hello").status == 2


def test_an_unknown_model_is_wrong_use(command: Callable[..., Any]) -> None:
    status, out, err = command("translate", "--model", "runs/none", "hello")
    assert (status, out) == (2, "")
    assert re.fullmatch(r'"runs/none" is neither a folder nor a shipped model .*\n', err)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "out/map.png"), 1, "out/map.png: No space left on device.\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device.\n"),
        (PermissionError(errno.EACCES, "Permission denied", "runs"), 1, "runs: Permission denied.\n"),
        (MemoryError(), 1, "There is not enough memory for this.\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, message: str
) -> None:
    def stumble(**_: object) -> None:
        raise error

    monkeypatch.setattr(main, "app", stumble)
    assert command("models") == (status, "", message)


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(main, "app", stumble)
    with pytest.raises(ZeroDivisionError):
        main.run()


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
class TestStreams:
    """Pipes, signals and full devices, on a process of its own."""

    def test_a_reader_that_leaves_early_is_no_error(self) -> None:
        with subprocess.Popen([*COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 1

    def test_a_full_device(self) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("this system has no /dev/full")
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*COMMAND, "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.stderr == b"No space left on device.\n"
        assert done.returncode == 1

    def test_closed_streams(self) -> None:
        script = f"{' '.join(COMMAND)} --version >&- <&-"
        done = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_an_interrupt_is_quiet(self, saved_folder: Path) -> None:
        # A shell starts what runs in its background with interrupts ignored: this process minds them wherever it runs.
        code = (
            "import signal, sys\nfrom allyouneed.cli.main import run\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"sys.argv[1:] = ['translate', '--model', {str(saved_folder)!r}]\nrun()"
        )
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"\n"  # an answer comes while the input is still open
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 130
