from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.reproduce.result import stored


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


def test_names_of_points_leave_each_other_room(reader: Any) -> None:
    figure = reader.figure("pointer")
    names = figure.locator(".board-name")
    assert names.count() == reader.value("pointer", "count")
    reader.set("pointer", {"n": 60})
    boxes = names.evaluate_all(
        "all => all.map(node => node.getBBox()).map(box => [box.x, box.y, box.width, box.height])"
    )
    assert len(boxes) > 30
    for one, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, _ in boxes[one + 1 :]:
            assert abs(y - top) > 0.8 * height or x + width < left or left + wide < x
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


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_hull_is_found_by_keys_alone(visit: Callable[..., Any], motion: str) -> None:
    reader = visit("/?lang=en#s10.pointer?points=0.1%2C0.1+0.9%2C0.1+0.5%2C0.9", reduced_motion=motion)
    figure = reader.figure("pointer")
    board = figure.locator(".board")
    board.focus()
    board.press("ArrowDown")
    board.press(" ")
    reader.page.wait_for_function("() => document.querySelectorAll('.board-point').length === 4")
    board.press("Enter")
    reader.page.wait_for_function("() => /Z$/.test(document.querySelector('.board-made')?.getAttribute('d'))")
    reader.wait("pointer")
    assert len(reader.values("pointer", "chance.")) == 5
    assert reader.value("pointer", "sum") == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("seed", "verdict"), [(1, "right"), (5, "wrong")])
def test_known_success_and_known_failure_are_told(visit: Callable[..., Any], seed: int, verdict: str) -> None:
    reader = visit(f"/?lang=en#s10.pointer?seed={seed}&step=61")
    figure = reader.figure("pointer")
    assert figure.locator("p.holds, p.fails").inner_text() == reader.text(f"pointer.{verdict}")
    assert reader.value("pointer", "area") == pytest.approx(100, abs=1e-3 if verdict == "right" else 20)
    assert (reader.value("pointer", "area") == 100) == (verdict == "right")


def test_too_few_points_get_a_sentence(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s10.pointer?points=0.1%2C0.1+0.9%2C0.9+0.1%2C0.9")
    reader.may_complain = True  # the browser itself notes a refusal
    figure = reader.figure("pointer")
    figure.locator(".board").focus()
    for _ in range(8):
        reader.page.keyboard.press("ArrowUp")
        reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.press("Delete")
    reader.wait("pointer", "error")
    assert reader.text("error.few-points", fewest="3") in figure.locator(".notice").inner_text()
    figure.locator(".notice button").click()
    reader.wait("pointer")
    assert reader.value("pointer", "count") == 3


def test_points_run_once_however_often_and_only_the_main_button_adds(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s10.pointer")
    figure = reader.figure("pointer")
    reader.page.clock.install()
    figure.locator(".play").click()
    reader.page.clock.run_for(300)
    figure.locator(".play").click()
    for step in ("1", "2", "2", "3"):  # once in 600 milliseconds from the second click on
        reader.page.clock.run_for(300)
        reader.wait("pointer")
        assert figure.locator('[data-field="step"]').input_value() == step
    figure.locator(".board").click(button="right", position={"x": 20, "y": 20})
    reader.wait("pointer")
    assert reader.value("pointer", "count") == 10


def test_batch_is_measured_on_random_sets(reader: Any) -> None:
    figure = reader.figure("pointer")
    reader.set("pointer", {"trial": True})
    assert reader.value("pointer", "pointer.tried.count") == 200
    assert 0 < reader.value("pointer", "trial.exact") <= 100
    figure.locator('[data-panel="reset"]').click()
    reader.wait("pointer")


def test_tape_copies(reader: Any) -> None:
    figure = reader.figure("memory")
    for name in ("content", "interpolated", "shifted", "sharpened"):
        assert reader.value("memory", f"sum.{name}") == pytest.approx(1, abs=1e-3)
    assert reader.value("memory", "memory.right.wrong") == 0
    assert reader.value("memory", "matching") == reader.value("memory", "rows")
    both, content = (reader.value("memory", f"claim.{name}") for name in ("both", "content"))
    assert both == 0 < content
    reader.set("memory", {"by_location": False})
    assert reader.value("memory", "memory.wrong.wrong") == content
    figure.locator('[data-panel="reset"]').click()
    reader.wait("memory")


def test_set_is_blind_to_order(reader: Any) -> None:
    reader.figure("order")
    assert reader.value("order", "set") < 1e-5
    assert reader.value("order", "sequence") > 1e-2


def test_steps_move_the_head_over_the_tape(reader: Any) -> None:
    figure = reader.figure("memory")
    places: list[float] = []
    for step in (3, 4, 5):
        reader.set("memory", {"step": step})
        field = figure.locator(".plot-field")
        weights: list[float] = []
        field.press("Home")
        for _ in range(8):
            weights.append(reader.value("memory", "stage.3.reading"))
            field.press("ArrowRight")
        places.append(weights.index(max(weights)))
    assert places == [places[0], places[0] + 1, places[0] + 2]
    figure.locator('[data-panel="reset"]').click()
    reader.wait("memory")


def test_perplexities_of_orders_or_how_to_get_them(reader: Any) -> None:
    figure = reader.figure("order")
    result = stored("order")
    if result is None:
        assert "allyouneed reproduce order" in figure.inner_text()
        return
    for model in ("LSTM", "Transformer"):
        assert len(reader.values("order", f"perplexity.{model}.")) == 4
    assert figure.locator(".claim").count() == 3
