"""A map of weights as a picture, a page, numbers, or characters. Each function returns what goes into the file."""

import io
import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Matrix = npt.NDArray[np.float32]

NAMED = 100  # tokens a side, beyond which a picture grows no further and has no names
DIGITS = 6  # of a weight in JSON: float32 has about seven
CLIP = re.compile(rb'(?<=url\(#)p[0-9a-f]{10}(?=\))|(?<=<clipPath id=")p[0-9a-f]{10}(?=")')
SHADES = " ·░▒▓█"  # from 0 to the largest weight, for a terminal
# Tried in this order, so that Latin, Korean, Chinese and Japanese labels find their letters where the machine has them.
FONTS = ("DejaVu Sans", "NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic Neo")


@contextmanager
def drawing() -> Generator[None]:
    """While it is open, figures are drawn as this package draws them."""
    from matplotlib import rc_context
    from matplotlib.font_manager import fontManager

    here = set(fontManager.get_font_names())
    settings: dict[Any, Any] = {
        "font.family": [font for font in FONTS if font in here],
        "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
        "svg.hashsalt": "allyouneed",
    }
    with rc_context(settings):
        yield


def file_of(figure: "Figure", suffix: str) -> bytes:
    """A figure as ".png" or ".svg". The same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix[1:], metadata={"Date": None} if suffix == ".svg" else None)
    if suffix != ".svg":
        return buffer.getvalue()
    # matplotlib names some shapes that cut others by where they lie in memory: here they are numbered.
    numbers: dict[bytes, int] = {}
    return CLIP.sub(lambda found: b"clip%d" % numbers.setdefault(found[0], len(numbers)), buffer.getvalue())


def image(weights: Matrix, rows: Sequence[str], columns: Sequence[str], *, title: str, suffix: str) -> bytes:
    """A heat map of weights [T, S] as ".png" or ".svg". The same weights give the same bytes."""
    from matplotlib.figure import Figure

    with drawing():
        across, down = (min(len(tokens), NAMED) for tokens in (columns, rows))
        figure = Figure(figsize=(2.4 + 0.36 * across, 1.8 + 0.32 * down), dpi=160, layout="constrained")
        axes = figure.add_subplot()
        drawn = axes.imshow(weights, vmin=0, vmax=float(weights.max()), cmap="viridis", aspect="auto")
        if len(columns) <= NAMED:
            names = [plain(token) for token in columns]
            axes.set_xticks(range(len(names)), names, rotation=60, ha="left", rotation_mode="anchor")
        if len(rows) <= NAMED:
            axes.set_yticks(range(len(rows)), [plain(token) for token in rows])
        axes.xaxis.tick_top()
        axes.set_title(title, fontsize="medium")
        figure.colorbar(drawn, ax=axes, label="weight")
        return file_of(figure, suffix)


def plain(token: str) -> str:
    """A token that is not read as a formula."""
    return token.replace("$", r"\$")


def json_text(maps: Mapping[str, Mapping[str, Any]]) -> bytes:
    """All maps as JSON."""
    return (json.dumps(maps, ensure_ascii=False) + "\n").encode()


def arrays(weights: Mapping[str, Matrix], tokens: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> bytes:
    """All maps as .npz: for each side an array [L, H, T, S], and its `side_rows` and `side_columns`."""
    named: dict[str, npt.NDArray[Any]] = dict(weights)
    for side in weights:
        named[f"{side}_rows"], named[f"{side}_columns"] = (np.array(list(labels)) for labels in tokens[side])
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **named)  # pyright: ignore[reportArgumentType]  # it takes the names for its own option
    return buffer.getvalue()


def rounded(values: Any) -> Any:
    """Nested lists of numbers with as many digits as mean something."""
    return [rounded(value) for value in values] if isinstance(values, list) else round(values, DIGITS)


def text(weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Weights [T, S] as shades, two characters a cell, below the columns' tokens written downwards; then the scale."""
    largest = max(map(max, weights))
    margin = max(map(width, rows), default=0)
    height = max(map(len, columns), default=0)
    upright = [token.rjust(height) for token in columns]
    lines = [" " * (margin + 1) + "".join(cell(token[i]) for token in upright) for i in range(height)]
    for token, row in zip(rows, weights, strict=True):
        shades = "".join(SHADES[min(int(weight / largest * len(SHADES)), len(SHADES) - 1)] * 2 for weight in row)
        lines.append(" " * (margin - width(token)) + token + " " + shades)
    lines.append(f"{'':{margin}} {SHADES[-1] * 2} is {largest:.2f}")
    return "\n".join(line.rstrip() for line in lines)


def width(token: str) -> int:
    """Terminal columns that a text takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in token)


def cell(character: str) -> str:
    """One character in two terminal columns."""
    return character + " " * (2 - width(character))
