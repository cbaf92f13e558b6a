"""A picture of points and of answers that are rows of them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from allyouneed.lens.pictures import drawing, file_of

GIVEN, EXACT = "#0b6e99", "#8a8a8a"


def closed(points: npt.NDArray[np.float64], ring: Sequence[int]) -> npt.NDArray[np.float64]:
    """The points of a ring, and the first again."""
    return points[[*ring, ring[0]]]


def point_image(
    points: npt.NDArray[np.float64],
    rings: Sequence[Sequence[int]],
    exact: Sequence[Sequence[int]],
    *,
    title: str,
    suffix: str,
) -> bytes:
    """Points [N, 2] with their numbers, an answer's rings as lines and the exact answer's dashed, as ".png" or ".svg".
    The same points give the same bytes.
    """
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(6, 6), dpi=160, layout="constrained")
        axes = figure.add_subplot()
        for group, colour, style, width, label in (
            (exact, EXACT, "--", 2.5, "exact"),
            (rings, GIVEN, "-", 1.5, "model"),
        ):
            for number, ring in enumerate(group):
                line = closed(points, ring)
                name = "_" if number else label
                axes.plot(line[:, 0], line[:, 1], style, color=colour, linewidth=width, label=name)
        axes.plot(points[:, 0], points[:, 1], "o", color="black", markersize=4)
        for number, (x, y) in enumerate(points):
            axes.annotate(str(number), (x, y), xytext=(3, 3), textcoords="offset points", fontsize="small")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title, fontsize="medium")
        if rings or exact:
            axes.legend(loc="upper right")
        return file_of(figure, suffix)
