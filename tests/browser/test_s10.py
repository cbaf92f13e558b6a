from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_points_come_and_go_by_pointer_and_keys(reader: Any) -> None:
    figure = reader.figure("pointer")
    board = figure.locator(".board")
    assert reader.value("pointer", "count") == 10
    box = board.bounding_box()
    board.click(position={"x": box["width"] * 0.06, "y": box["height"] * 0.06})
    reader.page.wait_for_function("() => document.querySelectorAll('.board-point').length === 11")
    board.focus()
    board.press("ArrowLeft")
    board.press(" ")
    reader.page.wait_for_function("() => document.querySelectorAll('.board-point').length === 12")
    board.press("Delete")
    reader.page.wait_for_function("() => document.querySelectorAll('.board-point').length === 11")
    figure.locator('[data-panel="reset"]').click()
    reader.wait("pointer")


def test_answer_is_judged_and_every_step_adds_to_one(reader: Any, site: Any) -> None:
    figure = reader.figure("pointer")
    assert reader.value("pointer", "sum") == pytest.approx(1, abs=1e-4)
    right = figure.locator(".holds, .fails").first.inner_text()
    assert right in {reader.text(f"pointer.{verdict}") for verdict in ("right", "wrong", "crossed")}
    reader.set("pointer", {"step": 2})
    assert reader.value("pointer", "sum") == pytest.approx(1, abs=1e-4)
    figure.locator('[data-panel="reset"]').click()
    reader.wait("pointer")
    cited = reader.page.locator("#s10 .cited").evaluate_all("all => all.map(node => node.value)")
    assert {"1.9", "38.9", "72.6", "99.2", "5", "50", "500", "89.5", "81.5"} <= set(cited)


def test_tape_copies(reader: Any) -> None:
    figure = reader.figure("memory")
    for name in ("content", "interpolated", "shifted", "sharpened"):
        assert reader.value("memory", f"sum.{name}") == pytest.approx(1, abs=1e-3)
    assert reader.value("memory", "memory.right.wrong") == 0
    assert reader.value("memory", "matching") == reader.value("memory", "rows")
    reader.set("memory", {"by_location": False})
    assert reader.value("memory", "memory.wrong.wrong") > 0
    figure.locator('[data-panel="reset"]').click()
    reader.wait("memory")


def test_set_is_blind_to_order(reader: Any) -> None:
    reader.figure("order")
    assert reader.value("order", "set") < 1e-5
    assert reader.value("order", "sequence") > 1e-2
