"""`allyouneed guide`."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def guide(
    model: Annotated[
        list[str] | None, typer.Option(metavar="M", help="Your own model, beside those that ship; may be repeated.")
    ] = None,
    lang: Annotated[Literal["ko", "en"], typer.Option(help="Language of the page.")] = "ko",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback; 0 takes a free one.")] = 8017,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    export: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the guide as one file that needs no server, and end.")
    ] = None,
) -> None:
    """Serve the interactive guide on this machine.

    For example:
      allyouneed guide --lang en --model runs/mine
      allyouneed guide --export site/
    """
    if export is not None:
        from allyouneed.guide.export import export as write

        print(write(export, lang))
        return
    from allyouneed.guide import serve

    serve(model or [], lang, port=port, open_browser=open_browser)
