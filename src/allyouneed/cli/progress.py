"""A bar on standard error for what takes long, on a terminal only."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

PATIENCE = 1.0  # seconds before a bar appears


@contextmanager
def progress(label: str, total: int) -> Generator[Callable[[int], None]]:
    """Gives a function to be told how many of `total` are done. The bar comes after a second, and goes at the end."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    began, shown = time.monotonic(), False
    with ExitStack() as stack:

        def tell(done: int) -> None:
            nonlocal shown
            if not shown and time.monotonic() - began > PATIENCE:
                stack.enter_context(bar)
                shown = True
            bar.update(task, completed=done)

        yield tell
