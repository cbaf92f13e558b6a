"""Folders that are either the old ones or the new ones, whatever happens while they are written."""

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from allyouneed.errors import InputError


@contextmanager
def staged_folder(folder: Path) -> Generator[Path]:
    """Gives a temporary folder to write into; when the block ends, what is in it takes its place in `folder`.

    Everything is written and synced to the disk before the first old file is touched. A new folder appears by one
    rename; in a folder that is there already each file is swapped in by its own rename, the largest last, and other
    files are left alone. If the block fails, nothing in `folder` has changed and the temporary folder is gone.

    Raises InputError when the disk is full or the place may not be written to.
    """
    folder = folder.absolute()
    staging = folder.with_name(f".{folder.name}.saving")
    try:
        # A process that was killed leaves its staging folder behind: the next one to save sweeps it away.
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        yield staging
        swap_in(staging, folder)
    except (OSError, SafetensorError) as error:
        raise InputError(f"Cannot save {folder}: {reason(error)}; nothing there was changed.") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def swap_in(staging: Path, folder: Path) -> None:
    """Syncs what `staging` holds and moves it to `folder`."""
    files = sorted((path for path in staging.iterdir() if path.is_file()), key=lambda path: path.stat().st_size)
    for path in files:
        sync(path)
    sync(staging)
    if folder.exists():
        for path in files:
            os.replace(path, folder / path.name)
        sync(folder)
    else:
        os.rename(staging, folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Waits until the disk holds the file, or the folder's list of names."""
    if path.is_dir() and os.name != "posix":
        return  # only POSIX systems let a folder be opened and synced
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: OSError | SafetensorError) -> str:
    """The cause of a failed write in plain words."""
    if isinstance(error, SafetensorError):  # it tells the system's error as text alone
        return "no space is left on the disk" if "No space left on device" in str(error) else str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space is left on the disk"
    return f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
