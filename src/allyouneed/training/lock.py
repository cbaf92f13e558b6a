"""One training a folder: a second one would overwrite what the first one writes."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from allyouneed.errors import InputError


@contextmanager
def held(folder: Path) -> Generator[None]:
    """While it is open no other process can hold the folder, which is made where there is none; the system lets go of
    it when the process ends, however that happens. Raises InputError where another one holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:
        try:
            take(file.fileno())
        except (BlockingIOError, PermissionError):  # the second is what Windows says
            raise InputError(f"Another training is writing to {folder}: wait for it, or name another --out.") from None
        yield


def take(descriptor: int) -> None:
    """Locks an open file. Raises BlockingIOError or PermissionError where another process has done so."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]  # only there
