"""The command `allyouneed`: its verbs, and how it ends."""

import os
import sys
from collections.abc import Callable
from inspect import getdoc
from typing import Annotated

import typer

from allyouneed.cli.attend import attend
from allyouneed.cli.average import average
from allyouneed.cli.bench import bench
from allyouneed.cli.convert import convert
from allyouneed.cli.copy import copy
from allyouneed.cli.evaluate import evaluate
from allyouneed.cli.fill import fill
from allyouneed.cli.generate import generate
from allyouneed.cli.guide import guide
from allyouneed.cli.models import models
from allyouneed.cli.parse import parse
from allyouneed.cli.point import point
from allyouneed.cli.reproduce import reproduce
from allyouneed.cli.score import score
from allyouneed.cli.serve import serve
from allyouneed.cli.sort import sort
from allyouneed.cli.tokenize import tokenize
from allyouneed.cli.train import train
from allyouneed.cli.translate import translate
from allyouneed.cli.verify import verify
from allyouneed.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help needs no rich, and keeps the lines of its examples
    context_settings={"help_option_names": ["-h", "--help"]},
)


def help_of(verb: Callable[..., None]) -> str:
    """A verb's docstring, its examples marked so that their lines stay lines."""
    return (getdoc(verb) or "").replace("\n\nFor example:", "\n\n\b\nFor example:")


VERBS = (
    guide,
    train,
    translate,
    generate,
    fill,
    score,
    evaluate,
    attend,
    average,
    bench,
    convert,
    models,
    serve,
    reproduce,
    parse,
    point,
    copy,
    sort,
    tokenize,
    verify,
)
for verb in VERBS:
    app.command(help=help_of(verb))(verb)


def print_version(asked: bool) -> None:
    """Prints the version and ends."""
    if asked:
        from importlib.metadata import version

        print(f"allyouneed {version('allyouneed')}")
        raise typer.Exit


@app.callback()
def allyouneed_command(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Sequence models built from the same few parts: train, translate, score, and see what they look at.

    Where lines are read, one comes out for every line in. One that cannot be used, as when it is too long, gets a blank
    answer and is named on standard error. Status: 0 done, 1 failed or a line was left blank, 2 wrong use.
    """


def run() -> None:
    """The entry point. Exit status: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed before we began
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    try:
        app(prog_name="allyouneed")
    except InputError as error:
        fail(str(error), error.status)
    except KeyboardInterrupt:
        fail("", 130)
    except MemoryError:
        fail("There is not enough memory for this.", 1)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}.", 1)
    except SystemExit as ending:
        # A reader that closed the pipe, such as `head`, has what it wants: what is still buffered goes nowhere.
        if ending.code == 1 and stdout_is_closed():
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


def stdout_is_closed() -> bool:
    """Has the reader of our output gone away?"""
    try:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
    except BrokenPipeError:
        return True
    return False


def fail(message: str, status: int) -> None:
    """One sentence on standard error, then the end."""
    if message:
        print(message, file=sys.stderr)
    sys.exit(status)
