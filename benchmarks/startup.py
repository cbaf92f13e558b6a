"""How long the command line takes to say anything, in fresh processes."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = {
    "`allyouneed --help`": [str(Path(sys.executable).with_name("allyouneed")), "--help"],
    "`import allyouneed`": [sys.executable, "-c", "import allyouneed"],
    "`import torch`": [sys.executable, "-c", "import torch"],
    "`import transformers`": [sys.executable, "-c", "import transformers"],
    "an empty Python program": [sys.executable, "-c", ""],
}


def measure(*, rounds: int) -> dict[str, float]:
    """Median seconds of each command, in turns; a first round warms the disk's cache."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
