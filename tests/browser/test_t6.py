from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_library_reads_real_shares(reader: Any) -> None:
    figure = reader.figure("library")
    assert sum(reader.values("library", "weight.").values()) == pytest.approx(1, abs=1e-4)
    assert figure.locator(".library-card .token").inner_text() == "sat"
    figure.locator(".book").nth(1).click()
    reader.wait("library")
    assert figure.locator(".library-card .token").inner_text() == "cat"
    figure.locator('[data-panel="reset"]').click()
    reader.wait("library")
    text = reader.page.locator("#t6 > p").first.inner_text()
    assert "70%" in text
    assert "30%" in text


def test_matrix_is_attention(reader: Any) -> None:
    figure = reader.figure("matrix")
    assert figure.locator(".picks .token").all_inner_texts()[:6] == ["The", "cat", "sat", "on", "the", "mat"]
    cells = reader.values("matrix", "cell.")
    size = round(len(cells) ** 0.5)
    for row in range(size):
        assert sum(cells[f"{row}.{column}"] for column in range(size)) == pytest.approx(1, abs=1e-3)


def test_block_changes_places_and_shows_both_curves(reader: Any) -> None:
    figure = reader.figure("block")

    def order() -> list[str]:
        return figure.locator(".block-box").evaluate_all("all => all.map(node => node.dataset.kind)")[::-1]

    assert order() == ["norm", "attention", "add", "norm", "ffn", "add"]
    assert figure.locator(".plot-line").count() == 2
    reader.set("block", {"block": "post"})
    assert order() == ["attention", "add", "norm", "ffn", "add", "norm"]
    assert figure.locator(".plot-line").count() == 2
    figure.locator('[data-panel="reset"]').click()
    reader.wait("block")


def test_cache_and_tiles(reader: Any) -> None:
    reader.figure("cost")
    assert reader.value("cost", "cache.own") == 2 * 32 * 8 * 128 * 4096 * 2
    assert reader.value("cost", "difference") < 1e-5
    reader.set("cost", {"layers": 16})
    assert reader.value("cost", "cache.own") == 2 * 16 * 8 * 128 * 4096 * 2
    reader.set("cost", {"layers": 32})
    state, cache = (reader.value("cost", f"cache.{name}") for name in ("state", "own"))
    reader.set("cost", {"n": 4})
    assert reader.value("cost", "cache.state") == state
    assert reader.value("cost", "cache.own") == 2 * cache
    reader.set("cost", {"n": 3})


def test_three_families_answer(reader: Any) -> None:
    figure = reader.figure("families")
    for family in ("encoder", "decoder"):
        chances = list(reader.values("families", f"{family}.top.").values())
        assert chances == sorted(chances, reverse=True)
    assert "chat" in figure.locator('[data-family="both"] q').inner_text()
    sizes = figure.locator("canvas").evaluate_all("all => all.map(node => [node.width, node.height])")
    assert sizes[0][0] == sizes[0][1]
    assert sizes[1][0] == sizes[1][1]
    assert sizes[2][0] > sizes[2][1]
