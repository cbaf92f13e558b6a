import asyncio
import inspect
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from urllib.request import urlopen

import pytest
from fastapi.testclient import TestClient

from allyouneed.errors import InputError, UsageError
from allyouneed.guide import serve
from allyouneed.guide.models import Models
from allyouneed.guide.page import SECTIONS
from allyouneed.guide.server import create_app
from allyouneed.guide.widgets import WIDGETS
from allyouneed.parts.attention import attention_weights
from allyouneed.pipeline import Translator
from allyouneed.server.connection import LOOPBACK, listen


def client_of(models: Models, lang: str = "ko") -> TestClient:
    return TestClient(create_app(models, lang), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def client(models: Models) -> TestClient:
    return client_of(models)


@pytest.mark.parametrize(
    ("address", "lang"), [("/", "ko"), ("/?lang=en", "en"), ("/?lang=ko", "ko"), ("/?lang=xx", "ko")]
)
def test_page_has_every_section_in_the_asked_language(client: TestClient, address: str, lang: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    assert f'<html lang="{lang}">' in answer.text
    shown = answer.text.split("<template", 1)[0]
    for section in SECTIONS:
        assert f'<section id="{section}"' in shown
    for name in WIDGETS:
        assert f'<figure data-widget="{name}"></figure>' in shown


def test_server_has_a_language_of_its_own(models: Models) -> None:
    assert '<html lang="en">' in client_of(models, "en").get("/").text


def test_browser_is_told_to_stay_on_this_machine(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy


def test_foreign_names_for_the_loopback_are_not_answered(client: TestClient) -> None:
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_figure_answers_with_what_compute_says(client: TestClient, models: Models) -> None:
    inputs = {"d_k": 512, "scale": False}
    answer = client.post("/api/scaling", json=inputs)
    assert answer.status_code == 200
    assert answer.json() == WIDGETS["scaling"].answer(inputs, models)


def test_refusal_is_a_422_with_field_key_params_and_message(client: TestClient) -> None:
    answer = client.post("/api/scaling", json={"n": 99})
    assert answer.status_code == 422
    assert answer.json() == {
        "field": "n",
        "key": "error.range",
        "params": {"field": "n", "value": "99", "min": 2, "max": 32},
        "message": "n: 99 is outside 2 to 32.",
    }


def test_unknown_figure_names_the_nearest(client: TestClient) -> None:
    answer = client.post("/api/scalling", json={})
    assert answer.status_code == 422
    assert answer.json()["message"] == 'There is no figure "scalling". Did you mean "scaling"?'


@pytest.mark.parametrize("body", ["", "nonsense", "[1]", "7"])
def test_body_must_be_an_object(client: TestClient, body: str) -> None:
    answer = client.post("/api/scaling", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["key"] == "error.body"


def test_code_is_the_running_source(client: TestClient) -> None:
    parts = {part["name"]: part for part in client.get("/api/scaling/code").json()}
    assert parts["attention_weights"]["source"] == inspect.getsource(attention_weights)
    assert parts["attention_weights"]["module"] == "allyouneed.parts.attention"


def test_models_are_listed_and_a_broken_one_says_why(saved_folder: Path, tmp_path: Path, models: Models) -> None:
    (tmp_path / "config.json").write_text('{"format": 1}', encoding="utf-8")
    own = [str(saved_folder), str(tmp_path)]
    cards = client_of(Models(own, shipped=["zoo:none"])).get("/api/models").json()
    assert [card["name"] for card in cards] == [*own, "zoo:none"]
    assert [card["own"] for card in cards] == [True, True, False]
    assert cards[0]["parameters"] > 1000
    assert cards[0]["card"] == "# A small model\n"
    assert cards[0]["line"] == "both"
    assert "lacks model.safetensors" in cards[1]["problem"]
    assert "no shipped model" in cards[2]["problem"]


def test_only_the_models_of_this_server_can_be_asked_for(client: TestClient, saved_folder: Path) -> None:
    answer = client.post("/api/cross-attention", json={"model": str(saved_folder)})
    assert answer.status_code == 422
    assert answer.json()["key"] == "error.model"


def test_own_model_shows_its_own_translation(saved_folder: Path) -> None:
    name = str(saved_folder)
    client = client_of(Models([name], shipped=["zoo:none"]))
    answer = client.post("/api/cross-attention", json={"model": name}).json()
    assert answer["source_text"] == "The mouse ate the cheese."
    assert answer["model"]["own"] is True
    assert client.post("/api/causal-mask", json={"model": name}).status_code == 200


def test_models_are_loaded_once(pipe: Translator) -> None:
    loaded: list[str] = []

    def load(name: str) -> Translator:
        loaded.append(name)
        return pipe

    models = Models(shipped=["zoo:fr-en"], load=load)
    models.cards()
    WIDGETS["cross-attention"].answer({}, models)
    assert loaded == ["zoo:fr-en"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no Ctrl-C to a single process")
def test_guide_runs_until_interrupted(saved_folder: Path) -> None:
    script = f"from allyouneed.guide import serve; serve([{str(saved_folder)!r}], 'en', port=0, open_browser=False)"
    guide = subprocess.Popen([sys.executable, "-c", script], stdout=PIPE, stderr=PIPE, text=True)
    assert guide.stdout is not None
    found = re.fullmatch(r"The guide is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", guide.stdout.readline())
    assert found
    with urlopen(found[1], timeout=60) as answer:
        assert b'<html lang="en">' in answer.read()
    guide.send_signal(signal.SIGINT)
    out, err = guide.communicate(timeout=60)
    assert (guide.returncode, out, err) == (0, "", "")


def test_parts_of_an_answer_do_not_wait_for_each_other() -> None:
    async def served() -> int:
        """Whether a connection sends small parts at once, as the server's own loop makes it."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            done.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen(LOOPBACK, 0) as listener:
            async with await asyncio.start_server(met, sock=listener) as server:
                with socket.create_connection(server.sockets[0].getsockname()):
                    return await done

    with ThreadPoolExecutor(1) as aside:  # a browser, once driven, leaves a loop that runs in this thread
        assert aside.submit(asyncio.run, served()).result() != 0


def test_taken_port_is_refused_in_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} of 127.0.0.1 cannot be used: .* Choose another one"):
            serve(port=port, open_browser=False)


def test_unknown_language_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match='no language "fr", only ko and en'):
        serve(lang="fr", open_browser=False)
