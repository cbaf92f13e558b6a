"""A picture of a machine with a tape at work: what came in, what went out, and where its heads were."""

import numpy as np
import numpy.typing as npt

from allyouneed.lens.pictures import drawing, file_of

Rows = npt.NDArray[np.float32]

SEEN = 0.05  # the weight from which a slot is shown
MARGIN = 2  # slots beside those that are
WIDEST = 500  # steps, beyond which a picture grows no further


def tape_image(panels: dict[str, Rows], weights: dict[str, Rows], *, title: str, suffix: str) -> bytes:
    """Panels [rows, T] with time to the right, and weightings [T, N] below them, of the slots that any head looked at;
    as ".png" or ".svg". The same numbers give the same bytes.
    """
    from matplotlib.figure import Figure

    slots = used_slots(np.concatenate(list(weights.values())))
    shown = panels | {name: weighting[:, slots].T for name, weighting in weights.items()}
    heights = [max(len(rows), 4) for rows in shown.values()]
    steps = min(next(iter(panels.values())).shape[1], WIDEST)
    with drawing():
        figure = Figure(figsize=(3 + 0.16 * steps, 2 + 0.13 * sum(heights)), dpi=160, layout="constrained")
        places = figure.subplots(len(shown), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for axes, (name, rows) in zip(places, shown.items(), strict=True):
            low = min(float(rows.min()), 0.0)
            drawn = axes.imshow(rows, vmin=low, vmax=max(float(rows.max()), 1.0), cmap="viridis", aspect="auto")
            axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
            axes.set_yticks([])
            if name in weights:
                axes.set_yticks([0, len(rows) - 1], [str(slots[0]), str(slots[-1])], fontsize="x-small")
            figure.colorbar(drawn, ax=axes, aspect=max(2, len(rows) // 2))
        places[-1].set_xlabel("step")
        figure.suptitle(title, fontsize="medium")
        return file_of(figure, suffix)


def used_slots(weights: Rows) -> npt.NDArray[np.int64]:
    """The stretch of slots in which some weight of [T, N] is worth showing, and a few beside it."""
    used = np.flatnonzero(weights.max(0) >= SEEN)
    if not len(used):
        return np.arange(weights.shape[1])
    return np.arange(max(used[0] - MARGIN, 0), min(used[-1] + MARGIN, weights.shape[1] - 1) + 1)
