"""`allyouneed serve`."""

from typing import Annotated

import typer

from allyouneed.cli.options import MODEL_HELP, Precision

USUAL = ("zoo:en-fr", "zoo:lm-en", "zoo:mlm-en")


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="M", help=f"{MODEL_HELP} May be given several times.  [default: {', '.join(USUAL)}]"),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines ask.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8018,
    precision: Precision = "float32",
) -> None:
    """Translate, generate, score and fill over HTTP.

    Each verb is an address. It takes a JSON object: "texts", the verb's options by their names with underscores, and
    "model" where several can. A translation's "constraints" are a list for each text, and its "glossary" is an object:
    terms and their translations. It answers with the model's name and one object a text, as --json prints them. GET
    /models lists what can be asked of which. A mistake is answered with status 422 and one sentence ("error").

    For example:
      allyouneed serve --model runs/mine --port 8018
      curl localhost:8018/translate -H "Content-Type: application/json" -d '{"texts": ["The file was saved."]}'
    """
    from allyouneed.server.app import run

    run(model or USUAL, host=host, port=port, precision=precision)
