from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

NAME = "alignment"


@pytest.fixture(scope="module", params=["ko", "en"])
def reader(request: Any, open_page: Callable[..., Any]) -> Any:
    return open_page(f"/?lang={request.param}")


def cells(reader: Any, figure: Any) -> np.ndarray:
    if figure.locator('[data-panel="table"]').get_attribute("aria-expanded") != "true":
        figure.locator('[data-panel="table"]').click()
    found = reader.values(NAME, "table.cell.")
    rows, columns = (max(int(key.split(".")[axis]) for key in found) + 1 for axis in (0, 1))
    return np.array([[found[f"{r}.{c}"] for c in range(columns)] for r in range(rows)])


def test_rows_are_what_is_written_and_columns_what_was_read(reader: Any) -> None:
    figure = reader.figure(NAME)
    weights = cells(reader, figure)
    tokens = figure.locator(".stage .tokens")
    assert weights.shape == (tokens.nth(1).locator(".token").count(), tokens.nth(0).locator(".token").count())
    assert weights.sum(1) == pytest.approx(np.ones(len(weights)), abs=1e-3)
    assert (reader.value(NAME, "legend.low"), reader.value(NAME, "legend.high")) == (0, 1)


def test_european_economic_area_runs_backwards(reader: Any) -> None:
    figure = reader.figure(NAME)
    chips = figure.locator(".claim")
    assert [chips.nth(at).get_attribute("data-holds") for at in range(5)] == ["true"] * 5
    weights = cells(reader, figure)
    written = figure.locator(".stage button.written").all_inner_texts()
    read = figure.locator(".stage .tokens").first.locator(".token").all_inner_texts()
    looked = [weights[written.index(word)].argmax() for word in ("zone", "économique", "européenne")]
    assert [read[at] for at in looked] == ["Area", "Economic", "European"]
    assert looked == sorted(looked, reverse=True)
    assert "zone → Area" in chips.first.inner_text()


def test_pointer_and_keys_read_the_same(reader: Any) -> None:
    figure = reader.figure(NAME)
    weights = cells(reader, figure)
    grid = figure.locator(".heat-cells")
    box = grid.bounding_box()
    grid.hover(position={"x": box["width"] * 1.5 / weights.shape[1], "y": box["height"] * 0.5 / len(weights)})
    assert reader.value(NAME, "reading") == pytest.approx(weights[0, 1])
    grid.press("ArrowDown")
    assert reader.value(NAME, "reading") == pytest.approx(weights[1, 1])


def test_without_attention_tokens_are_lost(reader: Any) -> None:
    figure = reader.figure(NAME)
    assert reader.value(NAME, "accuracy") == 1
    assert reader.value(NAME, "pulls.reached") == reader.value(NAME, "pulls.all")
    reader.set(NAME, {"attention": "uniform"})
    assert reader.value(NAME, "accuracy") < 0.8
    reader.set(NAME, {"attention": "hard"})
    assert reader.value(NAME, "pulls.reached") == 0
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_edited_sentence_is_translated_anew(reader: Any) -> None:
    figure = reader.figure(NAME)
    before = figure.locator(".whole q").inner_text()
    figure.locator('[data-field="source"]').fill("The cat sat on the mat .")
    reader.page.wait_for_function("() => location.hash.includes('source=')")
    reader.wait(NAME)
    assert figure.locator(".whole q").inner_text() != before
    for value in ("1000", "40000", "2025"):
        assert reader.page.locator(f'#s4 .cited[value="{value}"]').count() == 1
    assert figure.locator(".token.unknown").count() == 0
    figure.locator('[data-field="source"]').fill("The philosopher sat on the mat .")
    reader.page.wait_for_function("() => location.hash.includes('philosopher')")
    reader.wait(NAME)
    assert figure.locator(".unknown-words .token").all_inner_texts() == ["philosopher"]
    assert figure.locator(".stage .token.unknown").all_inner_texts() == ["philosopher"]
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_given_translation_is_aligned_and_kept_by_its_link(reader: Any) -> None:
    figure = reader.figure(NAME)
    own = figure.locator(".whole q").inner_text()
    assert figure.locator('[data-field="target"]').input_value() == own
    figure.locator('[data-field="target"]').fill("L'accord sur la zone bureaucratique")
    reader.page.wait_for_function("() => location.hash.includes('bureaucratique')")
    reader.wait(NAME)
    assert figure.locator(".whole q").inner_text() == "L'accord sur la zone bureaucratique"
    assert figure.locator(".stage button.written.unknown").all_inner_texts() == ["bureaucratique"]
    assert cells(reader, figure).sum(1) == pytest.approx(1, abs=1e-3)
    assert reader.value(NAME, "accuracy") < 1
    assert not figure.locator('label:has-text("beam")').is_visible()
    before = cells(reader, figure)
    reader.page.reload()
    figure = reader.figure(NAME)
    assert cells(reader, figure) == pytest.approx(before)
    figure.locator('[data-field="target"]').fill("")
    reader.page.wait_for_function("() => !location.hash.includes('target')")
    reader.wait(NAME)
    assert figure.locator(".whole q").inner_text() == own
    reader.set(NAME, {"search": "beam"})
    reader.wait_for_address("search=beam")
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)


def test_written_word_is_chosen_by_click_key_and_play(reader: Any) -> None:
    figure = reader.figure(NAME)
    words = figure.locator("button.written")
    words.nth(7).click()
    reader.wait(NAME)
    assert words.nth(7).get_attribute("aria-current") == "step"
    reader.wait_for_address("step=8")
    words.nth(7).press("ArrowLeft")
    words.nth(6).press("Enter")
    reader.wait(NAME)
    assert words.nth(6).get_attribute("aria-current") == "step"
    assert words.nth(6).evaluate("node => node === document.activeElement")
    figure.locator(".play").click()
    reader.page.wait_for_function("() => location.hash.includes('step=8')")
    figure.locator(".play").click()
    reader.wait(NAME)
    figure.locator('[data-panel="reset"]').click()
    reader.wait(NAME)
