"""`allyouneed bench`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from allyouneed.cli.options import Json
from allyouneed.cli.progress import progress
from allyouneed.cli.streams import write, write_json
from allyouneed.errors import UsageError, nearest

QUICK = [256, 512, 1024, 2048]
WHOLE = [512, 1024, 2048, 4096, 8192]
LONGEST = 131_072


def bench(
    what: Annotated[Literal["attention"], typer.Argument(help="What is measured: layers against the text's length.")],
    lengths: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Lengths of the text, in tokens.  [default: 512 to 8,192]")
    ] = None,
    kinds: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only layers with these words, as full,sparse.")
    ] = None,
    window: Annotated[int, typer.Option(min=2, help="Keys that a window holds.")] = 512,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of every kind; the medians count.")] = 3,
    device: Annotated[str, typer.Option(help='"cpu", or an accelerator as torch names it, such as "cuda".')] = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter texts, one round, no waiting for a quiet machine.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .png or .svg (a figure), .json or .md.")] = None,
    as_json: Json = False,
) -> None:
    """Measure layers against the length of the text.

    Time and peak memory, forward and backward: every kind of layer runs in a process of its own, and all take turns.
    The table says how each grows, and the length from which on it is faster than full attention through torch's fused
    kernel.

    For example:
      allyouneed bench attention --quick
      allyouneed bench attention --lengths 1024,4096,16384 --kinds sparse,fused --out lengths.png
    """
    sizes = lengths_of(lengths, QUICK if quick else WHOLE)
    from allyouneed.measure.lengths import Report, amount, check_ending, measure

    if out is not None:
        check_ending(out)
    chosen = kinds_of(kinds)
    check_device(device)
    rounds = 1 if quick else rounds
    done = 0
    with progress("Measuring", amount(chosen, sizes, rounds=rounds)) as tell:

        def on_progress() -> None:
            nonlocal done
            done += 1
            tell(done)

        rows = measure(
            chosen,
            sizes,
            window=window,
            rounds=rounds,
            device=device,
            patience=0.0 if quick else None,
            on_progress=on_progress,
        )
    report = Report(rows, window, device)
    if out is not None:
        report.save(out)
    if as_json:
        write_json(report.to_dict())
    else:
        write(*report.table().split("\n"))


def lengths_of(text: str | None, usual: list[int]) -> list[int]:
    """The lengths that were asked for, or the usual ones."""
    if text is None:
        return usual
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= LONGEST for part in parts):
        raise UsageError(f"--lengths {text}: whole numbers between 1 and {LONGEST:,} are needed, with commas between.")
    return sorted({int(part) for part in parts})


def kinds_of(text: str | None) -> list[str]:
    """The kinds with any of these words in their names, or all."""
    from allyouneed.measure.layers import KINDS

    words = [] if text is None else [word.strip().lower() for word in text.split(",") if word.strip()]
    known = {word for kind in KINDS for word in words_of(kind)}
    for word in words:
        if word not in known:
            there = "; ".join(KINDS)
            raise UsageError(f'--kinds: no layer is called "{word}"; there are {there}.{nearest(word, known)}')
    return [kind for kind in KINDS if not words or words_of(kind) & set(words)]


def words_of(kind: str) -> set[str]:
    """The words of a kind's name."""
    return set(kind.lower().replace(",", "").split())


def check_device(device: str) -> None:
    """Refuses what torch has no device for."""
    import torch

    if device != "cpu" and not (device.split(":")[0] == "cuda" and torch.cuda.is_available()):
        raise UsageError(
            f'--device {device}: this machine has "cpu"{" and cuda" if torch.cuda.is_available() else ""}.'
        )
