"""What no page sends: each is refused in a sentence of its own, and the server goes on."""

import json

import pytest
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
