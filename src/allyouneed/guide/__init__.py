"""The interactive guide: the attention story in Korean and English, with figures that compute live on real models."""

from collections.abc import Sequence


def serve(models: Sequence[str] = (), lang: str = "ko", *, port: int = 8017, open_browser: bool = True) -> None:
    """Serves the guide on the loopback until interrupted. `models` are the user's own; port 0 takes a free one.

    Raises UsageError where the language is unknown and InputError where the port is taken.
    """
    from allyouneed.guide.server import run  # torch and the web server are heavy: only who serves pays for them

    run(models, lang, port=port, open_browser=open_browser)
