"""The most memory that a piece of work holds at a time, beyond what was there before it."""

import sys
from pathlib import Path

MARK = Path("/proc/self/clear_refs")  # Linux: writing 5 lets the mark of the largest size begin anew
MEGABYTE = 1024 * 1024


class Peak:
    """From `begin` on, `megabytes` says how much more memory was held at a time than at the beginning.

    On an accelerator it is what torch gave out there. Elsewhere it is that of the whole process: on Linux from the
    beginning on, on other systems only where this exceeds what the process ever held, so that a fresh process is needed
    for each piece of work.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.on_cuda = device.startswith("cuda")
        self.before = 0.0

    def begin(self) -> None:
        """Takes what is held now as nothing."""
        if self.on_cuda:
            import torch

            torch.cuda.reset_peak_memory_stats()
        elif MARK.exists():
            MARK.write_text("5", "ascii")
        self.before = self._most()

    def megabytes(self) -> float:
        """What was held on top, at most."""
        return self._most() - self.before

    def _most(self) -> float:
        if self.on_cuda:
            import torch

            return torch.cuda.max_memory_allocated() / MEGABYTE
        return peak_memory_mb()


def peak_memory_mb() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():
        marks = dict(line.split(":", 1) for line in status.read_text("ascii").splitlines())
        return int(marks["VmHWM"].split()[0]) / 1024
    import resource  # Unix alone

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (MEGABYTE if sys.platform == "darwin" else 1024)
