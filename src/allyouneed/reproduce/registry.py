"""The experiments by name."""

from allyouneed.errors import UsageError, nearest
from allyouneed.reproduce.alignment import Alignment
from allyouneed.reproduce.bottleneck import Bottleneck
from allyouneed.reproduce.copying import Copying
from allyouneed.reproduce.depth import Depth
from allyouneed.reproduce.experiment import Experiment
from allyouneed.reproduce.heads import Heads
from allyouneed.reproduce.order import Order
from allyouneed.reproduce.parsing import Parsing
from allyouneed.reproduce.pointing import Pointing
from allyouneed.reproduce.positions import Positions
from allyouneed.reproduce.reversal import Reversal
from allyouneed.reproduce.sorting import Sorting

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        Bottleneck(),
        Reversal(),
        Alignment(),
        Pointing(),
        Copying(),
        Sorting(),
        Order(),
        Parsing(),
        Heads(),
        Positions(),
        Depth(),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name. Raises UsageError where there is none, with the nearest name."""
    if name not in EXPERIMENTS:
        raise UsageError(f'There is no experiment "{name}", but {", ".join(EXPERIMENTS)}.{nearest(name, EXPERIMENTS)}')
    return EXPERIMENTS[name]
