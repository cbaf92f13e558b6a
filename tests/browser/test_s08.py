from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import torch

from allyouneed.checkpoints.native import save_model
from allyouneed.guide.widgets import WIDGETS
from allyouneed.models.transformer import Transformer, TransformerConfig
from allyouneed.reproduce.result import Result, stored
from allyouneed.text.tokenizer import Tokenizer

NAME = "heads"


def result_of(name: str) -> Result:
    found = stored(name)
    assert found is not None
    return found


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_width_of_a_head(reader: Any) -> None:
    figure = reader.figure(NAME)
    assert reader.value(NAME, "heads.width-more.d") == 512
    slider = figure.locator('[data-field="h"]')
    assert slider.get_attribute("aria-valuetext") == "8"
    for place, (heads, width) in enumerate([(1, 512), (2, 256), (4, 128), (8, 64), (16, 32)]):
        reader.set(NAME, {"h": place})
        assert reader.value(NAME, "width") == width
        assert reader.value(NAME, "parameters") == 1_048_576
        assert figure.locator(".head-strip span").count() == heads
    for cited in ("65", "213"):
        assert reader.page.locator(f'#s8 .cited[value="{cited}"]').count() == 1
    reader.set(NAME, {"h": 3})


def test_recut_draws_h_heads(reader: Any) -> None:
    figure = reader.figure(NAME)
    own = figure.locator(".head-small").count()
    assert own == reader.value(NAME, "own.heads")
    reader.set(NAME, {"recut": True})
    assert figure.locator(".head-small").count() == 8
    rows = reader.values(NAME, "cell.")
    size = round(len(rows) ** 0.5)
    for row in range(size):
        assert sum(rows[f"{row}.{column}"] for column in range(size)) == pytest.approx(1, abs=1e-3)
    reader.set(NAME, {"recut": False})


def test_names_are_computed_and_lead_to_their_head(reader: Any, site: Any) -> None:
    figure = reader.figure(NAME)
    wanted = WIDGETS[NAME].answer({}, site.models)
    for at, role in enumerate(wanted["named"]):
        assert reader.value(NAME, f"named.{at}") == wanted["roles"][at][role] == max(wanted["roles"][at].values())
        assert reader.text(f"heads.role.{role}") in figure.locator(".head-small").nth(at).inner_text()
    best = wanted["best"][-1]
    figure.locator("tbody button").last.click()
    reader.wait(NAME)
    for field in ("layer", "head"):
        assert figure.locator(f'input[data-field="{field}"]').input_value() == str(best[field])
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_knocked_out_head_changes_the_loss(reader: Any) -> None:
    figure = reader.figure(NAME)
    whole = reader.value(NAME, "loss.now")
    figure.locator(".bars button.cover").nth(1).click()
    reader.wait(NAME)
    assert reader.value(NAME, "loss.now") != whole
    assert reader.value(NAME, "loss.now") - whole == pytest.approx(reader.value(NAME, "loss.1"), abs=1e-4)
    figure.locator(".bars button.cover").nth(1).press("Enter")
    reader.wait(NAME)
    assert reader.value(NAME, "loss.now") == whole


def test_heads_are_joined_one_by_one_by_keys(reader: Any) -> None:
    figure = reader.figure(NAME)
    slider = figure.locator('[data-field="joined"]')
    assert reader.value(NAME, "joined") == reader.value(NAME, "own.heads")
    assert reader.value(NAME, "missing") == pytest.approx(0, abs=1e-3)
    slider.press("Home")
    reader.wait(NAME)
    assert reader.value(NAME, "missing") == pytest.approx(100, abs=1e-3)
    slider.press("ArrowRight")
    reader.wait(NAME)
    assert 0 < reader.value(NAME, "missing") != 100
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_models_trained_with_each_h_stand_beside_the_papers(reader: Any) -> None:
    figure = reader.figure(NAME)
    rows = result_of("heads").rows
    for row in rows:
        assert reader.value(NAME, f"trained.loss.{row['heads']}") == pytest.approx(row["loss"], rel=1e-5)
        assert reader.value(NAME, f"trained.bleu.{row['heads']}") == pytest.approx(row["BLEU"], rel=1e-5)
    best = min(rows, key=lambda row: row["loss"])["heads"]
    claim = figure.locator(".claim").last
    assert f" {best} " in f" {claim.inner_text()} ".replace("개", " ")
    assert claim.get_attribute("data-holds") == str(best != 1).lower()
    cited = figure.locator(".cited").evaluate_all("all => all.map(node => [node.value, node.dataset.source])")
    assert [value for value, _ in cited] == ["24.9", "25.5", "25.8", "25.8", "25.4"]
    assert all(source.startswith("vaswani2017:table 3") for _, source in cited)


@pytest.fixture
def grouped(tokenizer: Tokenizer, tmp_path: Path) -> str:
    """A decoder of 8 heads that share 2 keys and values."""
    torch.manual_seed(8)
    sizes: dict[str, Any] = {
        "d_model": 64,
        "n_heads": 8,
        "n_kv_heads": 2,
        "d_ff": 64,
        "n_encoder_layers": 0,
        "n_decoder_layers": 1,
    }
    model = Transformer(TransformerConfig(vocab_size=tokenizer.vocab_size, max_length=64, **sizes)).eval()
    save_model(tmp_path / "grouped", model, tokenizer.for_line("decoder"))
    return str(tmp_path / "grouped")


def test_shared_keys_stand_in_brackets(visit: Callable[..., Any], guide_of: Callable[..., Any], grouped: str) -> None:
    reader = visit(f"/?lang=en#s8.heads?model={quote(grouped, safe='')}", at=guide_of(grouped))
    figure = reader.figure(NAME)
    assert reader.value(NAME, "own.groups") == 2
    groups = figure.locator(".head-group.shared")
    assert groups.count() == 2
    assert [groups.nth(at).locator(".head-small").count() for at in range(2)] == [4, 4]
