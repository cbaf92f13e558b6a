"""What no page sends: each is refused in a sentence of its own, and the server goes on."""

import json
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
import uvicorn
from fastapi.testclient import TestClient

from allyouneed.guide.models import Models
from allyouneed.guide.server import create_app

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def client(models: Models) -> TestClient:
    return TestClient(create_app(models), base_url="http://127.0.0.1")


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        (
            "scaling",
            json.dumps({"n": "x" * 10_000_000}),
            "The request has 10000009 bytes, and at most 100000 are read.",
        ),
        ("scaling", json.dumps({"n": "x" * 90_000}), f"n: {'x' * 60}… is outside 2 to 32."),
        ("scaling", json.dumps({"x" * 90_000: 1}), f'There is no input "{"x" * 60}…", but d_k, scale, n, seed.'),
        ("cross-attention", json.dumps({"source": "a " * 100_000}), "The request has 200014 bytes, and at most"),
        ("cross-attention", json.dumps({"source": "a " * 4001}), "source: at most 8000 characters."),
        ("cross-attention", json.dumps({"source": "a " * 3999}), "tokens are too many: this model has"),
        ("scaling", '{"n": NaN}', "n: nan is outside 2 to 32."),
        ("scaling", '{"n": -Infinity}', "n: -inf is outside 2 to 32."),
        ("lookup", '{"are": NaN}', "are: nan is outside -4 to 8."),
        ("lookup", '{"are": 1e999}', "are: inf is outside -4 to 8."),
        ("cross-attention", '{"source": NaN}', 'source: "nan" is not of the type string.'),
        ("scaling", "[" * 50_000, "The request is not a JSON object of inputs."),
        ("scaling", f'{{"n": {"9" * 5000}}}', "The request is not a JSON object of inputs."),
        ("scaling", "\x00", "The request is not a JSON object of inputs."),
        ("cross-attention", json.dumps({"model": MARKUP}), f'There is no model "{MARKUP}" here.'),
    ],
)
def test_wrong_request_gets_one_sentence(client: TestClient, name: str, body: str, said: str) -> None:
    answer = client.post(f"/api/{name}", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert said in answer.json()["message"]
    assert len(answer.content) < 2000
    assert "Traceback" not in answer.text
    assert client.post("/api/scaling", json={}).status_code == 200


@pytest.fixture(scope="module")
def port(models: Models) -> Iterator[int]:
    """A server on a real socket, at this port."""
    server = uvicorn.Server(uvicorn.Config(create_app(models), port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def test_request_that_does_not_say_its_size_is_refused_and_never_held(port: int) -> None:
    pieces = (b"x" * 50_000 for _ in range(200))
    connection = HTTPConnection("127.0.0.1", port)
    tracemalloc.start()
    connection.request("POST", "/api/scaling", pieces, {"content-type": "application/json"}, encode_chunked=True)
    answer = connection.getresponse()
    said = json.loads(answer.read())["message"]
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.status == 422
    assert said == "The request has 10000000 bytes, and at most 100000 are read."
    assert largest < 2_000_000
    connection.request("POST", "/api/scaling", iter([b"{", b"}"]), {"content-type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


def test_request_that_is_not_called_json_is_refused(client: TestClient) -> None:
    answer = client.post("/api/scaling", content="{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 422
    assert answer.json()["key"] == "error.body"
