from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

LANGUAGES = pytest.mark.parametrize("lang", ["ko", "en"])


def matrix(reader: Any) -> np.ndarray:
    """The cells as their table says them; minus infinity is -inf."""
    figure = reader.page.locator('figure[data-widget="causal-mask"]')
    button = figure.locator('[data-panel="table"]')
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    cells = reader.values("causal-mask", "table.cell.")
    size = round(len(cells) ** 0.5)
    return np.array([[cells[f"{r}.{c}"] for c in range(size)] for r in range(size)])


@LANGUAGES
def test_causal_mask_seals_the_future(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("causal-mask")
    weights = matrix(reader)
    n = len(weights)
    upper = np.triu_indices(n, 1)
    assert (weights[upper] == 0).all()
    assert reader.value("causal-mask", "masked") == n * (n - 1) / 2
    assert list(reader.values("causal-mask", "row-sum.").values()) == pytest.approx([1] * n, abs=1e-6)
    assert reader.value("causal-mask", "leak") == 0
    assert figure.locator(".leak .holds").count() == 1
    reader.set("causal-mask", {"stage": "masked"})
    assert np.isneginf(matrix(reader)[upper]).all()
    assert figure.locator(".heat-numbers output").nth(1).inner_text() == "−∞"
    reader.set("causal-mask", {"mask": "none", "stage": "weights"})
    assert (matrix(reader)[upper] > 0).all()
    assert reader.value("causal-mask", "leak") > 0
    assert figure.locator(".leak .fails").count() == 1


def test_padding_and_window(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.causal-mask?mask=padding&pads=3")
    reader.figure("causal-mask")
    weights = matrix(reader)
    assert (weights[:, -3:] == 0).all()
    assert weights.sum(1) == pytest.approx(np.ones(len(weights)), abs=1e-2)
    reader.set("causal-mask", {"mask": "window", "window": 2})
    weights = matrix(reader)
    back = np.subtract.outer(np.arange(len(weights)), np.arange(len(weights)))
    assert (weights[(back >= 2) | (back < 0)] == 0).all()
    assert (weights[(back >= 0) & (back < 2)] > 0).all()


def test_matrix_reads_the_same_by_pointer_and_by_keys(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("causal-mask")
    weights, cells = matrix(reader), figure.locator(".heat-cells")
    box, n = cells.bounding_box(), len(weights)
    cells.hover(position={"x": box["width"] * 1.5 / n, "y": box["height"] * 3.5 / n})
    said = figure.locator(".reading").inner_text()
    assert reader.value("causal-mask", "reading") == weights[3, 1]
    reader.page.mouse.move(0, 0)
    cells.focus()
    for key in ("Control+Home", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        cells.press(key)
    assert figure.locator(".reading").inner_text() == said
    cells.press("Escape")
    assert reader.page.evaluate("document.activeElement === document.body")


def test_top_ten_are_sorted_and_the_first_is_written(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.cross-attention?step=2")
    figure = reader.figure("cross-attention")
    chances = list(reader.values("cross-attention", "next.").values())
    assert len(chances) == 10
    assert chances == sorted(chances, reverse=True)
    assert figure.locator(".bar.marked .token").first.inner_text() == figure.locator("[aria-current=step]").inner_text()
    assert figure.locator(".bar").first.get_attribute("class") == "bar marked"
    assert figure.locator("path.arc").count() == figure.locator(".tokens").first.locator(".token").count()


def test_slider_keys_and_play_move_the_step(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.cross-attention?step=1")
    figure = reader.figure("cross-attention")
    written = figure.locator(".tokens").nth(1).locator(".token")
    assert written.count() == 1
    slider = figure.locator('[data-field="step"]')
    slider.focus()
    slider.press("ArrowRight")
    reader.wait("cross-attention")
    assert written.count() == 2
    reader.wait_for_address("step=2")
    slider.press("ArrowLeft")
    reader.wait("cross-attention")
    assert written.count() == 1
    figure.locator(".play").click()
    reader.page.wait_for_function("() => location.hash.includes('step=3')")
    figure.locator(".play").click()
    assert figure.locator(".play").get_attribute("aria-pressed") == "false"


def test_play_waits_for_slow_answers(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.cross-attention?step=1")
    figure = reader.figure("cross-attention")
    reader.page.clock.install()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    reader.page.route("**/api/cross-attention", hold)
    figure.locator(".play").click()
    for _ in range(4):
        reader.page.clock.run_for(800)
    reader.page.wait_for_timeout(0)
    assert len(held) == 1
    held[0].continue_()
    reader.wait("cross-attention")
    assert figure.locator(".tokens").nth(1).locator(".token").count() == 2


def test_edited_source_is_translated_anew(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("cross-attention")
    before = reader.values("cross-attention", "next.")
    reader.set("cross-attention", {"source": "Je vais à la maison."})
    assert reader.values("cross-attention", "next.") != before
    shown = "".join(figure.locator(".tokens").first.locator(".token").all_inner_texts())
    assert "maison" in shown


def test_sampling_draws_by_seed(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.cross-attention?choose=sample&step=256")
    figure = reader.figure("cross-attention")
    words = figure.locator(".whole q")
    first = words.inner_text()
    for _ in range(5):  # a sure model may draw the same once or twice
        figure.locator('button[data-field="seed"]').click()
        reader.wait("cross-attention")
        if words.inner_text() != first:
            return
    pytest.fail("five more draws all gave the first text")


@LANGUAGES
def test_school_looks_at_ecole(visit: Callable[..., Any], lang: str) -> None:
    reader = visit(f"/?lang={lang}")
    figure = reader.figure("cross-attention")
    assert figure.locator('[data-field="source"]').input_value() == "Je vais à l'école"
    assert figure.locator(".whole q").inner_text() == "I am going to school"
    written = figure.locator(".tokens").nth(1).locator(".token").all_inner_texts()
    assert "".join(["I", "am", "going", "to", "school"]).startswith("".join(written))
    assert len(written) == 5  # the first token of "school" is being written
    claim = figure.locator(".claim")
    assert claim.get_attribute("data-holds") == "true"
    assert 0 < reader.value("cross-attention", "claim.school") <= 1
    assert "school → école" in claim.inner_text()


def test_another_sentence_has_another_translation(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    figure = reader.figure("cross-attention")
    reader.set("cross-attention", {"source": "Je vais à la maison"})
    assert "home" in figure.locator(".whole q").inner_text() or "house" in figure.locator(".whole q").inner_text()


def test_decoder_alone_has_a_mask_and_no_source(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en#s7.causal-mask?model=zoo%3Alm-en")
    figure = reader.figure("causal-mask")
    assert not figure.locator('[data-field="source"]').is_visible()
    weights = matrix(reader)
    assert (weights[np.triu_indices(len(weights), 1)] == 0).all()
    assert figure.locator('.claim[data-holds="true"]').count() == 2
    assert reader.value("causal-mask", "claim.sealed") == 0
    reader.set("causal-mask", {"mask": "none"})
    assert reader.value("causal-mask", "claim.open") == reader.value("causal-mask", "leak") > 0


def test_row_that_may_look_nowhere_is_compared(visit: Callable[..., Any]) -> None:
    reader = visit("/?lang=en")
    reader.figure("causal-mask")
    size = reader.value("causal-mask", "empty.size")
    assert reader.value("causal-mask", "empty.undefined") == size == len(matrix(reader))
    assert reader.value("causal-mask", "empty.even") == pytest.approx(1 / size, abs=1e-6)
    assert reader.value("causal-mask", "empty.ours") == 0
