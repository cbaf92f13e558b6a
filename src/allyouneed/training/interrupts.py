"""Ctrl-C in the middle of an update, which is no moment to save anything: it waits until there is one."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def held_back(say: Callable[[str], None]) -> Generator[Callable[[], bool]]:
    """Inside, a first Ctrl-C is only remembered, and `say` tells so; a second one interrupts as ever. Gives what
    answers whether one came. Where Ctrl-C means something else, or another thread than the main one runs, nothing is
    held back.
    """
    asked = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        with suppress(RuntimeError):  # as when it came in the middle of a line that was being printed
            say("stopping with a checkpoint after this update; Ctrl-C again stops at once")

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
