"""The server of `allyouneed serve`: an address for each verb, one request at a time inside the models."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from allyouneed.errors import InputError, UsageError
from allyouneed.models.stepper import Precision
from allyouneed.pipeline import Pipeline, load
from allyouneed.server.connection import LOOPBACK, listen, object_of
from allyouneed.server.requests import VERBS, Generate, chosen, read, verbs_of

LARGEST = 4_000_000  # bytes of a request

routes = APIRouter()


async def given(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    return await object_of(request, LARGEST)


@routes.get("/models")
def list_models(request: Request) -> list[dict[str, Any]]:
    """The models here, and what can be asked of each."""
    pipes: dict[str, Pipeline] = request.app.state.pipes
    return [{"name": name, "what": pipe.what, "verbs": verbs_of(pipe)} for name, pipe in pipes.items()]


def answer(request: Request, body: Annotated[dict[str, Any], Depends(given)]) -> Response:
    """What a model makes of the texts: {"model": its name, "results": one object a text}."""
    verb = request.url.path.rpartition("/")[2]
    asked = read(verb, body)
    state = request.app.state
    pipe = chosen(state.pipes, verb, asked)
    if isinstance(asked, Generate) and asked.stream:
        return StreamingResponse(parts(pipe, asked, state.lock), media_type="text/plain; charset=utf-8")
    with state.lock:
        results = asked.answer(pipe)
    return JSONResponse({"model": pipe.name, "results": results})


for verb in VERBS:  # an address each, so that others are not found, however they are asked
    routes.post(f"/{verb}", response_model=None)(answer)


def parts(pipe: Any, asked: Generate, lock: Lock) -> Iterator[str]:
    """One text as it is written. Between two tokens others have their turn."""
    if len(asked.texts) != 1 or asked.beam is not None:
        raise UsageError('"stream" is for one text at a time, and without "beam".')
    with lock:
        written: Iterator[str] = pipe.stream(asked.texts[0], **asked.settings())

    def shown() -> Iterator[str]:
        while True:
            with lock:
                part = next(written, None)
            if part is None:
                return
            yield part

    return shown()


def refuse(request: Request, problem: Exception) -> JSONResponse:
    """A refusal in one sentence."""
    if isinstance(problem, InputError):
        return JSONResponse({"error": str(problem)}, status_code=422)
    assert isinstance(problem, HTTPException)
    asked = f"{request.method} {request.url.path}"
    allowed = ", ".join(["GET /models", *(f"POST /{verb}" for verb in VERBS)])
    return JSONResponse({"error": f"{asked} is not served here, only {allowed}."}, status_code=problem.status_code)


def create_app(pipes: Sequence[Pipeline], *, hosts: Sequence[str] = (LOOPBACK, "localhost")) -> FastAPI:
    """The web application; `hosts` are the names by which it may be asked, "*" any."""
    app = FastAPI(title="allyouneed", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.pipes, app.state.lock = {pipe.name: pipe for pipe in pipes}, Lock()
    app.include_router(routes)
    for problem in (InputError, HTTPException):
        app.add_exception_handler(problem, refuse)
    # Another site may point a name of its own at the loopback: only our names are answered.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    return app


def run(models: Sequence[str], *, host: str, port: int, precision: Precision) -> None:
    """Serves until interrupted. Raises InputError where a model cannot be loaded, or the port is taken."""
    listener = listen(host, port)
    pipes = [load(name, Pipeline, precision=precision) for name in models]
    hosts = (LOOPBACK, "localhost") if host in (LOOPBACK, "localhost") else ("*",)
    server = uvicorn.Server(uvicorn.Config(create_app(pipes, hosts=hosts), log_level="warning"))
    print(f"Answering at http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)", flush=True)
    for pipe in pipes:
        print(f"  {pipe.name}: " + ", ".join(f"POST /{verb}" for verb in verbs_of(pipe)), flush=True)
    with suppress(KeyboardInterrupt):  # which is how it is meant to end
        server.run(sockets=[listener])
