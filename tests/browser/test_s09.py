from collections.abc import Callable
from typing import Any

import pytest

from allyouneed.reproduce.result import stored

NAME = "positions"


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def test_table_is_100_by_64_with_the_papers_values(reader: Any) -> None:
    figure = reader.figure(NAME)
    canvas = figure.locator(".heat-cells canvas")
    assert canvas.evaluate("node => [node.width, node.height]") == [100, 64]
    figure.locator('[data-panel="table"]').click()
    cells = reader.values(NAME, "table.cell.")
    assert len(cells) == 6400
    for place, value in {"0.0": 0, "0.1": 1, "1.0": 0.8415, "1.1": 0.5403, "10.6": -0.8798, "10.7": -0.4754}.items():
        assert cells[place] == pytest.approx(value, abs=5e-5)
    figure.locator('[data-panel="table"]').click()


def test_wavelength_follows_the_dimension(reader: Any) -> None:
    figure = reader.figure(NAME)
    assert figure.locator('[data-field="i"]').input_value() == "6"
    assert figure.locator('output[data-key="wavelength"]').inner_text() == "14.90"
    for i, wanted in ((0, 6.283), (62, 47117)):
        reader.set(NAME, {"i": i})
        assert reader.value(NAME, "wavelength") == pytest.approx(wanted, rel=1e-4)
    reader.set(NAME, {"i": 6})


def test_cell_is_read_by_pointer_and_keys(reader: Any) -> None:
    figure = reader.figure(NAME)
    cells = figure.locator(".heat-cells")
    box = cells.bounding_box()
    cells.hover(position={"x": box["width"] * 10.5 / 100, "y": box["height"] * 6.5 / 64})
    reading = figure.locator(".heat > .reading")
    told = reading.inner_text()
    assert "10" in told
    assert "6" in told
    assert reader.value(NAME, "reading") == pytest.approx(-0.8798, abs=5e-5)
    cells.press("ArrowDown")
    assert reader.value(NAME, "reading") == pytest.approx(-0.4754, abs=5e-5)
    assert reading.inner_text() != told


def test_shift_is_a_turn_for_any_position(reader: Any) -> None:
    for inputs in ({"k": -50}, {"k": 33, "i": 20}, {"kind": "rotary"}):
        reader.set(NAME, inputs)
        assert reader.value(NAME, "residual") < 1e-6
        assert reader.value(NAME, "spread") < (1e-5 if "kind" in inputs else 1e-4)
    reader.figure(NAME).locator('[data-panel="reset"]').click()
    reader.wait(NAME)
    assert (reader.value(NAME, "legend.low"), reader.value(NAME, "legend.high")) == (-1, 1)


def test_every_scheme_draws(reader: Any) -> None:
    figure = reader.figure(NAME)
    for kind in ("learned", "alibi", "t5", "sinusoidal"):
        reader.set(NAME, {"kind": kind})
        assert figure.locator(".plot-line").first.get_attribute("d")
        assert figure.locator(".turn").is_visible() == (kind == "sinusoidal")


def test_models_of_each_scheme_read_beyond_their_length(reader: Any) -> None:
    figure = reader.figure(NAME)
    result = stored("positions")
    if result is None:
        assert "allyouneed reproduce positions" in figure.inner_text()
        return
    field = figure.locator(".plot-field").last
    field.press("End")
    longest = max(row["tokens read"] for row in result.rows)
    assert reader.value(NAME, "beyond.x") == longest
    last = [float(row["loss"]) for row in result.rows if row["tokens read"] == longest]
    shown = [reader.value(NAME, f"beyond.{at}.reading") for at in range(len(last))]
    assert sorted(shown) == pytest.approx(sorted(last), rel=1e-5)
    claims = figure.locator(".claim")
    assert claims.count() == 2
    by_key = {(row["positions"], row["tokens read"]): float(row["loss"]) for row in result.rows}
    lengths = sorted({tokens for _, tokens in by_key})
    for at, (scheme, rises) in enumerate((("ALiBi", False), ("learned", True))):
        rose = by_key[scheme, lengths[-1]] > by_key[scheme, lengths[0]]
        assert claims.nth(at).get_attribute("data-holds") == str(rose == rises).lower()


def test_order_is_unseen_without_positions(reader: Any) -> None:
    figure = reader.figure("order-blind")
    assert all(value == pytest.approx(0, abs=1e-6) for value in reader.values("order-blind", "difference.").values())
    assert reader.value("order-blind", "without") == pytest.approx(0, abs=1e-6)
    assert figure.locator('output[data-key="without"]').inner_text() in ("0.000", "0")
    assert figure.locator("p.holds").inner_text() == reader.text("order-blind.same")
    assert figure.locator('.claim[data-holds="true"]').count() == 2
    reader.set("order-blind", {"positions": True})
    assert max(reader.values("order-blind", "difference.").values()) > 0.01
    assert figure.locator("p.fails").inner_text() == reader.text("order-blind.differ")
    reader.set("order-blind", {"positions": False})
