"""The guide's server, on the loopback only: the page, its front-end files, an address for each figure's numbers."""

import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.middleware.trustedhost import TrustedHostMiddleware

from allyouneed.errors import UsageError, nearest
from allyouneed.guide.language import LANGUAGES
from allyouneed.guide.models import Models
from allyouneed.guide.page import WEB, page
from allyouneed.guide.widgets import WIDGETS
from allyouneed.guide.widgets.base import FigureError, Widget
from allyouneed.server.connection import LOOPBACK, NoObjectError, TooLargeError, listen, object_of

# The browser itself refuses whatever would leave this machine.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LARGEST = 100_000  # bytes of a request: more than any figure's inputs

routes = APIRouter()


@routes.get("/")
def show_page(request: Request, lang: str = "") -> HTMLResponse:
    """The page, in the asked language or in the server's own."""
    state = request.app.state
    return HTMLResponse(page(lang if lang in LANGUAGES else state.lang, state.models.own))


@routes.get("/api/models")
def list_models(request: Request) -> list[dict[str, Any]]:
    """A card for each model that the figures may use."""
    return request.app.state.models.cards()


async def inputs_of(request: Request) -> dict[str, Any]:
    """The inputs that a request brings. Raises FigureError."""
    try:
        return await object_of(request, LARGEST)
    except TooLargeError as error:
        raise FigureError("error.large", size=error.size, most=LARGEST) from error
    except NoObjectError as error:
        raise FigureError("error.body") from error


@routes.post("/api/{name}")
def compute(request: Request, name: str, inputs: Annotated[dict[str, Any], Depends(inputs_of)]) -> dict[str, Any]:
    """The numbers of one figure."""
    return widget(name).answer(inputs, request.app.state.models)


@routes.get("/api/{name}/code")
def show_code(name: str) -> list[dict[str, Any]]:
    """The functions that computed one figure, as they run."""
    return widget(name).sources()


def widget(name: str) -> Widget:
    """The figure of that name. Raises FigureError."""
    if name not in WIDGETS:
        raise FigureError("error.figure", name=name, hint=nearest(name, WIDGETS))
    return WIDGETS[name]


def refuse(request: Request, problem: Exception) -> JSONResponse:
    """A refusal in words, as status 422."""
    assert isinstance(problem, FigureError)
    return JSONResponse(problem.as_dict(), status_code=422)


async def guard(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Lets nothing leave the machine, and no stale file stay after an upgrade."""
    response = await proceed(request)
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["Cache-Control"] = "no-cache"
    return response


def create_app(models: Models, lang: str = "ko") -> FastAPI:
    """The web application; `lang` is the language of a visitor who names none."""
    app = FastAPI(title="allyouneed guide", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.models, app.state.lang = models, lang
    app.include_router(routes)
    app.mount("/web", StaticFiles(directory=WEB))
    app.add_exception_handler(FigureError, refuse)
    app.middleware("http")(guard)
    # Another site may point a name of its own at the loopback: only our names are answered.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
    return app


def run(own_models: Sequence[str], lang: str, *, port: int, open_browser: bool) -> None:
    """Serves until interrupted. Raises UsageError for an unknown language, InputError for a taken port."""
    if lang not in LANGUAGES:
        raise UsageError(f'The guide has no language "{lang}", only {" and ".join(LANGUAGES)}.')
    listener = listen(LOOPBACK, port)
    models = Models(own_models)
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/"
    print(f"The guide is at {address} (Ctrl-C ends it)", flush=True)
    loading = Thread(target=models.cards, daemon=True)  # while the reader reads
    loading.start()
    if open_browser:
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    server = uvicorn.Server(uvicorn.Config(create_app(models, lang), log_level="warning"))
    with suppress(KeyboardInterrupt):  # which is how it is meant to end
        server.run(sockets=[listener])
    loading.join()  # the interpreter would fall over a thread that is still inside the model library
