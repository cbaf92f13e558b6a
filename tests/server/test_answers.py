"""What models answer over HTTP: the same as in Python, and each mistake as one sentence."""

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from typing import Any
from urllib.request import Request, urlopen

import pytest
from fastapi.testclient import TestClient

from allyouneed.models.transformer import Transformer
from allyouneed.pipeline import LanguageModel, MaskedModel, Pipeline, Translator, load
from allyouneed.server.app import create_app
from allyouneed.text.tokenizer import Tokenizer

TEXTS = ["The mouse ate the cheese.", "The cat sat on the mat."]


@pytest.fixture(scope="module")
def pipes(model: Transformer, decoder: Transformer, encoder: Transformer, tokenizer: Tokenizer) -> dict[str, Pipeline]:
    both = Translator(model, tokenizer, name="both")
    writes = LanguageModel(decoder, tokenizer.for_line("decoder"), name="writes")
    reads = MaskedModel(encoder, tokenizer.for_line("encoder"), name="reads")
    return {pipe.name: pipe for pipe in (both, writes, reads)}


@pytest.fixture(scope="module")
def client(pipes: dict[str, Pipeline]) -> TestClient:
    return TestClient(create_app([*pipes.values()]), base_url="http://127.0.0.1", raise_server_exceptions=False)


def asked(client: TestClient, verb: str, **body: Any) -> Any:
    answer = client.post(f"/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, verb: str, **body: Any) -> str:
    answer = client.post(f"/{verb}", json=body)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error"}
    return answer.json()["error"]


def test_models_are_listed_with_what_they_can_be_asked(client: TestClient) -> None:
    listed = {one["name"]: one["verbs"] for one in client.get("/models").json()}
    assert listed == {
        "both": ["translate", "generate", "score"],
        "writes": ["generate", "score"],
        "reads": ["score", "fill"],
    }


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"beam": 3, "nbest": 2, "align": True},
        {"beam": 1, "length_penalty": 0},
        {"beam": 4, "nbest": 4, "coverage_penalty": 2.0},
        {"beam": 6, "constraints": [[], ["dog slept"], []]},
    ],
)
def test_translations_are_those_of_python(
    client: TestClient, pipes: dict[str, Pipeline], settings: dict[str, Any]
) -> None:
    found = asked(client, "translate", texts=["", *TEXTS], **settings)
    assert found["model"] == "both"
    expected = pipes["both"].translate(["", *TEXTS], **settings)  # pyright: ignore[reportAttributeAccessIssue]
    for one, told in zip(expected, found["results"], strict=True):
        assert (one.text, one.tokens) == (told["text"], told["tokens"])
        assert told["score"] == pytest.approx(one.score)
        assert [other["text"] for other in told.get("nbest", [])] == (
            [other.text for other in one.nbest] if "nbest" in settings else []
        )
        assert ("alignment" in told) == (one.alignment is not None)


def test_a_glossary_is_held_beside_constraints(client: TestClient, pipes: dict[str, Pipeline]) -> None:
    texts, glossary = [*TEXTS, ""], {"cat": "dog slept", "Cheese": "never"}
    found = asked(client, "translate", texts=texts, glossary=glossary, constraints=[["big"], [], []], beam=6)
    pipe: Any = pipes["both"]
    expected = pipe.translate(texts, constraints=[["big"], ["dog slept"], []], beam=6)
    assert [one["text"] for one in found["results"]] == [one.text for one in expected]
    assert expected[1].text != pipe.translate(texts, beam=6)[1].text
    alone = asked(client, "translate", texts=texts, glossary=glossary, beam=6)["results"]
    assert [one["text"] for one in alone[1:]] == [one.text for one in expected[1:]]


def test_what_may_change_nothing_here_is_handed_on_all_the_same(
    client: TestClient, pipes: dict[str, Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe: Any = pipes["both"]
    translate, given = pipe.translate, dict[str, Any]()

    def noted(texts: list[str], **settings: Any) -> Any:
        given.update(settings)
        return translate(texts, **settings)

    monkeypatch.setattr(pipe, "translate", noted)
    settings = {"beam": 3, "nbest": 2, "length_penalty": 0.9, "coverage_penalty": 0.3, "align": True}
    asked(client, "translate", texts=TEXTS[:1], **settings)
    assert given == {**settings, "constraints": None}


def test_texts_are_drawn_by_their_seed_and_streamed_alike(client: TestClient, pipes: dict[str, Pipeline]) -> None:
    settings: dict[str, Any] = {"max_tokens": 9, "seed": 3, "temperature": 1.5}
    found = asked(client, "generate", model="writes", texts=TEXTS, **settings)
    expected = pipes["writes"].generate(TEXTS, **settings)  # pyright: ignore[reportAttributeAccessIssue]
    assert [one["text"] for one in found["results"]] == [one.text for one in expected]
    streamed = client.post("/generate", json={"model": "writes", "texts": TEXTS[:1], "stream": True, **settings})
    assert streamed.text == expected[0].text
    assert streamed.headers["content-type"].startswith("text/plain")


def test_scores_add_up_and_gaps_are_guessed(client: TestClient, pipes: dict[str, Pipeline]) -> None:
    by_translator = asked(client, "score", texts=TEXTS, targets=TEXTS)["results"]
    by_decoder = asked(client, "score", model="writes", texts=TEXTS)["results"]
    for one in (*by_translator, *by_decoder):
        assert one["total"] == pytest.approx(sum(one["logprobs"]))
    [filled] = asked(client, "fill", texts=["The ___ ate the cheese."], top=3)["results"]
    [expected] = pipes["reads"].fill(["The ___ ate the cheese."], k=3)  # pyright: ignore[reportAttributeAccessIssue]
    assert filled["text"] == expected.text
    assert [guess["token"] for guess in filled["gaps"][0]] == [guess.token for guess in expected.guesses[0]]


def test_where_no_model_is_named_the_usual_one_answers(client: TestClient) -> None:
    assert asked(client, "generate", texts=TEXTS, max_tokens=1)["model"] == "writes"
    assert asked(client, "score", texts=TEXTS)["model"] == "writes"
    assert asked(client, "score", texts=TEXTS, targets=TEXTS)["model"] == "both"


def test_many_ask_at_once_and_each_gets_its_own_answer(client: TestClient) -> None:
    def translated(text: str) -> str:
        return asked(client, "translate", texts=[text])["results"][0]["text"]

    texts = [f"The mouse ate the cheese {number} times." for number in range(12)]
    alone = [*map(translated, texts)]
    with ThreadPoolExecutor(6) as people:
        assert list(people.map(translated, texts)) == alone


@pytest.mark.parametrize(
    ("verb", "body", "sentence"),
    [
        ("translate", {}, r'^"texts" is missing\.$'),
        ("translate", {"texts": ["a"], "beem": 3}, r'^"beem" cannot be asked here, only .*Did you mean "beam"\?$'),
        ("translate", {"texts": ["a"], "beam": 0}, r'^"beam": input should be greater than or equal to 1\.$'),
        ("translate", {"texts": ["a"], "beam": 65}, r'^"beam": input should be less than or equal to 64\.$'),
        (
            "translate",
            {"texts": ["a"], "length_penalty": 1e308},
            r"^length_penalty 1e\+308: 0 \(none\) to 10 is needed",
        ),
        ("translate", {"texts": ["a"], "beam": 2, "nbest": 3}, "1 <= nbest <= beam is needed"),
        ("translate", {"texts": ["a"], "constraints": [["b"] * 33]}, r"constraints\.0.*at most 32 items"),
        ("translate", {"texts": ["a"], "constraints": []}, "1 texts and constraints for 0: each text needs one list"),
        ("translate", {"texts": ["a"], "constraints": [], "glossary": {"b": "c"}}, "1 texts and constraints for 0"),
        ("translate", {"texts": ["a " * 33], "glossary": {"a": "b"}}, "^Text 1 has 33 phrases .* at most 32 are held"),
        ("translate", {"texts": ["a"], "glossary": [["a", "b"]]}, '^"glossary": input should be a valid dictionary'),
        ("translate", {"texts": ["a"], "beam": True}, r'^"beam": input should be a valid integer\.$'),
        ("translate", {"texts": ["a"], "length_penalty": False}, r'^"length_penalty": input should be a valid number'),
        ("translate", {"texts": ["a"], "align": 1}, r'^"align": input should be a valid boolean'),
        ("translate", {"texts": "a"}, r'^"texts": input should be a valid list\.$'),
        ("translate", {"texts": ["a", 5]}, r'^"texts\.1": input should be a valid string\.$'),
        ("translate", {"texts": []}, r'^"texts": list should have at least 1 item'),
        ("translate", {"texts": ["a"] * 600}, r'^"texts": list should have at most 512 items'),
        ("translate", {"texts": ["a", "word " * 200]}, r"^Text 2 has [\d,]+ tokens, and this model reads at most"),
        ("translate", {"texts": ["a"], "model": "writes"}, "^writes is a decoder, .* and cannot translate"),
        ("translate", {"texts": ["a"], "model": "bath"}, 'no model "bath" here, only both, .*Did you mean "both"'),
        ("generate", {"texts": ["a"], "temperature": -1}, "temperature"),
        ("generate", {"texts": ["a", "b"], "stream": True}, '^"stream" is for one text at a time'),
        ("score", {"texts": ["a"], "model": "both"}, '^"targets": both is .*a translator scores targets given'),
        ("score", {"texts": ["a"], "model": "writes", "targets": ["b"]}, "it takes none"),
        ("fill", {"texts": ["no gap"]}, "^Text 1 has no gap"),
    ],
)
def test_each_mistake_is_one_sentence(client: TestClient, verb: str, body: dict[str, Any], sentence: str) -> None:
    assert re.search(sentence, refused(client, verb, **body))


def test_no_model_that_can(pipes: dict[str, Pipeline]) -> None:
    client = TestClient(create_app([pipes["both"]]), base_url="http://127.0.0.1")
    assert refused(client, "fill", texts=["a ___"]) == "No model here can fill: there is both."


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"{", "application/json"), (b"[1]", "application/json"), (b'{"texts": ["a"]}', "text/plain")],
)
def test_other_bodies_are_refused(client: TestClient, content: bytes, kind: str) -> None:
    answer = client.post("/translate", content=content, headers={"content-type": kind})
    assert (answer.status_code, "one JSON object" in answer.json()["error"]) == (422, True)


def test_large_bodies_are_refused(client: TestClient) -> None:
    answer = client.post("/translate", json={"texts": ["a" * 5_000_000]})
    assert answer.status_code == 422
    assert answer.json()["error"] == "The request has 5,000,014 bytes, and at most 4,000,000 are read."


def test_other_addresses_and_foreign_names_are_not_served(client: TestClient) -> None:
    answer = client.get("/translate")
    assert answer.status_code == 405
    assert answer.json()["error"].startswith("GET /translate is not served here, only GET /models, POST /translate")
    for other in (client.post("/translte", json={"texts": ["a"]}), client.get("/"), client.get("/favicon.ico")):
        assert other.status_code == 404
        assert "is not served here, only GET /models" in other.json()["error"]
    assert client.get("/models", headers={"host": "elsewhere.example"}).status_code == 400


def test_command_serves_until_interrupted(model_folder: Path) -> None:
    command = [sys.executable, "-m", "allyouneed", "serve", "--model", str(model_folder), "--port", "0"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
        assert address is not None
        assert server.stdout.readline() == f"  {model_folder}: POST /translate, POST /generate, POST /score\n"
        body = json.dumps({"texts": TEXTS}).encode()
        with urlopen(Request(f"{address[0]}/translate", body, {"content-type": "application/json"})) as answer:
            found = json.load(answer)
        server.send_signal(signal.SIGINT)
        assert (server.wait(60), server.communicate()) == (0, ("", ""))
    assert [one["text"] for one in found["results"]] == [
        one.text for one in load(model_folder, Translator).translate(TEXTS)
    ]
