"""Neural Turing Machines."""

from allyouneed.models.presets.preset import Preset, Value
from allyouneed.models.turing import TuringConfig


def preset(source: str, **fields: Value) -> Preset:
    """A preset for machines."""
    return Preset(fields, None, None, source, config=TuringConfig)


def both(task: str, count: str) -> str:
    """Where the settings of an LSTM as the controller stand, and how many parameters its authors counted."""
    return f"Graves 2014, table 2, {task} (which counts {count} parameters)"


# What comes in and goes out: the tasks' bits and marks. The paper does not say how its own were laid out.
COPY: dict[str, Value] = {"n_inputs": 9, "n_outputs": 8}
REPEAT: dict[str, Value] = {"n_inputs": 9, "n_outputs": 9}
RECALL: dict[str, Value] = {"n_inputs": 8, "n_outputs": 6}
NGRAMS: dict[str, Value] = {"n_inputs": 1, "n_outputs": 1}
SORT: dict[str, Value] = {"n_inputs": 10, "n_outputs": 8}


def heads(count: int) -> dict[str, Value]:
    """So many that read, and as many that write."""
    return {"n_read_heads": count, "n_write_heads": count}


FORWARD: dict[str, Value] = {"controller": "feedforward"}

TURING: dict[str, Preset] = {
    "ntm-copy": preset(both("copy", "67,561"), **COPY),
    "ntm-repeat-copy": preset(both("repeat copy", "66,111"), **REPEAT),
    "ntm-recall": preset(both("associative", "70,330"), **RECALL),
    "ntm-ngrams": preset(both("n-grams", "61,749"), **NGRAMS),
    "ntm-priority-sort": preset(both("priority sort", "269,038"), **SORT, **heads(5), n_controller_layers=2),
    "ntm-forward-copy": preset("Graves 2014, table 1, copy (which counts 17,162 parameters)", **COPY, **FORWARD),
    "ntm-forward-repeat-copy": preset(
        "Graves 2014, table 1, repeat copy (which counts 16,712 parameters)", **REPEAT, **FORWARD
    ),
    "ntm-forward-recall": preset(
        "Graves 2014, table 1, associative (which counts 146,845 parameters)",
        **RECALL,
        **FORWARD,
        **heads(4),
        d_controller=256,
    ),
    "ntm-forward-ngrams": preset("Graves 2014, table 1, n-grams (which counts 14,656 parameters)", **NGRAMS, **FORWARD),
    "ntm-forward-priority-sort": preset(
        "Graves 2014, table 1, priority sort (which counts 508,305 parameters)",
        **SORT,
        **FORWARD,
        **heads(8),
        d_controller=512,
    ),
}
