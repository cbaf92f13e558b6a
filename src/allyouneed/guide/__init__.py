"""The interactive guide: the attention story in Korean and English, with figures that compute live on real models."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from allyouneed.errors import UsageError

if TYPE_CHECKING:
    from allyouneed.guide.notebook import Widget


def serve(models: Sequence[str] = (), lang: str = "ko", *, port: int = 8017, open_browser: bool = True) -> None:
    """Serves the guide on the loopback until interrupted. `models` are the user's own; port 0 takes a free one.

    Raises UsageError where the language is unknown and InputError where the port is taken.
    """
    from allyouneed.guide.server import run  # torch and the web server are heavy: only who serves pays for them

    run(models, lang, port=port, open_browser=open_browser)


def widget(name: str, lang: str = "ko", **inputs: Any) -> "Widget":
    """One figure of the guide in a notebook, by its name: `widget("scaling", d_k=512, scale=False, lang="en")`.

    Raises UsageError where the figure, the language or a value is unknown, or the `notebook` extra is missing.
    """
    try:
        from allyouneed.guide.notebook import Widget  # anywidget is an extra
    except ModuleNotFoundError as missing:
        raise UsageError(f'A notebook\'s figure needs {missing.name}: pip install "allyouneed[notebook]".') from missing
    return Widget(name, lang, **inputs)
